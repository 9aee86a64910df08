// storage/mmapv1/commit/commit_limits.h - how much one commit carries, in bytes.
//
// The changes of a commit are in memory several times: as private copies of the pages, in the
// buffer of operations, and compressed. The kernel can give up none of that, so a process that may
// have little memory commits more often.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mmapv1 {

struct CommitLimits {
    // Pages that wait for a commit: with more an operation commits by itself, and private copies
    // are thrown away (L of journal spec 1.6).
    uint64_t early_bytes = uint64_t{100} << 20;
    // Large documents that are written at the same time (write_admission.h).
    uint64_t admitted_bytes = 2 * early_bytes;
    // WriteCollector::changed_bytes(): from here on nothing is added that can be refused. The
    // journal's buffer holds three times as much.
    uint64_t most_bytes = uint64_t{1} << 30;

    // 0: as much as it needs. The usual limits hold from 6 GB on.
    static constexpr CommitLimits of_memory(int64_t memory_bytes) {
        CommitLimits limits;
        if (memory_bytes <= 0) return limits;
        const auto memory = static_cast<uint64_t>(memory_bytes);
        limits.early_bytes = std::min(limits.early_bytes, memory / 20);
        limits.admitted_bytes = 2 * limits.early_bytes;
        limits.most_bytes = std::min(limits.most_bytes, memory / 6);
        return limits;
    }
};

// One commit has room for the admitted bytes besides those that make an operation commit.
static_assert(CommitLimits{}.admitted_bytes + CommitLimits{}.early_bytes <
              CommitLimits{}.most_bytes);
static_assert(CommitLimits::of_memory(20).early_bytes == 1);
static_assert(CommitLimits::of_memory(60).admitted_bytes + CommitLimits::of_memory(60).early_bytes <
              CommitLimits::of_memory(60).most_bytes);

}  // namespace mmapv1
