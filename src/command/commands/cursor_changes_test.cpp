// A cursor shows each of the documents that change between its batches as it is when its batch is
// read, and none that has gone.
#include <fmt/core.h>
#include <set>

#include "command/commands/testing/service.h"

namespace command {
namespace {

// Says under which lock it ends. Has no documents, or an error instead of them.
class SourceThatTells final : public CursorSource {
  public:
    SourceThatTells(storage::GlobalMode& ended_under, bool fails)
        : ended_under_(ended_under), fails_(fails) {}
    ~SourceThatTells() override { ended_under_ = storage::LockManager::mode(); }
    bool next(bson::Buffer& /*out*/) override {
        if (fails_) base::fail(base::kBadValue, "no documents");
        return false;
    }
    bool reads_collections() const override { return true; }

  private:
    storage::GlobalMode& ended_under_;
    const bool fails_;
};

class EndedCursorTest : public EachEngineTest {};

// A cursor may hold much, which takes long to free.
TEST_P(EndedCursorTest, IsFreedUnderNoLock) {
    run(R"({"create": "c"})");
    const auto incarnation = [this] {
        const storage::DatabaseLock lock(engine_->locks(), "test", false);
        return catalog_->collection("test.c")->incarnation();
    };
    for (const bool fails : {false, true}) {
        storage::GlobalMode ended_under = storage::GlobalMode::W;
        auto cursor = std::make_unique<Cursor>();
        cursor->ns = cursor->collection_ns = "test.c";
        cursor->incarnation = incarnation();
        cursor->source = std::make_unique<SourceThatTells>(ended_under, fails);
        const int64_t id = service_->cursors().add(std::move(cursor));
        const bson::Object reply =
            run(fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "c"}})", id));
        EXPECT_EQ(code(reply), fails ? base::kBadValue : 0);
        EXPECT_EQ(ended_under, storage::GlobalMode::none);
    }
}
INSTANTIATE_TEST_SUITE_P(engines, EndedCursorTest, kTestEngines, engine_name);

class CursorChangesTest : public EachEngineTest {
  protected:
    void SetUp() override {
        run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"},
                {"key": {"m": 1}, "name": "m"}, {"key": {"b": 1, "a": 1}, "name": "b"}]})");
        std::string docs;
        for (int i = 0; i < 60; ++i)
            docs += fmt::format(R"({}{{"_id": {}, "a": {}, "b": {}, "m": [{}, {}], "v": "old"}})",
                                i == 0 ? "" : ",", i, i, i % 2, i, i + 100);
        EXPECT_EQ(text(run(R"({"insert": "c", "documents": [)" + docs + "]}"), "n"), "60");
    }

    // Reads ten documents, makes the change, reads the rest. Returns the rest.
    std::vector<bson::Object> rest_after(const std::string& find, const std::string& change) {
        const bson::Object first = run(R"({"find": "c", "batchSize": 10, )" + find + "}");
        EXPECT_EQ(first.doc().at_path("cursor.firstBatch").as_doc().field_count(), 10) << find;
        int64_t id = first.doc().at_path("cursor.id").to_int64();
        EXPECT_NE(id, 0) << find;
        EXPECT_EQ(code(run(change)), 0) << change;
        std::vector<bson::Object> rest;
        while (id != 0) {
            const bson::Object more = run(fmt::format(
                R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "c", "batchSize": 7}})",
                id));
            EXPECT_EQ(code(more), 0) << find;
            id = more.doc().at_path("cursor.id").to_int64();
            for (const bson::Element& doc : more.doc().at_path("cursor.nextBatch").as_doc())
                rest.emplace_back(doc.as_doc());
        }
        return rest;
    }
    // The same by the old messages.
    std::vector<bson::Object> old_rest_after(const std::string& query_doc,
                                             const std::string& change) {
        EXPECT_EQ(query("test.c", query_doc, 10).size(), 10U);
        EXPECT_NE(cursor_, 0);
        EXPECT_EQ(code(run(change)), 0) << change;
        std::vector<bson::Object> rest;
        while (cursor_ != 0) {
            for (bson::Object& doc : get_more("test.c", 7))
                rest.push_back(std::move(doc));
        }
        return rest;
    }
    void fill_again() {
        run(R"({"drop": "c"})");
        SetUp();
    }
};

const char* const kFinds[] = {
    R"("filter": {})",
    R"("filter": {"v": {"$exists": true}})",
    R"("filter": {}, "sort": {"_id": 1})",
    R"("filter": {}, "sort": {"_id": -1})",
    R"("filter": {"a": {"$gte": 0}})",
    R"("filter": {"a": {"$gte": 0}}, "sort": {"a": -1})",
    R"("filter": {"m": {"$gte": 0}}, "hint": "m")",
    R"("filter": {"b": {"$in": [0, 1]}}, "sort": {"a": 1})",
    R"("filter": {"$or": [{"a": {"$lt": 30}}, {"b": {"$lt": 5}}]})",
    R"("filter": {"$or": [{"b": 0}, {"b": 1, "a": {"$gte": 0}}]}, "sort": {"a": 1})",
    R"("filter": {}, "hint": {"$natural": -1})",
};
const char* const kOldFinds[] = {
    "{}",
    R"({"a": {"$gte": 0}})",
    R"({"$query": {}, "$orderby": {"a": 1}})",
    R"({"$query": {"m": {"$gte": 0}}, "$hint": "m"})",
    R"({"$query": {"b": {"$in": [0, 1]}}, "$orderby": {"a": 1}})",
};
const char kDeleteAll[] = R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})";

TEST_P(CursorChangesTest, WhatWasDeletedDoesNotCome) {
    for (const char* find : kFinds) {
        EXPECT_EQ(rest_after(find, kDeleteAll).size(), 0U) << find;
        fill_again();
    }
    for (const char* find : kOldFinds) {
        EXPECT_EQ(old_rest_after(find, kDeleteAll).size(), 0U) << find;
        fill_again();
    }
}

// An index without arrays tells by its keys what matches; one that has got some does not.
TEST_P(CursorChangesTest, AnIndexGetsArrays) {
    const std::string change =
        R"({"update": "c", "updates": [
        {"q": {}, "u": {"$set": {"a": ["x", 300]}}, "multi": true}]})";
    for (const char* find :
         {R"("filter": {"a": {"$not": {"$gt": 100}}}, "hint": "a")",
          R"("filter": {"a": {"$not": {"$gt": 100}}}, "hint": "a", "projection": {"a": 1})",
          R"("filter": {"a": {"$not": {"$gt": 100}}}, "sort": {"a": 1})"}) {
        EXPECT_EQ(rest_after(find, change).size(), 0U) << find;
        fill_again();
    }
}

TEST_P(CursorChangesTest, EveryOtherOneDeleted) {
    const std::string change =
        R"({"delete": "c", "deletes": [
        {"q": {"_id": {"$mod": [2, 0]}}, "limit": 0}]})";
    for (const char* find : kFinds) {
        std::set<int> left;
        for (const bson::Object& doc : rest_after(find, change))
            EXPECT_TRUE(left.insert(doc["_id"].to_int32()).second) << find;
        EXPECT_EQ(left.size(), 25U) << find;
        for (const int id : left)
            EXPECT_EQ(id % 2, 1) << find;
        fill_again();
    }
}

// The documents are updated in place, and by one that has to move.
TEST_P(CursorChangesTest, WhatWasUpdatedComesAsItIs) {
    for (const std::string& value : {std::string("new"), std::string(700, 'n')}) {
        const std::string change = fmt::format(
            R"({{"update": "c", "updates": [
                {{"q": {{}}, "u": {{"$set": {{"v": "{}"}}}}, "multi": true}}]}})",
            value);
        const auto all_new = [&](const std::vector<bson::Object>& rest, const char* find) {
            std::set<int> ids;
            for (const bson::Object& doc : rest) {
                EXPECT_EQ(doc["v"].as_string(), value) << find;
                ids.insert(doc["_id"].to_int32());
            }
            // A scan in natural order may show again what has moved to the end.
            EXPECT_GE(ids.size(), 50U) << find;
            fill_again();
        };
        for (const char* find : kFinds)
            if (value.size() == 3 || std::string_view(find).find("-1") == std::string_view::npos)
                all_new(rest_after(find, change), find);
        for (const char* find : kOldFinds)
            all_new(old_rest_after(find, change), find);
    }
}

// The documents of a sort in memory are copies, as they were in the old server.
TEST_P(CursorChangesTest, SortsInMemoryKeepWhatTheyRead) {
    EXPECT_EQ(rest_after(R"("filter": {}, "sort": {"v": 1})", kDeleteAll).size(), 50U);
}

// A document that was too large for the rest of a batch is read again, too.
TEST_P(CursorChangesTest, WhatDidNotFitIntoTheLastBatch) {
    const std::string large(6 << 20, 'x');
    for (int i = 0; i < 4; ++i)
        run(fmt::format(R"({{"insert": "large", "documents": [{{"_id": {}, "x": "{}"}}]}})", i,
                        large));
    for (const char* find : {R"({"find": "large"})", R"({"find": "large", "sort": {"_id": 1}})"}) {
        const bson::Object first = run(find);
        EXPECT_EQ(first.doc().at_path("cursor.firstBatch").as_doc().field_count(), 2);
        run(R"({"update": "large", "updates": [{"q": {"_id": 2}, "u": {"_id": 2, "x": "new"}}]})");
        const bson::Object more =
            run(fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "large"}})",
                            first.doc().at_path("cursor.id").to_int64()));
        EXPECT_EQ(more.doc().at_path("cursor.nextBatch").as_doc().field_count(), 2) << find;
        EXPECT_EQ(text(more, "ok"), "1.0") << find;
        EXPECT_EQ(more.doc().at_path("cursor.nextBatch.0.x").as_string(), "new") << find;
        run(fmt::format(
            R"({{"update": "large", "updates": [
                {{"q": {{"_id": 2}}, "u": {{"_id": 2, "x": "{}"}}}}]}})",
            large));
    }
}

// The end is known where the next document would be sure to come.
TEST_P(CursorChangesTest, NoCursorBehindTheLastDocument) {
    for (const char* find : {R"({"find": "c", "batchSize": 60})",
                             R"({"find": "c", "batchSize": 60, "filter": {"a": {"$gte": 0}}})",
                             R"({"find": "c", "batchSize": 60, "sort": {"v": 1}})"})
        EXPECT_EQ(run(find).doc().at_path("cursor.id").to_int64(), 0) << find;
    EXPECT_EQ(query("test.c", "{}", 60).size(), 60U);
    EXPECT_EQ(cursor_, 0);
}

INSTANTIATE_TEST_SUITE_P(engines, CursorChangesTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command
