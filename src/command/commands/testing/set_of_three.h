// command/commands/testing/set_of_three.h - commands run by tests on the primary of a set of three,
// whose other members the test plays, and requests that wait for these.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "command/commands/testing/replica_set.h"
#include "command/context/operation_context.h"

namespace command {

class SetOfThreeTest : public ReplicaSetTest {
  protected:
    explicit SetOfThreeTest(bool journal = false) : ReplicaSetTest(journal) {
        EXPECT_EQ(code(run(fmt::format(R"({{"replSetInitiate": {}}})", config(1)), "admin")), 0);
    }
    static std::string config(int version, const char* settings = "") {
        return fmt::format(R"({{"_id": "rs0", "version": {}, "members": [
            {{"_id": 0, "host": "here:27017", "tags": {{"dc": "east"}}}},
            {{"_id": 1, "host": "b:1", "priority": 0, "tags": {{"dc": "east"}}}},
            {{"_id": 2, "host": "c:1", "priority": 0, "tags": {{"dc": "west"}}}}],
            "settings": {{"getLastErrorModes": {{"both": {{"dc": 2}}}} {}}}}})",
                           version, settings);
    }
    // Reports the positions that another member has reached.
    void report(const char* host, oplog::Position applied, oplog::Position durable) {
        bson::Builder out;
        out.append("replSetUpdatePosition", "rs0").append("from", host).append("since", since_);
        oplog::append_position(out, "appliedOpTime", applied);
        oplog::append_position(out, "durableOpTime", durable);
        member_->take_report(out.object());
    }
    void reports_all(const char* host) { report(host, member_->last(), member_->last()); }

    // Runs it on another thread, and returns once it waits for members.
    std::future<bson::Object> begin(std::function<bson::Object()> request) {
        auto reply = std::async(std::launch::async, std::move(request));
        while (!member_->progress().is_awaited() && !is_ready(reply))
            std::this_thread::yield();
        EXPECT_FALSE(is_ready(reply)) << "it does not wait";
        return reply;
    }
    std::future<bson::Object> begin(const std::string& command) {
        return begin([this, command] { return run(command); });
    }
    static bool is_ready(const std::future<bson::Object>& reply) {
        return reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
    void kill_all() {
        service_->contexts().each(
            [](OperationContext& context) { context.kill(context.operation().id()); });
    }
    int64_t count() { return static_cast<int64_t>(query("test.c", "{}", 0).size()); }

    const bson::ObjectId since_ = bson::new_object_id();
};

}  // namespace command
