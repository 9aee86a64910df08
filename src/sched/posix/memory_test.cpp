#include "sched/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/process_memory.h"
#include "sched/operation.h"

namespace sched {
namespace {

using Block = std::unique_ptr<char[]>;

// Blocks until the system gives no more.
std::vector<Block> take_all(size_t bytes) {
    std::vector<Block> blocks;
    blocks.reserve(1 << 16);
    try {
        for (;;)
            blocks.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    } catch (const std::bad_alloc&) {
    }
    return blocks;
}

// Ends the process: 0 if all is as it should be.
[[noreturn]] void live_without_memory() {
    constexpr size_t kLarge = 256 * 1024;
    const auto check = [](bool holds, int number) {
        if (!holds) std::_Exit(number);
    };
    // The system is to refuse, and not a limit of ours before it.
    memory::set_limits(int64_t{1} << 40, int64_t{1} << 40);
    memory::keep_reserve();
    const rlimit limit{base::process_memory().address_space + 64 * 1024 * 1024, RLIM_INFINITY};
    check(::setrlimit(RLIMIT_AS, &limit) == 0, 1);
    Operation operation;
    operation.start();
    std::vector<Block> taken;
    {
        const Operation::Scope scope(&operation);
        taken = take_all(kLarge);
        check(!taken.empty(), 2);
        // Unwinding the operation, and a write that has begun.
        const Uninterruptible whole;
        check(take_all(kLarge).size() * kLarge >= memory::kReserveBytes / 2, 3);
    }
    taken.clear();
    memory::keep_reserve();
    {
        const Operation::Scope scope(&operation);
        taken = take_all(kLarge);
    }
    // What is not of an operation.
    check(take_all(kLarge).size() * kLarge >= memory::kReserveBytes / 2, 4);
    std::_Exit(0);
}

TEST(Memory, WhatMustNotFailGetsWhatWasKeptBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer needs its address space";
#endif
    EXPECT_EXIT(live_without_memory(), testing::ExitedWithCode(0), "");
}

TEST(Memory, WhatIsFreeBetweenBlocksGoesBackToTheSystem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "malloc is the sanitizer's";
#endif
    constexpr size_t kBytes = size_t{50} * 1024;
    constexpr size_t kMegabyte = size_t{1024} * 1024;
    const size_t before = base::process_memory().own();
    for (int round = 0; round < 3; ++round) {
        std::vector<Block> blocks;
        for (size_t i = 0; i < 200 * kMegabyte / kBytes; ++i) {
            blocks.push_back(std::make_unique<char[]>(kBytes));
            std::fill_n(blocks.back().get(), kBytes, 'x');
        }
        const Block last = std::make_unique<char[]>(100);
        blocks.clear();
        memory::give_back_unused();
        EXPECT_LT(base::process_memory().own(), before + 40 * kMegabyte) << round;
    }
}

// One way to write it: what allocates, and what frees that.
struct Form {
    const char* name;
    void* (*take)(size_t bytes);
    void (*give)(void* p, size_t bytes);
};

constexpr std::align_val_t kAligned{64};
constexpr auto kPlain = [](void* p, size_t) { ::operator delete(p); };
constexpr auto kPlainArray = [](void* p, size_t) { ::operator delete[](p); };

constexpr Form kForms[] = {
    {"new", [](size_t n) { return ::operator new(n); }, kPlain},
    {"new, nothrow", [](size_t n) { return ::operator new(n, std::nothrow); }, kPlain},
    {"new, nothrow twice", [](size_t n) { return ::operator new(n, std::nothrow); },
     [](void* p, size_t) { ::operator delete(p, std::nothrow); }},
    {"new, aligned", [](size_t n) { return ::operator new(n, kAligned); },
     [](void* p, size_t) { ::operator delete(p, kAligned); }},
    {"new, aligned, nothrow", [](size_t n) { return ::operator new(n, kAligned, std::nothrow); },
     [](void* p, size_t) { ::operator delete(p, kAligned, std::nothrow); }},
    {"new[]", [](size_t n) { return ::operator new[](n); }, kPlainArray},
    {"new[], nothrow", [](size_t n) { return ::operator new[](n, std::nothrow); }, kPlainArray},
    {"new[], nothrow twice", [](size_t n) { return ::operator new[](n, std::nothrow); },
     [](void* p, size_t) { ::operator delete[](p, std::nothrow); }},
    {"new[], aligned", [](size_t n) { return ::operator new[](n, kAligned); },
     [](void* p, size_t) { ::operator delete[](p, kAligned); }},
    {"new[], aligned, nothrow",
     [](size_t n) { return ::operator new[](n, kAligned, std::nothrow); },
     [](void* p, size_t) { ::operator delete[](p, kAligned, std::nothrow); }},
#if defined(__cpp_sized_deallocation)
    {"new, sized", [](size_t n) { return ::operator new(n); },
     [](void* p, size_t n) { ::operator delete(p, n); }},
    {"new, aligned and sized", [](size_t n) { return ::operator new(n, kAligned); },
     [](void* p, size_t n) { ::operator delete(p, n, kAligned); }},
    {"new[], sized", [](size_t n) { return ::operator new[](n); },
     [](void* p, size_t n) { ::operator delete[](p, n); }},
    {"new[], aligned and sized", [](size_t n) { return ::operator new[](n, kAligned); },
     [](void* p, size_t n) { ::operator delete[](p, n, kAligned); }},
#endif
};

int64_t held() {
    const int64_t now = memory::enter(0, true);
    memory::enter(now, true);
    return now;
}

TEST(Memory, WhatAThreadFreesIsCountedWhenItEnds) {
    constexpr size_t kBytes = 600 * 1024;  // less than what a thread tells at once
    for (int i = 0; i < 300; ++i) {
        auto block = std::make_unique_for_overwrite<char[]>(kBytes);
        std::thread([&block] {
            Operation operation;
            operation.start();
            const Operation::Scope scope(&operation);
            block.reset();
        }).join();
    }
    memory::set_limits(memory::kOperationBytes, 128 << 20);
    Operation operation;
    operation.start();
    {
        const Operation::Scope scope(&operation);
        EXPECT_NO_THROW(std::make_unique_for_overwrite<char[]>(2 << 20));
        EXPECT_FALSE(memory::is_scarce());
    }
    memory::set_limits(memory::kOperationBytes, memory::kAllBytes);
}

// A sanitizer has such functions of its own, of which those that are not replaced count nothing.
TEST(Memory, EveryFormOfNewCountsAndCanBeRefused) {
    constexpr size_t kBytes = 100 * 1024;
    Operation operation;
    operation.start();
    const Operation::Scope scope(&operation);
    for (const Form& form : kForms) {
        const int64_t before = held();
        void* p = form.take(kBytes);
        const int64_t with = held();
        form.give(p, kBytes);
        const int64_t after = held();
        EXPECT_GE(with, before + static_cast<int64_t>(kBytes)) << form.name;
        EXPECT_EQ(after, before) << form.name;

        memory::fail_allocation(1, kBytes);
        try {
            p = form.take(kBytes);
        } catch (const std::bad_alloc&) {
            p = nullptr;
        }
        EXPECT_TRUE(memory::fail_allocation(0)) << form.name;
        EXPECT_EQ(p, nullptr) << form.name;
        form.give(p, kBytes);
    }
}

}  // namespace
}  // namespace sched
