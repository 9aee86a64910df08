// A member that follows a primary which the test plays: both over engines in memory, no socket and
// no thread between them.
#include "replica/follower.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/testing/effort.h"
#include "base/testing/muted.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "catalog/names.h"
#include "replica/clone.h"
#include "storage/contract/memory_engine.h"

namespace replica {
namespace {

constexpr const char* kFirst = "here.example:27017";
constexpr const char* kSecond = "here.example:27018";
constexpr int64_t kLogBytes = 1 << 20;

using Contents = std::map<std::string, std::vector<std::string>>;

// One member.
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
                                                           .log_bytes = log_bytes_});
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
    // What a client's commands would do.
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
            ASSERT_EQ(name, "dropIndexes");
            open.drop_indexes(*found, command["index"]);
        });
    }
    // All but `local`.
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
                    names.push_back(index->name);
                std::ranges::sort(names);
                lines.insert(lines.end(), names.begin(), names.end());
            }
        }
        return found;
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

    void one() {
        const std::string db = fmt::format("db{}", number(2));
        const std::string ns = fmt::format("{}.c{}", db, number(3));
        const int kind = number(40);
        if (kind == 0) return drop(db, ns);
        if (kind == 1) return index(db, ns);
        if (kind == 2) return replace(db, ns);
        node_.write(db, [&](catalog::Database& open) {
            catalog::Collection& c = open.get_or_create(ns);
            const int id = number(12);
            const auto found = c.id_index()->store->find_one(bson::make("", id));
            if (found.is_null())
                c.insert(bson::make("_id", id, "a", number(5)));
            else if (kind < 12)
                c.remove(found);
            else
                c.update(found, bson::make("_id", id, "a", number(5), "n", ++count_));
        });
    }

  private:
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
                open.create_index(c, bson::make("key", bson::make("a", 1), "name", "a"));
            else
                open.drop_indexes(c, bson::make("", "a")[""]);
        });
    }
    // As $out does.
    void replace(const std::string& db, const std::string& ns) {
        node_.write(db, [&](catalog::Database& open) {
            const std::string temporary = db + ".tmp";
            open.create(temporary, bson::Doc());
            for (int i = 0; i < 3; ++i)
                open.collection(temporary)->insert(bson::make("_id", i, "out", ++count_));
            if (open.collection(ns) != nullptr)
                open.replace(temporary, ns, false);
            else
                open.rename(temporary, ns, false);
        });
    }

    Node& node_;
    std::mt19937 random_;
    int count_ = 0;
};

// A primary as its follower sees it. `before_each` runs before each call, as other clients of the
// primary would.
class PlayedSource final : public Source {
  public:
    struct Script {
        std::function<void()> before_each = [] {};
        int calls = 0;
        int copies = 0;
        Reached reported;
    };
    PlayedSource(Node& primary, Script& script) : primary_(primary), script_(script) {}

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
    void report(const Reached& reached) override { script_.reported = reached; }
    std::vector<std::string> databases() override {
        begin();
        ++script_.copies;
        return primary_.catalog().database_names();
    }
    void read(std::string_view ns, const std::function<void(bson::Doc batch)>& visit) override {
        constexpr size_t kBatch = 3;
        begin();
        const std::vector<bson::Object> seen = primary_.all(ns);
        for (size_t at = 0; at < seen.size(); at += kBatch) {
            bson::Builder batch;
            for (size_t i = at; i < std::min(seen.size(), at + kBatch); ++i)
                batch.append(bson::IndexName(static_cast<uint32_t>(i - at)).view(), seen[i]);
            visit(batch.doc());
            begin();
        }
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

class FollowerTest : public testing::Test {
  protected:
    void begin(int64_t log_bytes = kLogBytes) {
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
        follower_ = std::make_unique<Follower>(
            second_->catalog(), second_->member(),
            [this](std::string_view db, bson::Doc command) { second_->run(db, command); },
            [this](const std::string&, const peer::Interrupt&) {
                return std::make_unique<PlayedSource>(*primary_, script_);
            });
    }
    // As a start of the second one would.
    void restart_second() {
        follower_ = nullptr;
        second_->start();
        follow();
    }
    static void ask(Member& one, Member& other, const char* host) {
        bson::Builder answer;
        other.answer(one.question(), answer);
        one.hear(host, answer.doc(), 5);
    }
    void catch_up() {
        for (int i = 0; i < 10000 && second_->member().last() != primary_->member().last(); ++i)
            follower_->step();
    }
    void expect_equal() {
        EXPECT_EQ(second_->member().state(), State::secondary) << second_->member().message();
        EXPECT_EQ(second_->member().last(), primary_->member().last());
        EXPECT_EQ(second_->contents(), primary_->contents());
    }

    const base::MutedLog muted_;
    std::optional<Node> primary_;
    std::optional<Node> second_;
    PlayedSource::Script script_;
    std::unique_ptr<Follower> follower_;
};

TEST_F(FollowerTest, CopiesThenFollows) {
    begin();
    Writes writes(*primary_, 1);
    for (int i = 0; i < 200; ++i)
        writes.one();
    EXPECT_EQ(second_->member().state(), State::startup2);
    EXPECT_TRUE(follower_->step());
    expect_equal();
    EXPECT_EQ(second_->member().syncing_to(), kFirst);
    for (int i = 0; i < 200; ++i)
        writes.one();
    catch_up();
    expect_equal();
    EXPECT_EQ(script_.copies, 1);
    EXPECT_GT(second_->member().counts().entries.load(), 0);
    // Its log is the end of the primary's.
    const std::vector<bson::Object> all = primary_->entries();
    const std::vector<bson::Object> own = second_->entries();
    ASSERT_LE(own.size(), all.size());
    for (size_t i = 0; i < own.size(); ++i)
        EXPECT_EQ(own[i].bytes(), all[all.size() - own.size() + i].bytes());
}

TEST_F(FollowerTest, CopiesWhatIsBeingWritten) {
    int copies = 0;
    for (int seed = 1; seed <= base::test_effort(60); ++seed) {
        SCOPED_TRACE(seed);
        begin();
        script_ = {};
        Writes writes(*primary_, static_cast<uint32_t>(seed));
        for (int i = 0; i < 40; ++i)
            writes.one();
        int left = 150;
        script_.before_each = [&] {
            for (int i = 0; i < 2 && left > 0; ++i, --left)
                writes.one();
        };
        catch_up();
        expect_equal();
        copies += script_.copies;
    }
    EXPECT_GT(copies, 0);
}

// At every moment: what the primary was at that position.
TEST_F(FollowerTest, IsAlwaysAPrefixOfThePrimary) {
    for (uint32_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(seed);
        begin();
        script_ = {};
        Writes writes(*primary_, seed);
        std::map<oplog::Position, Contents> history;
        const auto note = [&] { history[primary_->member().last()] = primary_->contents(); };
        note();
        int left = 150;
        script_.before_each = [&] {
            if (left-- <= 0) return;
            writes.one();
            note();
        };
        int compared = 0;
        while (second_->member().last() != primary_->member().last() || left > 0) {
            follower_->step();
            const auto then = history.find(second_->member().last());
            if (second_->member().state() != State::secondary || then == history.end()) continue;
            ++compared;
            ASSERT_EQ(second_->contents(), then->second);
        }
        EXPECT_GT(compared, 10);
        expect_equal();
    }
}

// Whatever call to the primary fails, and with the copy begun anew by another start.
TEST_F(FollowerTest, BeginsACopyAnewThatWasCutShort) {
    for (int fails_at = 1;; ++fails_at) {
        SCOPED_TRACE(fails_at);
        begin();
        script_ = {};
        Writes writes(*primary_, 3);
        for (int i = 0; i < 60; ++i)
            writes.one();
        bool failed = false;
        script_.before_each = [&] {
            if (script_.calls != fails_at) return;
            failed = true;
            base::fail(base::kHostUnreachable, "as the test wants it");
        };
        follower_->step();
        if (!failed) break;
        ASSERT_LT(fails_at, 1000);
        EXPECT_NE(second_->member().state(), State::secondary);
        EXPECT_NE(second_->member().message().find("as the test wants it"), std::string::npos);
        writes.one();
        const bool has_copy = second_->member().last().ts != 0;
        restart_second();
        EXPECT_EQ(second_->member().state(), has_copy ? State::secondary : State::startup2);
        catch_up();
        expect_equal();
    }
}

TEST_F(FollowerTest, GoesOnWhereItWasAfterAStart) {
    begin();
    Writes writes(*primary_, 4);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 30; ++i)
            writes.one();
        restart_second();
        catch_up();
        expect_equal();
    }
    EXPECT_EQ(script_.copies, 1);
    // With data it is a secondary at once, also while the primary is away.
    script_.before_each = [] { base::fail(base::kHostUnreachable, "as the test wants it"); };
    restart_second();
    follower_->step();
    EXPECT_EQ(second_->member().state(), State::secondary);
}

TEST_F(FollowerTest, StaysBehindWhereItIsTooStale) {
    begin(64 << 10);
    Writes writes(*primary_, 5);
    writes.one();
    catch_up();
    for (int i = 0; i < 2000; ++i)
        writes.one();
    restart_second();
    const Contents before = second_->contents();
    EXPECT_FALSE(follower_->step());
    EXPECT_EQ(second_->member().state(), State::recovering);
    EXPECT_NE(second_->member().message().find("error RS102 too stale"), std::string::npos);
    EXPECT_EQ(second_->contents(), before);
    EXPECT_EQ(script_.copies, 1);
}

TEST_F(FollowerTest, StaysBehindWhereTheHistoriesHaveParted) {
    begin();
    Writes writes(*primary_, 6);
    writes.one();
    catch_up();
    // The second one is made the primary and writes; then the first one is brought back.
    second_->member().reconfigure(bson::from_json(R"({"_id": "rs0", "version": 2, "members": [
                            {"_id": 0, "host": "here.example:27017", "priority": 0},
                            {"_id": 1, "host": "here.example:27018"}]})"),
                                  true);
    EXPECT_FALSE(follower_->step());
    second_->write("db0", [](catalog::Database& db) {
        db.get_or_create("db0.c0").insert(bson::make("_id", 77));
    });
    for (int i = 0; i < 5; ++i)
        writes.one();
    primary_->member().reconfigure(bson::from_json(R"({"_id": "rs0", "version": 3, "members": [
                            {"_id": 0, "host": "here.example:27017"},
                            {"_id": 1, "host": "here.example:27018", "priority": 0}]})"),
                                   true);
    ask(second_->member(), primary_->member(), kFirst);
    EXPECT_TRUE(second_->member().follows());
    const Contents before = second_->contents();
    EXPECT_FALSE(follower_->step());
    EXPECT_EQ(second_->member().state(), State::recovering);
    EXPECT_NE(second_->member().message().find("histories have parted"), std::string::npos);
    EXPECT_EQ(second_->contents(), before);
}

// What a step down does on the thread of its command.
class FollowerHandOverTest : public FollowerTest {
  protected:
    // Its code.
    std::future<int> hand_over(std::chrono::milliseconds limit) {
        return std::async(std::launch::async, [this, limit] {
            try {
                primary_->member().hand_over(limit);
            } catch (const base::Error& error) {
                return error.code();
            }
            return 0;
        });
    }
    void follow_and_report() {
        follower_->step();
        const oplog::Position last = second_->member().last();
        try {
            primary_->member().take_report(second_->member().report({last, last}));
        } catch (const base::Error& error) {
            EXPECT_EQ(error.code(), base::kNotWritablePrimary);  // not the primary any more
        }
    }
    int insert(Node& node, int id) {
        try {
            node.write("db0", [id](catalog::Database& db) {
                db.get_or_create("db0.handed").insert(bson::make("_id", id));
            });
        } catch (const base::Error& error) {
            return error.code();
        }
        return 0;
    }
};

TEST_F(FollowerHandOverTest, TheOtherBecomesThePrimaryOnceItHasAll) {
    begin();
    Writes writes(*primary_, 7);
    for (int i = 0; i < 50; ++i)
        writes.one();
    catch_up();
    for (int i = 0; i < 50; ++i)
        writes.one();
    std::future<int> done = hand_over(std::chrono::hours(1));
    while (primary_->member().is_primary())
        follow_and_report();
    EXPECT_EQ(done.get(), 0);
    expect_equal();
    // Now none is the primary, and neither takes writes.
    EXPECT_EQ(primary_->member().state(), State::secondary);
    EXPECT_EQ(insert(*primary_, 1), base::kInterruptedDueToReplStateChange);
    EXPECT_EQ(insert(*second_, 1), base::kInterruptedDueToReplStateChange);
    EXPECT_EQ(primary_->member().config()->primary().host, kSecond);
    const oplog::Position last = primary_->member().last();
    // It hears of it also when the old one, and it itself, have been started again.
    primary_->start();
    primary_->member().take_office();
    EXPECT_EQ(primary_->member().state(), State::secondary);
    restart_second();
    EXPECT_EQ(second_->member().state(), State::secondary);
    ask(second_->member(), primary_->member(), kFirst);
    EXPECT_TRUE(second_->member().is_primary());
    EXPECT_EQ(second_->member().last().term, last.term + 1);
    EXPECT_EQ(second_->member().config()->version, 2);
    EXPECT_EQ(insert(*second_, 1), 0);
    EXPECT_EQ(insert(*primary_, 2), base::kInterruptedDueToReplStateChange);
}

TEST_F(FollowerHandOverTest, WritesGoOnWhereNoMemberHasAll) {
    begin();
    Writes writes(*primary_, 8);
    writes.one();
    catch_up();
    // It has all but what says that it follows now.
    const oplog::Position last = second_->member().last();
    primary_->member().take_report(second_->member().report({last, last}));
    EXPECT_EQ(hand_over(std::chrono::milliseconds(1)).get(), base::kExceededTimeLimit);
    EXPECT_TRUE(primary_->member().takes_writes());
    EXPECT_EQ(insert(*primary_, 1), 0);
    EXPECT_EQ(primary_->member().config()->version, 1);
    ask(second_->member(), primary_->member(), kFirst);
    catch_up();
    expect_equal();
}

TEST_F(FollowerHandOverTest, TakesNoWritesWhileItWaits) {
    begin();
    catch_up();
    std::future<int> done = hand_over(std::chrono::hours(1));
    while (primary_->member().takes_writes())
        std::this_thread::yield();
    EXPECT_TRUE(primary_->member().is_primary());
    EXPECT_EQ(insert(*primary_, 1), base::kInterruptedDueToReplStateChange);
    EXPECT_EQ(hand_over(std::chrono::hours(1)).get(), base::kNotWritablePrimary);
    EXPECT_TRUE(primary_->member().primary_host().empty());
    while (primary_->member().is_primary())
        follow_and_report();
    EXPECT_EQ(done.get(), 0);
}

// Only the old primary itself says that it is none any more, and what it had.
TEST_F(FollowerHandOverTest, OneThatLacksSomethingIsNotMadeThePrimary) {
    begin();
    catch_up();
    bson::Builder answer;
    std::future<int> done = hand_over(std::chrono::hours(1));
    while (primary_->member().is_primary())
        follow_and_report();
    EXPECT_EQ(done.get(), 0);
    primary_->member().answer(second_->member().question(), answer);
    bson::Builder later;
    for (const bson::Element& e : answer.doc()) {
        if (e.name() == "opTime")
            later.append_timestamp("opTime", e.as_timestamp() + 1);
        else
            later.append(e);
    }
    second_->member().hear(kFirst, later.doc(), 1);
    EXPECT_EQ(second_->member().state(), State::secondary);
    second_->member().hear("other.example:27017", answer.doc(), 1);
    EXPECT_EQ(second_->member().state(), State::secondary);
    second_->member().hear(kFirst, answer.doc(), 1);
    EXPECT_TRUE(second_->member().is_primary());
}

}  // namespace
}  // namespace replica
