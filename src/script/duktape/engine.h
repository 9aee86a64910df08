// script/duktape/engine.h - the engine: Duktape, from the sources that Debian's duktape-dev has for
// programs that compile it with settings of their own.
//
// Its errors are C++ exceptions here, so that our functions may hold what has a destructor. One of
// them, duk_fatal_exception, passes through everything that a script could catch: with it a script
// ends.
#pragma once
#pragma GCC system_header

#include <exception>
#include <stdexcept>

#include </usr/share/duktape/duk_config.h>

// Ends the calling thread's script by an exception when its time is over. Returns 0.
extern "C" int script_check_time(void* heap);
// Whether the calling thread's stack is nearly used up; counts time, too.
extern "C" int script_check_stack(void);
// As memcmp, but counts time.
extern "C" int script_compare_bytes(const void* a, const void* b, size_t bytes);

#define DUK_USE_CPP_EXCEPTIONS
#define DUK_USE_INTERRUPT_COUNTER
#define DUK_USE_EXEC_TIMEOUT_CHECK(heap) script_check_time(heap)
#define DUK_USE_NATIVE_STACK_CHECK() script_check_stack()
#undef DUK_MEMCMP
#define DUK_MEMCMP script_compare_bytes
#undef DUK_USE_PROVIDE_DEFAULT_ALLOC_FUNCTIONS
// A function that calls itself last uses the stack up, as others do.
#undef DUK_USE_TAILCALL

// What its errors are, for all files.
#define DUK_EXCEPTION_H_INCLUDED
class duk_internal_exception {};
class duk_fatal_exception : public std::runtime_error {
  public:
    explicit duk_fatal_exception(const char* text) : std::runtime_error(text) {}
};

#include </usr/share/duktape/duktape.h>
