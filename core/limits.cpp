#include "limits.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#ifdef __APPLE__
#include <mach/mach.h>
#endif

namespace pds {

double resident() {
#ifdef __APPLE__
    mach_task_basic_info info;
    mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
    if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) != 0) return 0;
    return static_cast<double>(info.resident_size);
#else
    static const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (!file) return 0;
    long long all = 0, pages = 0;
    const int read = std::fscanf(file, "%lld %lld", &all, &pages);
    std::fclose(file);
    return read == 2 ? static_cast<double>(pages) * page : 0;
#endif
}

namespace {

// Longer than any machine runs; adding it to the clock does not overflow.
constexpr double kForever = 1e8;

std::chrono::steady_clock::duration as_duration(double seconds) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(std::fmin(seconds, kForever)));
}

}  // namespace

Limits::Limits(const pds_limits& given)
    : given_(given),
      deadline_(Clock::now() + as_duration(given.seconds)),
      is_timed_(given.seconds < kForever),
      most_resident_(std::isfinite(given.bytes) ? resident() + given.bytes : INFINITY),
      measured_(Clock::now()) {}

void Limits::look() {
    ticks_ = kTicks;
    if (given_.stop && __atomic_load_n(given_.stop, __ATOMIC_RELAXED)) throw Stop{PDS_INTERRUPTED};
    const auto now = Clock::now();
    if (is_timed_ && now > deadline_) throw Stop{PDS_OUT_OF_TIME};
    slice_is_over_ = now >= slice_end_;
    if (now - measured_ >= kBetweenMeasures) measure();
}

void Limits::measure() {
    measured_ = Clock::now();
    if (std::isfinite(most_resident_) && resident() > most_resident_) throw Stop{PDS_OUT_OF_MEMORY};
}

void Limits::begin_slice(double seconds) {
    slice_end_ = Clock::now() + as_duration(seconds);
    slice_is_over_ = false;
}

void Limits::reserve(std::size_t bytes) {
    look();
    if (std::isfinite(most_resident_) && resident() + static_cast<double>(bytes) > most_resident_)
        throw Stop{PDS_OUT_OF_MEMORY};
}

}  // namespace pds
