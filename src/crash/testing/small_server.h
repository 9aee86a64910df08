// crash/testing/small_server.h - whole servers without sockets: over any engine, and over one
// whose threads stand still.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/error.h"
#include "command/commands/testing/service.h"
#include "oplog/log.h"
#include "replica/member.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/testing/small_engine.h"

namespace crash {

// Time goes on, but a sleep ends only when it is woken.
class SleepyClock : public os::Clock {
  public:
    int64_t monotonic_us() override { return os::system_clock().monotonic_us(); }
    int64_t wall_ms() override { return os::system_clock().wall_ms(); }
    std::unique_ptr<os::Sleeper> make_sleeper() override { return std::make_unique<Sleeper>(); }

  private:
    class Sleeper final : public os::Sleeper {
      public:
        bool sleep_us(int64_t) override {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return woken_; });
            woken_ = false;
            return false;
        }
        void wake() override {
            const std::lock_guard lock(mutex_);
            woken_ = true;
            changed_.notify_all();
        }

      private:
        std::mutex mutex_;
        std::condition_variable changed_;
        bool woken_ = false;
    };
};

// The log of writes that a server keeps; `bytes` 0: none.
struct KeptLog {
    int64_t bytes = 0;
    oplog::Form form = oplog::Form::master;
};

// A whole server without sockets over an engine, until stop().
class EngineServer : public command::TestConnection {
  public:
    explicit EngineServer(std::unique_ptr<mmapv1::MmapEngine> engine, KeptLog log = {})
        : engine_(std::move(engine)) {
        catalog_ = std::make_unique<catalog::Catalog>(*engine_);
        if (log.bytes > 0) open_log(log);
        context_.test_commands = true;
        service_ = std::make_unique<command::Service>(*catalog_, context_, command::all_families());
        open(*service_, 1);
    }
    ~EngineServer() { session_ = nullptr; }

    mmapv1::MmapEngine& engine() { return *engine_; }
    catalog::Catalog& catalog() { return *catalog_; }
    // Returns the member of a server that has a log in the form of a set.
    replica::Member& member() { return *member_; }
    void stop() {
        session_ = nullptr;
        service_ = nullptr;
        member_ = nullptr;
        catalog_ = nullptr;
        log_ = nullptr;
        engine_->shutdown();
        engine_ = nullptr;
    }

  protected:
    std::unique_ptr<mmapv1::MmapEngine> engine_;
    std::unique_ptr<oplog::Log> log_;
    std::unique_ptr<catalog::Catalog> catalog_;

  private:
    void open_log(KeptLog log) {
        log_ = std::make_unique<oplog::Log>(*engine_, *catalog_, log.form);
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        if (log.form == oplog::Form::master) return log_->open(log.bytes);
        member_ =
            std::make_unique<replica::Member>(*engine_, *catalog_, *log_,
                                              replica::Member::Options{.set_name = "rs0",
                                                                       .own_name = "here",
                                                                       .own_host = "here:27017",
                                                                       .port = 27017,
                                                                       .log_bytes = log.bytes});
        member_->open();
        context_.member = member_.get();
    }

    std::unique_ptr<replica::Member> member_;
    command::ServerContext context_;
    std::unique_ptr<command::Service> service_;
};

// A base of SmallServer, in front of EngineServer. The clock is no base itself: the engine's
// threads ask it while the constructor of SmallServer would still make another type of it.
struct ItsClock {
    SleepyClock clock;
};

// One over a directory, whose threads do nothing by themselves: what it does to its files depends
// on the commands alone.
class SmallServer : private ItsClock, public EngineServer {
  public:
    SmallServer(const std::string& dbpath, os::FileSystem& files, bool directory_per_db,
                KeptLog log = {})
        : EngineServer(mmapv1::open_engine(options_for(dbpath, directory_per_db), files, clock),
                       log) {
        finish_what_was_interrupted();
    }

    // Waits as j: true does: when it returns, everything until now is durable.
    void commit() {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        engine_->durability().commit_now();
    }
    // The code of a command, 0 if it succeeded.
    int perform(const std::string& db, const std::string& command) {
        const bson::Object reply = run(command, db);
        if (code(reply) != 0) return code(reply);
        const bson::Element errors = reply["writeErrors"];
        return errors.missing() ? 0 : errors.as_doc()["0"].as_doc()["code"].to_int32();
    }

    // One line for each collection, with its options, its indexes and what its documents are, but
    // for those of database `but`; and for each database that cannot be used.
    std::string state(std::string_view but) {
        std::vector<std::string> lines;
        for (const std::string& db : engine_->unusable_databases())
            lines.push_back(fmt::format("{} is unusable\n", db));
        for (const std::string& db : engine_->database_names()) {
            if (db == but) continue;
            if (const int count = leaks(db); count > 0)
                lines.push_back(fmt::format("{} has {} leaks\n", db, count));
            std::set<std::string> unlisted = stored_collections(db);
            for (const bson::Object& one : list(R"({"listCollections": 1})", db)) {
                const std::string name(one["name"].as_string());
                unlisted.erase(db + "." + name);
                if (name.starts_with("system.")) continue;
                const bson::Object stats = run(fmt::format(R"({{"collStats": "{}"}})", name), db);
                std::string line =
                    fmt::format("{}.{} {} {} ", db, name, bson::to_json(one["options"].as_doc()),
                                bson::to_text(stats["userFlags"]));
                std::vector<std::string> indexes;
                for (const bson::Object& index :
                     list(fmt::format(R"({{"listIndexes": "{}"}})", name), db))
                    indexes.push_back(bson::to_json(index));
                std::ranges::sort(indexes);
                for (const std::string& index : indexes)
                    line += index;
                if (const int count = unfilled_indexes(db, db + "." + name); count > 0)
                    line += fmt::format(" {} unfilled indexes", count);
                const auto documents = list(
                    fmt::format(R"({{"find": "{}", "sort": {{"_id": 1}}, "batchSize": 100000}})",
                                name),
                    db);
                line += fmt::format(" {} documents, {}\n", documents.size(), hash(documents));
                lines.push_back(line);
            }
            for (const std::string& ns : unlisted)
                lines.push_back(ns + " is in no list\n");
        }
        std::ranges::sort(lines);
        return fmt::format("{}", fmt::join(lines, ""));
    }

    // How many places of a database hold space without an owner.
    int leaks(const std::string& db) {
        int count = 0;
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::R);
        mmapv1::check_database(static_cast<mmapv1::MmapDatabase&>(*engine_->database(db)), {},
                               [&](const mmapv1::Finding& finding) {
                                   count += finding.severity == mmapv1::Severity::leak ? 1 : 0;
                               },
                               {});
        return count;
    }

    std::set<std::string> stored_collections(const std::string& db) {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::R);
        std::set<std::string> stored;
        for (const std::string& ns : engine_->database(db)->collections())
            if (!catalog::is_catalogue(catalog::split(ns).collection)) stored.insert(ns);
        return stored;
    }
    int unfilled_indexes(const std::string& db, const std::string& ns) {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::R);
        const storage::CollectionStore* const collection = engine_->database(db)->collection(ns);
        int count = 0;
        for (int slot = 0; collection != nullptr && slot < collection->index_count(); ++slot)
            count += collection->index(slot).ready ? 0 : 1;
        return count;
    }

    // Returns what is wrong with the data files and indexes; empty if nothing is.
    std::string damage() {
        std::string text;
        for (const std::string& db : engine_->database_names()) {
            for (const bson::Object& one : list(R"({"listCollections": 1})", db)) {
                const std::string name(one["name"].as_string());
                const bson::Object reply =
                    run(fmt::format(R"({{"validate": "{}", "full": true}})", name), db);
                if (!reply["valid"].truthy())
                    text += fmt::format("{}.{}: {}\n", db, name, bson::to_json(reply));
            }
            const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::R);
            mmapv1::check_database(static_cast<mmapv1::MmapDatabase&>(*engine_->database(db)), {},
                                   [&](const mmapv1::Finding& finding) {
                                       if (finding.severity == mmapv1::Severity::leak) return;
                                       text += fmt::format("{}: {}\n", finding.ns, finding.text);
                                   },
                                   {});
        }
        return text;
    }

  private:
    static mmapv1::EngineOptions options_for(const std::string& dbpath, bool directory_per_db) {
        mmapv1::EngineOptions options = mmapv1::small_engine_options(dbpath);
        options.files.directory_per_db = directory_per_db;
        options.durable.journal_file_bytes = 65536;  // rotates now and then
        return options;
    }
    // Finishes the interrupted operations as server.cpp does.
    void finish_what_was_interrupted() {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        for (const std::string& name : catalog_->database_names()) {
            catalog::Database& database = *catalog_->database(name);
            database.drop_temporary();
            database.recover_interrupted_builds(true);
        }
    }
    std::vector<bson::Object> list(const std::string& command, const std::string& db) {
        const bson::Object reply = run(command, db);
        std::vector<bson::Object> found;
        if (code(reply) != 0) throw std::runtime_error(command + ": " + bson::to_json(reply));
        for (const bson::Element& e : reply["cursor"].as_doc()["firstBatch"].as_doc())
            found.emplace_back(e.as_doc());
        return found;
    }
    static std::string hash(const std::vector<bson::Object>& documents) {
        uint64_t sum = 14695981039346656037u;
        for (const bson::Object& doc : documents)
            for (const uint8_t byte : doc.bytes())
                sum = (sum ^ byte) * 1099511628211u;
        return fmt::format("{:016x}", sum);
    }
};

}  // namespace crash
