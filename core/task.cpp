#include "task.hpp"

#include <numeric>

#include "limits.hpp"

namespace pds {

Rows inverse(std::initializer_list<RowsView> tables, int n, Limits& limits) {
    std::size_t n_items = 0;
    for (const RowsView& table : tables)
        n_items += static_cast<std::size_t>(table.starts.back() - table.starts.front());
    limits.reserve(sizeof(Id) * (n_items + 2 * static_cast<std::size_t>(n)));
    Rows inverted;
    inverted.starts.assign(n + 1, 0);
    inverted.items.resize(n_items);
    for (const RowsView& table : tables)
        for (int row = 0; row < table.size(); ++row) {
            limits.tick(1 + table[row].size());
            for (const Id item : table[row]) ++inverted.starts[item + 1];
        }
    std::partial_sum(inverted.starts.begin(), inverted.starts.end(), inverted.starts.begin());
    std::vector<Id> next(inverted.starts.begin(), inverted.starts.end() - 1);
    Id number = 0;
    for (const RowsView& table : tables)
        for (int row = 0; row < table.size(); ++row, ++number) {
            limits.tick(1 + table[row].size());
            for (const Id item : table[row]) inverted.items[next[item]++] = number;
        }
    return inverted;
}

Rows owned(std::span<const Id> owners, int n, Limits& limits) {
    limits.reserve(sizeof(Id) * (owners.size() + 1));
    std::vector<Id> starts(owners.size() + 1);
    std::iota(starts.begin(), starts.end(), 0);
    return inverse({RowsView(starts, owners)}, n, limits);
}

}  // namespace pds
