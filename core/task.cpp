#include "task.hpp"

namespace pds {

Rows inverse(const Rows& rows, int n) {
    Rows inverted;
    inverted.starts.assign(n + 1, 0);
    inverted.items.resize(rows.items.size());
    for (const Id item : rows.items) ++inverted.starts[item + 1];
    for (int item = 0; item < n; ++item) inverted.starts[item + 1] += inverted.starts[item];
    std::vector<Id> next(inverted.starts.begin(), inverted.starts.end() - 1);
    for (int row = 0; row < rows.size(); ++row)
        for (const Id item : rows[row]) inverted.items[next[item]++] = row;
    return inverted;
}

}  // namespace pds
