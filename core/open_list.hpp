// Open lists: the entry with the least key comes next; among equals, first in, first out.
#pragma once

#include <cstddef>
#include <deque>
#include <map>

#include "limits.hpp"

namespace pds {

template <typename Key, typename Item>
class OpenList {
public:
    void push(const Key& key, Item item, Limits& limits) {
        if (++since_look_ == kBetweenLooks) {
            since_look_ = 0;
            limits.look();
        }
        buckets_[key].push_back(item);
        ++size_;
    }
    Item pop() {
        const auto first = buckets_.begin();
        const Item item = first->second.front();
        first->second.pop_front();
        if (first->second.empty()) buckets_.erase(first);
        --size_;
        return item;
    }
    const Key& least() const { return buckets_.begin()->first; }
    bool empty() const { return size_ == 0; }
    std::size_t bytes() const { return size_ * sizeof(Item) + buckets_.size() * sizeof(std::deque<Item>); }

private:
    // About a megabyte.
    static constexpr int kBetweenLooks = 1 << 17;

    std::map<Key, std::deque<Item>> buckets_;
    std::size_t size_ = 0;
    int since_look_ = 0;
};

}  // namespace pds
