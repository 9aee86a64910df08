// storage/mmapv1/testing/database.h - a database in memory for unit tests, checked to the last
// byte.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "bson/builder.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/database.h"
#include "storage/mmapv1/mapping/testing/views.h"

namespace mmapv1 {

class DatabaseTest : public ::testing::Test {
  protected:
    static FilePolicy small_policy() {
        FilePolicy policy;
        policy.small_files = true;
        policy.ns_bytes = 1 << 20;
        return policy;
    }

    void SetUp() override {
        db_ = std::make_unique<MmapDatabase>(views_, "test", policy_, samplers_,
                                             MmapDatabase::Mode::create);
    }
    void reopen() {
        const std::string name = db_->name();
        db_->close();
        db_ = std::make_unique<MmapDatabase>(views_, name, policy_, samplers_,
                                             MmapDatabase::Mode::open);
        db_->upgrade();
    }
    // Goes on with another one, where the operation log is.
    void make_local() {
        db_->close();
        db_ = std::make_unique<MmapDatabase>(views_, "local", policy_, samplers_,
                                             MmapDatabase::Mode::create);
    }
    MmapCollection& create(const std::string& ns, const storage::CollectionOptions& options = {}) {
        return db_->create_collection(ns, options);
    }
    MmapCollection& create_capped(const std::string& ns, int64_t bytes, int64_t max = 0) {
        storage::CollectionOptions options;
        options.capped = true;
        options.capped_bytes = bytes;
        options.capped_max_documents = max;
        return create(ns, options);
    }
    // An empty index that counts as built.
    int add_index(MmapCollection& collection, const std::string& name, bson::Doc key) {
        const bson::Object spec =
            bson::make("v", 1, "key", key, "name", name, "ns", collection.ns());
        return collection.finish_index(collection.begin_index(spec));
    }
    static bson::Object doc(int id, size_t pad) {
        return bson::make("_id", id, "p", std::string(pad, 'x'));
    }
    static std::vector<int> ids(MmapCollection& collection,
                                storage::Direction direction = storage::Direction::forward) {
        std::vector<int> found;
        const auto cursor = collection.records().cursor(direction);
        while (const auto record = cursor->next())
            found.push_back(record->doc["_id"].as_int32());
        return found;
    }
    // Everything 8.3 asks for, and no undeclared write.
    void expect_valid(bool leaks_allowed = false) {
        views_.verify_declared();
        check_database(*db_, {},
                       [&](const Finding& finding) {
                           if (finding.severity == Severity::leak && leaks_allowed) return;
                           ADD_FAILURE() << finding.ns << ": " << finding.text;
                       },
                       {});
    }
    NamespaceDetails& details(const std::string& ns) { return db_->namespaces().find(ns)->details; }
    uint8_t* at(int32_t offset) { return db_->files().at({0, offset}, 1); }

    TestViews views_;
    FilePolicy policy_ = small_policy();
    PaddingSamplers samplers_;
    std::unique_ptr<MmapDatabase> db_;
};

}  // namespace mmapv1
