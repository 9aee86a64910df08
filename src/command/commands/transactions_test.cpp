// Transactions over several requests, as drivers send them: what is in them and what is not, how
// they end, and what their clients hear.
#include <fmt/core.h>

#include <random>
#include <thread>

#include "base/error.h"
#include "command/commands/testing/replica_set.h"
#include "sched/memory.h"

namespace command {
namespace {

constexpr const char* kTransient = R"([ "TransientTransactionError" ])";

class TransactionsTest : public ReplicaSetTest {
  protected:
    TransactionsTest() : TransactionsTest(TestEngine::kv) {}
    explicit TransactionsTest(TestEngine engine) : ReplicaSetTest(false, engine) {
        initiate();
        EXPECT_EQ(
            code(run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})")),
            0);
    }

    // A request of the transaction under way; begin() makes the next one start another.
    bson::Object in(const std::string& command, const std::string& db = "test") {
        const bool starts = std::exchange(starts_, false);
        return run(of(command, number_, session_id_, starts ? R"({"startTransaction": true})" : ""),
                   db);
    }
    void begin() {
        ++number_;
        starts_ = true;
    }
    bson::Object commit() { return in(R"({"commitTransaction": 1})", "admin"); }
    bson::Object abort() { return in(R"({"abortTransaction": 1})", "admin"); }
    bson::Object plain(const std::string& command) { return run(command); }
    void ok(const bson::Object& reply) { EXPECT_EQ(code(reply), 0) << bson::to_text(reply.doc()); }
    // Expects the code, and that the client may begin again or not.
    void fails(const bson::Object& reply, int expected, bool is_transient = false) {
        EXPECT_EQ(code(reply), expected) << bson::to_text(reply.doc());
        EXPECT_EQ(reply["errorLabels"] ? bson::to_text(reply["errorLabels"]) : "",
                  is_transient ? kTransient : "")
            << bson::to_text(reply.doc());
    }
    std::string docs(const bson::Object& reply) {
        return bson::to_text(reply.doc().at_path("cursor.firstBatch"));
    }
    std::string inside() { return docs(in(R"({"find": "c", "filter": {}})")); }
    std::string outside() { return docs(plain(R"({"find": "c", "filter": {}})")); }
    bson::Object last_entry() {
        return bson::Object(
            run(R"({"find": "oplog.rs", "filter": {}, "sort": {"$natural": -1}, "limit": 1})",
                "local")
                .doc()
                .at_path("cursor.firstBatch.0")
                .as_doc());
    }
    int64_t open() {
        const Transactions::Counts counts = service_->transactions().counts();
        return counts.active + counts.inactive;
    }

    const SessionId session_id_ = SessionId::random();
    int64_t number_ = 0;
    bool starts_ = false;
};

constexpr const char* kTwo = "[ { _id: 1, a: 1 }, { _id: 2, a: 2 } ]";
constexpr const char* kSet5 =
    R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 5}}}]})";

TEST_F(TransactionsTest, ShowTheirChangesWhenTheyCommit) {
    begin();
    EXPECT_EQ(inside(), kTwo);
    ok(in(R"({"insert": "c", "documents": [{"_id": 3}]})"));
    ok(in(kSet5));
    ok(in(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 0}]})"));
    ok(in(R"({"findAndModify": "c", "query": {"_id": 4}, "update": {"$inc": {"n": 1}},
              "upsert": true})"));
    ok(in(R"({"update": "c", "updates": [{"q": {"_id": 6}, "u": {"$set": {"b": 1}},
              "upsert": true}]})"));
    ok(in(R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.c"}],
              "ops": [{"insert": 0, "document": {"_id": 5}}]})",
          "admin"));
    const char* const all =
        "[ { _id: 1, a: 5 }, { _id: 3 }, { _id: 4, n: 1 }, { _id: 5 }, { _id: 6, b: 1 } ]";
    EXPECT_EQ(docs(in(R"({"find": "c", "filter": {}, "sort": {"_id": 1}})")), all);
    EXPECT_EQ(docs(in(R"({"aggregate": "c", "pipeline": [{"$count": "n"}], "cursor": {}})")),
              "[ { n: 5 } ]");
    EXPECT_EQ(bson::to_text(in(R"({"distinct": "c", "key": "a"})")["values"]), "[ 5 ]");
    EXPECT_EQ(outside(), kTwo);
    const bson::Object before = last_entry();
    ok(commit());
    EXPECT_EQ(docs(plain(R"({"find": "c", "filter": {}, "sort": {"_id": 1}})")), all);
    const bson::Object entry = last_entry();
    EXPECT_EQ(text(entry, "op"), R"("c")");
    EXPECT_EQ(text(entry, "ns"), R"("admin.$cmd")");
    EXPECT_EQ(entry["txnNumber"].to_int64(), number_);
    EXPECT_EQ(entry.doc().at_path("o.applyOps").as_doc().field_count(), 6);
    EXPECT_LT(before["ts"].as_timestamp(), entry["ts"].as_timestamp());
    ok(plain(R"({"validate": "c", "full": true})"));
}

TEST_F(TransactionsTest, ReadOfOneMomentAndLeaveNothingWhenTheyAbort) {
    begin();
    EXPECT_EQ(inside(), kTwo);
    ok(plain(kSet5));
    EXPECT_EQ(inside(), kTwo);
    ok(in(R"({"insert": "c", "documents": [{"_id": 3}]})"));
    const bson::Object before = last_entry();
    ok(abort());
    EXPECT_EQ(outside(), "[ { _id: 1, a: 5 }, { _id: 2, a: 2 } ]");
    EXPECT_EQ(last_entry()["ts"].as_timestamp(), before["ts"].as_timestamp());
    fails(abort(), base::kNoSuchTransaction, true);
    fails(commit(), base::kNoSuchTransaction, true);
    EXPECT_EQ(open(), 0);
}

TEST_F(TransactionsTest, LoseNoUpdate) {
    begin();
    EXPECT_EQ(inside(), kTwo);
    ok(plain(kSet5));
    fails(in(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 10}}}]})"),
          base::kWriteConflict, true);
    fails(in(R"({"find": "c"})"), base::kNoSuchTransaction, true);
    EXPECT_EQ(outside(), "[ { _id: 1, a: 5 }, { _id: 2, a: 2 } ]");
}

TEST_F(TransactionsTest, CommitOnceHoweverOftenTheyAreAsked) {
    begin();
    ok(in(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 1}}}]})"));
    ok(commit());
    const bson::Object entry = last_entry();
    ok(commit());
    EXPECT_EQ(last_entry()["ts"].as_timestamp(), entry["ts"].as_timestamp());
    fails(abort(), base::kTransactionCommitted);
    fails(in(R"({"find": "c"})"), base::kTransactionCommitted);
    restart();
    ok(commit());
    fails(in(R"({"find": "c"})"), base::kTransactionCommitted);
    EXPECT_EQ(text(last_entry(), "op"), R"("n")");
    EXPECT_EQ(outside(), "[ { _id: 1, a: 2 }, { _id: 2, a: 2 } ]");
    // One that a stop has ended.
    begin();
    ok(in(kSet5));
    restart();
    fails(commit(), base::kNoSuchTransaction, true);
    EXPECT_EQ(outside(), "[ { _id: 1, a: 2 }, { _id: 2, a: 2 } ]");
}

TEST_F(TransactionsTest, EndWithAnErrorOfTheirs) {
    begin();
    ok(in(kSet5));
    const bson::Object reply = in(
        R"({"insert": "c", "ordered": false, "documents": [{"_id": 9}, {"_id": 2}, {"_id": 8}]})");
    EXPECT_EQ(code(reply), 0);
    EXPECT_EQ(reply.doc().at_path("writeErrors.0.code").to_int32(), base::kDuplicateKey);
    EXPECT_EQ(reply["n"].to_int32(), 1);
    fails(commit(), base::kNoSuchTransaction, true);
    EXPECT_EQ(outside(), kTwo);
    begin();
    fails(in(R"({"find": "c", "filter": {"$nothing": 1}})"), base::kBadValue);
    fails(commit(), base::kNoSuchTransaction, true);
}

TEST_F(TransactionsTest, MakeCollectionsBeforeAndMarkArrays) {
    ok(plain(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})"));
    begin();
    EXPECT_EQ(inside(), kTwo);
    ok(in(R"({"insert": "new", "documents": [{"_id": 1}]})"));
    EXPECT_EQ(docs(in(R"({"find": "new"})")), "[ { _id: 1 } ]");
    EXPECT_EQ(docs(plain(R"({"find": "new"})")), "[]");
    ok(in(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": [7, 8]}}}]})"));
    EXPECT_EQ(docs(in(R"({"find": "c", "filter": {"a": 8}})")), "[ { _id: 1, a: [ 7, 8 ] } ]");
    ok(commit());
    EXPECT_EQ(docs(plain(R"({"find": "c", "filter": {"a": 8}})")), "[ { _id: 1, a: [ 7, 8 ] } ]");
    EXPECT_EQ(docs(plain(R"({"find": "new"})")), "[ { _id: 1 } ]");
    ok(plain(R"({"validate": "c", "full": true})"));
}

TEST_F(TransactionsTest, ChangeSeveralDatabases) {
    ok(run(R"({"insert": "d", "documents": [{"_id": 1}]})", "more"));
    begin();
    ok(in(kSet5));
    ok(in(R"({"update": "d", "updates": [{"q": {}, "u": {"$set": {"a": 5}}}]})", "more"));
    ok(commit());
    EXPECT_EQ(docs(run(R"({"find": "d"})", "more")), "[ { _id: 1, a: 5 } ]");
    EXPECT_EQ(outside(), "[ { _id: 1, a: 5 }, { _id: 2, a: 2 } ]");
    EXPECT_EQ(last_entry().doc().at_path("o.applyOps").as_doc().field_count(), 2);
}

TEST_F(TransactionsTest, EndWhereTheirCollectionIsAnother) {
    const char* const fill = R"({"insert": "c", "documents": [{"x": 1}]})";
    for (const char* const change :
         {R"({"drop": "c"})",
          R"({"createIndexes": "c", "indexes": [{"key": {"z": 1}, "name": "z"}]})",
          R"({"dropIndexes": "c", "index": "b"})", R"({"collMod": "c", "validator": {"x": 1}})"}) {
        ok(plain(fill));
        ok(plain(R"({"createIndexes": "c", "indexes": [{"key": {"b": 1}, "name": "b"}]})"));
        for (const bool writes : {true, false}) {
            ok(plain(fill));
            begin();
            ok(in(R"({"find": "c"})"));
            if (writes) ok(in(fill));
            ok(plain(writes ? change : R"({"drop": "c"})"));
            fails(writes ? commit() : in(R"({"find": "c"})"), base::kSnapshotUnavailable, true);
            EXPECT_EQ(open(), 0) << change;
        }
    }
}

TEST_F(TransactionsTest, HaveCursorsOfTheirOwn) {
    begin();
    const bson::Object first = in(R"({"find": "c", "batchSize": 1})");
    const int64_t id = first.doc().at_path("cursor.id").to_int64();
    ASSERT_NE(id, 0);
    const std::string more =
        fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "c"}})", id);
    ok(plain(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 0}]})"));
    bson::Builder without;
    without.append_all(bson::from_json(more));
    session_id_.append_to(without, "lsid");
    fails(run(without.object()), 50741);
    EXPECT_EQ(bson::to_text(in(more).doc().at_path("cursor.nextBatch")), "[ { _id: 2, a: 2 } ]");
    ok(commit());
    begin();
    const int64_t other =
        in(R"({"find": "c", "batchSize": 0})").doc().at_path("cursor.id").to_int64();
    ok(abort());
    EXPECT_FALSE(service_->cursors().kill(other));
}

TEST_F(TransactionsTest, RefuseWhatTheyCannotHave) {
    const SessionId id = SessionId::random();
    const auto expect = [&](const std::string& command, const char* more, int expected,
                            const std::string& db = "test") {
        bson::Builder out;
        out.append_all(bson::from_json(command)).append_all(bson::from_json(more));
        EXPECT_EQ(code(run(out.object(), db)), expected) << command << more;
    };
    const auto numbered = [&](const std::string& command, const char* more) {
        bson::Builder out;
        out.append_all(bson::from_json(command));
        id.append_to(out, "lsid");
        out.append("txnNumber", int64_t{7}).append_all(bson::from_json(more));
        return code(run(out.object()));
    };
    expect(R"({"find": "c"})", R"({"autocommit": false})", base::kInvalidOptions);
    expect(R"({"find": "c"})", R"({"startTransaction": true})", base::kInvalidOptions);
    expect(R"({"find": "c"})", R"({"autocommit": false, "txnNumber": {"$numberLong": "1"}})",
           base::kInvalidOptions);
    EXPECT_EQ(numbered(R"({"find": "c"})", R"({"autocommit": true})"), base::kInvalidOptions);
    EXPECT_EQ(numbered(R"({"find": "c"})", R"({"autocommit": 0})"), base::kTypeMismatch);
    EXPECT_EQ(numbered(R"({"find": "c"})", R"({"startTransaction": false, "autocommit": false})"),
              base::kInvalidOptions);
    EXPECT_EQ(numbered(R"({"find": "c"})", R"({"startTransaction": 1, "autocommit": false})"),
              base::kTypeMismatch);
    EXPECT_EQ(numbered(R"({"find": "c"})", R"({"startTransaction": true})"), base::kInvalidOptions);
    EXPECT_EQ(numbered(R"({"find": "c"})", R"({"autocommit": false})"), base::kNoSuchTransaction);
    for (const char* const command :
         {R"({"count": "c"})", R"({"create": "x"})", R"({"drop": "c"})", R"({"collStats": "c"})",
          R"({"createIndexes": "c", "indexes": []})", R"({"explain": {"find": "c"}})",
          R"({"getMore": {"$numberLong": "1"}, "collection": "c"})", R"({"listCollections": 1})"})
        EXPECT_EQ(numbered(command, R"({"startTransaction": true, "autocommit": false})"),
                  base::kOperationNotSupportedInTransaction)
            << command;
    EXPECT_EQ(numbered(R"({"insert": "c", "documents": [{}]})",
                       R"({"startTransaction": true, "autocommit": false,
                           "writeConcern": {"w": 1}})"),
              base::kInvalidOptions);
    for (const char* const level : {"available", "linearizable", "other"})
        EXPECT_EQ(numbered(R"({"find": "c"})",
                           fmt::format(R"({{"startTransaction": true, "autocommit": false,
                                           "readConcern": {{"level": "{}"}}}})",
                                       level)
                               .c_str()),
                  base::kInvalidOptions)
            << level;
    expect(R"({"commitTransaction": 1})", "{}", base::kCommandFailed, "admin");
    EXPECT_EQ(open(), 0);
    // And once it is open: it stays so.
    for (const char* const level : {"local", "majority", "snapshot"}) {
        begin();
        ok(in(fmt::format(R"({{"find": "c", "readConcern": {{"level": "{}"}}}})", level)));
        fails(in(R"({"find": "c", "readConcern": {"level": "local"}})"), base::kInvalidOptions);
        fails(in(R"({"count": "c"})"), base::kOperationNotSupportedInTransaction);
        starts_ = true;
        fails(in(R"({"find": "c"})"), 50911);
        EXPECT_EQ(inside(), kTwo);
        ok(commit());
    }
    ok(plain(R"({"create": "ring", "capped": true, "size": 4096})"));
    for (const auto& [command, db] : std::vector<std::pair<const char*, const char*>>{
             {R"({"insert": "ring", "documents": [{}]})", "test"},
             {R"({"find": "oplog.rs"})", "local"},
             {R"({"insert": "x", "documents": [{}]})", "admin"}}) {
        begin();
        fails(in(command, db), base::kOperationNotSupportedInTransaction);
    }
    begin();
    ok(in(R"({"find": "c"})"));
    number_ -= 2;
    fails(in(R"({"find": "c"})"), base::kTransactionTooOld);
}

// A stage that reads or writes beside the snapshot is refused before it has done anything.
TEST_F(TransactionsTest, HaveNoStagesThatLeaveTheirSnapshot) {
    for (const char* const stage : {R"({"$out": "o"})", R"({"$merge": {"into": "o"}})",
                                    R"({"$changeStream": {}})", R"({"$collStats": {"count": {}}})",
                                    R"({"$indexStats": {}})", R"({"$planCacheStats": {}})"}) {
        begin();
        fails(in(fmt::format(R"({{"aggregate": "c", "pipeline": [{}], "cursor": {{}}}})", stage)),
              base::kOperationNotSupportedInTransaction);
    }
    for (const char* const stage : {R"({"$currentOp": {}})", R"({"$listLocalSessions": {}})"}) {
        begin();
        fails(in(fmt::format(R"({{"aggregate": 1, "pipeline": [{}], "cursor": {{}}}})", stage),
                 "admin"),
              base::kOperationNotSupportedInTransaction);
    }
    begin();
    fails(in(R"({"aggregate": "c", "pipeline": [], "explain": true})"),
          base::kOperationNotSupportedInTransaction);
    begin();
    fails(in(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {}}, {"$out": "o"}]})"),
          base::kOperationNotSupportedInTransaction);
    EXPECT_EQ(open(), 0);
    const bson::Object there = plain(R"({"listCollections": 1})");
    EXPECT_EQ(there.doc().at_path("cursor.firstBatch").as_doc().field_count(), 1);
    // Others of its collections are read as it sees them.
    begin();
    ok(in(R"({"insert": "other", "documents": [{"_id": 1, "c": 2}]})"));
    ok(plain(R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"a": 9}}}]})"));
    EXPECT_EQ(docs(in(R"({"aggregate": "other", "cursor": {}, "pipeline": [
                          {"$lookup": {"from": "c", "localField": "c", "foreignField": "_id",
                                       "as": "found"}}]})")),
              "[ { _id: 1, c: 2, found: [ { _id: 2, a: 2 } ] } ]");
    EXPECT_EQ(docs(in(R"({"aggregate": "c", "cursor": {}, "pipeline": [
                          {"$match": {"_id": 1}}, {"$unionWith": "other"}]})")),
              "[ { _id: 1, a: 1 }, { _id: 1, c: 2 } ]");
    EXPECT_EQ(docs(in(R"({"aggregate": 1, "cursor": {}, "pipeline": [
                          {"$documents": [{"a": 1}]}]})")),
              "[ { a: 1 } ]");
    ok(commit());
}

TEST_F(TransactionsTest, AreNoLargerThanADocument) {
    const std::string text(4 << 20, 'x');
    const std::string insert = R"({"insert": "c", "documents": [{"t": ")" + text + R"("}]})";
    begin();
    for (int i = 0; i < 4; ++i)
        ok(in(insert));
    const bson::Object reply = in(insert);
    EXPECT_EQ(reply.doc().at_path("writeErrors.0.code").to_int32(), base::kTransactionTooLarge);
    EXPECT_EQ(open(), 0);
    EXPECT_EQ(outside(), kTwo);
}

TEST_F(TransactionsTest, MayHaveADocumentOfAnySize) {
    begin();
    const std::string text((16 << 20) - 100, 'x');
    const bson::Object reply = in(R"({"insert": "c", "documents": [{"t": ")" + text + R"("}]})");
    ok(reply);
    EXPECT_EQ(reply["n"].to_int32(), 1);
    ok(abort());
}

// Again it would be the same.
TEST_F(TransactionsTest, AloneBeyondTheMemoryOfAllAreNotBegunAgain) {
    sched::memory::set_limits(sched::memory::kOperationBytes / 16, sched::memory::kAllBytes);
    begin();
    for (int i = 0; i < 3; ++i)
        ok(in(R"({"insert": "c", "documents": [{"t": ")" + std::string(4 << 20, 'x') + R"("}]})"));
    service_->transactions().look_after(true, std::chrono::seconds(60));
    sched::memory::set_limits(sched::memory::kOperationBytes, sched::memory::kAllBytes);
    fails(in(R"({"find": "c"})"), base::kTransactionTooLarge);
    fails(commit(), base::kTransactionTooLarge);
}

TEST_F(TransactionsTest, KeepTheirNumberToThemselves) {
    begin();
    ok(in(kSet5));
    bson::Builder write;
    write.append_all(bson::from_json(R"({"insert": "c", "documents": [{"_id": 9}]})"));
    session_id_.append_to(write, "lsid");
    write.append("txnNumber", number_);
    EXPECT_EQ(code(run(write.object())), base::kInvalidOptions);
    EXPECT_EQ(code(run(of(R"({"find": "c"})", number_ + 1, session_id_))),
              base::kNoSuchTransaction);
    EXPECT_EQ(code(run(of(R"({"commitTransaction": 1})", number_ + 1, session_id_), "admin")),
              base::kNoSuchTransaction);
    EXPECT_EQ(open(), 1);
    ok(commit());
    EXPECT_EQ(outside(), "[ { _id: 1, a: 5 }, { _id: 2, a: 2 } ]");
}

TEST_F(TransactionsTest, EndWithTheirSessionOrAHigherNumber) {
    begin();
    ok(in(kSet5));
    begin();
    ok(in(R"({"find": "c"})"));
    EXPECT_EQ(open(), 1);
    bson::Builder end;
    {
        bson::Builder list = end.sub_array("endSessions");
        bson::Builder id;
        session_id_.append_fields(id);
        bson::Builder only;
        only.append_as("id", id.doc()["id"]);
        list.push(only.doc());
    }
    ok(run(end.object(), "admin"));
    EXPECT_EQ(open(), 0);
    EXPECT_EQ(outside(), kTwo);
}

TEST_F(TransactionsTest, EndByThemselves) {
    begin();
    ok(in(kSet5));
    constexpr std::chrono::seconds kLifetime{60};
    service_->transactions().look_after(true, kLifetime);
    EXPECT_EQ(open(), 1);
    EXPECT_EQ(run(R"({"serverStatus": 1})").doc().at_path("transactions.currentOpen").to_int64(),
              1);
    service_->transactions().look_after(false, kLifetime);
    fails(commit(), base::kNoSuchTransaction, true);
    begin();
    ok(in(kSet5));
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    service_->transactions().look_after(true, std::chrono::seconds(1));
    fails(commit(), base::kNoSuchTransaction, true);
    EXPECT_EQ(outside(), kTwo);
}

// A limit, a killed session or a step-down may end it at any moment of a request.
TEST_F(TransactionsTest, EndAtAnyMomentOfTheirRequests) {
    std::atomic<int> wanted{0};
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        std::mt19937 random(1);
        for (int done = 0; !is_over;) {
            if (wanted == done) continue;
            for (volatile uint32_t left = random() % 20'000; left > 0;)
                left = left - 1;
            service_->transactions().end_all("another thread has said so");
            ++done;
        }
    });
    int committed = 0, aborted = 0;
    while (committed < 50 || aborted < 50) {
        begin();
        ++wanted;
        bson::Object reply = in(R"({"insert": "c", "documents": [{}]})");
        if (code(reply) == 0) reply = in(kSet5);
        if (code(reply) == 0) reply = commit();
        // The rows of the last one may still be locked: its end is known a moment before.
        const bool in_the_way = code(reply) == base::kWriteConflict;
        if (code(reply) != 0)
            fails(reply, in_the_way ? base::kWriteConflict : base::kNoSuchTransaction, true);
        ++(code(reply) == 0 ? committed : aborted);
    }
    is_over = true;
    other.join();
    service_->transactions().end_all("the test is over");
    EXPECT_EQ(open(), 0);
    ok(plain(kSet5));  // no row is locked
    EXPECT_EQ(run(R"({"count": "c"})")["n"].to_int64(), 2 + committed);
}

// A plain write that has done nothing comes again and again until the transaction is over.
TEST_F(TransactionsTest, LetPlainWritesWaitWithoutAThread) {
    const int64_t updates = service_->counters().update;
    begin();
    ok(in(kSet5));
    TestConnection waiting;
    waiting.open(*service_, 2);
    std::atomic<bool> is_done{false};
    std::thread writer([&] {
        const bson::Object reply = waiting.run(
            R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 1}}}]})");
        EXPECT_EQ(reply["nModified"].to_int32(), 1);
        is_done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_FALSE(is_done);
    ok(commit());
    writer.join();
    EXPECT_EQ(outside(), "[ { _id: 1, a: 6 }, { _id: 2, a: 2 } ]");
    // It counts once: with the one of the transaction two updates.
    EXPECT_EQ(service_->counters().update, updates + 2);
    // One that has changed something cannot begin again: it wounds.
    begin();
    ok(in(R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"a": 9}}}]})"));
    ok(plain(R"({"update": "c", "updates": [{"q": {}, "u": {"$inc": {"a": 1}}, "multi": true}]})"));
    fails(commit(), base::kWriteConflict, true);
    EXPECT_EQ(outside(), "[ { _id: 1, a: 7 }, { _id: 2, a: 3 } ]");
}

TEST_F(TransactionsTest, AreShown) {
    begin();
    ok(in(kSet5));
    const bson::Object idle = run(R"({"currentOp": 1})", "admin");
    bool is_shown = false;
    for (const bson::Element& each : idle["inprog"].as_doc())
        is_shown |= each.as_doc()["transaction"].is_object();
    EXPECT_TRUE(is_shown);
    ok(commit());
    const bson::Object status = run(R"({"serverStatus": 1})");
    EXPECT_EQ(status.doc().at_path("transactions.totalCommitted").to_int64(), 1);
    EXPECT_EQ(status.doc().at_path("transactions.currentOpen").to_int64(), 0);
}

TEST_F(TransactionsTest, AreEventsOfChangeStreams) {
    const bson::Object opened =
        run(R"({"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {}})");
    begin();
    ok(in(kSet5));
    ok(in(R"({"insert": "other", "documents": [{"_id": 1}]})"));
    ok(in(R"({"insert": "c", "documents": [{"_id": 3}]})"));
    ok(commit());
    const bson::Object reply = run(fmt::format(
        R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "c", "maxTimeMS": 1000}})",
        opened.doc().at_path("cursor.id").to_int64()));
    const bson::Doc events = reply.doc().at_path("cursor.nextBatch").as_doc();
    EXPECT_EQ(events.field_count(), 2);
    EXPECT_EQ(bson::to_text(events.at_path("0.updateDescription.updatedFields")), "{ a: 5 }");
    EXPECT_EQ(bson::to_text(events.at_path("1.fullDocument")), "{ _id: 3 }");
    EXPECT_EQ(events.at_path("1.txnNumber").to_int64(), number_);
    EXPECT_TRUE(events.at_path("1.lsid").is_object());
    const bson::Object again = run(fmt::format(
        R"({{"aggregate": "c", "cursor": {{}},
             "pipeline": [{{"$changeStream": {{"resumeAfter": {{"_data": "{}"}}}}}}]}})",
        events.at_path("0._id._data").as_string()));
    bson::Element event = again.doc().at_path("cursor.firstBatch.0");
    const bson::Object more = run(
        fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "c", "maxTimeMS": 1}})",
                    again.doc().at_path("cursor.id").to_int64()));
    if (!event) event = more.doc().at_path("cursor.nextBatch.0");
    EXPECT_EQ(bson::to_text(event.as_doc()["fullDocument"]), "{ _id: 3 }");
}

class RefusedTransactionsTest : public ReplicaSetTest, public catalog::EngineParam {
  protected:
    RefusedTransactionsTest() : ReplicaSetTest(false, GetParam()) { initiate(); }
};

TEST_P(RefusedTransactionsTest, WhereTheEngineHasNone) {
    bson::Builder out;
    out.append("find", "c");
    SessionId::random().append_to(out, "lsid");
    out.append("txnNumber", int64_t{1})
        .append("autocommit", false)
        .append("startTransaction", true);
    const bson::Object reply = run(out.object());
    EXPECT_EQ(code(reply), base::kIllegalOperation);
    EXPECT_NE(text(reply, "errmsg").find("wiredTiger or rocksdb"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(engines, RefusedTransactionsTest,
                         testing::Values(TestEngine::mmapv1, TestEngine::memory), engine_name);

}  // namespace
}  // namespace command
