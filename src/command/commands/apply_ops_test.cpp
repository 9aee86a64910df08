// applyOps: what each kind of entry does, what is refused before the first one is applied, and that
// entries of documents are one.
#include "command/commands/testing/access_control.h"

namespace command {
namespace {

class ApplyOpsTest : public EachEngineTest {
  protected:
    bson::Object apply(const std::string& entries, const std::string& more = "") {
        return run(R"({"applyOps": [)" + entries + "]" + more + "}", "admin");
    }
    std::string found(const std::string& filter = "{}", const std::string& ns = "test.c") {
        std::string all;
        for (const bson::Object& doc : query(ns, filter, 0))
            all += bson::to_text(doc);
        return all;
    }
    void expect_applied(const bson::Object& reply, int32_t applied) {
        EXPECT_EQ(code(reply), 0) << bson::to_text(reply);
        EXPECT_EQ(reply["applied"].to_int32(), applied);
        EXPECT_EQ(reply["results"].as_doc().field_count(), applied);
    }
    // A change that would show if any entry beside it were applied.
    void expect_refused(const std::string& entry, int expected, const std::string& more = "") {
        const bson::Object reply =
            apply(R"({"op": "i", "ns": "test.trace", "o": {"_id": 1}}, )" + entry, more);
        EXPECT_EQ(code(reply), expected) << bson::to_text(reply);
        EXPECT_EQ(found("{}", "test.trace"), "") << entry;
    }
};
INSTANTIATE_TEST_SUITE_P(Each, ApplyOpsTest, kTestEngines, engine_name);

TEST_P(ApplyOpsTest, EachKindOfEntry) {
    expect_applied(apply(R"({"op": "i", "ns": "test.c", "o": {"_id": 1, "a": 1}},
                            {"op": "n", "ns": "", "o": {"msg": "nothing"}},
                            {"op": "i", "ns": "test.c", "o": {"_id": 2, "a": 2}},
                            {"op": "i", "ns": "test.c", "o": {"_id": 1, "a": 3}})"),
                   4);
    EXPECT_EQ(found(), R"({ _id: 1, a: 3 }{ _id: 2, a: 2 })");
    expect_applied(
        apply(
            R"({"op": "u", "ns": "test.c", "o2": {"_id": 1}, "o": {"$v": 1, "$inc": {"a": 4}}},
               {"op": "u", "ns": "test.c", "o2": {"_id": 2}, "o": {"_id": 2, "b": 1}},
               {"op": "u", "ns": "test.c", "o2": {"_id": 3}, "o": {"$set": {"a": 9}}})"),
        3);
    EXPECT_EQ(found(), R"({ _id: 1, a: 7 }{ _id: 2, b: 1 }{ _id: 3, a: 9 })");
    expect_applied(apply(R"({"op": "d", "ns": "test.c", "o": {"_id": 2}},
                            {"op": "d", "ns": "test.c", "o": {"_id": 77}})"),
                   2);
    EXPECT_EQ(found(), R"({ _id: 1, a: 7 }{ _id: 3, a: 9 })");
}

TEST_P(ApplyOpsTest, AnUpdateOfNothingInsertsUnlessToldOtherwise) {
    const std::string update =
        R"({"op": "u", "ns": "test.c", "o2": {"_id": 1}, "o": {"$set": {"a": 1}})";
    expect_applied(apply(update + "}", R"(, "alwaysUpsert": false)"), 1);
    EXPECT_EQ(found(), "");
    expect_applied(apply(update + R"(, "b": true})", R"(, "alwaysUpsert": false)"), 1);
    EXPECT_EQ(found(), "{ _id: 1, a: 1 }");
}

TEST_P(ApplyOpsTest, CommandsAndIndexes) {
    expect_applied(
        apply(
            R"({"op": "c", "ns": "test.$cmd", "o": {"create": "c", "capped": true, "size": 4096}},
               {"op": "i", "ns": "test.system.indexes",
                "o": {"v": 1, "key": {"a": 1}, "name": "a_1", "ns": "test.d"}},
               {"op": "i", "ns": "other.c", "o": {"a": 1}},
               {"op": "c", "ns": "other.$cmd", "o": {"drop": "c"}})"),
        4);
    EXPECT_TRUE(run(R"({"collStats": "c"})")["capped"].truthy());
    EXPECT_EQ(run(R"({"collStats": "d"})")["nindexes"].to_int32(), 2);
    EXPECT_EQ(found("{}", "other.c"), "");
    // What a dump has already, or what a later entry has dropped.
    expect_applied(apply(R"({"op": "c", "ns": "test.$cmd", "o": {"create": "c"}},
                            {"op": "c", "ns": "test.$cmd", "o": {"drop": "none"}},
                            {"op": "c", "ns": "test.$cmd", "o": {"dropIndexes": "d", "index": "x"}},
                            {"op": "c", "ns": "none.$cmd", "o": {"dropDatabase": 1}})"),
                   4);
    EXPECT_TRUE(run(R"({"collStats": "c"})")["capped"].truthy());
    // The first that fails ends it, and the reply says how far it came.
    const bson::Object reply = apply(R"({"op": "c", "ns": "test.$cmd", "o": {"create": "e"}},
                 {"op": "c", "ns": "test.$cmd", "o": {"create": "$e"}},
                 {"op": "c", "ns": "test.$cmd", "o": {"create": "f"}})");
    EXPECT_EQ(code(reply), base::kBadValue) << bson::to_text(reply);
    EXPECT_EQ(reply["applied"].to_int32(), 1);
    EXPECT_EQ(text(reply, "results"), "[ true, false ]");
    EXPECT_EQ(code(run(R"({"create": "f"})")), 0);
}

TEST_P(ApplyOpsTest, NothingIsAppliedBesideWhatIsRefused) {
    expect_refused("7", base::kFailedToParse);
    expect_refused(R"({"op": "x", "ns": "test.c", "o": {}})", base::kFailedToParse);
    expect_refused(R"({"op": "i", "o": {}})", base::kFailedToParse);
    expect_refused(R"({"op": "i", "ns": "test", "o": {}})", base::kFailedToParse);
    expect_refused(R"({"op": "u", "ns": "test.c", "o": {"a": 1}})", base::kFailedToParse);
    expect_refused(R"({"op": "d", "ns": "test.c"})", base::kFailedToParse);
    expect_refused(R"({"op": "c", "ns": "test.$cmd", "o": {}})", base::kFailedToParse);
    expect_refused(R"({"op": "c", "ns": "test.$cmd", "o": {"shutdown": 1}})",
                   base::kCommandNotSupported);
    expect_refused(R"({"op": "u", "ns": "test.c", "o2": {"_id": 1}, "o": {"$v": 2, "diff": {}}})",
                   base::kCommandNotSupported);
    expect_refused(R"({"op": "d", "ns": "test.system.indexes", "o": {"name": "a_1"}})",
                   base::kFailedToParse);
    EXPECT_EQ(code(run(R"({"applyOps": 1})", "admin")), base::kTypeMismatch);
}

TEST_P(ApplyOpsTest, APreconditionThatDoesNotHold) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "v": 1}]})");
    const std::string entry =
        R"({"op": "u", "ns": "test.c", "o2": {"_id": 1}, "o": {"$inc": {"v": 1}}})";
    const auto when = [](const std::string& q, const std::string& res) {
        return R"(, "preCondition": [{"ns": "test.c", "q": )" + q + R"(, "res": )" + res + "}]";
    };
    expect_applied(apply(entry, when(R"({"_id": 1})", R"({"v": 1})")), 1);
    const bson::Object reply = apply(entry, when(R"({"_id": 1})", R"({"v": 1})"));
    EXPECT_EQ(code(reply), base::kBadValue);
    EXPECT_EQ(text(reply, "errmsg"), R"("preCondition failed")");
    EXPECT_EQ(text(reply, "got"), "{ _id: 1, v: 2 }");
    EXPECT_EQ(text(reply, "whatFailed"), R"({ ns: "test.c", q: { _id: 1 }, res: { v: 1 } })");
    EXPECT_EQ(found(), "{ _id: 1, v: 2 }");
    // A document that is not there has no fields.
    expect_applied(apply(entry, when(R"({"_id": 2})", R"({"_id": {"$exists": false}})")), 1);
    EXPECT_EQ(code(apply(entry, when(R"({"_id": 1})", R"({"_id": {"$exists": false}})"))),
              base::kBadValue);
    EXPECT_EQ(found(), "{ _id: 1, v: 3 }");
    expect_refused(R"({"op": "c", "ns": "test.$cmd", "o": {"create": "e"}})", base::kBadValue,
                   when(R"({"_id": 1})", R"({"v": 3})"));
    expect_refused(entry, base::kFailedToParse, R"(, "preCondition": [{"ns": "test.c"}])");
}

TEST_P(ApplyOpsTest, AnEntryThatFailsTakesTheOthersBack) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "unique": true}]})");
    const bson::Object reply = apply(R"({"op": "i", "ns": "test.c", "o": {"_id": 1, "a": 1}},
                                        {"op": "i", "ns": "test.c", "o": {"_id": 2, "a": 1}},
                                        {"op": "i", "ns": "test.c", "o": {"_id": 3, "a": 3}})");
    EXPECT_EQ(code(reply), base::kDuplicateKey);
    EXPECT_EQ(reply["applied"].to_int32(), 0);
    EXPECT_EQ(text(reply, "results"), "[ false, false ]");
    EXPECT_EQ(found(), "");
}

// The collections of a batch whose entries change documents, indexes and rings in every way. The
// entry before which it fails moves from the first to behind the last.
class ApplyOpsUndoTest : public ApplyOpsTest {
  protected:
    void SetUp() override {
        run(R"({"create": "ring", "capped": true, "size": 4096, "max": 5})");
        run(R"({"createIndexes": "ring", "indexes": [{"key": {"v": 1}, "name": "v"}]})");
        run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "unique": true},
                                                  {"key": {"b": 1}, "name": "b"}]})");
        run(R"({"insert": "text", "documents": [{"_id": 1, "s": "no number"}]})");
        for (int i = 1; i <= 5; ++i) {
            const std::string n = std::to_string(i);
            run(R"({"insert": "ring", "documents": [{"_id": )" + n + R"(, "v": )" + n + "}]}");
            run(R"({"insert": "c", "documents": [{"_id": )" + n + R"(, "a": )" + n +
                R"(, "b": "x"}]})");
        }
    }

    static std::vector<std::string> entries() {
        const std::string large(2000, 'l');
        return {
            R"({"op": "i", "ns": "test.c", "o": {"_id": 6, "a": 6, "b": [1, 2, 3]}})",
            R"({"op": "u", "ns": "test.c", "o2": {"_id": 1}, "o": {"$set": {"b": "y"}}})",
            R"({"op": "u", "ns": "test.c", "o2": {"_id": 2}, "o": {"$inc": {"n": 1}}})",
            R"({"op": "u", "ns": "test.c", "o2": {"_id": 3}, "o": {"$set": {"p": ")" + large +
                R"("}}})",
            R"({"op": "d", "ns": "test.c", "o": {"_id": 4}})",
            R"({"op": "i", "ns": "test.ring", "o": {"_id": 6, "v": 6}})",
            R"({"op": "i", "ns": "test.ring", "o": {"_id": 7, "v": 7}})",
            R"({"op": "i", "ns": "test.new", "o": {"_id": 1, "v": [1, 2]}})",
            R"({"op": "i", "ns": "more.c", "o": {"_id": 1}})",
            R"({"op": "d", "ns": "test.c", "o": {"b": "x"}})",
            R"({"op": "i", "ns": "test.c", "o": {"_id": 4, "a": 4, "b": "z"}})",
        };
    }
    static std::string list_of(const std::vector<std::string>& entries) {
        std::string list;
        for (const std::string& entry : entries)
            list += (list.empty() ? "" : ", ") + entry;
        return list;
    }

    // Returns the documents that clients see, by scans and by each index.
    std::string contents() {
        std::string all = found() + found("{}", "test.ring");
        for (const char* by : {"a", "b", "_id"})
            all += "/" + found(R"({"$query": {}, "$hint": {")" + std::string(by) + R"(": 1}})");
        for (const char* by : {"v", "_id"})
            all += "/" + found(R"({"$query": {}, "$hint": {")" + std::string(by) + R"(": 1}})",
                               "test.ring");
        for (const char* collection : {"c", "ring"}) {
            const bson::Object stats =
                run(R"({"collStats": ")" + std::string(collection) + R"("})");
            all += text(stats, "count") + text(stats, "size");
            const bson::Object valid =
                run(R"({"validate": ")" + std::string(collection) + R"(", "full": true})");
            EXPECT_TRUE(valid["valid"].truthy()) << bson::to_text(valid);
        }
        const bson::Object explained =
            run(R"({"explain": {"find": "c", "filter": {"b": {"$gt": "a"}}}})");
        const std::string plan = bson::to_text(explained);
        return all + std::string(plan, plan.find("isMultiKey"), 16) + names("test") + names("more");
    }
    std::string names(const std::string& db) {
        std::string all;
        const bson::Object listed = run(R"({"listCollections": 1})", db);
        for (const bson::Element& each : listed["cursor"].as_doc()["firstBatch"].as_doc())
            all += std::string(each.as_doc()["name"].as_string()) + " ";
        return all;
    }
};
INSTANTIATE_TEST_SUITE_P(Each, ApplyOpsUndoTest, kTestEngines, engine_name);

TEST_P(ApplyOpsUndoTest, WhicheverEntryFailsAllIsAsBefore) {
    const std::string before = contents();
    const std::vector<std::string> given = entries();
    for (size_t k = 0; k <= given.size(); ++k) {
        std::vector<std::string> batch = given;
        batch.insert(
            batch.begin() + static_cast<std::ptrdiff_t>(k),
            R"({"op": "u", "ns": "test.text", "o2": {"_id": 1}, "o": {"$inc": {"s": 1}}})");
        const bson::Object reply = apply(list_of(batch));
        EXPECT_NE(code(reply), 0) << bson::to_text(reply);
        EXPECT_EQ(reply["applied"].to_int32(), 0) << bson::to_text(reply);
        EXPECT_EQ(reply["results"].as_doc().field_count(), static_cast<int>(k) + 1);
        ASSERT_EQ(contents(), before) << "the entry before which it failed: " << k;
    }
    expect_applied(apply(list_of(given)), static_cast<int32_t>(given.size()));
    EXPECT_NE(contents(), before);
    EXPECT_EQ(found("{}", "test.ring"),
              "{ _id: 3, v: 3 }{ _id: 4, v: 4 }{ _id: 5, v: 5 }{ _id: 6, v: 6 }{ _id: 7, v: 7 }");
}

// Others go on where they were, on records that were gone for a while.
TEST_P(ApplyOpsUndoTest, ScansMissNothingOfWhatIsTakenBack) {
    TestConnection reader;
    reader.open(*service_, 7);
    std::string seen;
    for (const bson::Object& doc : reader.query("test.c", "{}", 2))
        seen += bson::to_text(doc["_id"]);
    const bson::Object reply = apply(R"({"op": "d", "ns": "test.c", "o": {"_id": 2}},
                                        {"op": "d", "ns": "test.c", "o": {"_id": 3}},
                                        {"op": "d", "ns": "test.c", "o": {"_id": 4}},
                                        {"op": "i", "ns": "test.c", "o": {"_id": 8, "a": 5}})");
    EXPECT_EQ(code(reply), base::kDuplicateKey);
    for (const bson::Object& doc : reader.get_more("test.c", 10))
        seen += bson::to_text(doc["_id"]);
    EXPECT_EQ(seen, "12345");
}

TEST_F(AccessControlTest, EntriesNeedTheRightsOfWhatTheyDo) {
    TestConnection reader;
    TestConnection writer;
    make_two_users(reader, writer);
    const auto apply = [](TestConnection& client, const std::string& entry) {
        return code(client.run(R"({"applyOps": [{"op": "n", "ns": ""}, )" + entry + "]}", "admin"));
    };
    const char* const insert = R"({"op": "i", "ns": "test.c", "o": {"_id": 9}})";
    const char* const update = R"({"op": "u", "ns": "test.c", "o2": {"_id": 9}, "o": {"a": 1}})";
    const char* const remove = R"({"op": "d", "ns": "test.c", "o": {"_id": 9}})";
    const char* const index = R"({"op": "i", "ns": "test.system.indexes",
                                  "o": {"ns": "test.c", "key": {"a": 1}, "name": "a", "v": 1}})";
    const char* const drop = R"({"op": "c", "ns": "test.$cmd", "o": {"drop": "c"}})";
    for (const char* entry : {insert, update, remove, index, drop}) {
        EXPECT_EQ(apply(reader, entry), base::kUnauthorized) << entry;
        EXPECT_EQ(apply(writer, entry), 0) << entry;
    }
    for (const char* entry : {R"({"op": "i", "ns": "other.c", "o": {}})",
                              R"({"op": "c", "ns": "test.$cmd", "o": {"dropDatabase": 1}})",
                              R"({"op": "c", "ns": "other.$cmd", "o": {"create": "c"}})"})
        EXPECT_EQ(apply(writer, entry), base::kUnauthorized) << entry;
    // A precondition tells of what is there.
    EXPECT_EQ(code(writer.run(
                  R"({"applyOps": [], "preCondition": [{"ns": "other.c", "q": {}, "res": {}}]})")),
              base::kUnauthorized);
    // Users are no ordinary documents, not even root's.
    for (const char* entry : {R"({"op": "i", "ns": "admin.system.users", "o": {"_id": "a.x"}})",
                              R"({"op": "d", "ns": "admin.system.users", "o": {}})",
                              R"({"op": "c", "ns": "admin.$cmd", "o": {"drop": "system.users"}})"})
        EXPECT_EQ(apply(*this, entry), base::kUnauthorized) << entry;
}

}  // namespace
}  // namespace command
