#include "wire/loop_threads.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <future>

#include "sched/blocking.h"

namespace wire {
namespace {

class LoopThreadsTest : public testing::Test {
  protected:
    LoopThreadsTest() { threads_.start({&loop_}); }
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

}  // namespace
}  // namespace wire
