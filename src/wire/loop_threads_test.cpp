#include "wire/loop_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <future>

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
            on_loop([] { LoopThreads::begin_call(); });
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
            LoopThreads::begin_call();
            EXPECT_EQ(threads_.pace(), LoopThreads::Pace::slow);
        });
    }
}

TEST_F(LoopThreadsTest, TheKeeperIsFastWhileOthersMayWait) {
    for (int i = 0; i < 2; ++i) {
        request_of(first_);
        request_of(second_);
        on_loop([&] {
            LoopThreads::begin_call();
            EXPECT_EQ(threads_.pace(), LoopThreads::Pace::fast);
        });
        serve_until_slow(second_);
    }
}

// Its client may leave, or another one come.
TEST_F(LoopThreadsTest, ALoneLoopIsGivenAwayToo) {
    std::promise<void> served;
    on_loop([&] {
        LoopThreads::begin_call();
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
            on_loop([] { pass_in_call(); });
        }
    }
    static void pass_in_call() {
        LoopThreads::begin_call();
        sched::FaultPoint::pass();
    }
    // A thread that has to wait for a processor may lose its loop to the keeper, but not each time.
    bool is_kept() {
        for (int i = 0; i < 10; ++i)
            if (!is_given_away()) return true;
        return false;
    }
    // Whether the loop runs what is posted while a handler of it is behind a fault point.
    bool is_given_away() {
        std::promise<void> served;
        auto served_later = served.get_future();
        bool given = false;
        request_of(first_);
        request_of(second_);
        on_loop([&] {
            pass_in_call();
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
    EXPECT_TRUE(is_kept());
}

TEST_F(MissingPagesTest, ItIsGivenAwayWhileTheyAreMissing) {
    waits_per_handler_ = 1;
    serve(300);
    EXPECT_TRUE(is_given_away());
    waits_per_handler_ = 0;
    serve(64 * 70);
    EXPECT_TRUE(is_kept());
}

TEST_F(MissingPagesTest, ALoneClientKeepsIt) {
    waits_per_handler_ = 1;
    serve(300);
    serve_until_slow(first_);
    on_loop([&] {
        loop_.note_request(&first_);
        pass_in_call();
        EXPECT_TRUE(LoopThreads::settle());
    });
}

}  // namespace
}  // namespace wire
