// How much time and memory a call may take, and whether it is to stop.
//
// Every loop that may be long ticks; who is about to allocate much asks first. A limit that is reached is thrown
// as a Stop, which the boundary turns into the answer of the call. One Limits is for one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "interface.h"

namespace pds {

struct Stop {
    pds_answer answer;
};

// The memory of this process in bytes; 0 where the system does not tell.
double resident();

class Limits {
public:
    explicit Limits(const pds_limits& given);

    // Throws once a limit is reached: looks now and then, for loops whose steps are short.
    void tick() {
        if (--ticks_ <= 0) look();
    }
    // The same, for a step that took so many of the short ones.
    void tick(std::size_t steps) {
        ticks_ -= static_cast<std::ptrdiff_t>(steps);
        if (ticks_ <= 0) look();
    }
    void look();
    // Throws if so many bytes more do not fit.
    void reserve(std::size_t bytes);

    // How many bytes more there were room for in the beginning.
    double room() const { return given_.bytes; }

    // Whether a slice of a longer call, which was to take so long, is over.
    void begin_slice(double seconds);
    bool slice_is_over() const { return slice_is_over_; }

private:
    using Clock = std::chrono::steady_clock;

    // Between two looks at the clock, some microseconds; the memory of the process is asked for less often.
    static constexpr std::ptrdiff_t kTicks = 4096;
    static constexpr std::chrono::milliseconds kBetweenMeasures{5};

    void measure();

    const pds_limits given_;
    const Clock::time_point deadline_;
    const bool is_timed_;
    const double most_resident_;
    Clock::time_point measured_;
    Clock::time_point slice_end_ = Clock::time_point::max();
    bool slice_is_over_ = false;
    std::ptrdiff_t ticks_ = kTicks;
};

// Sees to it that so many more items fit.
template <typename Item>
void make_room(std::vector<Item>& items, std::size_t more, Limits& limits) {
    if (items.size() + more <= items.capacity()) return;
    const std::size_t wanted = std::max(2 * items.capacity(), items.size() + more);
    limits.reserve(wanted * sizeof(Item));
    items.reserve(wanted);
}

}  // namespace pds
