// --repair after a process that had no journal was killed: at every store that it makes while it
// creates, fills, changes and drops collections and indexes, its files are what the repair gets.
// Usually a slice of these stores is tried (base/testing/slice.h).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/testing/slice.h"
#include "command/admin/repair.h"
#include "command/commands/testing/service.h"
#include "crash/testing/copy_engine.h"
#include "storage/mmapv1/check.h"
#include "storage/testing/space_refusal.h"

namespace crash {
namespace {

// Which request for space of a repair is refused, and how many there were.
int g_refused = 0, g_requests = 0;
void refuse_in_turn() {
    if (++g_requests == g_refused) base::fail(base::kOperationFailed, "no space left on device");
}

class RepairTest : public command::ServiceTest {
  public:
    using Documents = std::set<std::string>;  // of all collections, as text

  protected:
    RepairTest() : command::ServiceTest(std::function(make)) {}

    static std::unique_ptr<storage::Engine> make() { return std::make_unique<CopyEngine>(); }
    CopyEngine& engine() { return static_cast<CopyEngine&>(*engine_); }

    // Runs a command, and repairs the state that a crash leaves at each store.
    void run_killed(const std::string& json, const char* db = "test") {
        const Documents before = documents(engine());
        size_t stores = 0;
        std::map<size_t, std::unique_ptr<mmapv1::TestViews>> left;
        engine().views().before_store = [&] {
            ++stores;
            if (slice_.takes_next())
                left[stores] = std::make_unique<mmapv1::TestViews>(engine().views());
        };
        const bson::Object reply = run(json, db);
        engine().views().before_store = nullptr;
        ASSERT_EQ(code(reply), 0) << bson::to_text(reply.doc());
        Documents kept;
        std::ranges::set_intersection(before, documents(engine()), std::inserter(kept, kept.end()));
        EXPECT_GT(stores, 0u) << json;
        for (const auto& [store, files] : left) {
            SCOPED_TRACE(fmt::format("{} at store {} of {}", json, store, stores));
            refuse_repair(*files);
            repair(*files, kept, tried_++ % 16 == 0);
        }
    }

    void fill(const std::string& collection, int count) {
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(
                code(run(fmt::format(
                    R"({{"insert": "{}", "documents": [{{"_id": {}, "a": {}, "in": "{}"}}]}})",
                    collection, i, i % 3, collection))),
                0);
    }

  private:
    base::Slice slice_ = base::test_slice(8);
    size_t tried_ = 0;

    static Documents documents(CopyEngine& engine) {
        Documents found;
        if (engine.database("test") == nullptr) return found;
        for (const std::string& ns : engine.test().collections()) {
            if (ns.find(".system.") != std::string::npos) continue;
            const auto cursor =
                engine.test().find(ns)->records().cursor(storage::Direction::forward);
            while (const auto record = cursor->next())
                found.insert(bson::to_text(record->doc));
        }
        return found;
    }

    // A repair that is refused half-way, at each request for space: the catalog knows what has
    // become of the database.
    static void refuse_repair(const mmapv1::TestViews& files) {
        bool was_refused = true;
        for (g_refused = 1; was_refused; ++g_refused) {
            g_requests = 0;
            CopyEngine engine(files);
            catalog::Catalog catalog(engine);
            const storage::GlobalLock lock(engine.locks(), storage::GlobalMode::W);
            catalog::Database* const db = catalog.database("test");
            if (db == nullptr) return;
            std::set<std::string> names;
            for (const std::string& ns : db->all_namespaces())
                names.insert(ns);
            storage::test::on_space_request(refuse_in_turn);
            try {
                db->repair();
            } catch (const base::Error&) {
            }
            storage::test::on_space_request(nullptr);
            was_refused = g_requests >= g_refused;
            for (const std::string& ns : db->all_namespaces())
                names.insert(ns);
            SCOPED_TRACE(fmt::format("request {} is refused", g_refused));
            for (const std::string& ns : names)
                expect_the_same(ns, db->collection(ns), engine.test().find(ns));
        }
    }
    static void expect_the_same(const std::string& ns, catalog::Collection* known,
                                storage::CollectionStore* stored) {
        ASSERT_EQ(known != nullptr, stored != nullptr) << ns;
        if (known == nullptr) return;
        ASSERT_EQ(&known->store(), stored) << ns;
        ASSERT_EQ(static_cast<int>(known->indexes().size()), stored->index_count()) << ns;
        for (int slot = 0; slot < stored->index_count(); ++slot) {
            const storage::IndexEntry entry = stored->index(slot);
            const catalog::Index& index = *known->indexes()[static_cast<size_t>(slot)];
            EXPECT_EQ(index.name, entry.name) << ns;
            EXPECT_EQ(index.store, entry.index) << ns;
            EXPECT_EQ(index.spec.data(), entry.spec.data())
                << ns << ": its definition is elsewhere";
        }
    }
    // `proven`: that each store was declared, which takes longer than all the rest.
    static void repair(const mmapv1::TestViews& files, const Documents& kept, bool proven) {
        try {
            CopyEngine engine(files);
            catalog::Catalog catalog(engine);
            command::ServerContext context;
            command::Service service(catalog, context, command::all_families());
            {
                // Opens the database as a start does, which goes on if one is damaged.
                const storage::GlobalLock lock(engine.locks(), storage::GlobalMode::W);
                try {
                    if (catalog::Database* db = catalog.database("test"))
                        service.opener().finish_opening(*db);
                } catch (const base::Error&) {
                }
            }
            command::repair_database(catalog, service.cursors(), "test");
            if (engine.database("test") == nullptr) return;
            if (proven) engine.views().verify_declared();
            mmapv1::check_database(engine.test(), {},
                                   [](const mmapv1::Finding& finding) {
                                       if (finding.severity == mmapv1::Severity::leak) return;
                                       ADD_FAILURE() << finding.ns << ": " << finding.text;
                                   },
                                   {});
            const Documents found = documents(engine);
            EXPECT_TRUE(std::ranges::includes(found, kept)) << "documents are lost";
        } catch (const base::Error& error) {
            ADD_FAILURE() << error.code() << " " << error.what();
        }
    }
};

// Ten indexes are stored in the entry of their collection, the others in blocks beside it.
std::string many_indexes(int from, int to) {
    std::string indexes;
    for (int i = from; i < to; ++i)
        indexes +=
            fmt::format(R"({}{{"key": {{"f{}": 1}}, "name": "f{}"}})", i > from ? ", " : "", i, i);
    return fmt::format(R"({{"createIndexes": "c", "indexes": [{}]}})", indexes);
}

TEST_F(RepairTest, CollectionsThatWereBeingMade) {
    run_killed(R"({"create": "c"})");
    run_killed(R"({"insert": "d", "documents": [{"_id": 1, "a": 1}]})");
    run_killed(R"({"create": "ring", "capped": true, "size": 4096})");
    run_killed(R"({"insert": "ring", "documents": [{"_id": 2}, {"_id": 3}]})");
    run_killed(R"({"collMod": "d", "usePowerOf2Sizes": false})");
}

TEST_F(RepairTest, IndexesThatWereBeingMadeAndDropped) {
    fill("c", 5);
    run_killed(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
    run_killed(many_indexes(0, 2));
    ASSERT_EQ(code(run(many_indexes(2, 8))), 0);
    run_killed(many_indexes(8, 10));
    run_killed(R"({"dropIndexes": "c", "index": "f3"})");
    run_killed(R"({"reIndex": "c"})");
    run_killed(R"({"dropIndexes": "c", "index": "*"})");
}

TEST_F(RepairTest, DocumentsThatWereBeingChanged) {
    fill("c", 5);
    ASSERT_EQ(code(run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})")),
              0);
    const std::string pad(400, 'x');
    run_killed(R"({"insert": "c", "documents": [{"_id": 8, "a": 1}, {"_id": 9, "a": [1, 2, 3]}]})");
    run_killed(R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"a": 7, "pad": ")" +
               pad + R"("}}}]})");
    run_killed(R"({"update": "c", "updates": [{"q": {"_id": 3}, "u": {"$inc": {"a": 7}}}]})");
    run_killed(R"({"delete": "c", "deletes": [{"q": {"_id": 4}, "limit": 1}]})");
    run_killed(R"({"compact": "c"})");
}

TEST_F(RepairTest, CollectionsThatWereBeingRenamedAndDropped) {
    fill("c", 5);
    fill("d", 3);
    ASSERT_EQ(code(run(many_indexes(0, 11))), 0);
    run_killed(R"({"renameCollection": "test.c", "to": "test.e"})", "admin");
    run_killed(R"({"renameCollection": "test.d", "to": "test.e", "dropTarget": true})", "admin");
    run_killed(R"({"convertToCapped": "e", "size": 8192})");
    run_killed(R"({"drop": "e"})");
}

TEST_F(RepairTest, RepairsThatWereKilled) {
    fill("c", 5);
    ASSERT_EQ(code(run(many_indexes(0, 2))), 0);
    ASSERT_EQ(code(run(R"({"create": "ring", "capped": true, "size": 4096})")), 0);
    run_killed(R"({"repairDatabase": 1})");
}

}  // namespace
}  // namespace crash
