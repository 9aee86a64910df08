// The catalog tells a log of changes, over each engine, of every change once, in the commit of the
// change, and of no change that did not happen.
#include "catalog/change_log.h"

#include "base/error.h"
#include "catalog/testing/each_engine.h"
#include "catalog/testing/recording_log.h"
#include "storage/lock.h"

namespace catalog {
namespace {

using Texts = std::vector<std::string>;

class ChangeLogTest : public OverEachEngine {
  protected:
    ChangeLogTest() : lock_(engine_->locks(), storage::GlobalMode::W) {
        catalog_->set_change_log(&log_);
    }
    ~ChangeLogTest() override { catalog_ = nullptr; }

    Database& db(const char* name = "test") { return catalog_->get_or_create(name); }

    RecordingLog log_;
    storage::GlobalLock lock_;
};

TEST_P(ChangeLogTest, HearsOfDocuments) {
    Collection& c = db().create("test.c", bson::Doc());
    EXPECT_EQ(log_.take_texts(), Texts{"command test { create: \"c\" }"});
    const storage::RecordId id = c.insert(bson::make("_id", 1, "a", 1));
    const storage::RecordId moved =
        c.update(id, bson::make("_id", 1, "a", std::string(120, 'x'))).id;
    c.update(moved, bson::make("_id", 1, "a", 3), bson::make("$set", bson::make("a", 3)));
    const int32_t seven = 7;
    const bson::Doc stored = c.records().get(moved);
    const bson::Patch patch{static_cast<int32_t>(stored["a"].value() - stored.data()), 4,
                            reinterpret_cast<const uint8_t*>(&seven)};
    c.patch(moved, {&patch, 1}, bson::make("$set", bson::make("a", 7)));
    EXPECT_EQ(c.records().get(moved)["a"].as_int32(), 7);
    c.remove(moved);
    EXPECT_EQ(
        log_.take_texts(),
        (Texts{"insert test.c { _id: 1, a: 1 }",
               "update test.c { _id: 1 } -> { _id: 1, a: \"" + std::string(120, 'x') + "\" }",
               "update test.c { _id: 1 } -> { $set: { a: 3 } }",
               "update test.c { _id: 1 } -> { $set: { a: 7 } }", "remove test.c { _id: 1 }"}));
}

TEST_P(ChangeLogTest, HearsNothingOfWhatFails) {
    Collection& c = db().create("test.c", bson::Doc());
    db().create_index(c, bson::make("key", bson::make("u", 1), "name", "u", "unique", true));
    c.insert(bson::make("_id", 1, "u", 1));
    const storage::RecordId id = c.insert(bson::make("_id", 2, "u", 2));
    log_.take_texts();
    EXPECT_EQ(failure([&] { c.insert(bson::make("_id", 3, "u", 1)); }), base::kDuplicateKey);
    EXPECT_EQ(failure([&] { c.update(id, bson::make("_id", 2, "u", 1)); }), base::kDuplicateKey);
    EXPECT_EQ(failure([&] { db().create("test.c", bson::Doc()); }), base::kNamespaceExists);
    EXPECT_NE(failure([&] { db().drop("test.none"); }), 0);
    EXPECT_NE(failure([&] { db().rename("test.none", "test.d", false); }), 0);
    // An index over documents that cannot have it, and one that is there.
    c.insert(bson::make("_id", 4, "u", 4, "v", 1));
    c.insert(bson::make("_id", 5, "u", 5, "v", 1));
    log_.take_texts();
    EXPECT_EQ(failure([&] {
                  db().create_index(
                      c, bson::make("key", bson::make("v", 1), "name", "v", "unique", true));
              }),
              base::kDuplicateKey);
    EXPECT_FALSE(
        db().create_index(c, bson::make("key", bson::make("u", 1), "name", "u", "unique", true)));
    db().rebuild_indexes(c);
    EXPECT_EQ(log_.take_texts(), Texts{});
}

// Every copy of a ring drops the same documents by itself.
TEST_P(ChangeLogTest, HearsOnlyOfWhatComesIntoARing) {
    Collection& ring = db().create("test.r", bson::make("capped", true, "size", 8192));
    for (int i = 0; i < 300; ++i)
        ring.insert(bson::make("_id", i, "pad", std::string(100, 'x')));
    EXPECT_LT(ring.records().count(), 300);
    EXPECT_EQ(log_.take_texts().size(), 301U);
    db().truncate(ring);
    EXPECT_EQ(log_.take_texts(), Texts{"command test { emptycapped: \"r\" }"});
}

TEST_P(ChangeLogTest, HearsOfCollections) {
    db().create("test.c", bson::make("capped", true, "size", 4096));
    db().get_or_create("test.d");
    db().get_or_create("test.d");
    db().rename("test.d", "test.e", false);
    db().create("test.new", bson::make("temp", true));
    db().replace("test.new", "test.e", false);
    db().create("test.new", bson::Doc());
    db().replace("test.new", "test.free", true);
    const std::string name = "test.free";
    db().drop(name);
    EXPECT_EQ(
        log_.take_texts(),
        (Texts{"command test { create: \"c\", capped: true, size: 4096 }",
               "command test { create: \"d\" }",
               ("command admin { renameCollection: \"test.d\", to: \"test.e\", stayTemp: false, "
                "dropTarget: false }"),
               "command test { create: \"new\", temp: true }",
               ("command admin { renameCollection: \"test.new\", to: \"test.e\", stayTemp: "
                "false, dropTarget: true }"),
               "command test { create: \"new\" }",
               ("command admin { renameCollection: \"test.new\", to: \"test.free\", stayTemp: "
                "true, dropTarget: false }"),
               "command test { drop: \"free\" }"}));
    catalog_->drop_database("test");
    EXPECT_EQ(log_.take_texts(), Texts{"command test { dropDatabase: 1 }"});
}

TEST_P(ChangeLogTest, HearsOfIndexes) {
    Collection& c = db().create("test.c", bson::Doc());
    c.insert(bson::make("_id", 1, "a", 1));
    log_.take_texts();
    for (const char* field : {"a", "b"})
        db().create_index(
            c, bson::make("key", bson::make(field, 1), "name", field, "expireAfterSeconds", 5));
    EXPECT_EQ(log_.take_texts(), (Texts{"index test.c { v: 1, key: { a: 1 }, name: \"a\", "
                                        "ns: \"test.c\", expireAfterSeconds: 5 }",
                                        "index test.c { v: 1, key: { b: 1 }, name: \"b\", "
                                        "ns: \"test.c\", expireAfterSeconds: 5 }"}));
    db().set_index_number(c, *c.find_index("a"), "expireAfterSeconds", 9);
    db().hide_index(c, *c.find_index("a"), true);
    db().hide_index(c, *c.find_index("a"), false);
    EXPECT_EQ(
        log_.take_texts(),
        (Texts{
            "command test { collMod: \"c\", index: { keyPattern: { a: 1 }, expireAfterSeconds: 9 "
            "} }",
            "command test { collMod: \"c\", index: { keyPattern: { a: 1 }, hidden: true } }",
            "command test { collMod: \"c\", index: { keyPattern: { a: 1 }, hidden: false } }"}));
    const bson::Object all = bson::make("all", "*");
    db().drop_indexes(c, all["all"]);
    EXPECT_EQ(log_.take_texts(), (Texts{"command test { dropIndexes: \"c\", index: \"b\" }",
                                        "command test { dropIndexes: \"c\", index: \"a\" }"}));
}

TEST_P(ChangeLogTest, HearsOfOptions) {
    Collection& c = db().create("test.c", bson::Doc());
    log_.take_texts();
    db().change_validation(c, bson::from_json(R"({"validator": {"a": 1}})"));
    db().set_user_flags(c, 0);
    EXPECT_EQ(log_.take_texts(),
              (Texts{"command test { collMod: \"c\", validator: { a: 1 } }",
                     "command test { collMod: \"c\", usePowerOf2Sizes: false }"}));
}

TEST_P(ChangeLogTest, HearsNothingOfWhatIsThisServersOwn) {
    Collection& own = db("local").create("local.c", bson::Doc());
    EXPECT_EQ(own.change_log(), nullptr);
    own.insert(bson::make("_id", 1));
    db("local").create_index(own, bson::make("key", bson::make("a", 1), "name", "a"));
    db("local").rename("local.c", "local.d", false);
    db("local").drop("local.d");
    catalog_->drop_database("local");
    db().create("test.system.profile", bson::make("capped", true, "size", 4096))
        .insert(bson::make("op", "query"));
    EXPECT_EQ(log_.take_texts(), Texts{});
}

// One that has no _id is named by all of it.
TEST_P(ChangeLogTest, NamesDocumentsWithoutAnId) {
    Collection& c = db().create("test.c", bson::make("autoIndexId", false));
    const storage::RecordId id = c.insert(bson::make("a", 1, "b", 2));
    log_.take_texts();
    c.update(id, bson::make("a", 1, "b", 3));
    c.remove(id);
    EXPECT_EQ(log_.take_texts(), (Texts{"update test.c { a: 1, b: 2 } -> { a: 1, b: 3 }",
                                        "remove test.c { a: 1, b: 3 }"}));
}

INSTANTIATE_TEST_SUITE_P(engines, ChangeLogTest, kTestEngines, engine_name);

}  // namespace
}  // namespace catalog
