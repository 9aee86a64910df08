#include "storage/mmapv1/commit/write_admission.h"

#include <utility>

namespace mmapv1 {

// The record and its keys.
bool WriteAdmission::enter(int64_t document_bytes, uint64_t uncommitted_bytes) {
    return enter_again(2 * static_cast<uint64_t>(document_bytes), uncommitted_bytes);
}

bool WriteAdmission::enter_again(uint64_t announced, uint64_t uncommitted_bytes) {
    if (announced == 0) return true;
    const std::lock_guard lock(mutex_);
    const uint64_t before = uncommitted_bytes + under_way_;
    if (before > 0 && before + announced > kBytesMax) return false;
    under_way_ += announced;
    t_announced_ = announced;
    return true;
}

uint64_t WriteAdmission::leave_announced() {
    const uint64_t announced = std::exchange(t_announced_, 0);
    const std::lock_guard lock(mutex_);
    under_way_ -= announced;
    return announced;
}

}  // namespace mmapv1
