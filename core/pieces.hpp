// Rows of items, in pieces: to grow, nothing is moved or copied.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "limits.hpp"
#include "task.hpp"

namespace pds {

// Each row has `width` items.
template <typename Item>
class Pieces {
public:
    explicit Pieces(int width = 1) : width_(width) {}

    int size() const { return size_; }
    int width() const { return width_; }
    Item* operator[](Id row) { return pieces_[row >> kBits].get() + std::size_t(row & kMask) * width_; }
    const Item* operator[](Id row) const { return pieces_[row >> kBits].get() + std::size_t(row & kMask) * width_; }
    // A new row, whose items are not set.
    Item* add(Limits& limits) {
        if ((size_ & kMask) == 0) {
            if (size_ > std::numeric_limits<Id>::max() - kRows) throw Stop{PDS_OUT_OF_MEMORY};
            limits.reserve(kRows * width_ * sizeof(Item));
            pieces_.push_back(std::make_unique_for_overwrite<Item[]>(std::size_t(width_) * kRows));
        }
        return (*this)[size_++];
    }
    std::size_t bytes() const { return std::size_t(size_) * width_ * sizeof(Item); }

private:
    static constexpr int kBits = 10;
    static constexpr int kRows = 1 << kBits;
    static constexpr Id kMask = kRows - 1;

    int width_;
    int size_ = 0;
    std::vector<std::unique_ptr<Item[]>> pieces_;
};

}  // namespace pds
