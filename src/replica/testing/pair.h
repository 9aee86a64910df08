// replica/testing/pair.h - a primary and a member that follows it, for tests: both over engines in
// memory, no socket and no thread between them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/testing/muted.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "catalog/names.h"
#include "replica/tailer.h"
#include "storage/contract/memory_engine.h"

namespace replica {

inline constexpr const char* kFirst = "here.example:27017";
inline constexpr const char* kSecond = "here.example:27018";
inline constexpr int64_t kLogBytes = 1 << 20;

using Contents = std::map<std::string, std::vector<std::string>>;

// A server that is one member.
class Node {
  public:
    Node(std::string host, int port, int64_t log_bytes = kLogBytes)
        : host_(std::move(host)), port_(port), log_bytes_(log_bytes) {
        start();
    }

    void start() {
        member_ = nullptr;
        catalog_ = std::make_unique<catalog::Catalog>(engine_);
        log_ = std::make_unique<oplog::Log>(engine_, *catalog_, oplog::Form::replica_set);
        member_ = std::make_unique<Member>(engine_, *catalog_, *log_,
                                           Member::Options{.set_name = "rs0",
                                                           .own_name = "here.example",
                                                           .own_host = host_,
                                                           .port = port_,
                                                           .log_bytes = log_bytes_,
                                                           .answers_limit = {}});
        const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
        member_->open();
    }
    catalog::Catalog& catalog() { return *catalog_; }
    Member& member() { return *member_; }
    template <typename Work>
    void write(const std::string& db, Work&& work) {
        const storage::DatabaseLock lock(engine_.locks(), db, true);
        work(catalog_->get_or_create(db));
    }
    // Does what a client's command of that name would do.
    void run(std::string_view db, bson::Doc command) {
        const std::string name(command.first().name());
        if (name == "dropDatabase") {
            const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
            if (catalog_->database(db) != nullptr) catalog_->drop_database(db);
            return;
        }
        if (name == "renameCollection") {
            const std::string from(command.first().as_string());
            const std::string to(command["to"].as_string());
            return write(std::string(catalog::split(from).db), [&](catalog::Database& open) {
                if (open.collection(to) != nullptr)
                    open.replace(from, to, false);
                else
                    open.rename(from, to, false);
            });
        }
        write(std::string(db), [&](catalog::Database& open) {
            const std::string ns = std::string(db) + "." + std::string(command.first().as_string());
            catalog::Collection* const found = open.collection(ns);
            if (found == nullptr) base::fail(base::kNamespaceNotFound, "ns not found");
            if (name == "drop") return open.drop(ns);
            if (name == "emptycapped") return open.truncate(*found);
            if (name == "collMod") return change(open, *found, command);
            ASSERT_EQ(name, "dropIndexes");
            open.drop_indexes(*found, command["index"]);
        });
    }
    static void change(catalog::Database& open, catalog::Collection& c, bson::Doc command) {
        const bson::Element named = command["index"];
        if (!named.is_object()) return open.change_validation(c, command);
        const bson::Doc what = named.as_doc();
        const catalog::Index* const index = what["keyPattern"].is_object()
                                                ? c.find_index_by_key(what["keyPattern"].as_doc())
                                                : c.find_index(what["name"].as_string());
        if (index == nullptr) base::fail(base::kIndexNotFound, "no such index");
        if (what.has("hidden")) return open.hide_index(c, *index, what["hidden"].truthy());
        open.set_index_number(c, *index, "expireAfterSeconds",
                              what["expireAfterSeconds"].to_int64());
    }
    // Returns the contents of every database but `local`.
    Contents contents() {
        Contents found;
        const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::R);
        for (const std::string& db : catalog_->database_names()) {
            if (db == "local") continue;
            for (const std::string& ns : catalog_->database(db)->collection_names()) {
                catalog::Collection& c = *catalog_->collection(ns);
                if (catalog::is_catalogue(catalog::split(ns).collection)) continue;
                std::vector<std::string>& lines = found[ns];
                const auto cursor = c.records().cursor(storage::Direction::forward);
                while (const auto record = cursor->next())
                    lines.push_back(bson::to_text(record->doc));
                if (!c.capped()) std::ranges::sort(lines);
                std::vector<std::string> names;
                for (const auto& index : c.indexes())
                    names.push_back(bson::to_text(index->spec));
                std::ranges::sort(names);
                names.push_back(bson::to_text(c.store().options().doc()));
                lines.insert(lines.end(), names.begin(), names.end());
            }
        }
        return found;
    }
    // Another one where the collection of that name is another one.
    uint64_t incarnation(std::string_view ns) {
        const storage::DatabaseLock lock(engine_.locks(), catalog::split(ns).db, false);
        const catalog::Collection* const collection = catalog_->collection(ns);
        return collection == nullptr ? 0 : collection->incarnation();
    }
    std::vector<bson::Object> entries() { return all(oplog::kSetLog); }
    std::vector<bson::Object> all(std::string_view ns) {
        std::vector<bson::Object> found;
        const storage::DatabaseLock lock(engine_.locks(), catalog::split(ns).db, false);
        catalog::Collection* const collection = catalog_->collection(ns);
        if (collection == nullptr) return found;
        const auto cursor = collection->records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next())
            found.emplace_back(record->doc);
        return found;
    }

  private:
    const std::string host_;
    const int port_;
    const int64_t log_bytes_;
    storage::contract::MemoryEngine engine_{false};
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<oplog::Log> log_;
    std::unique_ptr<Member> member_;
};

// Writes at random, with what a copy has trouble with.
class Writes {
  public:
    Writes(Node& node, uint32_t seed) : node_(node), random_(seed) {}

    void one() { one(number(40)); }
    void change_names() { one(2 + number(4)); }

  private:
    void one(int kind) {
        const std::string db = fmt::format("db{}", number(2));
        const std::string ns = fmt::format("{}.c{}", db, number(3));
        if (kind == 0) return drop(db, ns);
        if (kind == 1) return index(db, ns);
        if (kind == 2) return replace(db, ns);
        if (kind == 3) return convert(db, ns);
        if (kind == 4) return rename(db, ns);
        if (kind == 5) return change(db, ns);
        if (kind == 6 && number(4) == 0) return node_.run(db, bson::make("dropDatabase", 1));
        if (kind == 7) return empty(db, ns);
        node_.write(db, [&](catalog::Database& open) {
            catalog::Collection& c = open.get_or_create(ns);
            const int id = number(12);
            const auto found = c.id_index()->store->find_one(bson::make("", id));
            if (found.is_null())
                c.insert(bson::make("_id", id, "a", number(5)));
            else if (c.capped())
                c.update(found, bson::make("_id", id, "a", number(5)));
            else if (kind < 15)
                c.remove(found);
            else
                c.update(found, bson::make("_id", id, "a", number(5), "n", ++count_));
        });
    }

    int number(int end) { return static_cast<int>(random_() % static_cast<uint32_t>(end)); }
    void drop(const std::string& db, const std::string& ns) {
        node_.write(db, [&](catalog::Database& open) {
            if (open.collection(ns) != nullptr) open.drop(ns);
        });
    }
    void index(const std::string& db, const std::string& ns) {
        node_.write(db, [&](catalog::Database& open) {
            catalog::Collection& c = open.get_or_create(ns);
            if (c.find_index("a") == nullptr)
                open.create_index(c, number(2) == 0
                                         ? bson::make("key", bson::make("a", 1), "name", "a")
                                         : bson::make("key", bson::make("a", 1), "name", "a",
                                                      "expireAfterSeconds", 7));
            else
                open.drop_indexes(c, bson::make("", "a")[""]);
        });
    }
    // Replaces a collection as $out does.
    void replace(const std::string& db, const std::string& ns) {
        node_.write(db, [&](catalog::Database& open) {
            const std::string temporary = db + ".tmp";
            open.create(temporary, bson::make("temp", true));
            for (int i = 0; i < 3; ++i)
                open.collection(temporary)->insert(bson::make("_id", i, "out", ++count_));
            open.replace(temporary, ns, false);
        });
    }
    // Makes a collection capped as convertToCapped does.
    void convert(const std::string& db, const std::string& ns) {
        node_.write(db, [&](catalog::Database& open) {
            catalog::Collection& from = open.get_or_create(ns);
            const std::string temporary = db + ".tmp";
            catalog::Collection& to =
                open.create(temporary, bson::make("capped", true, "size", 1 << 16, "temp", true));
            const auto cursor = from.records().cursor(storage::Direction::forward);
            while (const auto record = cursor->next())
                to.insert(record->doc);
            open.replace(temporary, ns, false);
        });
    }
    void rename(const std::string& db, const std::string& ns) {
        node_.write(db, [&](catalog::Database& open) {
            const std::string to = fmt::format("{}.c{}", db, number(4));
            if (open.collection(ns) != nullptr && to != ns) open.replace(ns, to, false);
        });
    }
    void empty(const std::string& db, const std::string& ns) {
        node_.write(db, [&](catalog::Database& open) {
            catalog::Collection* const c = open.collection(ns);
            if (c != nullptr && c->capped()) open.truncate(*c);
        });
    }
    void change(const std::string& db, const std::string& ns) {
        node_.write(db, [&](catalog::Database& open) {
            catalog::Collection* const c = open.collection(ns);
            if (c == nullptr) return;
            const catalog::Index* const index = c->find_index("a");
            if (index == nullptr)
                open.change_validation(
                    *c, bson::make("validator", bson::make("a", bson::make("$lt", number(99)))));
            else if (index->spec.has("expireAfterSeconds"))
                open.set_index_number(*c, *index, "expireAfterSeconds", 100000 + number(99));
            else
                open.hide_index(*c, *index, !index->hidden);
        });
    }

    Node& node_;
    std::mt19937 random_;
    int count_ = 0;
};

// A primary as its follower sees it. `before_each` runs before each call, as other clients of the
// primary would.
class PlayedSyncSource final : public SyncSource {
  public:
    struct Script {
        std::function<void()> before_each = [] {};
        int calls = 0;
        int copies = 0;
        int32_t rollbacks = 0;
        Reached reported;
        std::map<std::string, int, std::less<>> reads = {};  // of each collection
        // After each array of documents of a collection has been taken.
        std::function<void(std::string_view ns)> after_visit = [](std::string_view) {};
    };
    PlayedSyncSource(Node& primary, Script& script) : primary_(primary), script_(script) {}

    const std::string& host() const override { return host_; }
    bson::Object oldest_entry() override { return end(true); }
    bson::Object newest_entry() override { return end(false); }
    void read_log(uint64_t from) override {
        begin();
        from_ = from;
        is_tail_ = false;
    }
    bson::Doc next_entries() override {
        begin();
        constexpr int kBatch = 7;
        bson::Builder batch;
        int count = 0;
        for (const bson::Object& entry : primary_.entries()) {
            const uint64_t ts = entry["ts"].as_timestamp();
            if (ts < from_ || (is_tail_ && ts == from_) || ++count > kBatch) continue;
            batch.append(bson::IndexName(static_cast<uint32_t>(count - 1)).view(), entry);
            last_ = ts;
        }
        if (count > 0) from_ = last_;
        is_tail_ |= count > 0;
        batch_ = batch.object();
        return batch_;
    }
    int64_t term_led() override {
        begin();
        return primary_.member().role().is_primary() ? primary_.member().last().term : 0;
    }
    int32_t rollbacks() override {
        begin();
        return script_.rollbacks;
    }
    oplog::Position committed() const override { return primary_.member().progress().committed(); }
    void report(const Reached& reached) override { script_.reported = reached; }
    std::vector<std::string> databases() override {
        begin();
        ++script_.copies;
        return primary_.catalog().database_names();
    }
    void read(std::string_view ns, const std::function<void(bson::Doc batch)>& visit) override {
        // A server answers the names and definitions of a database at once.
        const size_t kBatch = catalog::is_catalogue(catalog::split(ns).collection) ? 1000 : 3;
        begin();
        const std::vector<bson::Object> seen = primary_.all(ns);
        const uint64_t incarnation = primary_.incarnation(ns);
        ++script_.reads[std::string(ns)];
        size_t at = 0;
        do {
            if (primary_.incarnation(ns) != incarnation)
                base::fail(base::kCursorNotFound, "cursor not found");
            bson::Builder batch;
            for (size_t i = at; i < std::min(seen.size(), at + kBatch); ++i)
                batch.append(bson::IndexName(static_cast<uint32_t>(i - at)).view(), seen[i]);
            visit(batch.doc());
            script_.after_visit(ns);
            begin();
            at += kBatch;
        } while (at < seen.size());
    }
    bson::Object find(std::string_view ns, bson::Doc which) override {
        begin();
        for (const bson::Object& each : primary_.all(ns))
            if (each["_id"].to_int32() == which["_id"].to_int32()) return each;
        return {};
    }

  private:
    void begin() {
        ++script_.calls;
        script_.before_each();
    }
    bson::Object end(bool oldest) {
        begin();
        const std::vector<bson::Object> all = primary_.entries();
        return all.empty() ? bson::Object() : oldest ? all.front() : all.back();
    }

    Node& primary_;
    Script& script_;
    const std::string host_ = kFirst;
    uint64_t from_ = 0;
    uint64_t last_ = 0;
    bool is_tail_ = false;
    bson::Object batch_;
};

class TailerTest : public testing::Test {
  protected:
    void begin(int64_t log_bytes = kLogBytes) {
        follower_ = nullptr;
        primary_.emplace(kFirst, 27017, log_bytes);
        second_.emplace(kSecond, 27018);
        primary_->member().initiate(bson::from_json(
            R"({"_id": "rs0", "version": 1, "members": [
                {"_id": 0, "host": "here.example:27017"},
                {"_id": 1, "host": "here.example:27018", "priority": 0}]})"));
        ask(primary_->member(), second_->member(), kSecond);
        ask(second_->member(), primary_->member(), kFirst);
        follow();
    }
    void follow() {
        follower_ = nullptr;
        follower_ = std::make_unique<Tailer>(
            second_->catalog(), second_->member(),
            [this](std::string_view db, bson::Doc command) { second_->run(db, command); },
            [this](const std::string&, const peer::Interrupt&) {
                return std::make_unique<PlayedSyncSource>(*primary_, script_);
            });
    }
    // Restarts the second member as a start of its server would.
    void restart_second() {
        follower_ = nullptr;
        second_->start();
        follow();
    }
    static void ask(Member& one, Member& other, const char* host) {
        bson::Builder answer;
        other.peers().answer(one.peers().question(), answer);
        one.peers().note_answer(host, answer.doc(), 5);
    }
    void catch_up() {
        for (int i = 0; i < 10000 && second_->member().last() != primary_->member().last(); ++i)
            follower_->step();
    }
    void expect_equal() {
        EXPECT_EQ(second_->member().role().state(), State::secondary)
            << second_->member().following().message();
        EXPECT_EQ(second_->member().last(), primary_->member().last());
        EXPECT_EQ(second_->contents(), primary_->contents());
        // One of the two logs is the end of the other.
        const std::vector<bson::Object> all = primary_->entries();
        const std::vector<bson::Object> own = second_->entries();
        const size_t count = std::min(own.size(), all.size());
        for (size_t i = 1; i <= count; ++i)
            ASSERT_EQ(own[own.size() - i].bytes(), all[all.size() - i].bytes());
    }

    const base::MutedLog muted_;
    std::optional<Node> primary_;
    std::optional<Node> second_;
    PlayedSyncSource::Script script_;
    std::unique_ptr<Tailer> follower_;
};

}  // namespace replica
