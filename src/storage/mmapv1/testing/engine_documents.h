// storage/mmapv1/testing/engine_documents.h - documents in the collections of an engine, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "bson/builder.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/testing/small_engine.h"

namespace mmapv1 {

inline EngineOptions options_for(const std::string& dbpath) {
    EngineOptions options = small_engine_options(dbpath);
    options.durable.journal_options |= kParanoid;
    options.durable.commit_interval = 2'000;
    return options;
}

inline void expect_valid(MmapEngine& engine) {
    const storage::GlobalLock lock(engine.locks(), storage::GlobalMode::R);
    for (const std::string& db : engine.database_names())
        check_database(static_cast<MmapDatabase&>(*engine.database(db)), {},
                       [&](const Finding& finding) {
                           ADD_FAILURE() << db << " " << finding.ns << ": " << finding.text;
                       },
                       {});
}

// Inserts {_id: n, text} for n in [from, to), making database and collection where missing.
inline void insert(MmapEngine& engine, const std::string& ns, int from, int to,
                   const std::string& text = {}) {
    const std::string db = ns.substr(0, ns.find('.'));
    const storage::DatabaseLock lock(engine.locks(), db, true);
    storage::DatabaseStore& store = engine.create_database(db);
    storage::CollectionStore* collection = store.collection(ns);
    if (collection == nullptr) collection = &store.create_collection(ns, {});
    for (int i = from; i < to; i++)
        collection->records().insert(bson::make("_id", i, "text", text));
}

inline int64_t count(MmapEngine& engine, const std::string& ns) {
    const std::string db = ns.substr(0, ns.find('.'));
    const storage::DatabaseLock lock(engine.locks(), db, false);
    storage::DatabaseStore* store = engine.database(db);
    if (store == nullptr || store->collection(ns) == nullptr) return -1;
    return store->collection(ns)->records().count();
}

}  // namespace mmapv1
