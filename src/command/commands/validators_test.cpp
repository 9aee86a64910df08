// Validators as clients see them: what is taken and listed, which writes ask one, what a refusal
// says.
#include <fmt/core.h>

#include "base/error.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

class ValidatorTest : public EachEngineTest {
  protected:
    bson::Object ask(const std::string& command, std::string_view db = "test") {
        return run(bson::parse_test_json(command), db);
    }
    void create(const std::string& options = R"("validator": {"a": {"$gt": 0}})") {
        ask(R"({"drop": "c"})");
        const bson::Object reply = ask(fmt::format(R"({{"create": "c", {}}})", options));
        ASSERT_EQ(code(reply), 0) << bson::to_text(reply);
    }
    // The code of the first write error, or of the command; 0: none.
    static int failure(const bson::Object& reply) {
        if (code(reply) != 0) return code(reply);
        return reply.doc().at_path("writeErrors.0.code").to_int32();
    }
    int insert(const std::string& doc, const std::string& more = "") {
        return failure(ask(fmt::format(R"({{"insert": "c", "documents": [{}]{}}})", doc, more)));
    }
    int update(const std::string& q, const std::string& u, const std::string& more = "") {
        return failure(ask(
            fmt::format(R"({{"update": "c", "updates": [{{"q": {}, "u": {}{}}}]}})", q, u, more)));
    }
    int modify(const std::string& rest) {
        return failure(ask(fmt::format(R"({{"findAndModify": "c", {}}})", rest)));
    }
    std::string options(const std::string& name = "c") {
        const bson::Object reply =
            ask(fmt::format(R"({{"listCollections": 1, "filter": {{"name": "{}"}}}})", name));
        return bson::to_text(reply.doc().at_path("cursor.firstBatch.0.options"));
    }
    int count() { return ask(R"({"count": "c"})")["n"].to_int32(); }
};

TEST_P(ValidatorTest, IsListedAsItWasGiven) {
    create(R"("validator": {"a": {"$gt": 0}}, "validationLevel": "moderate")");
    EXPECT_EQ(options(), "{ validator: { a: { $gt: 0 } }, validationLevel: \"moderate\" }");
    EXPECT_EQ(code(ask(R"({"collMod": "c", "validationAction": "warn", "validator": {"b": 1}})")),
              0);
    EXPECT_EQ(options(),
              "{ validationLevel: \"moderate\", validationAction: \"warn\", "
              "validator: { b: 1 } }");
    EXPECT_EQ(code(ask(R"({"collMod": "c", "validator": null})")), 0);
    EXPECT_EQ(options(),
              "{ validationLevel: \"moderate\", validationAction: \"warn\", "
              "validator: { b: 1 } }");
}

TEST_P(ValidatorTest, IsCheckedBeforeItIsKept) {
    const auto refused = [this](const std::string& given, std::string_view db = "test") {
        const int made = code(ask(fmt::format(R"({{"create": "made", {}}})", given), db));
        ask(R"({"create": "there"})", db);
        const int changed = code(ask(fmt::format(R"({{"collMod": "there", {}}})", given), db));
        EXPECT_EQ(made, changed) << given;
        EXPECT_FALSE(ask(R"({"drop": "made"})", db).doc().has("ns")) << given;
        return made;
    };
    EXPECT_EQ(refused(R"("validator": {"a": {"$foo": 1}})"), base::kBadValue);
    EXPECT_EQ(refused(R"("validator": {"$jsonSchema": {"$ref": "#/x"}})"), base::kFailedToParse);
    EXPECT_EQ(refused(R"("validator": {"$jsonSchema": {"foo": 1}})"), base::kFailedToParse);
    EXPECT_EQ(refused(R"("validator": 5)"), base::kTypeMismatch);
    EXPECT_EQ(refused(R"("validationLevel": "loose")"), base::kBadValue);
    EXPECT_EQ(refused(R"("validationAction": "shrug")"), base::kBadValue);
    EXPECT_EQ(refused(R"("validationAction": 1)"), base::kTypeMismatch);
    for (const char* db : {"admin", "local", "config"})
        EXPECT_EQ(refused(R"("validator": {"a": 1})", db), base::kInvalidOptions) << db;
}

TEST_P(ValidatorTest, EveryWayToWriteAsks) {
    create();
    EXPECT_EQ(insert(R"({"_id": 1, "a": 1})"), 0);
    EXPECT_EQ(insert(R"({"_id": 2, "a": 0})"), base::kDocumentValidationFailure);
    EXPECT_EQ(update(R"({"_id": 1})", R"({"$set": {"a": 2}})"), 0);
    EXPECT_EQ(update(R"({"_id": 1})", R"({"$set": {"a": -2}})"), base::kDocumentValidationFailure);
    EXPECT_EQ(update(R"({"_id": 1})", R"({"$inc": {"a": -5}})"), base::kDocumentValidationFailure);
    EXPECT_EQ(update(R"({"a": 2})", R"({"b": 1})"), base::kDocumentValidationFailure);
    EXPECT_EQ(update(R"({"a": 2})", R"([{"$project": {"b": 1}}])"),
              base::kDocumentValidationFailure);
    EXPECT_EQ(update(R"({"_id": 9})", R"({"$set": {"a": 0}})", R"(, "upsert": true)"),
              base::kDocumentValidationFailure);
    EXPECT_EQ(update(R"({"_id": 9})", R"({"$set": {"a": 9}})", R"(, "upsert": true)"), 0);
    EXPECT_EQ(modify(R"("query": {"_id": 1}, "update": {"$set": {"a": 0}})"),
              base::kDocumentValidationFailure);
    EXPECT_EQ(modify(R"("query": {"_id": 8}, "update": {"$set": {"a": 0}}, "upsert": true)"),
              base::kDocumentValidationFailure);
    EXPECT_EQ(modify(R"("query": {"_id": 1}, "update": {"$set": {"a": 3}})"), 0);
    EXPECT_EQ(ask(R"({"find": "c", "filter": {"_id": 1}})")
                  .doc()
                  .at_path("cursor.firstBatch.0.a")
                  .to_int32(),
              3);
    EXPECT_EQ(count(), 2);
    ask(R"({"insert": "source", "documents": [{"a": 5}, {"a": 0}]})");
    const std::string out =
        R"({"aggregate": "source", "pipeline": [{"$match": {"a": {"$gt": %}}}, {"$out": "c"}],
            "cursor": {}})";
    const auto pipeline = [&](const char* least) {
        std::string text = out;
        return code(ask(text.replace(text.find('%'), 1, least)));
    };
    EXPECT_EQ(pipeline("-1"), base::kDocumentValidationFailure);
    EXPECT_EQ(count(), 2);
    EXPECT_EQ(pipeline("1"), 0);
    EXPECT_EQ(count(), 1);
    // The collection that took the place has the validator.
    EXPECT_EQ(insert(R"({"a": 0})"), base::kDocumentValidationFailure);
}

TEST_P(ValidatorTest, OldMessagesAskToo) {
    create();
    insert_old("test.c", {R"({"_id": 1, "a": 0})"});
    EXPECT_EQ(run_old(R"({"getLastError": 1})")["code"].to_int32(),
              base::kDocumentValidationFailure);
    insert_old("test.c", {R"({"_id": 1, "a": 1})"});
    update_old("test.c", R"({"_id": 1})", R"({"$set": {"a": 0}})");
    EXPECT_EQ(run_old(R"({"getLastError": 1})")["code"].to_int32(),
              base::kDocumentValidationFailure);
    EXPECT_EQ(count(), 1);
}

TEST_P(ValidatorTest, CanBeBypassed) {
    create();
    const std::string bypass = R"(, "bypassDocumentValidation": true)";
    EXPECT_EQ(insert(R"({"_id": 1})", bypass), 0);
    EXPECT_EQ(insert(R"({"_id": 2})", R"(, "bypassDocumentValidation": false)"),
              base::kDocumentValidationFailure);
    EXPECT_EQ(failure(ask(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"b": 1}}],
                              "bypassDocumentValidation": true})")),
              0);
    EXPECT_EQ(failure(ask(R"({"update": "c", "bypassDocumentValidation": true, "updates":
                              [{"q": {"_id": 3}, "u": {"b": 1}, "upsert": true}]})")),
              0);
    EXPECT_EQ(modify(R"("query": {"_id": 1}, "update": {"b": 2},
                        "bypassDocumentValidation": true)"),
              0);
    ask(R"({"insert": "source", "documents": [{"_id": 7}]})");
    EXPECT_EQ(code(ask(R"({"aggregate": "source", "pipeline": [{"$out": "c"}], "cursor": {},
                           "bypassDocumentValidation": true})")),
              0);
    EXPECT_EQ(count(), 1);
}

TEST_P(ValidatorTest, LevelsAndActions) {
    create();
    insert(R"({"_id": 1})", R"(, "bypassDocumentValidation": true)");
    insert(R"({"_id": 2, "a": 1})");
    EXPECT_EQ(update(R"({"_id": 1})", R"({"$set": {"b": 1}})"), base::kDocumentValidationFailure);
    // An update that changes nothing is not examined.
    EXPECT_EQ(update(R"({"_id": 1})", R"({"$unset": {"b": 1}})"), 0);
    ask(R"({"collMod": "c", "validationLevel": "moderate"})");
    EXPECT_EQ(update(R"({"_id": 1})", R"({"$set": {"b": 1}})"), 0);
    EXPECT_EQ(update(R"({"_id": 2})", R"({"$set": {"a": 0}})"), base::kDocumentValidationFailure);
    EXPECT_EQ(insert(R"({"_id": 3})"), base::kDocumentValidationFailure);
    ask(R"({"collMod": "c", "validationLevel": "off"})");
    EXPECT_EQ(insert(R"({"_id": 3})"), 0);
    ask(R"({"collMod": "c", "validationLevel": "strict", "validationAction": "warn"})");
    EXPECT_EQ(insert(R"({"_id": 4})"), 0);
    ask(R"({"collMod": "c", "validationAction": "error"})");
    EXPECT_EQ(insert(R"({"_id": 5})"), base::kDocumentValidationFailure);
    ask(R"({"collMod": "c", "validator": {}})");
    EXPECT_EQ(insert(R"({"_id": 5})"), 0);
    EXPECT_EQ(count(), 5);
}

TEST_P(ValidatorTest, ARefusalSaysWhy) {
    create();
    const bson::Object many = ask(
        R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2, "a": 1}, {"_id": 3, "a": 0}],
            "ordered": false})");
    EXPECT_EQ(text(many, "writeErrors"),
              "[ { index: 0, code: 121, errmsg: \"Document failed validation\", errInfo: { "
              "failingDocumentId: 1, details: { operatorName: \"$gt\", "
              "specifiedAs: { a: { $gt: 0 } }, reason: \"field was missing\" } } }, { index: 2, "
              "code: 121, errmsg: \"Document failed validation\", errInfo: { failingDocumentId: 3, "
              "details: { operatorName: \"$gt\", specifiedAs: { a: { $gt: 0 } }, "
              "reason: \"comparison failed\", consideredValue: 0 } } } ]");
    const bson::Object one =
        ask(R"({"findAndModify": "c", "query": {"_id": 2}, "update": {"$set": {"a": 0}}})");
    EXPECT_EQ(one["codeName"].as_string(), "DocumentValidationFailure");
    EXPECT_EQ(one.doc().at_path("errInfo.failingDocumentId").to_int32(), 2);
    EXPECT_EQ(one.doc().at_path("errInfo.details.operatorName").as_string(), "$gt");
    create(R"("validator": {"$expr": {"$lt": ["$a", "$b"]}})");
    const bson::Object computed = ask(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})");
    EXPECT_EQ(bson::to_text(computed.doc().at_path("writeErrors.0.errInfo.details")),
              "{ operatorName: \"$expr\", specifiedAs: { $expr: { $lt: [ \"$a\", \"$b\" ] } }, "
              "reason: \"expression did not match\", expressionResult: false }");
    EXPECT_EQ(insert(R"({"a": 1, "b": 2})"), 0);
}

TEST_P(ValidatorTest, FollowsItsCollection) {
    create();
    insert(R"({"_id": 1, "a": 1})");
    const auto admin = [this](const std::string& command) { return code(ask(command, "admin")); };
    EXPECT_EQ(admin(R"({"renameCollection": "test.c", "to": "test.d"})"), 0);
    EXPECT_EQ(options("d"), "{ validator: { a: { $gt: 0 } } }");
    EXPECT_EQ(admin(R"({"renameCollection": "test.d", "to": "other.c"})"), 0);
    EXPECT_EQ(failure(ask(R"({"insert": "c", "documents": [{}]})", "other")),
              base::kDocumentValidationFailure);
    EXPECT_EQ(admin(R"({"renameCollection": "other.c", "to": "test.c"})"), 0);
    EXPECT_EQ(code(ask(R"({"compact": "c", "force": true})")), 0);
    EXPECT_EQ(insert("{}"), base::kDocumentValidationFailure);
    EXPECT_EQ(code(ask(R"({"convertToCapped": "c", "size": 100000})")), 0);
    EXPECT_EQ(insert("{}"), base::kDocumentValidationFailure);
    {
        const storage::GlobalLock lock(service_->locks(), storage::GlobalMode::W);
        catalog_->close_database("test");
    }
    EXPECT_EQ(insert("{}"), base::kDocumentValidationFailure);
    EXPECT_EQ(insert(R"({"a": 1})"), 0);
}

// Only the directory of another server can have one that cannot be read.
TEST_P(ValidatorTest, OneThatCannotBeReadLetsNothingIn) {
    create("\"autoIndexId\": true");
    {
        const storage::GlobalLock lock(service_->locks(), storage::GlobalMode::W);
        catalog::Collection& c = *catalog_->collection("test.c");
        c.store().replace_options(bson::from_json(R"({"validator": {"a": {"$foo": 1}}})"));
        c.reload_validator();
    }
    EXPECT_EQ(insert("{}"), base::kDocumentValidationFailure);
    EXPECT_EQ(insert("{}", R"(, "bypassDocumentValidation": true)"), 0);
    EXPECT_EQ(code(ask(R"({"collMod": "c", "validator": {}})")), 0);
    EXPECT_EQ(insert("{}"), 0);
}

INSTANTIATE_TEST_SUITE_P(engines, ValidatorTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command
