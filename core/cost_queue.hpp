// A queue for costs: buckets for small ones (last in, first out), a binary heap for large ones.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "relaxation.hpp"

namespace pds {

class CostQueue {
public:
    void push(Cost cost, Id item) {
        if (cost < kBuckets) {
            buckets_[cost].push_back(item);
            if (cost > top_) top_ = cost;
        } else {
            heap_.emplace_back(cost, item);
            std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
        }
    }
    // Whether there was one; the cheapest entry is then in cost and item. No cost is pushed that is smaller than
    // the last one that was popped.
    [[gnu::always_inline]] bool pop(Cost& cost, Id& item) {
        while (now_ <= top_ && buckets_[now_].empty()) ++now_;
        if (now_ > top_) return pop_heap(cost, item);
        cost = now_;
        item = buckets_[now_].back();
        buckets_[now_].pop_back();
        return true;
    }
    void clear() {
        for (; now_ <= top_; ++now_) buckets_[now_].clear();
        heap_.clear();
        now_ = 0;
        top_ = -1;
    }

private:
    static constexpr Cost kBuckets = 1024;

    [[gnu::noinline]] bool pop_heap(Cost& cost, Id& item) {
        if (heap_.empty()) return false;
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        cost = heap_.back().first;
        item = heap_.back().second;
        heap_.pop_back();
        return true;
    }

    std::vector<std::vector<Id>> buckets_{static_cast<std::size_t>(kBuckets)};
    std::vector<std::pair<Cost, Id>> heap_;
    Cost now_ = 0;
    Cost top_ = -1;
};

}  // namespace pds
