// The catalog over each engine: records and indexes in step, whatever fails on the way.
#include "catalog/catalog.h"

#include <memory>

#include "base/error.h"
#include "base/testing/failed_check.h"
#include "bson/json.h"
#include "catalog/testing/each_engine.h"
#include "sched/memory.h"
#include "sched/operation.h"
#include "sched/work_limit.h"
#include "storage/lock.h"

namespace catalog {

namespace {

class CatalogTest : public OverEachEngine {
  protected:
    CatalogTest() : lock_(engine_->locks(), storage::GlobalMode::W) {}

    Collection& make(const char* options = "{}") {
        return catalog_->get_or_create("test").create("test.c", bson::from_json(options));
    }
    Database& db() { return catalog_->get_or_create("test"); }
    void index(Collection& collection, const char* spec) {
        EXPECT_TRUE(db().create_index(collection, bson::from_json(spec)));
    }
    // Entries of an index, and whether all of it is consistent.
    static int64_t keys(const Collection& collection, const char* name) {
        std::string problems;
        const int64_t count = collection.find_index(name)->store->validate(
            [&problems](const std::string& text) { problems += text; });
        EXPECT_EQ(problems, "");
        return count;
    }

  private:
    storage::GlobalLock lock_;
};

TEST_P(CatalogTest, DefinitionsOfEarlierVersionsAreCompleted) {
    const auto german = collation::Collator::make(bson::from_json(R"({"locale": "de"})"));
    Collection& c =
        db().create("test.c", bson::make("collation", german->spec(), "autoIndexId", false));
    index(c, R"({"key": {"a": 1}, "name": "a", "collation": {"locale": "simple"}})");
    index(c, R"({"key": {"b": 1}, "name": "b"})");
    const auto locale = [&c](const char* name) {
        return std::string(c.find_index(name)->spec["collation"].as_doc()["locale"].as_string());
    };
    EXPECT_EQ(locale("a"), "simple");
    EXPECT_EQ(locale("b"), "de");
    c.store().replace_index_spec(
        c.find_index("a")->slot,
        bson::from_json(R"({"v": 1, "key": {"a": 1}, "name": "a", "ns": "test.c"})"));
    c.reload_indexes(false);
    EXPECT_FALSE(c.find_index("a")->spec.has("collation"));
    EXPECT_EQ(c.find_index("a")->generator->collator(), nullptr);
    db().complete_definitions();
    EXPECT_EQ(locale("a"), "simple");
    EXPECT_EQ(locale("b"), "de");
    EXPECT_EQ(c.find_index("a")->generator->collator(), nullptr);
    c.insert(bson::make("_id", 1, "a", "X"));
    EXPECT_TRUE(c.find_index("a")->store->find_one(bson::make("", "X")));
}

TEST_P(CatalogTest, InterruptedRebuildsLeaveAllIndexes) {
    Collection& c = make();
    index(c, R"({"key": {"a": 1}, "name": "a"})");
    constexpr int kDocuments = 2000;
    for (int i = 0; i < kDocuments; ++i)
        c.insert(bson::make("_id", i, "a", -i));
    sched::Operation killed;
    killed.start();
    killed.kill(killed.id());
    bson::Builder out;
    const auto interrupted = [&](const auto& action) {
        const sched::Operation::Scope scope(&killed);
        return failure(action);
    };
    EXPECT_EQ(interrupted([&] { db().rebuild_indexes(c); }), base::kInterrupted);
    EXPECT_EQ(keys(c, "_id_"), kDocuments);
    EXPECT_EQ(keys(c, "a"), kDocuments);
    EXPECT_EQ(interrupted([&] { db().compact(c, bson::Object(), out); }), base::kInterrupted);
    EXPECT_EQ(c.records().count(), kDocuments);
    EXPECT_EQ(keys(c, "_id_"), kDocuments);
    EXPECT_EQ(keys(c, "a"), kDocuments);
}

TEST_P(CatalogTest, RefusedInsertLeavesNothing) {
    Collection& c = make();
    index(c, R"({"key": {"a": 1}, "name": "a"})");
    index(c, R"({"key": {"u": 1}, "name": "u", "unique": true})");
    c.insert(bson::from_json(R"({"_id": 1, "a": [1, 2, 3], "u": 1})"));
    EXPECT_EQ(failure([&] { c.insert(bson::from_json(R"({"_id": 2, "a": [4, 5], "u": 1})")); }),
              base::kDuplicateKey);
    EXPECT_EQ(failure([&] { c.insert(bson::from_json(R"({"_id": 1, "a": 9, "u": 9})")); }),
              base::kDuplicateKey);
    EXPECT_EQ(c.records().count(), 1);
    EXPECT_EQ(keys(c, "_id_"), 1);
    EXPECT_EQ(keys(c, "a"), 3);
    EXPECT_EQ(keys(c, "u"), 1);
    EXPECT_TRUE(c.find_index("a")->multikey);
}

TEST_P(CatalogTest, DuplicateKeyErrorNamesKeyAndValue) {
    Collection& c = make();
    index(c, R"({"key": {"a": 1, "b": -1}, "name": "ab", "unique": true})");
    c.insert(bson::from_json(R"({"_id": 1, "a": 1, "b": "x"})"));
    try {
        c.insert(bson::from_json(R"({"_id": 2, "a": 1, "b": "x"})"));
        FAIL();
    } catch (const base::Error& e) {
        EXPECT_STREQ(e.what(),
                     R"(E11000 duplicate key error index: test.c.$ab  dup key: { : 1, : "x" })");
        EXPECT_EQ(bson::to_text(bson::Doc(e.details()->data())),
                  R"({ keyPattern: { a: 1, b: -1 }, keyValue: { a: 1, b: "x" } })");
    }
}

TEST_P(CatalogTest, UpdateReKeysOnlyWhatChanged) {
    Collection& c = make();
    index(c, R"({"key": {"a": 1}, "name": "a"})");
    const storage::RecordId id = c.insert(bson::from_json(R"({"_id": 1, "a": [1, 2, 3]})"));
    const UpdatedRecord same = c.update(id, bson::from_json(R"({"_id": 1, "a": [2, 3, 4]})"));
    EXPECT_FALSE(same.moved);
    EXPECT_EQ(same.keys_changed, 1);
    EXPECT_EQ(keys(c, "a"), 3);
}

TEST_P(CatalogTest, GrowingUpdateMovesTheRecordAndItsKeys) {
    Collection& c = make();
    index(c, R"({"key": {"a": 1}, "name": "a"})");
    const storage::RecordId id = c.insert(bson::from_json(R"({"_id": 1, "a": 1})"));
    const std::string big = R"({"_id": 1, "a": 1, "p": ")" + std::string(5000, 'x') + "\"}";
    const UpdatedRecord moved = c.update(id, bson::from_json(big));
    EXPECT_EQ(moved.moved, records_move());
    EXPECT_EQ(moved.id != id, records_move());
    EXPECT_EQ(c.records().count(), 1);
    EXPECT_EQ(c.find_index("a")->store->find_one(bson::make("", 1)), moved.id);
    EXPECT_EQ(c.id_index()->store->find_one(bson::make("", 1)), moved.id);
}

TEST_P(CatalogTest, RefusedUpdateChangesNothing) {
    Collection& c = make();
    index(c, R"({"key": {"a": 1}, "name": "a"})");
    index(c, R"({"key": {"u": 1}, "name": "u", "unique": true})");
    const storage::RecordId id = c.insert(bson::from_json(R"({"_id": 1, "a": 1, "u": 1})"));
    c.insert(bson::from_json(R"({"_id": 2, "a": 2, "u": 2})"));
    const std::string pad(5000, 'x');
    EXPECT_EQ(failure([&] { c.update(id, bson::from_json(R"({"_id": 1, "a": 7, "u": 2})")); }),
              base::kDuplicateKey);
    const std::string long_key = R"({"_id": 1, "a": ")" + pad + R"(", "u": 3})";
    if (!engine_->keeps_long()) {
        EXPECT_EQ(failure([&] { c.update(id, bson::from_json(long_key)); }), base::kKeyTooLong);
    }
    EXPECT_EQ(bson::to_text(c.records().get(id)), "{ _id: 1, a: 1, u: 1 }");
    EXPECT_EQ(c.find_index("a")->store->find_one(bson::make("", 1)), id);
    EXPECT_EQ(c.find_index("u")->store->find_one(bson::make("", 1)), id);
    EXPECT_EQ(c.records().count(), 2);
    EXPECT_EQ(keys(c, "a"), 2);
}

TEST_P(CatalogTest, RingTakesKeysOfOldDocumentsAlong) {
    Collection& c = make(R"({"capped": true, "size": 4096})");
    index(c, R"({"key": {"a": 1}, "name": "a"})");
    for (int i = 0; i < 500; ++i)
        c.insert(bson::make("_id", i, "a", i, "p", std::string(100, 'x')));
    EXPECT_LT(c.records().count(), 40);
    EXPECT_EQ(keys(c, "a"), c.records().count());
    EXPECT_EQ(keys(c, "_id_"), c.records().count());
    // A duplicate must not push anything out.
    const int64_t before = c.records().count();
    EXPECT_EQ(failure([&] { c.insert(bson::make("_id", 499, "a", 1)); }), base::kDuplicateKey);
    EXPECT_EQ(c.records().count(), before);
}

TEST_P(CatalogTest, FailedBuildLeavesNoIndex) {
    Collection& c = make();
    for (int i = 0; i < 10; ++i)
        c.insert(bson::make("_id", i, "a", i % 3));
    const uint64_t incarnation = c.incarnation();
    EXPECT_EQ(failure([&] {
                  db().create_index(
                      c, bson::from_json(R"({"key": {"a": 1}, "name": "a", "unique": true})"));
              }),
              base::kDuplicateKey);
    EXPECT_EQ(c.indexes().size(), 1u);
    EXPECT_NE(c.incarnation(), incarnation);
    index(c, R"({"key": {"a": 1}, "name": "a"})");
    EXPECT_EQ(keys(c, "a"), 10);
}

TEST_P(CatalogTest, DropDupsKeepsTheFirstOfEach) {
    Collection& c = make();
    for (int i = 0; i < 10; ++i)
        c.insert(bson::make("_id", i, "a", i % 3));
    index(c, R"({"key": {"a": 1}, "name": "a", "unique": true, "dropDups": true})");
    EXPECT_EQ(c.records().count(), 3);
    EXPECT_EQ(keys(c, "a"), 3);
    EXPECT_EQ(keys(c, "_id_"), 3);
}

// A build in the background, which lets others change documents while it has yielded.
class BackgroundBuildTest : public CatalogTest {
  protected:
    static constexpr int kDocuments = 1000;

    Collection& fill() {
        Collection& c = make();
        for (int i = 0; i < kDocuments; ++i)
            ids_.push_back(c.insert(bson::make("_id", i, "a", i)));
        return c;
    }
    // Runs `action` with the number of the yield each time the build asks.
    class AtYields : public sched::YieldPoint {
      public:
        explicit AtYields(std::function<void(int)> action) : action_(std::move(action)) {}
        bool should_yield() override { return true; }
        bool yield() override {
            action_(count_++);
            return true;
        }

      private:
        std::function<void(int)> action_;
        int count_ = 0;
    };
    // Whether the index holds exactly what the documents ask for.
    void expect_whole(Collection& c, const char* name) {
        int64_t expected = 0;
        const auto records = c.records().cursor(storage::Direction::forward);
        while (const auto record = records->next()) {
            KeySet wanted;
            c.find_index(name)->generator->keys(record->doc, wanted);
            for (size_t i = 0; i < wanted.size(); ++i) {
                ++expected;
                EXPECT_FALSE(c.find_index(name)->store->find_one(wanted[i]).is_null());
            }
        }
        EXPECT_EQ(keys(c, name), expected);
    }
    storage::RecordId id_of(int n) { return ids_[static_cast<size_t>(n)]; }
    bool build(Collection& c, const char* spec, sched::YieldPoint& yield_point) {
        return db().create_index(c, bson::from_json(spec), &yield_point);
    }

    std::vector<storage::RecordId> ids_;
};

TEST_P(BackgroundBuildTest, WritersKeepTheNewIndexUp) {
    Collection& c = fill();
    int yields = 0;
    AtYields yield_point([&](int n) {
        yields = n + 1;
        EXPECT_FALSE(c.find_index("a")->ready);
        c.insert(bson::make("_id", 10000 + n, "a", -n));
        c.remove(id_of(n));                   // behind the scan
        c.remove(id_of(kDocuments - 1 - n));  // ahead of it
        c.update(id_of(20 + n), bson::make("_id", 20 + n, "a", 5000 + n));
        c.update(id_of(950 + n), bson::make("_id", 950 + n, "a", 6000 + n));
        // These grow and move, from behind and from ahead of the scan.
        const std::string text(5000, 'x');
        c.update(id_of(40 + n), bson::make("_id", 40 + n, "a", 7000 + n, "text", text));
        c.update(id_of(900 + n), bson::make("_id", 900 + n, "a", 8000 + n, "text", text));
    });
    EXPECT_TRUE(build(c, R"({"key": {"a": 1}, "name": "a", "background": true})", yield_point));
    EXPECT_GE(yields, 5);
    EXPECT_TRUE(c.find_index("a")->ready);
    expect_whole(c, "a");
}

TEST_P(BackgroundBuildTest, UniqueIndexMeetsItsOwnEntriesAgain) {
    Collection& c = fill();
    AtYields yield_point([&](int n) {
        c.update(id_of(900 + n), bson::make("_id", 900 + n, "a", 2000 + n));
        EXPECT_EQ(failure([&] { c.insert(bson::make("_id", 9999, "a", 1)); }), base::kDuplicateKey);
    });
    EXPECT_TRUE(build(c, R"({"key": {"a": 1}, "name": "a", "unique": true, "background": true})",
                      yield_point));
    expect_whole(c, "a");
}

TEST_P(BackgroundBuildTest, UniqueIndexFailsOverWhatAWriterAdds) {
    Collection& c = fill();
    AtYields yield_point([&](int n) {
        if (n == 0) c.insert(bson::make("_id", 9999, "a", 900));  // its equal lies ahead
    });
    EXPECT_EQ(failure([&] {
                  build(c, R"({"key": {"a": 1}, "name": "a", "unique": true, "background": true})",
                        yield_point);
              }),
              base::kDuplicateKey);
    EXPECT_EQ(c.find_index("a"), nullptr);
    db().drop("test.c");  // nothing is being built any more
}

// The limit holds in both kinds of build that a client asks for; a rebuild has none, and loses no
// index.
TEST_P(BackgroundBuildTest, TheKeysOfOneDocumentAreLimited) {
    Collection& c = fill();
    bson::Builder many;
    for (int i = 0; i < 10'000; ++i)
        many.append(many.next().view(), i);
    bson::Builder doc;
    c.insert(doc.append("_id", kDocuments).append_array("a", many.object()).object());
    AtYields yield_point([](int) {});
    sched::Operation operation;
    operation.start();
    const sched::Operation::Scope scope(&operation);
    const char* const background = R"({"key": {"a": 1}, "name": "a", "background": true})";
    const char* const foreground = R"({"key": {"a": 1}, "name": "a"})";
    sched::WorkLimit::set_limit(5'000);
    for (const char* spec : {background, foreground}) {
        EXPECT_EQ(failure([&] { build(c, spec, yield_point); }), base::kWorkLimitExceeded) << spec;
        EXPECT_EQ(c.find_index("a"), nullptr);
    }
    sched::WorkLimit::set_limit(sched::WorkLimit::kDefaultTicks);
    EXPECT_TRUE(build(c, background, yield_point));
    sched::WorkLimit::set_limit(5'000);
    EXPECT_EQ(failure([&] { db().rebuild_indexes(c); }), 0);
    sched::WorkLimit::set_limit(sched::WorkLimit::kDefaultTicks);
    EXPECT_TRUE(c.find_index("a")->ready);
    expect_whole(c, "a");
}

// Keys of many documents are sorted while those of one are taken.
TEST_P(BackgroundBuildTest, TheLimitIsNotOneOfAllDocuments) {
    Collection& c = fill();
    for (int i = 0; i < 9'000; ++i)
        c.insert(bson::make("_id", kDocuments + i, "a", i));
    AtYields yield_point([](int) {});
    sched::Operation operation;
    operation.start();
    const sched::Operation::Scope scope(&operation);
    sched::WorkLimit::set_limit(5'000);
    sched::memory::set_limits(1 << 20, sched::memory::kAllBytes);
    EXPECT_EQ(failure([&] { build(c, R"({"key": {"a": 1}, "name": "a"})", yield_point); }), 0);
    sched::memory::set_limits(sched::memory::kOperationBytes, sched::memory::kAllBytes);
    sched::WorkLimit::set_limit(sched::WorkLimit::kDefaultTicks);
    expect_whole(c, "a");
}

TEST_P(BackgroundBuildTest, NothingIsTakenAwayFromUnderIt) {
    constexpr int kInProgress = 12586;
    Collection& c = fill();
    index(c, R"({"key": {"b": 1}, "name": "b"})");
    const bson::Object all = bson::make("index", "*");
    const char* spec = R"({"key": {"a": 1}, "name": "a", "background": true})";
    AtYields yield_point([&](int n) {
        if (n > 0) return;
        EXPECT_EQ(failure([&] { db().drop("test.c"); }), kInProgress);
        EXPECT_EQ(failure([&] { db().rename("test.c", "test.d", false); }), kInProgress);
        EXPECT_EQ(failure([&] { db().drop_indexes(c, all["index"]); }), kInProgress);
        EXPECT_EQ(failure([&] { db().rebuild_indexes(c); }), kInProgress);
        EXPECT_EQ(failure([&] { catalog_->drop_database("test"); }), kInProgress);
        EXPECT_EQ(failure([&] { db().create_index(c, bson::from_json(spec)); }), kInProgress);
        // Another index may come, and takes the first free slot when it is ready.
        EXPECT_TRUE(db().create_index(c, bson::from_json(R"({"key": {"d": 1}, "name": "d"})")));
    });
    EXPECT_TRUE(build(c, spec, yield_point));
    for (const char* name : {"a", "b", "d"}) {
        EXPECT_TRUE(c.find_index(name)->ready) << name;
        expect_whole(c, name);
    }
    db().drop("test.c");
}

TEST_P(CatalogTest, IndexesKeepTheirObjectsWhenOthersCome) {
    Collection& c = make();
    index(c, R"({"key": {"a": 1}, "name": "a"})");
    const Index* a = c.find_index("a");
    index(c, R"({"key": {"b": 1}, "name": "b"})");
    EXPECT_EQ(c.find_index("a"), a) << "plans of open cursors point to it";
}

TEST_P(CatalogTest, IndexConflicts) {
    Collection& c = make();
    index(c, R"({"key": {"a": 1}, "name": "a"})");
    const auto again = [&](const char* spec) {
        return failure([&] { EXPECT_FALSE(db().create_index(c, bson::from_json(spec))); });
    };
    EXPECT_EQ(again(R"({"key": {"a": 1}, "name": "a"})"), 0);
    EXPECT_EQ(again(R"({"key": {"a": 1.0}, "name": "other", "background": true})"), 0);
    EXPECT_EQ(again(R"({"key": {"b": 1}, "name": "a"})"), base::kIndexKeySpecsConflict);
    EXPECT_EQ(again(R"({"key": {"a": 1}, "name": "a", "unique": true})"),
              base::kIndexOptionsConflict);
    EXPECT_EQ(again(R"({"key": {"a": 1}, "name": "x", "sparse": true})"),
              base::kIndexOptionsConflict);
}

TEST_P(CatalogTest, DropIndexesByNameKeyAndStar) {
    Collection& c = make();
    for (const char* spec :
         {R"({"key": {"a": 1}, "name": "a"})", R"({"key": {"b": 1}, "name": "b"})",
          R"({"key": {"c": 1}, "name": "c"})"})
        index(c, spec);
    const bson::Object which = bson::from_json(
        R"({"name": "a", "key": {"b": 1}, "id": "_id_", "none": "zz", "all": "*"})");
    EXPECT_EQ(db().drop_indexes(c, which["name"]).after, 3);
    EXPECT_EQ(db().drop_indexes(c, which["key"]).after, 2);
    EXPECT_EQ(failure([&] { db().drop_indexes(c, which["id"]); }), base::kInvalidOptions);
    EXPECT_EQ(failure([&] { db().drop_indexes(c, which["none"]); }), base::kIndexNotFound);
    EXPECT_EQ(db().drop_indexes(c, which["all"]).after, 1);
    EXPECT_NE(c.id_index(), nullptr);
}

TEST_P(CatalogTest, RenameKeepsDocumentsAndIndexes) {
    Collection& c = make();
    index(c, R"({"key": {"a": 1}, "name": "a"})");
    c.insert(bson::make("_id", 1, "a", 5));
    db().rename("test.c", "test.d", false);
    EXPECT_EQ(db().collection("test.c"), nullptr);
    Collection& renamed = *db().collection("test.d");
    EXPECT_EQ(renamed.records().count(), 1);
    EXPECT_EQ(bson::to_text(renamed.find_index("a")->spec["ns"]), "\"test.d\"");
    EXPECT_TRUE(renamed.find_index("a")->store->find_one(bson::make("", 5)));
    EXPECT_EQ(failure([&] { db().rename("test.d", "test.d", false); }), base::kNamespaceExists);
}

TEST_P(CatalogTest, DatabasesMayNotDifferInCaseOnly) {
    catalog_->get_or_create("Things");
    EXPECT_EQ(failure([&] { catalog_->get_or_create("things"); }), 13297);
    EXPECT_EQ(failure([&] { catalog_->get_or_create("a b"); }), base::kInvalidNamespace);
    catalog_->drop_database("Things");
    EXPECT_EQ(catalog_->database("Things"), nullptr);
    catalog_->get_or_create("things");
}

TEST_P(CatalogTest, PathsThatTouchAnIndex) {
    Collection& c = make();
    index(c, R"({"key": {"a.b": 1}, "name": "ab"})");
    EXPECT_TRUE(c.path_indexed("a"));
    EXPECT_TRUE(c.path_indexed("a.b"));
    EXPECT_TRUE(c.path_indexed("a.b.c"));
    EXPECT_TRUE(c.path_indexed("a.0.b"));
    EXPECT_TRUE(c.path_indexed("_id"));
    EXPECT_FALSE(c.path_indexed("a.c"));
    EXPECT_FALSE(c.path_indexed("ab"));
}

TEST_P(CatalogTest, InsertsWakeWaiters) {
    Collection& c = make(R"({"capped": true, "size": 4096})");
    int woken = 0;
    const auto notice = c.waiters().add([&woken] { ++woken; });
    c.insert(bson::make("_id", 1));
    c.insert(bson::make("_id", 2));
    EXPECT_EQ(woken, 1);
}

class CatalogLockTest : public OverEachEngine {};

TEST_P(CatalogLockTest, EachCallNeedsItsLock) {
    const bson::Object doc = bson::make("_id", 1);
    Database* db = nullptr;
    Collection* c = nullptr;
    EXPECT_TRUE(base::is_refused([&] { catalog_->database("test"); }));
    {
        const storage::DatabaseLock lock(engine_->locks(), "test", true);
        db = &catalog_->get_or_create("test");
        c = &db->create("test.c", bson::Doc());
        EXPECT_EQ(base::failed_check([&] { c->insert(doc); }), "");
        EXPECT_TRUE(base::is_refused([&] { catalog_->drop_database("test"); })) << "wants W";
    }
    const bson::Object spec = bson::from_json(R"({"key": {"a": 1}, "name": "a"})");
    const auto refuses_changes = [&] {
        EXPECT_TRUE(base::is_refused([&] { c->insert(doc); }));
        EXPECT_TRUE(base::is_refused([&] { catalog_->get_or_create("test"); }));
        EXPECT_TRUE(base::is_refused([&] { db->get_or_create("test.c"); }));
        EXPECT_TRUE(base::is_refused([&] { db->create("test.d", bson::Doc()); }));
        EXPECT_TRUE(base::is_refused([&] { db->create_index(*c, spec); }));
        EXPECT_TRUE(base::is_refused([&] { db->drop("test.c"); }));
        EXPECT_TRUE(base::is_refused([&] { db->rename("test.c", "test.e", false); }));
        EXPECT_TRUE(base::is_refused([&] { db->truncate(*c); }));
    };
    refuses_changes();
    {
        const storage::DatabaseLock lock(engine_->locks(), "test", false);
        refuses_changes();
        EXPECT_EQ(base::failed_check([&] { db->collection("test.c"); }), "");
    }
    const storage::DatabaseLock lock(engine_->locks(), "other", true);
    refuses_changes();
    EXPECT_TRUE(base::is_refused([&] { db->collection("test.c"); }));
}

INSTANTIATE_TEST_SUITE_P(engines, CatalogLockTest, kTestEngines, engine_name);
INSTANTIATE_TEST_SUITE_P(engines, CatalogTest, kTestEngines, engine_name);
INSTANTIATE_TEST_SUITE_P(engines, BackgroundBuildTest, kTestEngines, engine_name);

}  // namespace
}  // namespace catalog
