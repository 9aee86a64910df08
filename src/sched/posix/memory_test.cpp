#include "sched/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "base/process_memory.h"
#include "sched/counted.h"
#include "sched/memory_metrics.h"
#include "sched/operation.h"
#include "sched/testing/failing_memory.h"

namespace sched {
namespace {

struct Release {
    void operator()(void* p) const { memory::release(p); }
};
using Block = std::unique_ptr<void, Release>;
using Uncounted = std::unique_ptr<char[]>;

// Blocks until there are no more.
std::vector<Block> take_all(size_t bytes, memory::Reserve reserve = memory::Reserve::as_needed) {
    std::vector<Block> blocks;
    blocks.reserve(1 << 16);
    try {
        for (;;)
            blocks.emplace_back(memory::reallocate(nullptr, bytes, reserve));
    } catch (const std::bad_alloc&) {
    }
    return blocks;
}

std::vector<Uncounted> take_all_uncounted(size_t bytes) {
    std::vector<Uncounted> blocks;
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
    // Until it is kept anew, an operation gets little, and what arrives too.
    {
        const Operation::Scope scope(&operation);
        check(take_all(kLarge).size() * kLarge <= 1024 * 1024, 5);
    }
    check(take_all(2 * 1024 * 1024, memory::Reserve::never).empty(), 6);
    memory::keep_reserve();
    {
        const Operation::Scope scope(&operation);
        taken = take_all(kLarge);
        check(taken.size() * kLarge > 1024 * 1024, 7);
    }
    check(take_all(kLarge, memory::Reserve::never).empty(), 8);
    // This memory is of no operation.
    check(take_all_uncounted(kLarge).size() * kLarge >= memory::kReserveBytes / 2, 4);
    std::_Exit(0);
}

// Whether the system limits the address space. In an emulated process setrlimit() may succeed and
// limit nothing; the test would then take all memory of the machine.
bool limits_address_space() {
    rlimit before{};
    if (::getrlimit(RLIMIT_AS, &before) != 0) return false;
    const rlimit asked{std::min(before.rlim_max, rlim_t{1} << 46), before.rlim_max};
    rlimit got{};
    const bool limited = ::setrlimit(RLIMIT_AS, &asked) == 0 && ::getrlimit(RLIMIT_AS, &got) == 0 &&
                         got.rlim_cur == asked.rlim_cur;
    return ::setrlimit(RLIMIT_AS, &before) == 0 && limited;
}

TEST(Memory, WhatMustNotFailGetsWhatWasKeptBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer needs its address space";
#endif
    if (!limits_address_space()) GTEST_SKIP() << "the address space cannot be limited here";
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
        std::vector<Uncounted> blocks;
        for (size_t i = 0; i < 200 * kMegabyte / kBytes; ++i) {
            blocks.push_back(std::make_unique<char[]>(kBytes));
            std::fill_n(blocks.back().get(), kBytes, 'x');
        }
        const Uncounted last = std::make_unique<char[]>(100);
        blocks.clear();
        memory::give_back_unused();
        EXPECT_LT(base::process_memory().own(), before + 40 * kMegabyte) << round;
    }
}

int64_t held() {
    const int64_t now = memory::enter(0, true);
    memory::enter(now, true);
    return now;
}

TEST(Memory, WhatAThreadFreesIsCountedWhenItEnds) {
    constexpr size_t kBytes = 600 * 1024;  // less than what a thread tells at once
    for (int i = 0; i < 300; ++i) {
        Bytes block = make_bytes(kBytes);
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
        EXPECT_NO_THROW(make_bytes(2 << 20));
        EXPECT_FALSE(memory::is_scarce());
    }
    memory::set_limits(memory::kOperationBytes, memory::kAllBytes);
}

TEST(Memory, WhatGrowsCountsAndCanBeRefused) {
    constexpr size_t kBytes = size_t{100} << 20;
    struct Node : Counted {
        char bytes[kBytes];
    };
    struct Form {
        const char* name;
        void (*take)(const std::function<void()>& with);
    };
    const Form forms[] = {
        {"a block",
         [](const auto& with) {
             const Bytes block = make_bytes(kBytes);
             with();
         }},
        {"a vector",
         [](const auto& with) {
             Vector<char> vector;
             vector.reserve(kBytes);
             with();
         }},
        {"a string",
         [](const auto& with) {
             String string;
             string.reserve(kBytes);
             with();
         }},
        {"a node",
         [](const auto& with) {
             const std::unique_ptr<Node> node(new Node);
             with();
         }},
        {"a charge",
         [](const auto& with) {
             Charge charge(kBytes / 2);
             charge.add(kBytes / 2);
             const Charge moved = std::move(charge);
             with();
         }},
        {"what is reallocated",
         [](const auto& with) {
             Block block(memory::reallocate(nullptr, 1000));
             void* const larger = memory::reallocate(block.get(), kBytes);
             static_cast<void>(block.release());
             block.reset(larger);
             with();
         }},
    };
    Operation operation;
    operation.start();
    const Operation::Scope scope(&operation);
    for (const Form& form : forms) {
        const int64_t before = held();
        int64_t with = before;
        form.take([&] { with = held(); });
        EXPECT_GE(with, before + static_cast<int64_t>(kBytes)) << form.name;
        EXPECT_EQ(held(), before) << form.name;

        memory::set_limits(kBytes / 2, memory::kAllBytes);
        EXPECT_THROW(form.take([] {}), memory::LimitExceeded) << form.name;
        EXPECT_LT(held(), before + 4096) << form.name;
        memory::set_limits(memory::kOperationBytes, memory::kAllBytes);
    }
}

TEST(Memory, AMappedBlockIsThereOnceWhileItGrows) {
    constexpr size_t kBytes = size_t{15} << 20;
    memory::keep_reserve();  // from here on malloc maps it
    memory::set_limits(kBytes / 2 * 5, memory::kAllBytes);
    Operation operation;
    operation.start();
    const Operation::Scope scope(&operation);
    Block block(memory::reallocate(nullptr, kBytes));
    const auto grow_to = [&block](size_t bytes) {
        void* const larger = memory::reallocate(block.get(), bytes);
        static_cast<void>(block.release());
        block.reset(larger);
    };
    EXPECT_NO_THROW(grow_to(2 * kBytes));
    EXPECT_THROW(grow_to(3 * kBytes), memory::LimitExceeded);
    memory::set_limits(memory::kOperationBytes, memory::kAllBytes);
}

// Threads of a server stay there for the next client.
TEST(Memory, WhatIdleThreadsHaveGivenBackIsFree) {
    constexpr size_t kBytes = 900 * 1024;
    constexpr int kThreads = 24;
    constexpr int64_t kAll = int64_t{40} << 20;
    memory::set_limits(memory::kOperationBytes, kAll);
    Operation operation;
    operation.start();
    const Operation::Scope scope(&operation);
    std::latch given_back(kThreads), end(1);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        memory::count_taken(kBytes);
        threads.emplace_back([&] {
            memory::count_released(kBytes);
            given_back.count_down();
            end.wait();
        });
    }
    given_back.wait();
    EXPECT_TRUE(memory::may_hold_more(kAll / 10 * 9));
    end.count_down();
    for (std::thread& thread : threads)
        thread.join();
    memory::set_limits(memory::kOperationBytes, memory::kAllBytes);
}

// Tests of other rooms count on this.
TEST(Memory, ItsAllocationsCanFail) {
    constexpr size_t kBytes = 100 * 1024;
    Operation operation;
    operation.start();
    const Operation::Scope scope(&operation);
    test::fail_allocation(2, kBytes);
    EXPECT_NO_THROW(std::make_unique<char[]>(kBytes));
    EXPECT_NO_THROW(std::make_unique<char[]>(kBytes / 2));
    EXPECT_THROW(std::make_unique<char[]>(kBytes), std::bad_alloc);
    EXPECT_NO_THROW(std::make_unique<char[]>(kBytes));
    EXPECT_TRUE(test::fail_allocation(1, kBytes));
    EXPECT_THROW(memory::reallocate(nullptr, kBytes), std::bad_alloc);
    EXPECT_TRUE(test::fail_allocation(0));
}

}  // namespace
}  // namespace sched
