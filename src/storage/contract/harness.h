// storage/contract/harness.h - the contract suite: what every storage engine must do, as GoogleTest
// suites with the engine as parameter.
//
// An engine's contract_test.cpp implements the harnesses, includes the suites it can run and
// instantiates them:
//
//   INSTANTIATE_TEST_SUITE_P(mmapv1, RecordStoreContract, testing::Values(&make_database));
//
// The suites ask only for what the interface promises: no order of natural scans but in capped
// collections, no sizes, no ids, nothing about which documents fit. Two engines pass them, mmapv1
// and memory_engine.h, which agree in little else.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/testing/failure.h"
#include "bson/builder.h"
#include "storage/engine.h"

namespace storage::contract {

// One database of the engine, called "test", empty at first. The thread that uses it holds whatever
// locks the engine wants for exclusive access, for as long as the harness lives.
class DatabaseHarness {
  public:
    DatabaseHarness() = default;
    virtual ~DatabaseHarness() = default;
    DatabaseHarness(const DatabaseHarness&) = delete;
    DatabaseHarness& operator=(const DatabaseHarness&) = delete;

    virtual DatabaseStore& database() = 0;
    // Closes the database and opens what was stored; pointers and cursors of before are void.
    virtual void reopen() = 0;
    // The engine's own checks of everything stored; failures are reported to GoogleTest.
    virtual void verify() = 0;
};
using MakeDatabase = std::unique_ptr<DatabaseHarness> (*)();

// A whole engine on an empty directory. No lock is held.
class EngineHarness {
  public:
    EngineHarness() = default;
    virtual ~EngineHarness() = default;
    EngineHarness(const EngineHarness&) = delete;
    EngineHarness& operator=(const EngineHarness&) = delete;

    virtual Engine& engine() = 0;
    virtual void restart() = 0;  // clean shutdown, then a new engine on the same directory
};
using MakeEngine = std::unique_ptr<EngineHarness> (*)();

using base::failure;

// The members that the suites over one database share.
class DatabaseContract : public testing::TestWithParam<MakeDatabase> {
  protected:
    void SetUp() override { harness_ = GetParam()(); }
    // Runs also where SetUp() threw.
    void TearDown() override {
        if (harness_ != nullptr) harness_->verify();
    }

    DatabaseStore& database() { return harness_->database(); }
    void reopen() { harness_->reopen(); }

    CollectionStore& create(const std::string& ns, const CollectionOptions& options = {}) {
        return database().create_collection(ns, options);
    }
    CollectionStore& create_capped(const std::string& ns, int64_t bytes,
                                   int64_t max_documents = 0) {
        CollectionOptions options;
        options.capped = true;
        options.capped_bytes = bytes;
        options.capped_max_documents = max_documents;
        options.options = bson::make("capped", true, "size", bytes);
        return create(ns, options);
    }
    CollectionStore& collection(const std::string& ns) {
        CollectionStore* found = database().collection(ns);
        if (found == nullptr) throw std::runtime_error("no collection " + ns);
        return *found;
    }
    static bson::Object document(int id, size_t pad = 0) {
        return bson::make("_id", id, "p", std::string(pad, 'x'));
    }
    static bson::Object index_spec(const CollectionStore& collection, const std::string& name,
                                   const bson::Object& keys) {
        return bson::make("v", 1, "key", keys, "name", name, "ns", collection.ns());
    }

    std::unique_ptr<DatabaseHarness> harness_;
};

}  // namespace storage::contract
