// journal/waiting_writes.h - what is in the journal and waits to be stored into the data files, for
// reports.
#pragma once

#include <atomic>
#include <cstdint>

namespace journal {

// Of this process; all 0 where each commit stores what it has written.
struct WaitingWrites {
    std::atomic<int64_t> private_bytes{0};  // copied pages of private views, now
    std::atomic<int64_t> stored_bytes{0};   // of what has waited, into the shared views
    std::atomic<int64_t> early_flushes{0};  // begun since the private copies were too many
};

inline WaitingWrites waiting_writes;

}  // namespace journal
