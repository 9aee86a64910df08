#include "sched/compute_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "sched/operation.h"

namespace sched {
namespace {

void compute_until_long() {
    while (!is_long())
        tick(1000);
}

template <typename Condition>
void wait_until(Condition condition) {
    while (!condition())
        std::this_thread::yield();
}

// A long operation on a thread of its own, which asks for a slot and keeps it until it is stopped.
class Long {
  public:
    explicit Long(std::vector<const Long*>* order = nullptr)
        : thread_([this, order] { run(order); }) {}
    ~Long() { end(); }
    Long(const Long&) = delete;
    Long& operator=(const Long&) = delete;

    bool computes() const { return computes_.load(); }
    bool returned() const { return returned_.load(); }
    void kill() { operation_.kill(operation_.id()); }
    int error() const { return error_.load(); }
    void end() {
        ended_.store(true);
        if (thread_.joinable()) thread_.join();
    }

  private:
    void run(std::vector<const Long*>* order) {
        operation_.start();
        const Operation::Scope scope(&operation_);
        compute_until_long();
        if (ComputeSlots::must_yield()) ComputeSlots::yield_slot();
        try {
            Operation::check();
            if (order != nullptr) {
                static std::mutex mutex;
                const std::lock_guard lock(mutex);
                order->push_back(this);
            }
            computes_.store(true);
        } catch (const base::Error& error) {
            error_.store(error.code());
        }
        returned_.store(true);
        wait_until([this] { return ended_.load(); });
    }

    Operation operation_;
    std::atomic<bool> computes_{false}, returned_{false}, ended_{false};
    std::atomic<int> error_{0};
    std::thread thread_;
};

// Holds all slots while it exists.
class Full {
  public:
    Full() {
        for (int i = 0; i < ComputeSlots::capacity(); ++i)
            long_.emplace_back();
        for (const Long& each : long_)
            wait_until([&] { return each.computes(); });
    }
    void end_one() {
        long_.front().end();
        long_.pop_front();
    }

  private:
    std::deque<Long> long_;
};

TEST(ComputeSlots, ShortOperationsNeedNoSlot) {
    Full full;
    Operation operation;
    operation.start();
    const Operation::Scope scope(&operation);
    EXPECT_FALSE(ComputeSlots::must_yield());
    ComputeSlots::yield_slot();
    compute_until_long();
    EXPECT_TRUE(ComputeSlots::must_yield());
}

TEST(ComputeSlots, TheLongestWaiterIsNext) {
    Full full;
    std::vector<const Long*> order;
    std::deque<Long> waiting;
    constexpr int kWaiting = 3;
    for (int i = 1; i <= kWaiting; ++i) {
        waiting.emplace_back(&order);
        wait_until([i] { return ComputeSlots::waiting() == i; });
    }
    EXPECT_TRUE(order.empty());
    for (int i = 0; i < kWaiting; ++i) {
        full.end_one();
        wait_until([&] { return waiting[i].computes(); });
        EXPECT_EQ(ComputeSlots::waiting(), kWaiting - 1 - i);
    }
    ASSERT_EQ(order.size(), kWaiting);
    for (int i = 0; i < kWaiting; ++i)
        EXPECT_EQ(order[i], &waiting[i]);
}

TEST(ComputeSlots, AKilledOperationWaitsNoLonger) {
    Full full;
    Long one;
    wait_until([] { return ComputeSlots::waiting() == 1; });
    one.kill();
    wait_until([&] { return one.returned(); });
    EXPECT_EQ(one.error(), 11601);
    EXPECT_EQ(ComputeSlots::waiting(), 0);
    Long other;
    wait_until([] { return ComputeSlots::waiting() == 1; });
    full.end_one();
    wait_until([&] { return other.computes(); });
}

TEST(ComputeSlots, ASlotIsHandedOnWhereOthersWait) {
    Full full;
    full.end_one();
    Operation operation;
    operation.start();
    const Operation::Scope scope(&operation);
    compute_until_long();
    EXPECT_FALSE(ComputeSlots::must_yield()) << "the last slot was free";
    EXPECT_FALSE(ComputeSlots::must_yield()) << "no operation waits";
    Long other;
    wait_until([] { return ComputeSlots::waiting() == 1; });
    wait_until([] { return ComputeSlots::must_yield(); });
    std::thread later([&] {
        wait_until([&] { return other.computes(); });
        other.end();
    });
    ComputeSlots::yield_slot();
    EXPECT_TRUE(other.returned());
    EXPECT_FALSE(ComputeSlots::must_yield());
    later.join();
}

TEST(ComputeSlots, LeavingTheOperationReleasesItsSlot) {
    Full full;
    full.end_one();
    Operation operation;
    operation.start();
    {
        const Operation::Scope scope(&operation);
        compute_until_long();
        EXPECT_FALSE(ComputeSlots::must_yield());
    }
    Long other;
    wait_until([&] { return other.computes(); });
    EXPECT_EQ(ComputeSlots::waiting(), 0);
}

}  // namespace
}  // namespace sched
