// script/duktape/heap.h - the memory and the time of a context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>

#include "script/duktape/engine.h"
#include "script/script.h"

namespace script {

// An engine's heap. Whatever ends its script, its memory goes back with it: a heap in which a
// script was ended is never entered again, since the engine may have been in the middle of
// anything.
class Heap {
  public:
    // Throws std::bad_alloc.
    Heap(const Host& host, size_t memory_max);
    ~Heap();
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;

    const Host& host() const { return host_; }
    duk_context* context() { return context_; }
    // The heap that the calling thread is in.
    static Heap& current();

    // Does what uses the engine, and may throw what the engine throws. Throws kScriptError where a
    // script threw, and what ended it otherwise. Leaves the stack of values as it was.
    void enter(const std::function<void()>& work);

    // Counts time, in ticks. Ends the script where it is over.
    void spend(int64_t ticks);
    // The work since the last look at the time has been counted by others.
    static void pass_over_work();
    // Ends the script with the exception that is being handled.
    [[noreturn]] void end();
    // The code of what ends a script whose values have an expression with other flags.
    int flags_code() const { return flags_code_; }
    void set_flags_code(int code) { flags_code_ = code; }
    // How many bytes it holds.
    size_t used() const { return used_; }

  private:
    struct Block {
        Block* before;
        Block* after;
    };
    static void* allocate(void* heap, duk_size_t bytes);
    static void* reallocate(void* heap, void* p, duk_size_t bytes);
    static void release(void* heap, void* p);
    [[noreturn]] static void fail(void* heap, const char* text);
    static duk_ret_t work(duk_context* context, void* call);

    void release_all() noexcept;
    bool take(size_t bytes);
    bool may_take(size_t bytes);
    void give_back(size_t bytes);
    void* adopt(Block* block);
    void count_allocation();

    const Host& host_;
    const size_t memory_max_;
    size_t used_ = 0;
    size_t counted_ = 0;  // by the host
    int64_t allocations_ = 0;
    int refusals_ = 0;
    int flags_code_ = kScriptError;
    bool is_over_ = false;
    std::exception_ptr end_;
    Block blocks_{&blocks_, &blocks_};
    duk_context* context_ = nullptr;
};

}  // namespace script
