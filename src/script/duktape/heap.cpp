#include "script/duktape/heap.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <utility>

#include "base/thread_scratch.h"

namespace script {

namespace {

// What is counted by the host at once.
constexpr size_t kCountedBytes = size_t{64} * 1024;
// About what the engine does between two looks at the time: 256 * 1024 steps.
constexpr int64_t kTicksOfSteps = 30'000;
constexpr int64_t kAllocationsPerTick = 4;
constexpr size_t kComparedPerTick = 16384;
constexpr size_t kComparedPerCall = 64;  // what a comparison costs beside its bytes
// A built-in function over a long array or text counts nothing; the call behind it sees the time.
constexpr int64_t kUncountedNs = 5'000'000;
constexpr int64_t kNsPerTick = 250;
// What is left of a thread's stack for the functions that a script calls last.
constexpr size_t kStackKept = size_t{256} * 1024;

// What a thread has of its own.
struct Thread {
    Heap* heap = nullptr;             // the one that it is in
    const char* stack_end = nullptr;  // its stack grows down to there
    int64_t stack_checks = 0;
    size_t compared = 0;    // bytes, not counted yet
    int64_t seen_ns = 0;    // by the coarse clock, when time was last counted
    int64_t worked_ns = 0;  // by the thread's own clock, then
};
Thread& this_thread() {
    return base::thread_scratch<Thread>();
}

int64_t ns_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Returns the ticks that the thread has worked since it was asked last, if that is long ago.
int64_t uncounted_ticks(Thread& thread) {
    const int64_t now = ns_of(CLOCK_MONOTONIC_COARSE);
    if (now - thread.seen_ns < kUncountedNs) return 0;
    const int64_t worked = ns_of(CLOCK_THREAD_CPUTIME_ID);
    const int64_t ticks = (worked - thread.worked_ns) / kNsPerTick;
    thread.seen_ns = now;
    thread.worked_ns = worked;
    return ticks;
}

const char* stack_end() {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    return static_cast<const char*>(lowest) + kStackKept;
}

// Makes a heap the thread's, while it is in scope: scripts run scripts by db.eval().
class Current {
  public:
    explicit Current(Heap* heap) : thread_(this_thread()), before_(thread_.heap) {
        thread_.heap = heap;
        if (thread_.stack_end == nullptr) thread_.stack_end = stack_end();
        uncounted_ticks(thread_);  // before the script
    }
    ~Current() { thread_.heap = before_; }

  private:
    Thread& thread_;
    Heap* const before_;
};

}  // namespace

Heap::Heap(const Host& host, size_t memory_max) : host_(host), memory_max_(memory_max) {
    const Current current(this);
    try {
        context_ = duk_create_heap(allocate, reallocate, release, this, fail);
    } catch (const duk_fatal_exception&) {
        context_ = nullptr;
    }
    if (context_ == nullptr) {
        release_all();
        if (end_) std::rethrow_exception(std::exchange(end_, nullptr));
        throw std::bad_alloc();
    }
}

Heap::~Heap() {
    release_all();
}

void Heap::release_all() noexcept {
    // Not block by block through the engine: it may have been left in the middle of something.
    for (Block* block = blocks_.after; block != &blocks_;) {
        Block* const next = block->after;
        std::free(block);
        block = next;
    }
    if (counted_ > 0) host_.give_back(counted_);
}

Heap& Heap::current() {
    return *this_thread().heap;
}

void Heap::enter(const std::function<void()>& call) {
    if (is_over_) host_.fail(kScriptError, "the script was ended before");
    const Current current(this);
    const duk_idx_t top = duk_get_top(context_);
    duk_int_t outcome = DUK_EXEC_SUCCESS;
    std::string text;
    try {
        outcome = duk_safe_call(context_, work, const_cast<std::function<void()>*>(&call), 0, 1);
        if (outcome != DUK_EXEC_SUCCESS) text = duk_safe_to_string(context_, -1);
        duk_set_top(context_, top);
    } catch (const duk_fatal_exception& fatal) {
        is_over_ = true;
        if (end_) std::rethrow_exception(std::exchange(end_, nullptr));
        text = fatal.what();
        outcome = DUK_EXEC_ERROR;
    }
    if (outcome != DUK_EXEC_SUCCESS) host_.fail(kScriptError, text);
}

duk_ret_t Heap::work(duk_context*, void* call) {
    try {
        (*static_cast<std::function<void()>*>(call))();
    } catch (const duk_fatal_exception&) {
        throw;
    } catch (const std::exception&) {
        current().end();
    }
    return 0;
}

void Heap::spend(int64_t ticks) {
    try {
        host_.spend(ticks);
    } catch (const std::exception&) {
        end();
    }
}

void Heap::pass_over_work() {
    uncounted_ticks(this_thread());
}

void Heap::end() {
    end_ = std::current_exception();
    throw duk_fatal_exception("ended");
}

void Heap::fail(void*, const char* text) {
    throw duk_fatal_exception(text);
}

// The engine collects its garbage and asks again where it gets none. If that does not help the
// script ends: one that went on would collect all the time.
bool Heap::take(size_t bytes) {
    constexpr int kRefusalsMax = 2;
    if (may_take(bytes)) {
        refusals_ = 0;
        return true;
    }
    if (++refusals_ > kRefusalsMax) fail(this, "the script needs more memory than it may have");
    return false;
}

bool Heap::may_take(size_t bytes) {
    if (bytes > memory_max_ - used_ || used_ > memory_max_) return false;
    const size_t needed = used_ + bytes;
    if (needed > counted_) {
        const size_t more = (needed - counted_ + kCountedBytes - 1) / kCountedBytes * kCountedBytes;
        try {
            host_.take(more);
        } catch (const std::bad_alloc&) {
            return false;
        }
        counted_ += more;
    }
    used_ = needed;
    return true;
}

void Heap::give_back(size_t bytes) {
    used_ -= bytes;
    if (counted_ - used_ < 4 * kCountedBytes) return;
    const size_t less = (counted_ - used_) / kCountedBytes * kCountedBytes - kCountedBytes;
    host_.give_back(less);
    counted_ -= less;
}

// A loop of a built-in function over a long array without elements allocates the names of these.
void Heap::count_allocation() {
    if (++allocations_ < kAllocationsPerTick * 64) return;
    allocations_ = 0;
    spend(64);
}

void* Heap::adopt(Block* block) {
    block->after = blocks_.after;
    block->before = &blocks_;
    block->after->before = block;
    blocks_.after = block;
    return block + 1;
}

void* Heap::allocate(void* self, duk_size_t bytes) {
    if (bytes == 0) return nullptr;
    auto& heap = *static_cast<Heap*>(self);
    if (&heap == this_thread().heap) heap.count_allocation();
    if (!heap.take(bytes + sizeof(Block))) return nullptr;
    auto* const block = static_cast<Block*>(std::malloc(bytes + sizeof(Block)));
    if (block == nullptr) {
        heap.give_back(bytes + sizeof(Block));
        return nullptr;
    }
    heap.used_ += malloc_usable_size(block) - bytes - sizeof(Block);
    return heap.adopt(block);
}

void* Heap::reallocate(void* self, void* p, duk_size_t bytes) {
    auto& heap = *static_cast<Heap*>(self);
    if (p == nullptr) return allocate(self, bytes);
    if (bytes == 0) {
        release(self, p);
        return nullptr;
    }
    Block* block = static_cast<Block*>(p) - 1;
    const size_t before = malloc_usable_size(block);
    const size_t after = bytes + sizeof(Block);
    // The old and the new block may both be there for a moment.
    if (after > before && !heap.take(after)) return nullptr;
    auto* const moved = static_cast<Block*>(std::realloc(block, after));
    if (after > before) heap.give_back(after);
    if (moved == nullptr) return nullptr;
    moved->before->after = moved;
    moved->after->before = moved;
    heap.used_ = heap.used_ - before + malloc_usable_size(moved);
    return moved + 1;
}

void Heap::release(void* self, void* p) {
    if (p == nullptr) return;
    Block* const block = static_cast<Block*>(p) - 1;
    block->before->after = block->after;
    block->after->before = block->before;
    static_cast<Heap*>(self)->give_back(malloc_usable_size(block));
    std::free(block);
}

}  // namespace script

extern "C" int script_check_time(void* heap) {
    // Steps that throw take longer than others.
    const int64_t worked = script::uncounted_ticks(script::this_thread());
    static_cast<script::Heap*>(heap)->spend(std::max(script::kTicksOfSteps, worked));
    return 0;
}

extern "C" int script_check_stack(void) {
    script::Thread& thread = script::this_thread();
    if (++thread.stack_checks >= 256) {
        thread.stack_checks = 0;
        if (thread.heap != nullptr) thread.heap->spend(256 / 4);
    }
    if (const int64_t ticks = script::uncounted_ticks(thread); ticks > 0 && thread.heap != nullptr)
        thread.heap->spend(ticks);
    return static_cast<const char*>(__builtin_frame_address(0)) < thread.stack_end ? 1 : 0;
}

extern "C" int script_compare_bytes(const void* a, const void* b, size_t bytes) {
    script::Thread& thread = script::this_thread();
    thread.compared += bytes + script::kComparedPerCall;
    if (thread.compared >= 64 * script::kComparedPerTick && thread.heap != nullptr) {
        const size_t ticks = std::exchange(thread.compared, 0) / script::kComparedPerTick;
        thread.heap->spend(static_cast<int64_t>(ticks));
    }
    return std::memcmp(a, b, bytes);
}
