// storage/contract/database_contract.h - what DatabaseStore and CollectionStore promise: the
// catalogue of collections and indexes.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "bson/json.h"
#include "storage/contract/harness.h"

namespace storage::contract {

class DatabaseStoreContract : public DatabaseContract {
  protected:
    // Collections that the suite made, in alphabetical order; engines may list their own as well.
    std::vector<std::string> own_collections() {
        std::vector<std::string> found = database().collections();
        std::erase_if(found, [](const std::string& ns) { return ns.starts_with("test.system."); });
        std::sort(found.begin(), found.end());
        return found;
    }
    static std::vector<std::string> index_names(const CollectionStore& collection) {
        std::vector<std::string> names;
        for (int slot = 0; slot < collection.index_count(); ++slot)
            names.push_back(collection.index(slot).name);
        return names;
    }
    static int add_index(CollectionStore& c, const std::string& name, const bson::Object& keys) {
        return c.finish_index(c.begin_index(index_spec(c, name, keys)));
    }
    using Names = std::vector<std::string>;
};

TEST_P(DatabaseStoreContract, ListsItsCollections) {
    EXPECT_TRUE(own_collections().empty());
    EXPECT_EQ(database().collection("test.a"), nullptr);
    EXPECT_EQ(create("test.a").ns(), "test.a");
    create("test.b.c");
    EXPECT_EQ(own_collections(), (Names{"test.a", "test.b.c"}));
    EXPECT_NE(database().collection("test.a"), nullptr);
    EXPECT_EQ(database().name(), "test");
    reopen();
    EXPECT_EQ(own_collections(), (Names{"test.a", "test.b.c"}));
}

TEST_P(DatabaseStoreContract, KeepsOptions) {
    CollectionOptions options;
    options.capped = true;
    options.capped_bytes = 4096;
    options.capped_max_documents = 7;
    options.options = bson::make("capped", true, "size", 4096, "max", 7);
    create("test.capped", options);
    create("test.plain");
    for (int pass = 0; pass < 2; ++pass) {
        const bson::Object stored = collection("test.capped").options();
        EXPECT_TRUE(stored["capped"].truthy()) << bson::to_text(stored);
        EXPECT_EQ(stored["max"].to_int32(), 7);
        EXPECT_TRUE(collection("test.capped").records().capped());
        EXPECT_FALSE(collection("test.plain").options()["capped"].truthy());
        reopen();
    }
}

TEST_P(DatabaseStoreContract, AValidationHasTheLimitsOfACappedCollection) {
    CollectionOptions options;
    options.capped = true;
    options.capped_bytes = 4096;
    options.options = bson::make("capped", true, "size", 4096);
    create("test.unlimited", options);
    options.capped_max_documents = 7;
    create("test.limited", options);
    create("test.plain");
    const auto validated = [&](const char* ns) {
        bson::Builder metrics;
        EXPECT_TRUE(collection(ns).validate({}, metrics).errors.empty());
        return metrics.object();
    };
    for (int pass = 0; pass < 2; ++pass) {
        EXPECT_TRUE(validated("test.limited")["capped"].truthy());
        EXPECT_EQ(validated("test.limited")["max"].to_int64(), 7);
        EXPECT_EQ(validated("test.limited")["max"].type(), bson::Type::int32);
        EXPECT_TRUE(validated("test.unlimited")["capped"].truthy());
        EXPECT_EQ(validated("test.unlimited")["max"].to_int64(),
                  std::numeric_limits<int64_t>::max());
        EXPECT_FALSE(validated("test.plain").doc().has("capped"));
        EXPECT_FALSE(validated("test.plain").doc().has("max"));
        reopen();
    }
}

TEST_P(DatabaseStoreContract, DroppedCollectionsAreGone) {
    CollectionStore& c = create("test.a");
    add_index(c, "x_1", bson::make("x", 1));
    for (int i = 0; i < 500; ++i)
        c.records().insert(document(i, 300));
    while (c.index_count() > 0)
        c.drop_index(c.index_count() - 1);
    database().drop_collection("test.a");
    EXPECT_EQ(database().collection("test.a"), nullptr);
    EXPECT_TRUE(own_collections().empty());
    EXPECT_EQ(create("test.a").records().count(), 0);
    EXPECT_EQ(collection("test.a").index_count(), 0);
    reopen();
    EXPECT_EQ(collection("test.a").records().count(), 0);
}

TEST_P(DatabaseStoreContract, RenamedCollectionsKeepEverything) {
    CollectionStore& c = create("test.a");
    const int slot = add_index(c, "x_1", bson::make("x", 1));
    const RecordId id = c.records().insert(bson::make("_id", 1, "x", 5));
    c.index(slot).index->insert(bson::make("", 5), id, true);
    c.set_multikey(slot);
    database().rename_collection("test.a", "test.b", false);
    for (int pass = 0; pass < 2; ++pass) {
        EXPECT_EQ(database().collection("test.a"), nullptr);
        CollectionStore& renamed = collection("test.b");
        EXPECT_EQ(renamed.ns(), "test.b");
        EXPECT_EQ(renamed.records().count(), 1);
        ASSERT_EQ(renamed.index_count(), 1);
        const IndexEntry entry = renamed.index(0);
        EXPECT_EQ(entry.name, "x_1");
        EXPECT_EQ(entry.spec["ns"].as_string(), "test.b");
        EXPECT_TRUE(entry.multikey);
        const RecordId found = entry.index->find_one(bson::make("", 5));
        ASSERT_TRUE(found);
        EXPECT_EQ(renamed.records().get(found)["x"].as_int32(), 5);
        reopen();
    }
}

TEST_P(DatabaseStoreContract, ARenameFollowsIntoTheOptions) {
    CollectionOptions options;
    options.options = bson::make("create", "a", "temp", true, "autoIndexId", false);
    create("test.a", options);
    database().rename_collection("test.a", "test.b", true);
    bson::Object stored = collection("test.b").options();
    EXPECT_EQ(stored["create"].as_string(), "b");
    EXPECT_TRUE(stored["temp"].truthy());
    database().rename_collection("test.b", "test.c", false);
    stored = collection("test.c").options();
    EXPECT_EQ(stored["create"].as_string(), "c");
    EXPECT_FALSE(stored["temp"]);
    EXPECT_TRUE(stored["autoIndexId"]);
}

TEST_P(DatabaseStoreContract, RefusesTakenAndMissingNames) {
    create("test.a");
    create("test.b");
    EXPECT_EQ(failure([&] { create("test.a"); }), base::kNamespaceExists);
    EXPECT_EQ(failure([&] { database().drop_collection("test.x"); }), base::kNamespaceNotFound);
    const auto rename = [&](const char* from, const char* to) {
        return failure([&] { database().rename_collection(from, to, false); });
    };
    EXPECT_EQ(rename("test.x", "test.y"), base::kNamespaceNotFound);
    EXPECT_EQ(rename("test.a", "test.b"), base::kNamespaceExists);
    EXPECT_EQ(own_collections(), (Names{"test.a", "test.b"}));
}

TEST_P(DatabaseStoreContract, ADropTakesTheIndexesAlong) {
    CollectionStore& c = create("test.a");
    const int slot = add_index(c, "x_1", bson::make("x", 1));
    c.index(slot).index->insert(bson::make("", 5), c.records().insert(bson::make("x", 5)), true);
    c.begin_index(index_spec(c, "y_1", bson::make("y", 1)));
    database().drop_collection("test.a");
    EXPECT_TRUE(own_collections().empty());
    EXPECT_EQ(create("test.a").index_count(), 0);
}

// Plans of open cursors point to both.
TEST_P(DatabaseStoreContract, IndexesAndTheirSpecsStayWhereTheyAre) {
    CollectionStore& c = create("test.a");
    add_index(c, "first", bson::make("a", 1));
    const int slot = add_index(c, "kept", bson::make("b", 1));
    const IndexEntry before = c.index(slot);
    const bson::Object spec(before.spec);
    c.begin_index(index_spec(c, "slow", bson::make("c", 1)));
    add_index(c, "quick", bson::make("d", 1));
    c.drop_index(0);
    c.set_multikey(0);
    for (int i = 0; i < 100; ++i)
        c.records().insert(document(i, 500));
    const IndexEntry after = c.index(0);
    EXPECT_EQ(after.name, "kept");
    EXPECT_EQ(after.index, before.index);
    EXPECT_EQ(after.spec.data(), before.spec.data());
    EXPECT_EQ(bson::Object(before.spec).bytes(), spec.bytes());
}

TEST_P(DatabaseStoreContract, AnIndexIsReadyOnceFinished) {
    CollectionStore& c = create("test.a");
    const int ready = add_index(c, "x_1", bson::make("x", 1));
    const int building = c.begin_index(index_spec(c, "y_1", bson::make("y", -1)));
    EXPECT_EQ(c.index_count(), 2);
    EXPECT_TRUE(c.index(ready).ready);
    EXPECT_FALSE(c.index(building).ready);
    const int finished = c.finish_index(building);
    EXPECT_TRUE(c.index(finished).ready);
    EXPECT_EQ(c.index(finished).name, "y_1");
    EXPECT_EQ(bson::Object(c.index(finished).spec["key"].as_doc()).bytes(),
              bson::make("y", -1).bytes());
    EXPECT_FALSE(c.index(finished).multikey);
}

TEST_P(DatabaseStoreContract, ReadyIndexesComeFirst) {
    CollectionStore& c = create("test.a");
    c.begin_index(index_spec(c, "slow", bson::make("x", 1)));
    int second = c.begin_index(index_spec(c, "quick", bson::make("y", 1)));
    c.set_multikey(second);
    second = c.finish_index(second);
    EXPECT_EQ(index_names(c), (Names{"quick", "slow"}));
    EXPECT_TRUE(c.index(second).multikey);
    EXPECT_FALSE(c.index(1).multikey);
    c.drop_index(1);
    EXPECT_EQ(index_names(c), Names{"quick"});
}

// An old client's field may have any value that is no name of a kind.
TEST_P(DatabaseStoreContract, KeepsIndexesOfEachKindAcrossReopening) {
    CollectionStore& c = create("test.a");
    add_index(c, "a_", bson::make("a", ""));
    add_index(c, "b_hashed", bson::make("b", "hashed"));
    EXPECT_EQ(index_names(c), (Names{"a_", "b_hashed"}));
    reopen();
    EXPECT_EQ(index_names(*database().collection("test.a")), (Names{"a_", "b_hashed"}));
}

TEST_P(DatabaseStoreContract, DroppingAnIndexKeepsTheOthers) {
    CollectionStore& c = create("test.a");
    for (int i = 0; i < 20; ++i) {
        const int slot = add_index(c, "i" + std::to_string(i), bson::make("f", i + 1));
        if (i % 3 == 0) c.set_multikey(slot);
    }
    for (int slot = 18; slot >= 0; slot -= 2)
        c.drop_index(slot);
    for (int pass = 0; pass < 2; ++pass) {
        CollectionStore& now = collection("test.a");
        ASSERT_EQ(now.index_count(), 10);
        for (int slot = 0; slot < 10; ++slot) {
            const int i = 2 * slot + 1;
            EXPECT_EQ(now.index(slot).name, "i" + std::to_string(i));
            EXPECT_EQ(now.index(slot).multikey, i % 3 == 0);
            EXPECT_TRUE(now.index(slot).index->find_one(bson::make("", 1)).is_null());
        }
        reopen();
    }
}

TEST_P(DatabaseStoreContract, HoldsSixtyFourIndexes) {
    CollectionStore& c = create("test.a");
    for (int i = 0; i < 64; ++i) {
        const int slot = add_index(c, "i" + std::to_string(i), bson::make("f", i + 1));
        c.index(slot).index->insert(bson::make("", i), RecordId{0x10000}, true);
    }
    reopen();
    CollectionStore& now = collection("test.a");
    ASSERT_EQ(now.index_count(), 64);
    for (int slot = 0; slot < 64; ++slot)
        EXPECT_EQ(now.index(slot).index->find_one(bson::make("", slot)), RecordId{0x10000});
    for (int slot = 63; slot >= 0; --slot)
        now.drop_index(slot);
    EXPECT_EQ(now.index_count(), 0);
}

TEST_P(DatabaseStoreContract, ReplacesAnIndexSpec) {
    CollectionStore& c = create("test.a");
    add_index(c, "first", bson::make("w", 1));
    const bson::Object plain = index_spec(c, "x_1", bson::make("x", 1));
    const auto with = [&](double seconds) {
        return bson::Builder().append_all(plain).append("expireAfterSeconds", seconds).object();
    };
    const int slot = c.finish_index(c.begin_index(with(60)));
    const RecordId id = c.records().insert(bson::make("x", 5));
    c.index(slot).index->insert(bson::make("", 5), id, true);
    // The same size, a smaller and a larger one.
    for (const bson::Object& spec : {with(3600), plain, with(7)}) {
        collection("test.a").replace_index_spec(slot, spec);
        for (int pass = 0; pass < 2; ++pass) {
            const IndexEntry entry = collection("test.a").index(slot);
            EXPECT_EQ(bson::Object(entry.spec).bytes(), spec.bytes());
            EXPECT_EQ(entry.name, "x_1");
            EXPECT_TRUE(entry.index->find_one(bson::make("", 5)));
            reopen();
        }
    }
}

// It has keys of some documents only, which is the caller's. Nothing of that shows in the spec.
TEST_P(DatabaseStoreContract, KeepsThePatternOfAPartialIndex) {
    CollectionStore& c = create("test.a");
    bson::Builder spec;
    spec.append_all(index_spec(c, "x_1_y_-1", bson::make("x", 1, "y", -1)));
    spec.append("partialFilterExpression", bson::make("x", 5));
    const bson::Object wanted = spec.object();
    const int slot = c.finish_index(c.begin_index(wanted));
    for (int i = 0; i < 3; ++i) {
        const RecordId id = c.records().insert(bson::make("x", 5, "y", i));
        c.index(slot).index->insert(bson::make("", 5, "", i), id, true);
    }
    for (int pass = 0; pass < 2; ++pass) {
        const IndexEntry entry = collection("test.a").index(slot);
        EXPECT_EQ(bson::Object(entry.spec).bytes(), wanted.bytes());
        ASSERT_NE(entry.index, nullptr);
        const auto cursor = entry.index->cursor(Direction::forward);
        cursor->seek_to_start();
        EXPECT_EQ(bson::Object(cursor->key()).bytes(), bson::make("", 5, "", 2).bytes());
        reopen();
    }
}

TEST_P(DatabaseStoreContract, AnUndamagedCollectionValidates) {
    CollectionStore& c = create("test.a");
    const int slot = add_index(c, "x_1", bson::make("x", 1));
    for (int i = 0; i < 500; ++i)
        c.index(slot).index->insert(bson::make("", i),
                                    c.records().insert(bson::make("_id", i, "x", i)), true);
    for (const bool full : {false, true}) {
        ValidateOptions options;
        options.full = full;
        bson::Builder metrics;
        const ValidateReport report = c.validate(options, metrics);
        EXPECT_TRUE(report.valid()) << testing::PrintToString(report.errors);
        EXPECT_EQ(metrics.doc()["nrecords"].to_int32(), 500);
    }
}

TEST_P(DatabaseStoreContract, AFullValidateComparesIndexesWithDocuments) {
    CollectionStore& c = create("test.a");
    SortedIndex& index = *c.index(add_index(c, "x_1", bson::make("x", 1))).index;
    const RecordId id = c.records().insert(bson::make("_id", 1, "x", 7));
    ValidateOptions options;
    options.full = true;
    options.derive_keys = [](bson::Doc spec, bson::Doc doc, const auto& add) {
        EXPECT_EQ(spec["name"].as_string(), "x_1");
        bson::Builder key;
        key.append_as("", doc["x"]);
        add(key.doc());
    };
    const auto valid = [&] {
        bson::Builder metrics;
        const ValidateReport report = c.validate(options, metrics);
        if (report.valid()) {
            EXPECT_EQ(metrics.doc()["nrecords"].to_int32(), 1);
            EXPECT_EQ(report.index_count, 1);
            using Keys = std::vector<std::pair<std::string, int64_t>>;
            EXPECT_EQ(report.keys_per_index, (Keys{{"test.a.$x_1", 1}}));
        }
        return report.valid();
    };
    EXPECT_FALSE(valid()) << "a key is missing";
    index.insert(bson::make("", 8), id, true);
    EXPECT_FALSE(valid()) << "the key is another";
    index.remove(bson::make("", 8), id);
    index.insert(bson::make("", 7), id, true);
    EXPECT_TRUE(valid());
}

TEST_P(DatabaseStoreContract, FlagsAreKept) {
    CollectionOptions options;
    options.id_index = true;
    CollectionStore& c = create("test.a", options);
    c.set_user_flags(0);
    EXPECT_EQ(create("test.b").records().stats().system_flags, 0);
    reopen();
    EXPECT_EQ(collection("test.a").options()["flags"].to_int32(), 0);
    EXPECT_TRUE(collection("test.a").options()["flags"]);
    EXPECT_EQ(collection("test.a").records().stats().user_flags, 0);
    CollectionStore& now = collection("test.a");
    EXPECT_EQ(now.records().stats().system_flags, 1);
    EXPECT_TRUE(now.creation_options().id_index);
    EXPECT_NO_THROW(now.check_writable());
    // The old server forgets how the index on _id was made when any index is dropped.
    now.drop_index(add_index(now, "x_1", bson::make("x", 1)));
    EXPECT_EQ(now.records().stats().system_flags, 0);
}

TEST_P(DatabaseStoreContract, OtherOptionsAreKept) {
    create("test.a");
    const bson::Object large =
        bson::make("validator", bson::make("text", std::string(5000, 'x')), "max", int64_t{7});
    for (const bson::Object& options :
         {bson::make("validator", bson::make("x", 1)), large, bson::Object()}) {
        collection("test.a").replace_options(options);
        EXPECT_EQ(collection("test.a").options().bytes(), options.bytes());
        reopen();
        EXPECT_EQ(collection("test.a").options().bytes(), options.bytes());
        EXPECT_EQ(collection("test.a").creation_options().options.bytes(), options.bytes());
    }
    collection("test.a").replace_options(large);
    database().rename_collection("test.a", "test.b", false);
    EXPECT_EQ(collection("test.b").options()["validator"].as_doc().size(),
              large["validator"].as_doc().size());
}

TEST_P(DatabaseStoreContract, CompactKeepsEveryRecord) {
    CollectionStore& c = create("test.a");
    std::vector<RecordId> all;
    for (int i = 0; i < 600; ++i)
        all.push_back(c.records().insert(document(i, static_cast<size_t>(i % 50) * 20)));
    for (size_t i = 0; i < all.size(); i += 3)
        c.records().remove(all[i]);
    CompactHooks hooks;
    int prepared = 0;
    std::vector<int> copied;
    hooks.before_copy = [&] { ++prepared; };
    hooks.copied = [&](const Record& record) {
        EXPECT_TRUE(record.id);
        copied.push_back(record.doc["_id"].as_int32());
    };
    bson::Builder out;
    c.compact(bson::make("compact", "a"), hooks, out);
    EXPECT_EQ(prepared, 1);
    EXPECT_EQ(copied.size(), 400U);
    EXPECT_EQ(c.records().count(), 400);
    std::vector<int> found;
    const auto cursor = c.records().cursor(Direction::forward);
    while (const auto record = cursor->next())
        found.push_back(record->doc["_id"].as_int32());
    std::sort(found.begin(), found.end());
    std::sort(copied.begin(), copied.end());
    EXPECT_EQ(found, copied);
}

}  // namespace storage::contract
