// command/commands/testing/service.h - commands run by tests: an engine with the catalog and the
// commands over it, and one connection that speaks both dialects.
//
// Most suites are EachEngineTests: each test runs over both engines
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
#include "query/aggregation/filter_expression.h"
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
    void open(Service& service, int number, bool local_client = true) {
        wire::ConnectionInfo info;
        info.number = number;
        info.local_client = local_client;
        info.remote = "127.0.0.1:1";
        session_ = service.open(info, waker_);
    }
    // Serves one message, waiting where the session suspends; the reply message, or nothing.
    std::vector<uint8_t> serve(const bson::Buffer& message) {
        bson::Buffer reply;
        wire::Step step = session_->serve({message.data(), message.size()}, reply);
        while (step.kind == wire::Step::Kind::suspend || step.kind == wire::Step::Kind::more) {
            if (step.kind == wire::Step::Kind::suspend) {
                ++suspensions_;
                wait(step.deadline);
            }
            step = session_->resume(reply);
        }
        closed_ = step.kind == wire::Step::Kind::close;
        return {reply.data(), reply.data() + reply.size()};
    }

    // A command by OP_MSG; its reply.
    bson::Object run(const std::string& json, std::string_view db = "test") {
        return run(bson::from_json(json), db);
    }
    bson::Object run(const bson::Object& command, std::string_view db = "test") {
        bson::Buffer message;
        header(message, wire::Opcode::msg);
        message.append_value<uint32_t>(0);
        message.append_byte(0);
        {
            bson::Builder body(message);
            body.append_all(command).append("$db", db);
        }
        finish(message);
        const std::vector<uint8_t> reply = serve(message);
        return reply.empty() ? bson::Object() : bson::Object(bson::Doc(reply.data() + 21));
    }
    // A command by OP_QUERY; its reply.
    bson::Object run_old(const std::string& json, const std::string& db = "test") {
        return query(db + ".$cmd", json, -1).at(0);
    }
    // OP_QUERY; the documents of the reply. The cursor's id is left in cursor_.
    std::vector<bson::Object> query(const std::string& ns, const std::string& json, int32_t n) {
        return documents(query_bytes(ns, bson::from_json(json), n, 0));
    }
    std::vector<bson::Object> query(const std::string& ns, const bson::Object& filter, int32_t n) {
        return documents(query_bytes(ns, filter, n, 0));
    }
    // OP_QUERY; the whole replies, one after the other.
    std::vector<uint8_t> query_bytes(const std::string& ns, const std::string& json, int32_t n,
                                     int32_t flags) {
        return query_bytes(ns, bson::from_json(json), n, flags);
    }
    std::vector<uint8_t> query_bytes(const std::string& ns, const bson::Object& filter, int32_t n,
                                     int32_t flags) {
        bson::Buffer message;
        header(message, wire::Opcode::query);
        message.append_value<int32_t>(flags);
        message.append(ns.c_str(), ns.size() + 1);
        message.append_value<int32_t>(0);
        message.append_value<int32_t>(n);
        message.append(filter.bytes().data(), filter.bytes().size());
        finish(message);
        return serve(message);
    }
    std::vector<bson::Object> get_more(const std::string& ns, int32_t n) {
        bson::Buffer message;
        header(message, wire::Opcode::get_more);
        message.append_value<int32_t>(0);
        message.append(ns.c_str(), ns.size() + 1);
        message.append_value<int32_t>(n);
        message.append_value<int64_t>(cursor_);
        finish(message);
        return documents(serve(message));
    }
    std::vector<bson::Object> documents(const std::vector<uint8_t>& reply) {
        std::vector<bson::Object> docs;
        reply_flags_ = bson::load<int32_t>(reply.data() + 16);
        cursor_ = bson::load<int64_t>(reply.data() + 20);
        starting_from_ = bson::load<int32_t>(reply.data() + 28);
        for (size_t at = 36; at < reply.size();) {
            const bson::Doc doc(reply.data() + at);
            docs.emplace_back(doc);
            at += static_cast<size_t>(doc.size());
        }
        return docs;
    }
    void insert_old(const std::string& ns, const std::vector<std::string>& docs,
                    int32_t flags = 0) {
        bson::Buffer message;
        header(message, wire::Opcode::insert);
        message.append_value<int32_t>(flags);
        message.append(ns.c_str(), ns.size() + 1);
        for (const std::string& doc : docs)
            append(message, doc);
        finish(message);
        EXPECT_TRUE(serve(message).empty());
    }
    void update_old(const std::string& ns, const std::string& selector, const std::string& update,
                    int32_t flags = 0) {
        bson::Buffer message;
        header(message, wire::Opcode::update);
        message.append_value<int32_t>(0);
        message.append(ns.c_str(), ns.size() + 1);
        message.append_value<int32_t>(flags);
        append(message, selector);
        append(message, update);
        finish(message);
        EXPECT_TRUE(serve(message).empty());
    }

    void delete_old(const std::string& ns, const std::string& selector) {
        bson::Buffer message;
        header(message, wire::Opcode::remove);
        message.append_value<int32_t>(0);
        message.append(ns.c_str(), ns.size() + 1);
        message.append_value<int32_t>(0);
        append(message, selector);
        finish(message);
        EXPECT_TRUE(serve(message).empty());
    }
    void kill_old(int64_t cursor) {
        bson::Buffer message;
        header(message, wire::Opcode::kill_cursors);
        message.append_value<int32_t>(0);
        message.append_value<int32_t>(1);
        message.append_value<int64_t>(cursor);
        finish(message);
        EXPECT_TRUE(serve(message).empty());
    }

    static int code(const bson::Object& reply) {
        return reply["ok"].to_double() == 1.0 ? 0 : reply["code"].to_int32();
    }
    static std::string text(const bson::Object& reply, std::string_view field) {
        return bson::to_text(reply[field]);
    }

    TestWaker waker_;
    std::unique_ptr<wire::Session> session_;
    bool closed_ = false;
    int64_t cursor_ = 0;
    int32_t reply_flags_ = 0;
    int32_t starting_from_ = 0;
    int suspensions_ = 0;  // of requests, so far

  private:
    void wait(std::chrono::steady_clock::time_point deadline) {
        if (deadline == std::chrono::steady_clock::time_point::max()) return waker_.wait();
        waker_.wait_until(deadline);
    }
    static void header(bson::Buffer& out, wire::Opcode opcode) {
        out.append_value<int32_t>(0);
        out.append_value<int32_t>(77);
        out.append_value<int32_t>(0);
        out.append_value<int32_t>(static_cast<int32_t>(opcode));
    }
    static void finish(bson::Buffer& out) {
        out.store<int32_t>(0, static_cast<int32_t>(out.size()));
    }
    static void append(bson::Buffer& out, const std::string& json) {
        const bson::Object doc = bson::from_json(json);
        out.append(doc.bytes().data(), doc.bytes().size());
    }
};

using catalog::engine_name;
using catalog::kTestEngines;
using catalog::TestEngine;

class ServiceTest : public testing::Test, protected TestConnection {
  protected:
    explicit ServiceTest(bool journal = false, TestEngine engine = TestEngine::mmapv1)
        : ServiceTest(
              [&] { return catalog::make_test_engine(engine, directory_.path(), journal); }) {}
    explicit ServiceTest(const std::function<std::unique_ptr<storage::Engine>()>& make)
        : engine_(make()) {
        catalog_ = std::make_unique<catalog::Catalog>(*engine_, &expressions_);
        context_.test_commands = true;
        context_.host = "here:27017";
        service_ = std::make_unique<Service>(*catalog_, context_, all_families());
        open(*service_, 1);
    }
    ~ServiceTest() override {
        session_ = nullptr;
        service_ = nullptr;
        catalog_ = nullptr;
        engine_->shutdown();
    }

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
