// sched/interruption.h - errors that say that an operation was interrupted.
//
// Handlers that give an error another meaning, or go on without what failed, ask here first.
#pragma once

#include <fmt/core.h>

#include <utility>

#include "base/error.h"

namespace sched {

// Whether Operation::check_interrupt has thrown the error: its time is over, killOp, a shutdown.
// The error says nothing about what the operation was doing.
inline bool is_interruption(const base::Error& error) {
    return error.code() == base::kExceededTimeLimit || error.code() == base::kInterrupted ||
           error.code() == base::kInterruptedAtShutdown;
}

// Whether the work was ended, so that nothing is known of what it was about: by an interruption, or
// beyond its limit (sched/work_limit.h).
inline bool is_end_of_work(const base::Error& error) {
    return is_interruption(error) || error.code() == base::kWorkLimitExceeded;
}

// Throws the error that `cause` is one level up, with a code and a text of its own. An end of work
// stays what it is, since clients act on its code.
template <typename... Args>
[[noreturn]] void fail_because(const base::Error& cause, int code,
                               fmt::format_string<Args...> format, Args&&... args) {
    if (is_end_of_work(cause)) throw base::Error(cause);
    throw base::Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace sched
