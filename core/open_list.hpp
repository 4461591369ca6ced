// Open lists: the entry with the least key comes next; among equals, first in, first out.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>

#include "limits.hpp"

namespace pds {

// First in, first out, in blocks: what was taken out is given back.
template <typename Item>
class Fifo {
public:
    bool empty() const { return first_ == nullptr; }
    void push(Item item) {
        if (!last_ || last_->end == kBlock) {
            auto block = std::make_unique<Block>();
            Block* const added = block.get();
            (last_ ? last_->next : first_) = std::move(block);
            last_ = added;
        }
        last_->items[last_->end++] = item;
    }
    Item pop() {
        const Item item = first_->items[first_->begin++];
        if (first_->begin == first_->end) {
            first_ = std::move(first_->next);
            if (!first_) last_ = nullptr;
        }
        return item;
    }

    Fifo() = default;
    Fifo(const Fifo&) = delete;
    Fifo& operator=(const Fifo&) = delete;
    // One block after the other: as members of each other they would be destroyed by recursion.
    ~Fifo() {
        while (first_) first_ = std::move(first_->next);
    }

private:
    static constexpr int kBlock = 30;

    struct Block {
        std::array<Item, kBlock> items;
        int begin = 0;
        int end = 0;
        std::unique_ptr<Block> next;
    };

    std::unique_ptr<Block> first_;
    Block* last_ = nullptr;
};

template <typename Key, typename Item>
class OpenList {
public:
    void push(const Key& key, Item item, Limits& limits) {
        if (++since_look_ == kBetweenLooks) {
            since_look_ = 0;
            limits.look();
        }
        buckets_[key].push(item);
        ++size_;
    }
    Item pop() {
        const auto first = buckets_.begin();
        const Item item = first->second.pop();
        if (first->second.empty()) buckets_.erase(first);
        --size_;
        return item;
    }
    const Key& least() const { return buckets_.begin()->first; }
    bool empty() const { return size_ == 0; }
    std::size_t bytes() const { return size_ * sizeof(Item) + buckets_.size() * sizeof(Fifo<Item>); }

private:
    // About a megabyte.
    static constexpr int kBetweenLooks = 1 << 17;

    std::map<Key, Fifo<Item>> buckets_;
    std::size_t size_ = 0;
    int since_look_ = 0;
};

}  // namespace pds
