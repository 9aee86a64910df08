// The log of changes has what clients change, by whatever way: a server that is given its entries
// has the same collections, documents and indexes.
#include <fmt/core.h>

#include <random>

#include "catalog/testing/recording_log.h"
#include "command/commands/testing/follower.h"
#include "command/write/ttl.h"

namespace command {
namespace {

using Kind = catalog::RecordingLog::Entry::Kind;

class ChangesToldTest : public EachEngineTest {
  protected:
    ChangesToldTest() { catalog_->set_change_log(&log_); }
    ~ChangesToldTest() override {
        session_ = nullptr;
        service_ = nullptr;
        catalog_ = nullptr;
    }

    void expect_follower_agrees() {
        Follower follower;
        for (const auto& entry : log_.entries()) {
            const std::string db(catalog::split(entry.ns).db);
            switch (entry.kind) {
                case Kind::insert:
                    follower.apply('i', entry.ns, entry.o, {});
                    break;
                case Kind::remove:
                    follower.apply('d', entry.ns, entry.o, {});
                    break;
                case Kind::update:
                    follower.apply('u', entry.ns, entry.o, entry.which);
                    break;
                case Kind::index:
                    follower.apply('i', db + ".system.indexes", entry.o, {});
                    break;
                case Kind::command:
                    follower.apply('c', db + ".$cmd", entry.o, {});
            }
        }
        EXPECT_EQ(follower.contents(), contents(*this, *catalog_, engine_->locks()));
    }
    void done(const char* command, std::string_view db = "test") {
        const bson::Object reply = run(command, db);
        EXPECT_EQ(code(reply), 0) << command << bson::to_text(reply.doc());
        EXPECT_TRUE(reply["writeErrors"].missing()) << command << bson::to_text(reply.doc());
    }
    // Runs the command and returns how many entries it has made.
    int entries_of(const char* command, std::string_view db = "test") {
        done(command, db);
        return static_cast<int>(log_.take_texts().size());
    }

    catalog::RecordingLog log_;
};

TEST_P(ChangesToldTest, ByCommands) {
    for (const char* command : {
             R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": [1, 2]},
                {"_id": 3}]})",
             R"({"update": "c", "updates": [{"q": {}, "u": {"$inc": {"n": 1}}, "multi": true}]})",
             R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$push": {"a": 9}}}]})",
             R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"a.$[x]": 5}},
                 "arrayFilters": [{"x": {"$gt": 1}}]}]})",
             R"({"update": "c", "updates": [{"q": {"_id": 3}, "u": [{"$set": {"p": "$_id"}}]}]})",
             R"({"update": "c", "updates": [{"q": {"_id": 9}, "u": {"x": 1}, "upsert": true}]})",
             R"({"update": "c", "updates": [{"q": {"_id": 9}, "u": {"y": 2}}]})",
             R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$rename": {"a": "b"}}})",
             R"({"findAndModify": "c", "query": {"_id": 7}, "update": {"$set": {"z": 1}},
                "upsert": true})",
             R"({"findAndModify": "c", "query": {"_id": 7}, "remove": true})",
             R"({"delete": "c", "deletes": [{"q": {"_id": 3}, "limit": 1}]})",
             R"({"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"},
                 {"key": {"at": 1}, "name": "at", "expireAfterSeconds": 100}]})",
             R"({"collMod": "c", "index": {"name": "at", "expireAfterSeconds": 7}})",
             R"({"dropIndexes": "c", "index": "n"})",
             R"({"createIndexes": "made", "indexes": [{"key": {"n": 1}, "name": "n",
                "background": true}]})",
             R"({"create": "ring", "capped": true, "size": 8192, "max": 5})",
             R"({"insert": "ring", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}, {"_id": 4},
                 {"_id": 5}, {"_id": 6}, {"_id": 7}]})",
             R"({"aggregate": "c", "pipeline": [{"$match": {}}, {"$out": "out"}], "cursor": {}})",
             R"({"aggregate": "c", "pipeline": [{"$match": {"_id": 1}}, {"$out": "out"}],
                "cursor": {}})",
             R"({"convertToCapped": "out", "size": 8192})",
             R"({"cloneCollectionAsCapped": "c", "toCollection": "copy", "size": 8192})",
             R"({"create": "view", "viewOn": "c", "pipeline": [{"$match": {"a": 1}}]})",
             R"({"create": "other", "viewOn": "c", "pipeline": []})",
             R"({"drop": "other"})",
             R"({"create": "checked", "validator": {"a": {"$exists": true}}})",
             R"({"collMod": "checked", "validator": {"b": {"$exists": true}}})",
             R"({"insert": "gone", "documents": [{"_id": 1}]})",
             R"({"drop": "gone"})",
         })
        done(command);
    done(R"({"insert": "x", "documents": [{"_id": 1}]})", "second");
    done(R"({"insert": "y", "documents": [{"_id": 1}]})", "third");
    done(R"({"renameCollection": "test.made", "to": "test.named"})", "admin");
    done(R"({"renameCollection": "test.copy", "to": "test.named", "dropTarget": true})", "admin");
    done(R"({"renameCollection": "second.x", "to": "test.moved"})", "admin");
    done(R"({"dropDatabase": 1})", "third");
    done(R"({"emptycapped": "out"})");
    EXPECT_GT(log_.entries().size(), 40U);
    expect_follower_agrees();
}

TEST_P(ChangesToldTest, ByOldMessages) {
    insert_old("test.c", {R"({"_id": 1})", R"({"_id": 2, "a": 1})", R"({"_id": 3})"});
    insert_old("test.system.indexes", {R"({"ns": "test.c", "key": {"a": 1}, "name": "a"})"});
    update_old("test.c", R"({"_id": 1})", R"({"$set": {"a": 5}})");
    update_old("test.c", R"({})", R"({"$inc": {"a": 1}})", 2);
    update_old("test.c", R"({"_id": 8})", R"({"b": 1})", 1);
    delete_old("test.c", R"({"_id": 2})");
    EXPECT_EQ(log_.entries().size(), 11U);
    expect_follower_agrees();
}

TEST_P(ChangesToldTest, WhenDocumentsExpire) {
    done(R"({"createIndexes": "c", "indexes": [{"key": {"at": 1}, "name": "at",
             "expireAfterSeconds": 1}]})");
    done(R"({"insert": "c", "documents": [{"_id": 1, "at": {"$date": 0}}, {"_id": 2}]})");
    log_.take_texts();
    EXPECT_EQ(delete_expired(service_->contexts()), 1);
    EXPECT_EQ(log_.take_texts(), std::vector<std::string>{"remove test.c { _id: 1 }"});
    expect_follower_agrees();
}

TEST_P(ChangesToldTest, NotWhereNothingChanges) {
    done(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})");
    log_.take_texts();
    EXPECT_EQ(
        entries_of(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}]})"),
        0);
    EXPECT_EQ(
        entries_of(R"({"update": "c", "updates": [{"q": {"_id": 5}, "u": {"$set": {"a": 2}}}]})"),
        0);
    EXPECT_EQ(entries_of(R"({"delete": "c", "deletes": [{"q": {"_id": 5}, "limit": 0}]})"), 0);
    EXPECT_EQ(entries_of(R"({"find": "c"})"), 0);
    EXPECT_EQ(entries_of(R"({"reIndex": "c"})"), 0);
    EXPECT_EQ(entries_of(R"({"validate": "c"})"), 0);
    EXPECT_EQ(entries_of(R"({"insert": "own", "documents": [{"_id": 1}]})", "local"), 0);
    run(R"({"profile": 2})");
    EXPECT_EQ(entries_of(R"({"find": "c"})"), 0);
    run(R"({"profile": 0})");
}

// Few documents, many changes of every kind, also such as fail.
TEST_P(ChangesToldTest, WhateverHappens) {
    constexpr const char* kUpdates[] = {
        R"({"$set": {"a.b": 1}})",
        R"({"$set": {"a": [1, 2, 3]}})",
        R"({"$unset": {"a": 1}})",
        R"({"$inc": {"n": 1}})",
        R"({"$push": {"a": 4}})",
        R"({"$pull": {"a": 2}})",
        R"({"$rename": {"a": "c"}})",
        R"({"$set": {"a.1": "text"}})",
        R"({"a": {"b": 2}, "n": 7})",
        R"({"$set": {"long": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}})",
    };
    std::mt19937 random(20261127);
    const auto below = [&random](int n) {
        return static_cast<int>(random() % static_cast<uint32_t>(n));
    };
    done(R"({"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n", "unique": true,
             "sparse": true}]})");
    for (int i = 0; i < 400; ++i) {
        const int id = below(6);
        const char* const change =
            kUpdates[static_cast<size_t>(below(static_cast<int>(std::size(kUpdates))))];
        switch (below(8)) {
            case 0:
                run(fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}, "n": {}}}]}})", id,
                                below(9)));
                break;
            case 1:
                run(fmt::format(
                    R"({{"delete": "c", "deletes": [{{"q": {{"_id": {}}}, "limit": 1}}]}})", id));
                break;
            case 2:
                run(fmt::format(R"({{"update": "c", "updates": [{{"q": {{"n": {{"$gt": 3}}}},
                                    "u": {{"$set": {{"m": {}}}}}, "multi": true}}]}})",
                                below(3)));
                break;
            case 3:
                run(fmt::format(R"({{"findAndModify": "c", "query": {{"_id": {}}}, "update": {},
                                    "upsert": true}})",
                                id, change));
                break;
            default:
                run(fmt::format(R"({{"update": "c", "updates": [{{"q": {{"_id": {}}}, "u": {},
                                    "upsert": {}}}]}})",
                                id, change, below(4) == 0 ? "true" : "false"));
        }
    }
    EXPECT_GT(log_.entries().size(), 150U);
    expect_follower_agrees();
}

INSTANTIATE_TEST_SUITE_P(engines, ChangesToldTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command
