#include "wire/event_loop.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

namespace wire {

namespace {

namespace asio = boost::asio;

// A service of the context: it goes with the others, timers' among them.
struct Witness : asio::execution_context::service {
    explicit Witness(asio::execution_context& context)
        : asio::execution_context::service(context) {}
    ~Witness() override {
        if (gone != nullptr) *gone = true;
    }
    void shutdown() noexcept override {}

    static asio::execution_context::id id;
    bool* gone = nullptr;
};

asio::execution_context::id Witness::id;

// It has a timer of the context of the loop and lets another go on when it ends, as connections do.
struct Connection : Wakeable {
    Connection(EventLoop& loop, const bool& context_gone, int& ended)
        : loop_(loop), timer_(loop.io()), context_gone_(context_gone), ended_(ended) {}
    ~Connection() override {
        EXPECT_FALSE(context_gone_) << "its timer's service is gone";
        if (other != nullptr) loop_.wake(*other);
        ++ended_;
    }
    void on_wake() override {}

    Connection* other = nullptr;

  private:
    EventLoop& loop_;
    asio::steady_timer timer_;
    const bool& context_gone_;
    int& ended_;
};

class EventLoopTest : public testing::Test {
  protected:
    EventLoopTest() { asio::use_service<Witness>(loop_->io()).gone = &context_gone_; }

    std::shared_ptr<Connection> make() {
        return std::make_shared<Connection>(*loop_, context_gone_, ended_);
    }

    bool context_gone_ = false;
    int ended_ = 0;
    std::unique_ptr<EventLoop> loop_ = std::make_unique<EventLoop>();
};

TEST_F(EventLoopTest, WhoIsWokenAndNotToldGoesBeforeTheContext) {
    for (int i = 0; i < 3; ++i)
        loop_->wake(*make());
    EXPECT_EQ(ended_, 0) << "the list keeps them alive";
    loop_.reset();
    EXPECT_TRUE(context_gone_);
    EXPECT_EQ(ended_, 3);
}

TEST_F(EventLoopTest, WhoGoesWithTheContextWakesNone) {
    std::shared_ptr<Connection> first = make(), second = make();
    first->other = second.get();
    asio::post(loop_->io(), [kept = std::move(first)] {});
    asio::post(loop_->io(), [kept = std::move(second)] {});
    loop_->wake(*make());
    loop_.reset();
    EXPECT_EQ(ended_, 3);
}

}  // namespace

}  // namespace wire
