// sched/testing/failing_memory.h - allocations that fail, for tests: operator new is replaced in
// every test program that can see this room, and asks here first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sched::test {

// The `nth` allocation from now on, of `bytes` or more, that the calling thread makes for an
// operation fails, once; those that nothing may end do not count. 0: none does, and returns whether
// the one before has failed.
bool fail_allocation(int64_t nth, size_t bytes = 0);
// Asked before every allocation of the process, whichever operation it belongs to; false: the
// system gives nothing. Null: none is asked.
void set_system(bool (*gives)(size_t bytes));

}  // namespace sched::test
