// command/commands/testing/service.h - commands run by tests: an engine with the catalog and the
// commands over it, and one connection that speaks both dialects.
//
// Most suites are EachEngineTests: each test runs over each engine
// (catalog/testing/each_engine.h).
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>

#include "bson/json.h"
#include "bson/testing/json.h"
#include "catalog/testing/each_engine.h"
#include "command/commands/families.h"
#include "command/request/service.h"
#include "query/expression/filter_expression.h"
#include "wire/message.h"

namespace command {

class TestWaker final : public wire::Waker {
  public:
    void wake() override {
        const std::lock_guard guard(mutex_);
        ++wakes_;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock guard(mutex_);
        changed_.wait(guard, [this] { return wakes_ > 0; });
        --wakes_;
    }
    void wait_until(std::chrono::steady_clock::time_point deadline) {
        std::unique_lock guard(mutex_);
        if (changed_.wait_until(guard, deadline, [this] { return wakes_ > 0; })) --wakes_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int wakes_ = 0;
};

// One connection; used by one thread at a time.
class TestConnection {
  public:
    void open(Service& service, int number, bool local_client = true);
    // Serves one message, waiting where the session suspends; the reply message, or nothing.
    std::vector<uint8_t> serve(const bson::Buffer& message);

    // A whole OP_MSG.
    static bson::Buffer message_of(const bson::Object& command, std::string_view db,
                                   uint32_t flags = 0);
    // A command by OP_MSG; its reply.
    bson::Object run(const std::string& json, std::string_view db = "test");
    bson::Object run(const bson::Object& command, std::string_view db = "test");
    // A command by OP_QUERY; its reply.
    bson::Object run_old(const std::string& json, const std::string& db = "test");
    // OP_QUERY; the documents of the reply. The cursor's id is left in cursor_.
    std::vector<bson::Object> query(const std::string& ns, const std::string& json, int32_t n);
    std::vector<bson::Object> query(const std::string& ns, const bson::Object& filter, int32_t n);
    // OP_QUERY; the whole replies, one after the other.
    std::vector<uint8_t> query_bytes(const std::string& ns, const std::string& json, int32_t n,
                                     int32_t flags);
    std::vector<uint8_t> query_bytes(const std::string& ns, const bson::Object& filter, int32_t n,
                                     int32_t flags);
    std::vector<bson::Object> get_more(const std::string& ns, int32_t n);
    std::vector<bson::Object> documents(const std::vector<uint8_t>& reply);
    void insert_old(const std::string& ns, const std::vector<std::string>& docs, int32_t flags = 0);
    void update_old(const std::string& ns, const std::string& selector, const std::string& update,
                    int32_t flags = 0);
    void delete_old(const std::string& ns, const std::string& selector);
    void kill_old(int64_t cursor);

    static int code(const bson::Object& reply);
    static std::string text(const bson::Object& reply, std::string_view field);

    TestWaker waker_;
    std::unique_ptr<wire::Session> session_;
    bool closed_ = false;
    int64_t cursor_ = 0;
    int32_t reply_flags_ = 0;
    int32_t starting_from_ = 0;
    int suspensions_ = 0;  // of requests, so far

  private:
    void wait(std::chrono::steady_clock::time_point deadline);
};

using catalog::engine_name;
using catalog::kTestEngines;
using catalog::TestEngine;

class ServiceTest : public testing::Test, protected TestConnection {
  protected:
    explicit ServiceTest(bool journal = false, TestEngine engine = TestEngine::mmapv1);
    explicit ServiceTest(const std::function<std::unique_ptr<storage::Engine>()>& make);
    ~ServiceTest() override;

    os::TestDirectory directory_;
    std::unique_ptr<storage::Engine> engine_;
    const query::FilterExpressions expressions_{query::OuterVariables()};
    std::unique_ptr<catalog::Catalog> catalog_;
    ServerContext context_;
    std::unique_ptr<Service> service_;
};

class EachEngineTest : public ServiceTest, public catalog::EngineParam {
  protected:
    explicit EachEngineTest(bool journal = false) : ServiceTest(journal, GetParam()) {}
};

}  // namespace command
