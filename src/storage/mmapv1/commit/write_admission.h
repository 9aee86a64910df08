// storage/mmapv1/commit/write_admission.h - which large documents may be written at the same time,
// so that one commit can carry all of them.
//
// A declaration is counted only when it leaves a thread's spool, and until then any number of
// threads may have seen little and begun. A thread that is about to write much therefore announces
// it first, and is rejected while the uncommitted bytes and those that others have announced are
// too many together: it then commits, for which all others have to end or to be rejected too.
#pragma once

#include <cstdint>
#include <mutex>

#include "storage/mmapv1/commit/commit_limits.h"

namespace mmapv1 {

class WriteAdmission {
  public:
    static constexpr int64_t kLargeBytes = 64 << 10;  // a thousand smaller ones at once do no harm
    // Documents from here on are refused while operations hold too much memory.
    static constexpr int64_t kMuchMemoryBytes = 1 << 20;

    explicit WriteAdmission(const CommitLimits& limits = {}) : limits_(limits) {}

    // Announces a document of that size for the calling thread, which has announced nothing. False:
    // too much is under way. A document larger than the limit is admitted alone.
    bool enter(int64_t document_bytes, uint64_t uncommitted_bytes);
    // Counts the bytes that the calling thread has announced, if any, as uncommitted from here on.
    // Returns them, for enter_again().
    uint64_t leave() { return t_announced_ == 0 ? 0 : leave_announced(); }
    // Announces them once more; 0 is always admitted.
    bool enter_again(uint64_t announced, uint64_t uncommitted_bytes);

    // Whether all operations together may hold such a document, too: its commit will. The system
    // gets what malloc keeps, as that needs pages which malloc has not.
    static bool has_memory(int64_t document_bytes);
    [[noreturn]] static void refuse_for_memory();

  private:
    static inline constinit thread_local uint64_t t_announced_ = 0;  // by the calling thread

    uint64_t leave_announced();

    const CommitLimits limits_;
    std::mutex mutex_;
    uint64_t under_way_ = 0;  // guarded by mutex_
};

}  // namespace mmapv1
