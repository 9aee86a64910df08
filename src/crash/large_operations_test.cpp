// Operations that are larger than one commit: whichever commit was the last before a crash, the
// next start finds all documents and all indexes, or makes them.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "catalog/index_keys.h"
#include "command/admin/repair.h"
#include "command/commands/testing/service.h"
#include "crash/testing/copy_engine.h"
#include "sched/testing/shutdown.h"
#include "storage/mmapv1/check.h"

namespace crash {
namespace {

class LargeOperations : public command::ServiceTest {
  protected:
    using Texts = std::set<std::string>;
    using Files = std::unique_ptr<mmapv1::TestViews>;

    LargeOperations() : command::ServiceTest(std::function(make)) {}

    static std::unique_ptr<storage::Engine> make() { return std::make_unique<CopyEngine>(); }

    CopyEngine& engine() { return static_cast<CopyEngine&>(*engine_); }

    // Fills test.c, with three indexes beside the one on _id; several keys in each bucket's worth
    // of commits.
    void fill(int documents = kDocuments) {
        for (int i = 0; i < documents; ++i)
            ASSERT_EQ(code(run(fmt::format(
                          R"({{"insert": "c", "documents": [{{"_id": {}, "a": {}, "b": {}}}]}})", i,
                          i % 7, -i))),
                      0);
        ASSERT_EQ(code(run(R"({"createIndexes": "c", "indexes": [
                               {"key": {"a": 1}, "name": "a"},
                               {"key": {"b": 1}, "name": "b", "unique": true},
                               {"key": {"a": 1, "b": -1}, "name": "ab"}]})")),
                  0);
    }

    // Runs a command by an old message, which drops duplicates, and keeps the state after each
    // commit that may come during it.
    std::vector<Files> files_at_commits(const std::string& json) {
        std::vector<Files> left;
        engine().set_may_commit(
            [&] { left.push_back(std::make_unique<mmapv1::TestViews>(engine().views())); });
        const bson::Object reply = run_old(json);
        engine().set_may_commit(nullptr);
        EXPECT_EQ(code(reply), 0) << bson::to_text(reply.doc());
        EXPECT_FALSE(left.empty()) << json;
        return left;
    }

    // Runs a command, and a start on the state after each commit that may come during it; and on
    // the states that such a start leaves in the same way.
    void run_crashed(const std::string& json) {
        const Texts documents_before = documents(engine());
        const Texts indexes_before = indexes(engine());
        const std::vector<Files> left = files_at_commits(json);
        const Texts documents_after = documents(engine());
        kept_.clear();
        std::ranges::set_intersection(documents_before, documents_after,
                                      std::inserter(kept_, kept_.end()));
        accepted_ = {indexes_before, indexes(engine())};
        const size_t step = left.size() / kStates + 1;
        for (size_t i = 0; i < left.size(); i += step) {
            SCOPED_TRACE(fmt::format("{}, commit {} of {}", json, i, left.size()));
            start(*left[i], 1);
        }
    }

    // Runs a command that a shutdown interrupts, here and there; and the next start, which another
    // one interrupts.
    void run_ended(const std::string& json) {
        const Texts indexes_before = indexes(engine());
        accepted_ = {indexes_before};
        const int calls = run_until(json, std::numeric_limits<int>::max());
        for (int at = 0; at < calls; at += calls / kEnds + 1) {
            SCOPED_TRACE(fmt::format("{}, shutdown at {} of {}", json, at, calls));
            run_until(json, at);
            kept_ = documents(engine());
            start(engine().views(), 0);
            start_ended(engine().views());
            const storage::GlobalLock lock(engine().locks(), storage::GlobalMode::W);
            service_->opener().finish_opening(*catalog_->database("test"));
            ASSERT_EQ(indexes(engine()), indexes_before);
        }
    }

    static constexpr int kDocuments = 300;

  private:
    static constexpr size_t kStates = 20;
    static constexpr int kEnds = 12;

    // How often a commit may come until `work` ends, which a shutdown interrupts at one of them.
    template <typename Work>
    static int until(CopyEngine& engine, int at, Work work) {
        int calls = 0;
        engine.set_may_commit([&] {
            if (calls++ == at) sched::Operation::interrupt_all();
        });
        work();
        engine.set_may_commit(nullptr);
        sched::test::end_shutdown();
        return calls;
    }
    int run_until(const std::string& json, int at) {
        return until(engine(), at, [&] {
            run(json);
            if (!sched::Operation::shutting_down()) return;
            // Other operations have waited for the lock: indexes that are left for the next start
            // are neither lost nor met by a document that they would refuse.
            const std::string insert = R"({"insert": "c", "documents": [{"_id": 0}]})";
            const std::string update =
                R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"b": 1}}}]})";
            for (const std::string& late : {json, insert, update}) {
                const bson::Object reply = run(late);
                EXPECT_NE(bson::to_text(reply.doc()).find("code: 11600"), std::string::npos)
                    << late;
            }
        });
    }
    void start_ended(const mmapv1::TestViews& files) {
        for (int at = 0, calls = 1; at < calls; at += calls / kEnds + 1) {
            SCOPED_TRACE(fmt::format("the start, shutdown at {} of {}", at, calls));
            CopyEngine engine(files);
            catalog::Catalog catalog(engine);
            command::ServerContext context;
            command::Service service(catalog, context, command::all_families());
            const int n = until(engine, at, [&] {
                const storage::GlobalLock lock(engine.locks(), storage::GlobalMode::W);
                try {
                    service.opener().finish_opening(*catalog.database("test"));
                } catch (const base::Error& error) {
                    EXPECT_EQ(error.code(), base::kInterruptedAtShutdown) << error.what();
                }
            });
            calls = std::max(calls, n);
            start(engine.views(), 0);
        }
    }

    static Texts documents(CopyEngine& engine) {
        Texts found;
        for (const std::string& ns : engine.test().collections()) {
            if (ns.find(".system.") != std::string::npos) continue;
            const auto cursor =
                engine.test().find(ns)->records().cursor(storage::Direction::forward);
            while (const auto record = cursor->next())
                found.insert(bson::to_text(record->doc));
        }
        return found;
    }
    // Returns the indexes that are ready.
    static Texts indexes(CopyEngine& engine) {
        Texts found;
        for (const std::string& ns : engine.test().collections()) {
            storage::CollectionStore& collection = *engine.test().collection(ns);
            for (int slot = 0; slot < collection.index_count(); ++slot)
                if (collection.index(slot).ready)
                    found.insert(ns + " " + collection.index(slot).name);
        }
        return found;
    }

    void start(const mmapv1::TestViews& files, int depth) {
        CopyEngine engine(files);
        catalog::Catalog catalog(engine);
        command::ServerContext context;
        command::Service service(catalog, context, command::all_families());
        std::vector<Files> left;
        if (depth > 0)
            engine.set_may_commit(
                [&] { left.push_back(std::make_unique<mmapv1::TestViews>(engine.views())); });
        {
            const storage::GlobalLock lock(engine.locks(), storage::GlobalMode::W);
            if (catalog::Database* db = catalog.database("test"))
                service.opener().finish_opening(*db);
        }
        engine.set_may_commit(nullptr);
        mmapv1::check_database(engine.test(), catalog::key_deriver(),
                               [](const mmapv1::Finding& finding) {
                                   if (finding.severity == mmapv1::Severity::leak) return;
                                   ADD_FAILURE() << finding.ns << ": " << finding.text;
                               },
                               {});
        EXPECT_TRUE(std::ranges::includes(documents(engine), kept_)) << "documents are lost";
        EXPECT_TRUE(std::ranges::count(accepted_, indexes(engine)) > 0)
            << "it has the indexes " << fmt::format("{}", fmt::join(indexes(engine), ", "));
        const size_t step = left.size() / 4 + 1;
        for (size_t i = 0; i < left.size(); i += step) {
            SCOPED_TRACE(fmt::format("the start, commit {} of {}", i, left.size()));
            start(*left[i], depth - 1);
        }
    }

    Texts kept_;
    std::vector<Texts> accepted_;
};

TEST_F(LargeOperations, AShutdownLeavesTheIndexesToTheNextStart) {
    fill();
    run_ended(R"({"reIndex": "c"})");
    run_ended(R"({"compact": "c"})");
}

TEST_F(LargeOperations, ReIndex) {
    fill();
    run_crashed(R"({"reIndex": "c"})");
}

TEST_F(LargeOperations, Compact) {
    fill();
    ASSERT_EQ(code(run(R"({"delete": "c", "deletes": [{"q": {"a": 3}, "limit": 0}]})")), 0);
    run_crashed(R"({"compact": "c"})");
}

TEST_F(LargeOperations, Repair) {
    fill();
    run_crashed(R"({"repairDatabase": 1})");
}

TEST_F(LargeOperations, ConvertToCapped) {
    fill();
    run_crashed(R"({"convertToCapped": "c", "size": 1000000})");
}

TEST_F(LargeOperations, CloneAsCapped) {
    fill();
    const char* const command =
        R"({"cloneCollectionAsCapped": "c", "toCollection": "ring", "size": 1000000})";
    const std::vector<Files> left = files_at_commits(command);
    for (size_t i = 0; i < left.size(); i += 20) {
        CopyEngine engine(*left[i]);
        catalog::Catalog catalog(engine);
        command::ServerContext context;
        command::Service service(catalog, context, command::all_families());
        const storage::GlobalLock lock(engine.locks(), storage::GlobalMode::W);
        service.opener().finish_opening(*catalog.database("test"));
        EXPECT_EQ(catalog.database("test")->collection_names().size(), 3u) << "commit " << i;
    }
    EXPECT_EQ(run(R"({"count": "ring"})")["n"].to_int64(), kDocuments);
    EXPECT_EQ(code(run(command)), base::kNamespaceExists);
    EXPECT_EQ(run(R"({"count": "ring"})")["n"].to_int64(), kDocuments);
}

TEST_F(LargeOperations, Out) {
    fill();
    ASSERT_EQ(code(run(R"({"insert": "e", "documents": [{"_id": 1, "old": 1}]})")), 0);
    run_crashed(R"({"aggregate": "c", "pipeline": [{"$out": "e"}], "cursor": {}})");
}

TEST_F(LargeOperations, BuildsOfIndexes) {
    fill();
    run_crashed(R"({"createIndexes": "c", "indexes": [{"key": {"b": -1}, "name": "down"}]})");
    run_crashed(R"({"createIndexes": "c", "indexes": [{"key": {"b": 1, "a": 1}, "name": "ba",
                                                       "background": true}]})");
}

// Documents that lose against an equal key go as well.
TEST_F(LargeOperations, BuildsThatDropDuplicates) {
    fill();
    for (const char* background : {"false", "true"}) {
        for (int i = 0; i < kDocuments; ++i)
            ASSERT_EQ(code(run(fmt::format(R"({{"update": "c", "updates": [
                                               {{"q": {{"_id": {}}}, "u": {{"_id": {}, "a": {},
                                                 "b": {}, "twice": {}}}, "upsert": true}}]}})",
                                           i, i, i % 7, -i, i / 2))),
                      0);
        run_crashed(fmt::format(R"({{"createIndexes": "c", "indexes": [
            {{"key": {{"twice": 1}}, "name": "twice", "unique": true, "dropDups": true,
              "background": {}}}]}})",
                                background));
        ASSERT_EQ(code(run(R"({"dropIndexes": "c", "index": "twice"})")), 0);
    }
}

TEST_F(LargeOperations, WritesOfManyDocuments) {
    fill();
    run_crashed(
        R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 9}}, "multi": true}]})");
    run_crashed(R"({"delete": "c", "deletes": [{"q": {"b": {"$lt": -100}}, "limit": 0}]})");
}

// Space that was free in extents that are not emptied yet is on no list.
TEST_F(LargeOperations, FreeSpaceThatACompactGaveUpIsFoundByTheNextOrARepair) {
    fill();
    ASSERT_EQ(code(run(R"({"delete": "c", "deletes": [{"q": {"a": 3}, "limit": 0}]})")), 0);
    const std::vector<Files> left = files_at_commits(R"({"compact": "c"})");
    for (const bool repairs : {false, true}) {
        CopyEngine engine(*left[left.size() / 3]);
        catalog::Catalog catalog(engine);
        command::ServerContext context;
        command::Service service(catalog, context, command::all_families());
        const auto leaks = [&] {
            int found = 0;
            mmapv1::check_database(engine.test(), catalog::key_deriver(),
                                   [&](const mmapv1::Finding& finding) {
                                       EXPECT_EQ(finding.severity, mmapv1::Severity::leak)
                                           << finding.text;
                                       ++found;
                                   },
                                   {});
            return found;
        };
        {
            const storage::GlobalLock lock(engine.locks(), storage::GlobalMode::W);
            service.opener().finish_opening(*catalog.database("test"));
            EXPECT_GT(leaks(), 0);
            bson::Builder out;
            if (!repairs)
                catalog.database("test")->compact(*catalog.collection("test.c"), bson::Object(),
                                                  out);
        }
        if (repairs) command::repair_database(catalog, service.cursors(), "test");
        EXPECT_EQ(leaks(), 0) << repairs;
    }
}

// Each document that makes room goes by itself.
TEST_F(LargeOperations, WritesIntoARing) {
    ASSERT_EQ(code(run(R"({"create": "c", "capped": true, "size": 8192})")), 0);
    fill();
    run_crashed(R"({"insert": "c", "documents": [{"_id": 1000, "a": 1, "b": 1, "t": ")" +
                std::string(4000, 'x') + R"("}]})");
}

// Each document that is cut off goes by itself, also where it is the last one of its extent.
TEST_F(LargeOperations, CuttingARing) {
    for (const int filled : {100, kDocuments}) {
        SCOPED_TRACE(filled);
        ASSERT_EQ(code(run(R"({"drop": "c"})")) % 26, 0);
        ASSERT_EQ(code(run(R"({"create": "c", "capped": true, "size": 16384, "$nExtents": 4})")),
                  0);
        fill(filled);
        run_crashed(R"({"captrunc": "c", "n": 90})");
    }
}

}  // namespace
}  // namespace crash
