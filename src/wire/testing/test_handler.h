// wire/testing/test_handler.h - a handler that answers as a request asks it to.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "wire/handler.h"
#include "wire/message.h"

namespace wire::test {

// A barrier that threads pass once it is open.
class Barrier {
  public:
    void open() {
        const std::lock_guard guard(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    void pass() {
        std::unique_lock lock(mutex_);
        ++arrived_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
    }
    void wait_for(int n) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this, n] { return arrived_ >= n; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
    int arrived_ = 0;
};

// Serves OP_QUERY by the name of the first field: "size" answers how large the message was, "big"
// with so many bytes, "block" passes a barrier, "suspend" waits for wake_all(), "nap" for so many
// milliseconds, "eager" is woken before it suspends, "more" answers so many times in all, "none"
// has no reply, "close", "fail". Every reply tells the request's id and `resumes`: how often it was
// resumed.
class TestHandler : public Handler {
  public:
    class TestSession : public Session {
      public:
        TestSession(TestHandler& handler, Waker& waker) : handler_(handler), waker_(waker) {
            ++handler_.sessions;
        }
        ~TestSession() override { --handler_.sessions; }

        Step serve(std::span<const uint8_t> message, bson::Buffer& reply) override {
            message_ = message;
            resumes_ = 0;
            woken_ = false;
            const bson::Doc query = decode_query(message).query;
            const std::string_view verb = query.first().name();
            if (verb == "block") handler_.barrier.pass();
            if (verb == "fail") throw std::runtime_error("on request");
            if (verb == "none") return {};
            if (verb == "eager") {
                woken_ = true;
                waker_.wake();
                return {Step::Kind::suspend};
            }
            if (verb == "suspend") {
                handler_.add_waiter(this);
                return {Step::Kind::suspend};
            }
            if (verb == "nap") {
                until_ = std::chrono::steady_clock::now() +
                         std::chrono::milliseconds(query.first().as_int32());
                return {Step::Kind::suspend, until_};
            }
            answer(reply);
            if (verb == "more") return more();
            return {verb == "close" ? Step::Kind::close : Step::Kind::reply};
        }

        Step resume(bson::Buffer& reply) override {
            ++resumes_;
            if (decode_query(message_).query.has("more")) {
                answer(reply);
                return more();
            }
            const bool due = std::chrono::steady_clock::now() >= until_;
            if (!woken_ && !due) return {Step::Kind::suspend, until_};
            until_ = std::chrono::steady_clock::time_point::max();
            answer(reply);
            return {};
        }

        void wake() {
            woken_ = true;
            waker_.wake();
        }

      private:
        Step more() const {
            const int32_t wanted = decode_query(message_).query.first().as_int32();
            return {resumes_ + 1 < wanted ? Step::Kind::more : Step::Kind::reply};
        }

        void answer(bson::Buffer& reply) {
            const QueryMessage query = decode_query(message_);
            ReplyWriter writer(reply, query.header.request_id);
            {
                bson::Builder doc = writer.document();
                doc.append("id", query.header.request_id);
                doc.append("size", static_cast<int32_t>(message_.size()));
                doc.append("resumes", resumes_);
                if (query.query.has("big"))
                    doc.append(
                        "x", std::string(static_cast<size_t>(query.query["big"].as_int32()), 'x'));
            }
            writer.finish(ReplyWriter::kAwaitCapable, 0, 0);
        }

        TestHandler& handler_;
        Waker& waker_;
        std::span<const uint8_t> message_;
        std::atomic<bool> woken_{false};
        std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::time_point::max();
        int32_t resumes_ = 0;
    };

    std::unique_ptr<Session> open(const ConnectionInfo& info, Waker& waker) override {
        const std::lock_guard guard(mutex_);
        infos.push_back(info);
        return std::make_unique<TestSession>(*this, waker);
    }

    void add_waiter(TestSession* session) {
        const std::lock_guard guard(mutex_);
        waiters_.push_back(session);
        changed_.notify_all();
    }
    // Wakes all that suspended, once there are n of them.
    void wake_all(size_t n) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this, n] { return waiters_.size() >= n; });
        for (TestSession* session : waiters_)
            session->wake();
        waiters_.clear();
    }
    void wait_for_waiters(size_t n) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this, n] { return waiters_.size() >= n; });
    }

    Barrier barrier;
    std::atomic<int> sessions{0};
    std::vector<ConnectionInfo> infos;

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<TestSession*> waiters_;
};

}  // namespace wire::test
