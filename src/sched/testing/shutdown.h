// sched/testing/shutdown.h - for tests: a shutdown that does not end the process.
#pragma once

#include <atomic>

namespace sched {

extern std::atomic<bool> g_shutting_down;  // sched/operation.cpp

namespace test {

// Takes Operation::interrupt_all() back.
inline void end_shutdown() {
    g_shutting_down.store(false);
}

}  // namespace test
}  // namespace sched
