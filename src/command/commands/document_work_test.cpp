// One document's work has a limit: what goes beyond it ends with an error of its own and changes
// nothing, whatever it was about.
#include "sched/work_limit.h"

#include <fmt/core.h>

#include "command/commands/testing/service.h"

namespace command {
namespace {

using bson::make;

class DocumentWork : public EachEngineTest {
  protected:
    static constexpr int64_t kTicks = 100'000;
    static constexpr int kElements = 20'000;

    DocumentWork() {
        service_->profiler().set_slow_ms(100'000);  // what they are asked is long
        EXPECT_EQ(code(run(document(1, 0))), 0);
        before_ = contents();
    }
    ~DocumentWork() override { sched::WorkLimit::set_limit(sched::WorkLimit::kDefaultTicks); }

    // An insert of a document of many elements {x: 0}, {x: 1}, ...
    static bson::Object document(int id, int first) {
        bson::Builder out;
        out.append("insert", "c");
        {
            bson::Builder list = out.sub_array("documents");
            bson::Builder doc = list.sub_object("0");
            doc.append("_id", id).append("n", 0);
            bson::Builder elements = doc.sub_array("d");
            for (int i = 0; i < kElements; ++i)
                elements.push(make("x", first + i));
        }
        return out.object();
    }
    // {d: {$elemMatch: {$or: [{x: -1}, ...]}}}: looks at each element often, and finds none.
    static std::string costly() {
        std::string clauses;
        for (int i = 0; i < 50; ++i)
            clauses += fmt::format(R"({}{{"x": {}}})", i == 0 ? "" : ", ", -1 - i);
        return fmt::format(R"({{"d": {{"$elemMatch": {{"$or": [{}]}}}}}})", clauses);
    }
    // {$rename: {x0: y0, ...}, $inc: {n: 1}}: looks for each in the whole document.
    static std::string costly_update() {
        std::string fields;
        for (int i = 0; i < 2'000; ++i)
            fields += fmt::format(R"({}"x{}": "y{}")", i == 0 ? "" : ", ", i, i);
        return fmt::format(R"({{"$rename": {{{}}}, "$inc": {{"n": 1}}}})", fields);
    }

    std::string contents() {
        return bson::to_text(run(make("find", "c"))["cursor"].as_doc()["firstBatch"].as_doc());
    }
    // Expects that the command ends with its error under the limit, and has changed nothing.
    void expect_ended(const bson::Object& command) {
        sched::WorkLimit::set_limit(kTicks);
        const bson::Object reply = run(command);
        sched::WorkLimit::set_limit(sched::WorkLimit::kDefaultTicks);
        const bson::Element errors = reply["writeErrors"];
        const int found =
            errors ? errors.as_doc().first().as_doc()["code"].to_int32() : code(reply);
        EXPECT_EQ(found, base::kWorkLimitExceeded) << bson::to_text(reply).substr(0, 500);
        EXPECT_EQ(contents(), before_);
    }
    void expect_ended(const std::string& command) { expect_ended(bson::from_json(command)); }

    std::string before_;
};

TEST_P(DocumentWork, EndsReads) {
    for (const char* command :
         {R"({{"find": "c", "filter": {}}})", R"({{"find": "c", "projection": {}}})",
          R"({{"find": "c", "filter": {{"_id": 1}}, "projection": {}}})",
          R"({{"count": "c", "query": {}}})",
          R"({{"aggregate": "c", "pipeline": [{{"$match": {}}}], "cursor": {{}}}})",
          R"({{"delete": "c", "deletes": [{{"q": {}, "limit": 0}}]}})"}) {
        SCOPED_TRACE(command);
        expect_ended(fmt::format(fmt::runtime(command), costly()));
    }
    expect_ended(R"({"distinct": "c", "key": "d.x"})");
    expect_ended(R"({"find": "c", "sort": {"d.x": 1}})");
}

TEST_P(DocumentWork, EndsUpdates) {
    for (const char* query : {R"({"_id": 1})", R"({"n": 0})"}) {
        for (const char* more : {"", R"(, "multi": true)", R"(, "upsert": true)"}) {
            SCOPED_TRACE(fmt::format("{}{}", query, more));
            expect_ended(fmt::format(R"({{"update": "c", "updates": [{{"q": {}, "u": {}{}}}]}})",
                                     query, costly_update(), more));
        }
        for (const char* more : {"", R"(, "sort": {"n": 1})", R"(, "new": true)"}) {
            SCOPED_TRACE(fmt::format("{}{}", query, more));
            expect_ended(fmt::format(R"({{"findAndModify": "c", "query": {}, "update": {}{}}})",
                                     query, costly_update(), more));
            expect_ended(fmt::format(
                R"({{"findAndModify": "c", "query": {}, "update": {{"$inc": {{"n": 1}}}},
                     "fields": {}{}}})",
                query, costly(), more));
        }
    }
}

// Such a write costs more the more indexes there are, and nothing of it stays.
TEST_P(DocumentWork, EndsWritesOfManyKeys) {
    ASSERT_EQ(code(run(R"({"createIndexes": "c", "indexes": [
                           {"key": {"d.x": 1}, "name": "one"},
                           {"key": {"n": 1, "d.x": 1}, "name": "two"}]})")),
              0);
    expect_ended(document(2, 0));
    expect_ended(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"n": 1}}}]})");
    expect_ended(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"_id": 1, "n": 1}}]})");
    EXPECT_TRUE(run(R"({"validate": "c", "full": true})")["valid"].truthy());
    // The document that is there can be removed.
    sched::WorkLimit::set_limit(kTicks);
    EXPECT_EQ(run(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})")["n"].to_int32(),
              1);
}

TEST_P(DocumentWork, TheOthersOfABatchGoOn) {
    sched::WorkLimit::set_limit(kTicks);
    const bson::Object reply = run(fmt::format(
        R"({{"update": "c", "ordered": false, "updates": [{{"q": {{"_id": 1}}, "u": {}}},
             {{"q": {{"_id": 1}}, "u": {{"$set": {{"n": 1}}}}}}]}})",
        costly_update()));
    EXPECT_EQ(reply["writeErrors"].as_doc().field_count(), 1);
    EXPECT_EQ(reply["nModified"].to_int32(), 1);
}

// The stages of a pipeline need no lock, so that no other client waits for them.
TEST_P(DocumentWork, StagesHaveNone) {
    sched::WorkLimit::set_limit(kTicks);
    const bson::Object reply = run(R"({"aggregate": "c", "cursor": {}, "pipeline": [
        {"$unwind": "$d"}, {"$group": {"_id": "$d.x"}},
        {"$group": {"_id": 1, "n": {"$sum": 1}}}]})");
    EXPECT_EQ(reply.doc().at_path("cursor.firstBatch.0.n").to_int32(), kElements)
        << bson::to_text(reply);
}

INSTANTIATE_TEST_SUITE_P(engines, DocumentWork, kTestEngines, engine_name);

}  // namespace
}  // namespace command
