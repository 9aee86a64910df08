// UUIDs of collections: what makes one, what keeps it, and who sees it.
#include <set>

#include "catalog/uuid.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

class CollectionUuidTest : public EachEngineTest {
  protected:
    CollectionUuidTest() { catalog_->give_uuids(); }

    // As digits; "" for what is none.
    static std::string digits_of(const bson::Element& e) {
        std::string out;
        if (e.type() != bson::Type::binary) return out;
        EXPECT_EQ(e.binary_subtype(), catalog::kUuidSubtype);
        for (const uint8_t byte : e.binary_data())
            out += fmt::format("{:02x}", byte);
        EXPECT_EQ(out.size(), 32U);
        return out;
    }
    static std::string entry_of(const bson::Object& reply) {
        const bson::Element first = reply.doc().at_path("cursor.firstBatch").as_doc().first();
        return first ? digits_of(first.as_doc()["info"].as_doc()["uuid"]) : "";
    }
    // As listCollections, validate and dbHash have it; "" where they have none.
    std::string uuid(const std::string& name, const std::string& db = "test") {
        const std::string shown = entry_of(
            run(fmt::format(R"({{"listCollections": 1, "filter": {{"name": "{}"}}}})", name), db));
        EXPECT_EQ(digits_of(run(bson::make("validate", name), db)["uuid"]), shown);
        EXPECT_EQ(digits_of(run(R"({"dbHash": 1})", db)["uuids"].as_doc()[name]), shown);
        return shown;
    }
    void done(const std::string& command, const std::string& db = "test") {
        const bson::Object reply = run(command, db);
        ASSERT_EQ(reply["ok"].to_double(), 1) << command << bson::to_text(reply);
    }
    bson::Object options(const std::string& name) {
        const storage::DatabaseLock lock(engine_->locks(), "test", false);
        return catalog_->collection("test." + name)->store().options();
    }
    // What the engine has kept of it is read anew.
    void open_again() {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        catalog_->close_database("test");
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, CollectionUuidTest, kTestEngines, engine_name);

TEST_P(CollectionUuidTest, EachMessageThatMakesACollectionGivesItOne) {
    done(R"({"create": "created", "capped": true, "size": 4096})");
    done(R"({"insert": "inserted", "documents": [{"_id": 1}]})");
    done(R"({"update": "updated", "updates": [{"q": {}, "u": {"a": 1}, "upsert": true}]})");
    done(R"({"createIndexes": "indexed", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    done(R"({"findAndModify": "modified", "query": {}, "update": {"a": 1}, "upsert": true})");
    done(R"({"aggregate": "inserted", "pipeline": [{"$out": "out"}], "cursor": {}})");
    done(R"({"aggregate": "inserted", "pipeline": [{"$merge": "merged"}], "cursor": {}})");
    done(R"({"cloneCollectionAsCapped": "inserted", "toCollection": "clone", "size": 4096})");
    std::set<std::string> seen;
    for (const char* name :
         {"created", "inserted", "updated", "indexed", "modified", "out", "merged", "clone"}) {
        EXPECT_TRUE(catalog::is_uuid_option(options(name)[catalog::kUuidOption])) << name;
        EXPECT_TRUE(seen.insert(uuid(name)).second) << name;
    }
}

TEST_P(CollectionUuidTest, ItLastsWithTheCollectionAndNoLonger) {
    done(R"({"insert": "c", "documents": [{"_id": 1}]})");
    const std::string first = uuid("c");
    EXPECT_FALSE(first.empty());
    open_again();
    EXPECT_EQ(uuid("c"), first);
    done(R"({"collMod": "c", "validator": {"a": {"$ne": 1}}})");
    EXPECT_EQ(uuid("c"), first);
    done(R"({"compact": "c", "force": true})");
    EXPECT_EQ(uuid("c"), first);
    done(R"({"repairDatabase": 1})");
    EXPECT_EQ(uuid("c"), first);
    done(R"({"renameCollection": "test.c", "to": "test.d"})", "admin");
    EXPECT_EQ(uuid("d"), first);
    open_again();
    EXPECT_EQ(uuid("d"), first);
    done(R"({"insert": "e", "documents": [{"_id": 1}]})");
    done(R"({"renameCollection": "test.d", "to": "test.e", "dropTarget": true})", "admin");
    EXPECT_EQ(uuid("e"), first);
    // These are other collections.
    done(R"({"convertToCapped": "e", "size": 4096})");
    const std::string capped = uuid("e");
    EXPECT_NE(capped, first);
    done(R"({"renameCollection": "test.e", "to": "other.e"})", "admin");
    EXPECT_NE(uuid("e", "other"), capped);
    done(R"({"insert": "c", "documents": [{"_id": 1}]})");
    const std::string second = uuid("c");
    EXPECT_NE(second, first);
    done(R"({"drop": "c"})");
    done(R"({"create": "c"})");
    EXPECT_NE(uuid("c"), second);
}

// Nothing is stored that an old server had not stored, so that its files keep their bytes.
TEST_P(CollectionUuidTest, OldMessagesLeaveWhatTheyHaveAlwaysLeft) {
    run_old(R"({"create": "created", "uuid": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==",
                 "subType": "04"}}})");
    insert_old("test.inserted", {R"({"_id": 1})"});
    for (const char* name : {"created", "inserted"}) {
        EXPECT_FALSE(options(name).doc().has(catalog::kUuidOption)) << name;
        const std::string shown = uuid(name);
        EXPECT_FALSE(shown.empty()) << name;
        open_again();
        EXPECT_EQ(uuid(name), shown) << name;
    }
    EXPECT_NE(uuid("created"), uuid("inserted"));
    done(R"({"create": "c"})");
    const bson::Object listed = run_old(R"({"listCollections": 1, "filter": {"name": "c"}})");
    EXPECT_EQ(entry_of(listed), "");
    EXPECT_FALSE(run_old(R"({"validate": "c"})").doc().has("uuid"));
    EXPECT_FALSE(run_old(R"({"dbHash": 1})").doc().has("uuids"));
}

TEST_P(CollectionUuidTest, ItIsNoOptionToClients) {
    EXPECT_EQ(code(run(R"({"create": "c", "uuid": 1})")), 40415);
    done(R"({"create": "c", "validator": {"a": 1}})");
    const bson::Object listed = run(R"({"listCollections": 1})");
    const bson::Element first = listed.doc().at_path("cursor.firstBatch").as_doc().first();
    EXPECT_EQ(bson::to_text(first.as_doc()["options"]), "{ validator: { a: 1 } }");
    done(R"({"create": "v", "viewOn": "c", "pipeline": []})");
    EXPECT_EQ(entry_of(run(R"({"listCollections": 1, "filter": {"name": "v"}})")), "");
}

}  // namespace
}  // namespace command
