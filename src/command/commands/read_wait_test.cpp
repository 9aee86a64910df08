// Reads of what a majority of the set has: what they wait for, and what ends the wait. The test
// plays the other members.
#include <fmt/core.h>

#include "base/error.h"
#include "base/testing/failure.h"
#include "command/commands/testing/set_of_three.h"
#include "oplog/entry.h"

namespace command {
namespace {

constexpr const char* kSecondary = R"(, "$readPreference": {"mode": "secondary"})";

class ReadWaitTest : public SetOfThreeTest {
  protected:
    ReadWaitTest() : SetOfThreeTest(true) {}

    static std::string at(const char* level, const char* command = R"("find": "c")",
                          const char* more = "") {
        return fmt::format(R"({{{}, "readConcern": {{"level": "{}"}}{}}})", command, level, more);
    }
    void insert(int id) {
        ASSERT_EQ(code(run(fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}}}]}})", id))),
                  0);
    }
    void all_have_it() {
        reports_all("b:1");
        reports_all("c:1");
    }
    static int64_t count_in(const bson::Object& reply, const char* batch = "firstBatch") {
        EXPECT_EQ(code(reply), 0) << bson::to_text(reply.doc());
        return reply.doc().at_path(std::string("cursor.") + batch).as_doc().field_count();
    }
    void become_secondary() {
        insert(1);
        hear_of_primary("b:1");
        ASSERT_EQ(member_->role().state(), replica::State::secondary);
    }
    // Another connection is used, since this one may wait.
    bson::Object last_entry() {
        TestConnection other;
        other.open(*service_, 2);
        return other.query("local.oplog.rs", R"({"query": {}, "orderby": {"$natural": -1}})", 1)
            .at(0);
    }
};

TEST_F(ReadWaitTest, AReplyShowsWhatAMajorityHas) {
    insert(1);
    auto reply = begin(at("majority"));
    report("b:1", member_->last(), {});
    EXPECT_TRUE(member_->progress().is_awaited()) << "it is in no journal there";
    reports_all("c:1");
    EXPECT_EQ(count_in(reply.get()), 1);
    // No entry has come since.
    EXPECT_EQ(count_in(run(at("majority"))), 1);
    insert(2);
    EXPECT_EQ(count_in(run(at("local"))), 2);
    for (const char* command :
         {R"("aggregate": "c", "pipeline": [], "cursor": {})", R"("count": "c")",
          R"("distinct": "c", "key": "_id")", R"("find": "c", "filter": {"_id": 2})",
          R"("aggregate": "c", "pipeline": [{"$out": "o"}], "cursor": {})"}) {
        SCOPED_TRACE(command);
        insert(static_cast<int>(member_->last().ts & 0xffffff) + 10);
        auto waits = begin(at("majority", command));
        all_have_it();
        EXPECT_EQ(code(waits.get()), 0);
    }
}

TEST_F(ReadWaitTest, EachBatchDoes) {
    for (const int id : {1, 2, 3})
        insert(id);
    all_have_it();
    const bson::Object first = run(at("majority", R"("find": "c", "batchSize": 1)"));
    const std::string more =
        fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "c"}})",
                    first.doc().at_path("cursor.id").to_int64());
    insert(4);
    auto waits = begin(more);
    all_have_it();
    EXPECT_EQ(count_in(waits.get(), "nextBatch"), 3);
}

TEST_F(ReadWaitTest, WhatEndsARequestEndsItsWaitAndItsCursor) {
    for (const int id : {1, 2})
        insert(id);
    const int64_t open =
        run(R"({"serverStatus": 1})").doc().at_path("metrics.cursor.open.total").to_int64();
    EXPECT_EQ(code(run(at("majority", R"("find": "c", "batchSize": 1)", R"(, "maxTimeMS": 30)"))),
              base::kExceededTimeLimit);
    auto killed = begin(at("majority", R"("find": "c", "batchSize": 1)"));
    kill_all();
    EXPECT_EQ(code(killed.get()), base::kInterrupted);
    auto left = begin(at("majority", R"("find": "c", "batchSize": 1)"));
    hear_of_primary("b:1");
    EXPECT_EQ(code(left.get()), base::kPrimarySteppedDown);
    EXPECT_FALSE(member_->progress().is_awaited());
    EXPECT_EQ(run(R"({"serverStatus": 1})").doc().at_path("metrics.cursor.open.total").to_int64(),
              open);
}

TEST_F(ReadWaitTest, OtherCommandsHaveNoSuchLevel) {
    constexpr const char* kOut = R"("aggregate": "c", "pipeline": [{"$out": "o"}], "cursor": {})";
    const std::string two = std::string(kOut) + R"(, "writeConcern": {"w": 2})";
    for (const char* command : {R"("insert": "c", "documents": [{"a": 1}])", R"("ping": 1)",
                                R"("listCollections": 1)", two.c_str()})
        EXPECT_EQ(code(run(at("majority", command))), base::kInvalidOptions) << command;
    EXPECT_EQ(code(run(at("linearizable", kOut))), base::kInvalidOptions);
    EXPECT_EQ(code(run(at("snapshot"))), base::kInvalidOptions);
    EXPECT_EQ(code(run(at("none"))), base::kBadValue);
}

TEST_F(ReadWaitTest, ALinearizableOneIsOfWhoIsStillThePrimary) {
    insert(1);
    all_have_it();
    const oplog::Position before = member_->last();
    auto reply = begin(at("linearizable"));
    EXPECT_GT(member_->last(), before);
    EXPECT_EQ(last_entry().doc().at_path("o.msg").as_string(), "linearizable read");
    all_have_it();
    EXPECT_EQ(count_in(reply.get()), 1);
    hear_of_primary("b:1");
    EXPECT_EQ(code(run(at("linearizable", R"("find": "c")", kSecondary))),
              base::kNotWritablePrimary);
}

TEST_F(ReadWaitTest, ASecondaryHearsWhatAMajorityHas) {
    become_secondary();
    auto reply = begin(at("majority", R"("find": "c")", kSecondary));
    member_->note_committed(member_->last());
    EXPECT_EQ(count_in(reply.get()), 1);
    EXPECT_EQ(count_in(run(at("majority", R"("find": "c")", kSecondary))), 1);
}

TEST_F(ReadWaitTest, WhatIsTakenBackIsNotShown) {
    become_secondary();
    auto reply = begin(at("majority", R"("find": "c")", kSecondary));
    member_->begin_rollback();
    member_->note_committed({member_->last().term + 1, member_->last().ts});
    EXPECT_EQ(code(reply.get()), base::kPrimarySteppedDown);
}

TEST_F(ReadWaitTest, MembersThatFollowHearItWithTheLog) {
    insert(1);
    const bson::Object opened =
        run(R"({"find": "oplog.rs", "tailable": true, "awaitData": true})", "local");
    bson::Builder more;
    more.append("getMore", opened.doc().at_path("cursor.id").to_int64())
        .append("collection", "oplog.rs")
        .append("durable", true)
        .append("maxTimeMS", int64_t{3'600'000});
    oplog::append_position(more, "committed", member_->progress().committed());
    const bson::Object request = more.object();
    auto reply = std::async(std::launch::async, [&] { return run(request, "local"); });
    all_have_it();
    member_->wait(member_->last(), {.members = 1, .mode = "majority", .durable = true}, [] {});
    const bson::Object told = reply.get();
    EXPECT_EQ(count_in(told, "nextBatch"), 0);
    EXPECT_EQ(oplog::read_position(told["cursor"].as_doc()["committed"]), member_->last());
    EXPECT_EQ(code(run(R"({"getMore": {"$numberLong": "1"}, "collection": "c", "committed": 1})")),
              base::kTypeMismatch);
}

}  // namespace
}  // namespace command
