#include "command/access/login_delays.h"

#include <gtest/gtest.h>

#include <memory>

namespace command {
namespace {

using namespace std::chrono_literals;

class LoginDelaysTest : public testing::Test {
  protected:
    void fail(const std::string& user, const std::string& remote, int times) {
        for (int i = 0; i < times; ++i)
            delays_->failed(user, remote, now_);
    }
    std::chrono::milliseconds wait(const std::string& user, const std::string& remote) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
            delays_->reserve_attempt(user, remote, now_) - now_);
    }

    const std::unique_ptr<LoginDelays> delays_ = std::make_unique<LoginDelays>();
    LoginDelays::Clock::time_point now_ = LoginDelays::Clock::now();
};

TEST_F(LoginDelaysTest, AUserNameIsCountedOverAllAddresses) {
    int last = 0;
    for (int i = 0; i < 20; ++i) {
        const std::string remote = "10.0.0." + std::to_string(i) + ":1000";
        last = delays_->failed("admin.root", remote, now_);
        EXPECT_EQ(last, std::max(0, i + 1 - LoginDelays::kFreeOfUser)) << i;
    }
    EXPECT_EQ(delays_->failed("admin.other", "10.1.0.1:1", now_), 0);
    EXPECT_EQ(wait("admin.other", "10.1.0.1:1"), 0ms);
    // Attempts are spaced, from any address.
    EXPECT_EQ(wait("admin.root", "10.2.0.1:1"), 0ms);
    EXPECT_EQ(wait("admin.root", "10.2.0.2:1"), LoginDelays::kAttemptInterval);
    EXPECT_EQ(wait("admin.root", "10.2.0.3:1"), 2 * LoginDelays::kAttemptInterval);
    for (int i = 0; i < 1000; ++i)
        EXPECT_LE(wait("admin.root", "10.2.0.4:1"), LoginDelays::kWaitMax);
    EXPECT_EQ(wait("admin.root", "10.2.0.4:1"), LoginDelays::kWaitMax);
}

TEST_F(LoginDelaysTest, AnAddressIsCountedOverAllUsersAndPorts) {
    for (int i = 0; i < 100; ++i)
        delays_->failed("admin.user" + std::to_string(i), "10.0.0.1:" + std::to_string(i), now_);
    EXPECT_GT(delays_->failed("admin.new", "10.0.0.1:7", now_), 50);
    wait("admin.new", "10.0.0.1:8");
    EXPECT_GT(wait("admin.new", "10.0.0.1:9"), 0ms);
    EXPECT_EQ(wait("admin.new", "10.0.0.2:9"), 0ms);
}

TEST_F(LoginDelaysTest, OfIPv6HalfAnAddressCounts) {
    for (int i = 0; i < 100; ++i)
        delays_->failed("a." + std::to_string(i), "2001:db8:1:2::" + std::to_string(i) + ":99",
                        now_);
    EXPECT_GT(delays_->failed("a.x", "2001:db8:1:2:ffff::1:99", now_), 50);
    EXPECT_EQ(delays_->failed("a.y", "2001:db8:1:3::1:99", now_), 0);
}

TEST_F(LoginDelaysTest, FailuresAreForgotten) {
    fail("admin.root", "10.0.0.1:1", 64);
    now_ += LoginDelays::kHalfLife;
    EXPECT_NEAR(delays_->failed("admin.root", "10.0.0.1:1", now_), 33 - LoginDelays::kFreeOfUser,
                1);
    now_ += 20 * LoginDelays::kHalfLife;
    EXPECT_EQ(delays_->failed("admin.root", "10.0.0.1:1", now_), 0);
    EXPECT_EQ(wait("admin.root", "10.0.0.1:1"), 0ms);
}

// However many names a client tries, those that matter stay counted.
TEST_F(LoginDelaysTest, OtherNamesDoNotPushOneOut) {
    fail("admin.root", "10.0.0.1:1", 30);
    for (int i = 0; i < 20'000; ++i)
        delays_->failed("admin.made-up" + std::to_string(i),
                        "10." + std::to_string(i % 256) + "." + std::to_string(i / 256) + ".1:1",
                        now_);
    EXPECT_GE(delays_->failed("admin.root", "10.0.0.1:1", now_), 26);
}

}  // namespace
}  // namespace command
