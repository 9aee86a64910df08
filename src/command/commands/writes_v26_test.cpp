// Writes by the old messages and by findAndModify, which share the code of the write commands, but
// not all of their checks.
#include <fmt/core.h>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class WritesV26Test : public EachEngineTest {
  protected:
    // Returns the documents of test.c, in the shell's notation.
    std::string stored() {
        std::string all;
        for (const bson::Object& doc :
             query("test.c", R"({"$query": {}, "$orderby": {"_id": 1}})", 0))
            all += bson::to_text(doc);
        return all;
    }
    int last_code() { return run_old(R"({"getlasterror": 1})")["code"].to_int32(); }
    int modify(const std::string& q, const std::string& u, const char* more = "") {
        return code(run(
            fmt::format(R"({{"findAndModify": "c", "query": {}, "update": {}{}}})", q, u, more)));
    }
};

constexpr int32_t kUpsert = 1;

// The message is checked as a whole before its first document is stored.
TEST_P(WritesV26Test, ABadDocumentKeepsThoseBeforeItOut) {
    for (const int32_t flags : {0, 1}) {
        bson::Buffer message;
        for (const int32_t word : {0, 77, 0, 2002, flags})
            message.append_value<int32_t>(word);
        message.append("test.c", 7);
        const bson::Object good = bson::make("_id", 1);
        message.append(good.bytes().data(), good.bytes().size());
        const bson::Object bad = bson::make("_id", 2);
        message.append(bad.bytes().data(), bad.bytes().size());
        message.data()[message.size() - 1] = 7;  // its end
        message.store<int32_t>(0, static_cast<int32_t>(message.size()));
        EXPECT_TRUE(serve(message).empty());
        EXPECT_NE(last_code(), 0);
        EXPECT_EQ(stored(), "");
    }
    // A fault in a document that is one leaves those before it.
    insert_old("test.c", {R"({"_id": 1})", R"({"_id": [2]})", R"({"_id": 3})"});
    EXPECT_EQ(last_code(), 2);
    EXPECT_EQ(stored(), "{ _id: 1 }");
    insert_old("test.c", {R"({"_id": 1})", R"({"_id": 3})"}, 1);
    EXPECT_EQ(last_code(), 11000);
    EXPECT_EQ(stored(), "{ _id: 1 }{ _id: 3 }");
}

TEST_P(WritesV26Test, OnlyTheServerFillsTheProfile) {
    run(R"({"create": "system.profile", "capped": true, "size": 4096})");
    for (const int32_t go_on : {0, 1}) {
        insert_old("test.system.profile", {R"({"a": 1})"}, go_on);
        EXPECT_EQ(last_code(), 2);
    }
    insert_old("test.system.indexes",
               {R"({"ns": "test.system.profile", "key": {"a": 1}, "name": "a"})"});
    EXPECT_EQ(last_code(), 2);
    EXPECT_EQ(text(run(R"({"count": "system.profile"})"), "n"), "0");
}

// Nor does a connection keep them.
TEST_P(WritesV26Test, NamesThatAreTooLongAreRefused) {
    const std::string longest = "test." + std::string(115, 'x');
    const std::string too_long = "test." + std::string(123, 'x');
    const auto code_after = [this](auto&& write) {
        write();
        return last_code();
    };
    EXPECT_EQ(code_after([&] { update_old(longest, "{}", R"({"$set": {"a": 1}})"); }), 0);
    EXPECT_EQ(code_after([&] { delete_old(longest, "{}"); }), 0);
    EXPECT_EQ(code_after([&] { insert_old(too_long, {"{}"}); }), 10080);
    EXPECT_EQ(code_after([&] { update_old(too_long, "{}", R"({"$set": {"a": 1}})"); }),
              base::kBadValue);
    EXPECT_EQ(code_after([&] { delete_old(too_long, "{}"); }), base::kBadValue);
}

TEST_P(WritesV26Test, SetOnInsertMustLeadSomewhereInAnExistingDocument) {
    const char kUpdate[] = R"({"$set": {"a": 3}, "$setOnInsert": {"a.x": 1}})";
    insert_old("test.c", {R"({"_id": 1, "a": {"x": 0}})"});
    for (const int32_t flags : {0, kUpsert}) {
        update_old("test.c", R"({"_id": 1})", kUpdate, flags);
        EXPECT_NE(last_code(), 0);
    }
    for (const char* more :
         {"", R"(, "upsert": true)", R"(, "sort": {"_id": 1})", R"(, "new": true)"})
        EXPECT_NE(modify(R"({"_id": 1})", kUpdate, more), 0) << more;
    EXPECT_EQ(stored(), "{ _id: 1, a: { x: 0 } }");
    // Beside it, it has nothing to do.
    update_old("test.c", R"({"_id": 1})", R"({"$set": {"b": 3}, "$setOnInsert": {"a.x": 1}})");
    EXPECT_EQ(last_code(), 0);
    EXPECT_EQ(stored(), "{ _id: 1, a: { x: 0 }, b: 3 }");
}

TEST_P(WritesV26Test, ReplacementsFillTimestamps) {
    const char kZero[] = R"({"$timestamp": {"t": 0, "i": 0}})";
    const std::string u =
        fmt::format(R"({{"t": {}, "in": {{"t": {}}}, "l": [{}]}})", kZero, kZero, kZero);
    const auto check = [&](const char* what) {
        const std::vector<bson::Object> docs = query("test.c", "{}", 0);
        ASSERT_EQ(docs.size(), 1U) << what;
        EXPECT_NE(docs[0]["t"].as_timestamp(), 0U) << what;
        EXPECT_EQ(docs[0].doc().at_path("in.t").as_timestamp(), 0U) << what;
        EXPECT_EQ(docs[0].doc().at_path("l.0").as_timestamp(), 0U) << what;
        run(R"({"drop": "c"})");
    };
    const auto fresh = [&] { insert_old("test.c", {R"({"_id": 1, "x": 1})"}); };
    fresh();
    update_old("test.c", R"({"_id": 1})", u);
    check("OP_UPDATE");
    update_old("test.c", R"({"_id": 1})", u, kUpsert);
    check("OP_UPDATE that inserts");
    insert_old("test.c", {u});
    check("OP_INSERT");
    for (const char* more : {"", R"(, "new": true)", R"(, "sort": {"_id": 1})"}) {
        fresh();
        EXPECT_EQ(modify(R"({"_id": 1})", u, more), 0);
        check(more);
    }
    EXPECT_EQ(modify(R"({"_id": 1})", u, R"(, "upsert": true)"), 0);
    check("findAndModify that inserts");
    // An operator takes it as it is.
    fresh();
    update_old("test.c", R"({"_id": 1})", fmt::format(R"({{"$set": {{"t": {}}}}})", kZero));
    EXPECT_EQ(query("test.c", "{}", 0).at(0)["t"].as_timestamp(), 0U);
}

TEST_P(WritesV26Test, ARenameOfWhatIsMissingMovesNothing) {
    const std::string before = R"({ _id: 1, addr: { city: "x" } })";
    insert_old("test.c", {R"({"_id": 1, "addr": {"city": "x"}})"});
    for (const char* u :
         {R"({"$rename": {"addr.street": "street"}})", R"({"$rename": {"addr.city.part": "part"}})",
          R"({"$rename": {"none": "addr"}})"}) {
        update_old("test.c", R"({"_id": 1})", u);
        update_old("test.c", "{}", u, 2);
        modify(R"({"_id": 1})", u);
        modify(R"({"_id": 1})", u, R"(, "sort": {"_id": 1}, "new": true)");
        EXPECT_EQ(stored(), before) << u;
    }
    update_old("test.c", R"({"_id": 1})", R"({"$rename": {"addr.city": "city"}})");
    EXPECT_EQ(stored(), R"({ _id: 1, addr: {}, city: "x" })");
}

INSTANTIATE_TEST_SUITE_P(engines, WritesV26Test, kTestEngines, engine_name);

}  // namespace
}  // namespace command
