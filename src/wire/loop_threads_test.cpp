#include "wire/loop_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <future>

#include "sched/blocking.h"
#include "sched/fault_point.h"

namespace wire {
namespace {

class LoopThreadsTest : public testing::Test {
  protected:
    explicit LoopThreadsTest(LoopThreads::PageWaits count = nullptr) {
        if (count != nullptr) threads_.count_page_waits(count);
        threads_.start({&loop_});
    }
    ~LoopThreadsTest() override { threads_.stop(); }

    void on_loop(const std::function<void()>& work) {
        std::promise<void> done;
        boost::asio::post(loop_.io(), [&] {
            work();
            done.set_value();
        });
        done.get_future().wait();
    }
    void serve_until_slow(const Wakeable& connection) {
        do {
            request_of(connection);
            on_loop([] { const sched::BlockingSection section; });
        } while (loop_.is_shared() || threads_.pace() == LoopThreads::Pace::fast);
    }
    void request_of(const Wakeable& connection) {
        on_loop([&] { loop_.note_request(&connection); });
    }

    struct Connection : Wakeable {
        void on_wake() override {}
    };
    Connection first_, second_;
    EventLoop loop_;
    LoopThreads threads_;
};

TEST_F(LoopThreadsTest, TheKeeperIsSlowForALoneConnection) {
    serve_until_slow(first_);
    for (int i = 0; i < 100; ++i) {
        request_of(first_);
        on_loop([&] {
            const sched::BlockingSection section;
            EXPECT_EQ(threads_.pace(), LoopThreads::Pace::slow);
        });
    }
}

TEST_F(LoopThreadsTest, TheKeeperIsFastWhileOthersMayWait) {
    for (int i = 0; i < 2; ++i) {
        request_of(first_);
        request_of(second_);
        on_loop([&] {
            const sched::BlockingSection section;
            EXPECT_EQ(threads_.pace(), LoopThreads::Pace::fast);
        });
        serve_until_slow(second_);
    }
}

// Its client may leave, or another one come.
TEST_F(LoopThreadsTest, ALoneLoopIsGivenAwayToo) {
    std::promise<void> served;
    on_loop([&] {
        const sched::BlockingSection section;
        boost::asio::post(loop_.io(), [&] { served.set_value(); });
        served.get_future().wait();
    });
}

// Each handler of these waits for a page.
class MissingPagesTest : public LoopThreadsTest {
  protected:
    static inline std::atomic<int64_t> waits_per_handler_{0};
    static int64_t count() {
        thread_local int64_t waits = 0;
        return waits += 64 * waits_per_handler_;
    }
    MissingPagesTest() : LoopThreadsTest(&count) {}
    ~MissingPagesTest() override { waits_per_handler_ = 0; }

    void serve(int handlers) {
        for (int i = 0; i < handlers; ++i) {
            request_of(i % 2 == 0 ? first_ : second_);
            on_loop([] { sched::FaultPoint::pass(); });
        }
    }
    // Whether the loop runs what is posted while a handler of it is behind a fault point. Without a
    // section, so the keeper does not help.
    bool is_given_away() {
        std::promise<void> served;
        auto served_later = served.get_future();
        bool given = false;
        request_of(first_);
        request_of(second_);
        on_loop([&] {
            sched::FaultPoint::pass();
            boost::asio::post(loop_.io(), [&] { served.set_value(); });
            given = !LoopThreads::settle();
            if (given) served_later.wait();
        });
        if (!given) served_later.wait();
        return given;
    }
};

TEST_F(MissingPagesTest, TheLoopIsKeptWhilePagesAreThere) {
    serve(300);
    EXPECT_FALSE(is_given_away());
}

TEST_F(MissingPagesTest, ItIsGivenAwayWhileTheyAreMissing) {
    waits_per_handler_ = 1;
    serve(300);
    EXPECT_TRUE(is_given_away());
    waits_per_handler_ = 0;
    serve(64 * 70);
    EXPECT_FALSE(is_given_away());
}

TEST_F(MissingPagesTest, ALoneClientKeepsIt) {
    waits_per_handler_ = 1;
    serve(300);
    serve_until_slow(first_);
    on_loop([&] {
        loop_.note_request(&first_);
        sched::FaultPoint::pass();
        EXPECT_TRUE(LoopThreads::settle());
    });
}

}  // namespace
}  // namespace wire
