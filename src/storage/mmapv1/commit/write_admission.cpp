#include "storage/mmapv1/commit/write_admission.h"

#include <utility>

#include "base/dcheck.h"
#include "sched/memory.h"
#include "sched/memory_metrics.h"

namespace mmapv1 {

bool WriteAdmission::has_memory(int64_t document_bytes) {
    if (document_bytes < kMuchMemoryBytes) return true;
    sched::memory::give_back_unused();
    return sched::memory::may_hold_more(static_cast<size_t>(document_bytes));
}

void WriteAdmission::refuse_for_memory() {
    throw sched::memory::LimitExceeded();
}

// The record and its keys.
bool WriteAdmission::enter(int64_t document_bytes, uint64_t uncommitted_bytes) {
    DCHECK(document_bytes > 0);
    return enter_again(2 * static_cast<uint64_t>(document_bytes), uncommitted_bytes);
}

bool WriteAdmission::enter_again(uint64_t announced, uint64_t uncommitted_bytes) {
    DCHECK(t_announced_ == 0);
    if (announced == 0) return true;
    const std::lock_guard lock(mutex_);
    const uint64_t before = uncommitted_bytes + under_way_;
    if (before > 0 && before + announced > limits_.admitted_bytes) return false;
    under_way_ += announced;
    t_announced_ = announced;
    return true;
}

uint64_t WriteAdmission::leave_announced() {
    const uint64_t announced = std::exchange(t_announced_, 0);
    const std::lock_guard lock(mutex_);
    DCHECK(announced > 0 && announced <= under_way_);
    under_way_ -= announced;
    return announced;
}

}  // namespace mmapv1
