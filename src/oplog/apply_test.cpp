// Entries of a log of writes change the data, over each engine: the data as it was before them, and
// data that has seen some of them.
#include "oplog/apply.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/error.h"
#include "base/testing/effort.h"
#include "bson/json.h"
#include "catalog/testing/each_engine.h"
#include "oplog/entry.h"
#include "query/update/document_difference.h"
#include "query/update/testing/histories.h"

namespace oplog {
namespace {

using base::failure;
using Texts = std::vector<std::string>;

class ApplierTest : public catalog::OverEachEngine {
  protected:
    Applied apply(const char* entry, Manner manner = Manner::exact) {
        return applier_.apply(bson::parse_test_json(entry), manner);
    }
    int error_of(const char* entry, Manner manner = Manner::exact) {
        return failure([&] { apply(entry, manner); });
    }
    // Returns the documents in the order of their insertion.
    Texts documents(const std::string& ns = "test.c") {
        Texts found;
        const storage::DatabaseLock lock(engine_->locks(), catalog::split(ns).db, false);
        catalog::Collection* const collection = catalog_->collection(ns);
        if (collection == nullptr) return found;
        const auto cursor = collection->records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next())
            found.push_back(bson::to_text(record->doc));
        return found;
    }

    Texts commands_;
    int command_fails_with_ = 0;
    Applier applier_{*catalog_, [this](std::string_view db, bson::Doc command) {
                         commands_.push_back(std::string(db) + " " + bson::to_text(command));
                         if (command_fails_with_ != 0)
                             throw base::Error(command_fails_with_, "as the test wants it");
                     }};
};

constexpr const char* kCreate = R"({"op": "c", "ns": "test.$cmd", "o": {"create": "c"}})";

// The changes of a transaction, over several databases.
TEST_P(ApplierTest, ChangesAllTogetherOrNothing) {
    constexpr const char* kUnit = R"({"op": "c", "ns": "admin.$cmd", "o": {"applyOps": [
        {"op": "i", "ns": "test.c", "o": {"_id": 1, "a": 1}},
        {"op": "u", "ns": "test.c", "o2": {"_id": 1}, "o": {"$set": {"a": 2}}},
        {"op": "i", "ns": "more.d", "o": {"_id": 1}},
        {"op": "d", "ns": "test.c", "b": true, "o": {"_id": 7}}]}})";
    apply(kCreate);
    apply(R"({"op": "c", "ns": "more.$cmd", "o": {"create": "d"}})");
    EXPECT_EQ(error_of(kUnit), base::kNoMatchingDocument);
    EXPECT_EQ(documents(), Texts{});
    EXPECT_EQ(documents("more.d"), Texts{});
    apply(R"({"op": "i", "ns": "test.c", "o": {"_id": 7}})");
    apply(kUnit);
    EXPECT_EQ(documents(), Texts{"{ _id: 1, a: 2 }"});
    EXPECT_EQ(documents("more.d"), Texts{"{ _id: 1 }"});
    apply(kUnit, Manner::again);
    EXPECT_EQ(documents(), Texts{"{ _id: 1, a: 2 }"});
    EXPECT_EQ(commands_, Texts{});
}

TEST_P(ApplierTest, ChangesDocumentsAndIndexes) {
    apply(kCreate);
    apply(R"({"op": "i", "ns": "test.c", "o": {"_id": 1, "a": 1}})");
    apply(R"({"op": "i", "ns": "test.c", "o": {"_id": 2, "a": 2}})");
    apply(R"({"op": "u", "ns": "test.c", "o2": {"_id": 1}, "o": {"$set": {"a": 5},
              "$unset": {"b": true}}})");
    apply(R"({"op": "u", "ns": "test.c", "o2": {"_id": 2}, "o": {"_id": 2, "whole": true}})");
    apply(R"({"op": "n", "ns": "", "o": {"msg": "a note"}})");
    EXPECT_EQ(documents(), (Texts{"{ _id: 1, a: 5 }", "{ _id: 2, whole: true }"}));
    apply(R"({"op": "d", "ns": "test.c", "b": true, "o": {"_id": 1}})");
    apply(R"({"op": "i", "ns": "test.system.indexes",
              "o": {"v": 1, "key": {"a": 1}, "name": "a", "ns": "test.c"}})");
    EXPECT_EQ(documents(), Texts{"{ _id: 2, whole: true }"});
    const storage::DatabaseLock lock(engine_->locks(), "test", false);
    EXPECT_NE(catalog_->collection("test.c")->find_index("a"), nullptr);
}

// Such an entry comes from servers that stored the simple collation nowhere: they named only a
// collation that an index has.
TEST_P(ApplierTest, AnIndexWithoutACollationIsASimpleOne) {
    const auto german = collation::Collator::make(bson::from_json(R"({"locale": "de"})"));
    applier_.apply(bson::make("op", "c", "ns", "test.$cmd", "o",
                              bson::make("create", "c", "collation", german->spec())),
                   Manner::exact);
    for (const char* entry : {R"({"op": "i", "ns": "test.c", "o": {"_id": 1, "a": "x"}})",
                              R"({"op": "i", "ns": "test.c", "o": {"_id": 2, "a": "X"}})"})
        apply(entry);
    apply(R"({"op": "i", "ns": "test.system.indexes",
              "o": {"v": 1, "unique": true, "key": {"a": 1}, "name": "a", "ns": "test.c"}})");
    const storage::DatabaseLock lock(engine_->locks(), "test", false);
    const catalog::Index* const index = catalog_->collection("test.c")->find_index("a");
    ASSERT_NE(index, nullptr);
    EXPECT_EQ(index->generator->collator(), nullptr);
}

TEST_P(ApplierTest, ExactlyMeansThatNothingDiffers) {
    constexpr const char* kInsert = R"({"op": "i", "ns": "test.c", "o": {"_id": 1, "a": 1}})";
    constexpr const char* kUpdate =
        R"({"op": "u", "ns": "test.c", "o2": {"_id": 7}, "o": {"$set": {"a": 5}}})";
    constexpr const char* kRemove = R"({"op": "d", "ns": "test.c", "o": {"_id": 7}})";
    for (const char* entry : {kInsert, kUpdate, kRemove})
        EXPECT_EQ(error_of(entry), base::kNamespaceNotFound) << entry;
    apply(kCreate);
    EXPECT_EQ(error_of(kCreate), base::kNamespaceExists);
    apply(kInsert);
    EXPECT_EQ(error_of(kInsert), base::kDuplicateKey);
    EXPECT_EQ(error_of(kUpdate), base::kNoMatchingDocument);
    EXPECT_EQ(error_of(kRemove), base::kNoMatchingDocument);
    EXPECT_EQ(error_of(R"({"op": "u", "ns": "test.c", "o2": {"_id": 1},
                           "o": {"$set": {"a.b": 5}}})"),
              base::kPathNotViable);
    EXPECT_EQ(documents(), Texts{"{ _id: 1, a: 1 }"});
}

TEST_P(ApplierTest, AgainTakesWhatHasBeenDone) {
    const auto again = [this](const char* entry) { return apply(entry, Manner::again); };
    again(R"({"op": "i", "ns": "test.c", "o": {"_id": 1, "a": 1, "c": 1}})");
    again(kCreate);
    again(R"({"op": "u", "ns": "test.c", "o2": {"_id": 1}, "o": {"$set": {"a": "scalar"}}})");
    EXPECT_EQ(again(R"({"op": "u", "ns": "test.c", "o2": {"_id": 7}, "o": {"$set": {"a": 5}}})"),
              Applied::lacks_document);
    EXPECT_EQ(again(R"({"op": "u", "ns": "test.none", "o2": {"_id": 7}, "o": {"_id": 7}})"),
              Applied::lacks_document);
    EXPECT_EQ(again(R"({"op": "d", "ns": "test.c", "o": {"_id": 7}})"), Applied::done);
    EXPECT_EQ(again(R"({"op": "d", "ns": "test.none", "o": {"_id": 7}})"), Applied::done);
    // An update that finds a scalar in its way changes the other fields.
    EXPECT_EQ(again(R"({"op": "u", "ns": "test.c", "o2": {"_id": 1},
                        "o": {"$set": {"b": 1, "a.b": 5, "c": 2}, "$unset": {"a.c": true}}})"),
              Applied::done);
    EXPECT_EQ(documents(), Texts{"{ _id: 1, a: \"scalar\", c: 2, b: 1 }"});
    again(R"({"op": "i", "ns": "test.c", "o": {"_id": 1, "x": 1}})");
    EXPECT_EQ(documents(), Texts{"{ _id: 1, x: 1 }"});
    // An entry that cuts what is no array does so, too.
    again(R"({"op": "u", "ns": "test.c", "o2": {"_id": 1},
              "o": {"$set": {"y": 1}, "$push": {"x": {"$each": [], "$slice": 1}}}})");
    EXPECT_EQ(documents(), Texts{"{ _id: 1, x: 1, y: 1 }"});
    // An error that any state of the data would give does not come from what was done before.
    again(R"({"op": "i", "ns": "test.system.indexes",
              "o": {"v": 1, "key": {"x": 1}, "name": "x", "ns": "test.c", "unique": true}})");
    EXPECT_EQ(error_of(R"({"op": "i", "ns": "test.c", "o": {"_id": 2, "x": 1}})", Manner::again),
              base::kDuplicateKey);
}

// Names and the order of fields are those of the entry, as any client may have brought them.
TEST_P(ApplierTest, KeepsNamesAndOrder) {
    apply(kCreate);
    apply(R"({"op": "i", "ns": "test.c", "o": {"_id": 1, "$x": 1, "a": {"$y": 1}}})");
    apply(R"({"op": "u", "ns": "test.c", "o2": {"_id": 1},
              "o": {"$set": {"c": {"$z": 1, "d.e": 2}, "b": 1}}})");
    EXPECT_EQ(documents(), Texts{"{ _id: 1, $x: 1, a: { $y: 1 }, c: { $z: 1, d.e: 2 }, b: 1 }"});
    apply(R"({"op": "u", "ns": "test.c", "o2": {"_id": 1}, "o": {"_id": 1, "$x": 2}})");
    EXPECT_EQ(documents(), Texts{"{ _id: 1, $x: 2 }"});
}

TEST_P(ApplierTest, KnowsTheFormsOfOtherServers) {
    apply(kCreate);
    apply(R"({"op": "i", "ns": "test.c", "o": {"_id": 1}})");
    apply(R"({"op": "u", "ns": "test.c", "o2": {"_id": 1},
              "o": {"$v": {"$numberInt": "1"}, "$set": {"a": 1}}})");
    EXPECT_EQ(documents(), Texts{"{ _id: 1, a: 1 }"});
    EXPECT_EQ(error_of(R"({"op": "u", "ns": "test.c", "o2": {"_id": 1},
                           "o": {"$v": {"$numberInt": "2"}, "diff": {"u": {"a": 2}}}})"),
              base::kCommandNotSupported);
    for (const char* entry :
         {R"({})", R"({"op": "i", "ns": "test.c"})", R"({"op": "i", "o": {"_id": 1}})",
          R"({"op": "ii", "ns": "test.c", "o": {"_id": 1}})",
          R"({"op": "x", "ns": "test.c", "o": {"_id": 1}})",
          R"({"op": "c", "ns": "test.$cmd", "o": {"create": true}})",
          R"({"op": "c", "ns": "test.$cmd", "o": {}})",
          R"({"op": "i", "ns": "test.system.indexes", "o": {"key": {"a": 1}, "name": "a"}})",
          R"({"op": "i", "ns": "test.system.indexes",
              "o": {"key": {"a": 1}, "name": "a", "ns": "other.c"}})"})
        for (const Manner manner : {Manner::exact, Manner::again})
            EXPECT_EQ(error_of(entry, manner), base::kBadValue) << entry;
    for (const char* entry : {R"({"op": "i", "ns": "local.c", "o": {"_id": 1}})",
                              R"({"op": "c", "ns": "local.$cmd", "o": {"drop": "oplog.rs"}})"})
        EXPECT_EQ(error_of(entry, Manner::again), base::kIllegalOperation) << entry;
}

TEST_P(ApplierTest, LeavesCommandsToItsCaller) {
    constexpr const char* kDrop = R"({"op": "c", "ns": "test.$cmd", "o": {"drop": "c"}})";
    apply(kDrop);
    apply(R"({"op": "c", "ns": "admin.$cmd", "o": {"renameCollection": "test.a", "to": "x.b"}})");
    EXPECT_EQ(commands_, (Texts{"test { drop: \"c\" }",
                                "admin { renameCollection: \"test.a\", to: \"x.b\" }"}));
    for (const int code : {base::kNamespaceNotFound, base::kNamespaceExists, base::kIndexNotFound,
                           base::kInternalError}) {
        command_fails_with_ = code;
        EXPECT_EQ(error_of(kDrop), code);
        EXPECT_EQ(error_of(kDrop, Manner::again), code == base::kInternalError ? code : 0);
    }
}

// A collection is made by its options as they are stored, whatever its name.
TEST_P(ApplierTest, MakesCollectionsItself) {
    apply(R"({"op": "c", "ns": "test.$cmd", "o": {"create": "ring", "capped": true,
              "size": {"$numberInt": "8192"}, "max": {"$numberInt": "3"},
              "idIndex": {"key": {"_id": 1}, "name": "_id_"}}})");
    apply(R"({"op": "c", "ns": "test.$cmd", "o": {"create": "system.views"}})");
    apply(R"({"op": "i", "ns": "test.system.views",
              "o": {"_id": "test.v", "viewOn": "c", "pipeline": []}})");
    EXPECT_EQ(commands_, Texts{});
    const auto view = [this] {
        const storage::DatabaseLock lock(engine_->locks(), "test", false);
        return catalog_->database("test")->view("test.v") != nullptr;
    };
    EXPECT_TRUE(view());
    EXPECT_TRUE(catalog_->may_have_views());
    apply(R"({"op": "d", "ns": "test.system.views", "o": {"_id": "test.v"}})");
    EXPECT_FALSE(view());
    const storage::DatabaseLock lock(engine_->locks(), "test", false);
    EXPECT_TRUE(catalog_->collection("test.ring")->capped());
    EXPECT_FALSE(catalog_->collection("test.ring")->store().options().doc().has("idIndex"));
}

// A ring drops its oldest documents by itself: entries of some that it has lost may come again.
TEST_P(ApplierTest, FillsARingAgain) {
    for (const char* id_index : {"true", "false"}) {
        const std::string name = fmt::format("ring_{}", id_index);
        std::vector<std::string> entries{fmt::format(
            R"({{"op": "c", "ns": "test.$cmd", "o": {{"create": "{}", "capped": true,
                "size": 8192, "max": 4, "autoIndexId": {}}}}})",
            name, id_index)};
        const auto insert = [&](int id) {
            entries.push_back(fmt::format(
                R"({{"op": "i", "ns": "test.{}", "o": {{"_id": {}, "a": 1}}}})", name, id));
        };
        for (int id = 1; id <= 6; ++id)
            insert(id);
        entries.push_back(fmt::format(
            R"({{"op": "u", "ns": "test.{}", "o2": {{"_id": 5}}, "o": {{"$set": {{"a": 2}}}}}})",
            name));
        insert(7);
        for (const std::string& entry : entries)
            apply(entry.c_str());
        const Texts filled = documents("test." + name);
        EXPECT_EQ(filled.size(), 4U);
        for (size_t from = 0; from < entries.size(); ++from) {
            for (size_t i = from; i < entries.size(); ++i)
                apply(entries[i].c_str(), Manner::again);
            EXPECT_EQ(documents("test." + name), filled) << name << " from " << from;
        }
    }
}

// A history of a few documents of one collection.
class History {
  public:
    using State = std::map<int, bson::Object>;

    History(uint32_t seed, size_t steps) : updates_(seed), random_(seed) {
        states_.emplace_back();
        while (entries_.size() < steps)
            step();
    }
    const std::vector<bson::Object>& entries() const { return entries_; }
    // Returns the documents before the n-th entry.
    const State& state(size_t n) const { return states_[n]; }

  private:
    void step() {
        State now = states_.back();
        const int id = 1 + static_cast<int>(random_() % 3);
        const bson::Object which = bson::make("_id", id);
        bson::Builder entry;
        entry.append("ns", "test.c");
        if (!now.contains(id)) {
            bson::Builder doc;
            doc.append("_id", id);
            for (const bson::Element& e : bson::parse_test_json(updates_.document()))
                if (e.name() != "_id") doc.append(e);
            now[id] = doc.object();
            entry.append("op", "i").append("o", doc.doc());
        } else if (random_() % 6 == 0) {
            now.erase(id);
            entry.append("op", "d").append("o", which);
        } else if (random_() % 4 == 0) {
            const bson::Object after = with_other_arrays(now[id]);
            bson::Buffer form;
            if (!query::write_difference(now[id], after, 10'000, 100, form)) return;
            now[id] = after;
            entry.append("op", "u").append("o2", which).append("o", bson::Doc(form.data()));
        } else {
            const auto [update, filters] = updates_.update();
            query::Step step;
            if (!query::take_step(now[id], update, filters, &step)) return;
            now[id] = step.after;
            entry.append("op", "u").append("o2", which).append("o", step.form);
        }
        states_.push_back(std::move(now));
        entries_.push_back(entry.object());
    }

    // A pipeline may leave arrays so: shorter, longer, with other elements.
    bson::Object with_other_arrays(bson::Doc doc) {
        bson::Builder out;
        for (const bson::Element& e : doc) {
            if (!e.is_array()) {
                out.append(e);
                continue;
            }
            const auto size = static_cast<size_t>(e.as_doc().field_count());
            const size_t kept = random_() % (size + 1);
            bson::Builder list = out.sub_array(e.name());
            size_t i = 0;
            for (const bson::Element& each : e.as_doc()) {
                if (i == kept) break;
                const std::string name = std::to_string(i++);
                if (random_() % 8 == 0)
                    list.append(name, static_cast<int>(random_() % 5));
                else
                    list.append_as(name, each);
            }
            for (size_t more = kept == size ? random_() % 3 : 0; more > 0; --more)
                list.append(std::to_string(i++), "a text");
        }
        if (!doc.has("t")) {
            bson::Builder list = out.sub_array("t");
            for (int i = 0; i < 5; ++i)
                list.append(std::to_string(i), "a text");
        }
        return out.object();
    }

    query::Histories updates_;
    std::mt19937 random_;
    std::vector<bson::Object> entries_;
    std::vector<State> states_;
};

class HistoryTest : public ApplierTest {
  protected:
    // The collection as it was before an entry.
    void put(const History::State& state) {
        const storage::DatabaseLock lock(engine_->locks(), "test", true);
        catalog::Collection& c = catalog_->collection_for_write("test.c");
        for (auto cursor = c.records().cursor(storage::Direction::forward);
             const auto record = cursor->next();
             cursor = c.records().cursor(storage::Direction::forward))
            c.remove(record->id);
        for (const auto& [id, doc] : state)
            c.insert(doc);
    }
    // Returns the documents that are there now, by their _id.
    std::map<int, std::string> now(std::string (*text)(bson::Doc)) {
        std::map<int, std::string> found;
        const storage::DatabaseLock lock(engine_->locks(), "test", false);
        const auto cursor =
            catalog_->collection("test.c")->records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next())
            found[record->doc["_id"].to_int32()] = text(record->doc);
        return found;
    }
    static std::map<int, std::string> texts(const History::State& state,
                                            std::string (*text)(bson::Doc)) {
        std::map<int, std::string> found;
        for (const auto& [id, doc] : state)
            found[id] = text(doc);
        return found;
    }
    static std::string bytes(bson::Doc doc) {
        return {reinterpret_cast<const char*>(doc.data()), static_cast<size_t>(doc.size())};
    }
};

TEST_P(HistoryTest, GivesTheSameOnceTwiceAndFromAnyEarlierEntry) {
    int lacking = 0;
    int cuts = 0;
    for (int seed = 1; seed <= base::test_effort(120); ++seed) {
        const History history(static_cast<uint32_t>(seed), 10);
        const size_t end = history.entries().size();
        put(history.state(0));
        for (size_t i = 0; i < end; ++i) {
            cuts += history.entries()[i]["o"].as_doc().has("$push");
            applier_.apply(history.entries()[i], Manner::exact);
            ASSERT_EQ(now(bytes), texts(history.state(i + 1), bytes)) << seed << ", entry " << i;
        }
        const auto last = texts(history.state(end), query::values);
        for (size_t seen = 1; seen <= end; ++seen) {
            for (size_t from = 0; from < seen; ++from) {
                put(history.state(seen));
                for (size_t i = from; i < end; ++i)
                    lacking += applier_.apply(history.entries()[i], Manner::again) ==
                               Applied::lacks_document;
                ASSERT_EQ(now(query::values), last)
                    << seed << ": seen " << seen << ", again from " << from;
            }
        }
    }
    EXPECT_GT(lacking, 0);
    EXPECT_GT(cuts, 0);
}

INSTANTIATE_TEST_SUITE_P(engines, ApplierTest, catalog::kTestEngines, catalog::engine_name);
INSTANTIATE_TEST_SUITE_P(engines, HistoryTest,
                         testing::Values(catalog::TestEngine::memory, catalog::TestEngine::mmapv1),
                         catalog::engine_name);

}  // namespace
}  // namespace oplog
