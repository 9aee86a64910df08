// A member that was the primary of writes that its set never had: what it has afterwards, and what
// is kept of them.
#include "replica/rollback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "replica/testing/pair.h"

namespace replica {
namespace {

class RollbackTest : public TailerTest {
  protected:
    RollbackTest() : folder_(testing::TempDir() + "rollback-XXXXXX") {
        EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    }
    ~RollbackTest() override { std::filesystem::remove_all(folder_); }

    // Both have the same; then the second one is the primary by itself.
    void part(uint32_t seed, int before) {
        begin();
        Writes writes(*primary_, seed);
        for (int i = 0; i < before; ++i)
            writes.one();
        primary_->write("db0", [](catalog::Database& db) { db.get_or_create("db0.c0"); });
        catch_up();
        second_->member().reconfigure(bson::from_json(R"({"_id": "rs0", "version": 2, "members": [
                            {"_id": 0, "host": "here.example:27017", "priority": 0},
                            {"_id": 1, "host": "here.example:27018"}]})"),
                                      true);
    }
    // It follows the first one again.
    void join() {
        primary_->member().reconfigure(
            bson::from_json(R"({"_id": "rs0", "version": 300000, "members": [
                            {"_id": 0, "host": "here.example:27017"},
                            {"_id": 1, "host": "here.example:27018", "priority": 0}]})"),
            true);
        ask(second_->member(), primary_->member(), kFirst);
        ASSERT_TRUE(second_->member().role().follows());
    }
    // False: all data is to be copied anew.
    bool roll_back() {
        PlayedSyncSource source(*primary_, script_);
        oplog::Applier applier(second_->catalog(), [this](std::string_view db, bson::Doc command) {
            second_->run(db, command);
        });
        Rollback rollback(second_->catalog(), second_->member().log(), applier, source, folder_);
        common_ = rollback.find_common();
        entries_ = rollback.entries();
        if (after_common_) script_.before_each = after_common_;
        return rollback.run();
    }
    void write_second(const std::function<void(catalog::Collection&)>& work) {
        second_->write("db0", [&](catalog::Database& db) { work(db.get_or_create("db0.c0")); });
    }
    static storage::RecordId id_of(catalog::Collection& collection, int id) {
        return collection.id_index()->store->find_one(bson::make("", id));
    }
    // The documents in the files of that collection.
    std::vector<std::string> saved(const std::string& ns) {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
            if (!entry.path().filename().string().starts_with(ns + ".2")) continue;
            std::ifstream file(entry.path(), std::ios::binary);
            const std::string bytes{std::istreambuf_iterator<char>(file), {}};
            for (size_t at = 0; at < bytes.size();) {
                const bson::Doc doc(reinterpret_cast<const uint8_t*>(bytes.data() + at));
                found.push_back(bson::to_text(doc));
                at += static_cast<size_t>(doc.size());
            }
        }
        std::ranges::sort(found);
        return found;
    }

    std::string folder_;
    oplog::Position common_;
    size_t entries_ = 0;
    std::function<void()> after_common_;
};

TEST_F(RollbackTest, KeepsWhatIsLostAndTakesWhatThePrimaryHas) {
    begin();
    primary_->write("db0", [](catalog::Database& db) {
        catalog::Collection& c = db.get_or_create("db0.c0");
        for (int i = 0; i < 4; ++i)
            c.insert(bson::make("_id", i, "a", 1));
    });
    catch_up();
    const oplog::Position before = second_->member().last();
    second_->member().reconfigure(bson::from_json(R"({"_id": "rs0", "version": 2, "members": [
                            {"_id": 0, "host": "here.example:27017", "priority": 0},
                            {"_id": 1, "host": "here.example:27018"}]})"),
                                  true);
    write_second([](catalog::Collection& c) {
        c.insert(bson::make("_id", 7, "a", "lost"));
        c.update(id_of(c, 1), bson::make("_id", 1, "a", "lost"));
        c.update(id_of(c, 2), bson::make("_id", 2, "a", "lost"));
        c.remove(id_of(c, 3));
    });
    primary_->write("db0", [](catalog::Database& db) {
        catalog::Collection& c = *db.collection("db0.c0");
        c.update(id_of(c, 1), bson::make("_id", 1, "a", 2));
        c.insert(bson::make("_id", 9, "a", 9));
    });
    join();
    EXPECT_TRUE(roll_back());
    EXPECT_EQ(common_, before);
    EXPECT_EQ(saved("db0.c0"),
              (std::vector<std::string>{"{ _id: 1, a: \"lost\" }", "{ _id: 2, a: \"lost\" }",
                                        "{ _id: 7, a: \"lost\" }"}));
    EXPECT_EQ(saved("local.oplog.rs").size(), entries_);
    EXPECT_EQ(script_.copies, 1);  // the first one
    catch_up();
    follower_->step();
    expect_equal();
    EXPECT_EQ(script_.copies, 1);
}

TEST_F(RollbackTest, TakesTheChangesOfATransactionBackOneByOne) {
    begin();
    primary_->write("db0", [](catalog::Database& db) {
        for (const int id : {1, 2})
            db.get_or_create("db0.c0").insert(bson::make("_id", id, "a", 1));
        db.get_or_create("db0.c1");
    });
    catch_up();
    oplog::Log& log = second_->member().log();
    const bson::Object changes = bson::from_json(R"({"applyOps": [
        {"op": "i", "ns": "db0.c1", "o": {"_id": 7, "a": "lost"}},
        {"op": "u", "ns": "db0.c0", "o2": {"_id": 1}, "o": {"$set": {"a": "lost"}}},
        {"op": "d", "ns": "db0.c0", "b": true, "o": {"_id": 2}}]})");
    bson::Builder entry;
    entry.append_timestamp("ts", log.last().ts + 1).append("t", int64_t{1}).append("h", int64_t{5});
    entry.append("v", 2).append("op", "c").append("ns", "admin.$cmd").append("o", changes);
    const bson::Object committed = entry.object();
    {
        oplog::Applier applier(second_->catalog(), nullptr);
        oplog::ForeignChange foreign(log, committed);
        applier.apply(committed, oplog::Manner::exact);
        foreign.finish();
    }
    EXPECT_NE(primary_->contents(), second_->contents());
    primary_->write("db0", [](catalog::Database& db) {
        catalog::Collection& c = *db.collection("db0.c0");
        c.update(id_of(c, 1), bson::make("_id", 1, "a", 2));
    });
    join();
    EXPECT_TRUE(roll_back());
    EXPECT_EQ(saved("db0.c0"), std::vector<std::string>{"{ _id: 1, a: \"lost\" }"});
    EXPECT_EQ(saved("db0.c1"), std::vector<std::string>{"{ _id: 7, a: \"lost\" }"});
    catch_up();
    follower_->step();
    expect_equal();
    EXPECT_EQ(script_.copies, 1);  // the first one
}

TEST_F(RollbackTest, CopiesAnewWhereACommandIsLost) {
    part(3, 10);
    second_->write("db0", [](catalog::Database& db) { db.create("db0.made", bson::Object()); });
    join();
    EXPECT_FALSE(roll_back());
    catch_up();
    follower_->step();
    expect_equal();
    EXPECT_EQ(second_->contents().count("db0.made"), 0U);
}

TEST_F(RollbackTest, EndsWithWhatThePrimaryHasWhateverWasWritten) {
    int plain = 0;
    for (uint32_t seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE(seed);
        part(seed, 12);
        std::mt19937 random(seed);
        const uint32_t lost = random() % 6, more = random() % 8;
        Writes own(*second_, seed + 1000), others(*primary_, seed + 2000);
        for (uint32_t i = 0; i < lost; ++i)
            own.one();
        for (uint32_t i = 0; i < more; ++i)
            others.one();
        join();
        // The primary goes on during it.
        int calls = 0;
        script_.before_each = [&] {
            if (++calls % 9 == 0) others.one();
        };
        plain += roll_back();
        script_.before_each = [] {};
        catch_up();
        follower_->step();
        expect_equal();
        if (HasFailure()) return;
    }
    EXPECT_GT(plain, 20);
}

TEST_F(RollbackTest, CopiesAnewWhereTheSourceTookEntriesBackItself) {
    part(5, 10);
    write_second([](catalog::Collection& c) { c.insert(bson::make("_id", 77)); });
    join();
    after_common_ = [this] { script_.rollbacks = 1; };
    EXPECT_FALSE(roll_back());
    restart_second();
    EXPECT_EQ(second_->member().role().state(), State::startup2);
}

TEST_F(RollbackTest, ACutRollbackIsACopyThatBeginsAnew) {
    int cuts = 0;
    for (bool is_cut = true; is_cut; ++cuts) {
        SCOPED_TRACE(cuts);
        part(5, 10);
        write_second([](catalog::Collection& c) { c.insert(bson::make("_id", 77)); });
        join();
        is_cut = false;
        int calls = 0;
        after_common_ = [&] {
            if (++calls <= cuts) return;
            is_cut = true;
            base::fail(base::kHostUnreachable, "cut");
        };
        try {
            EXPECT_TRUE(roll_back());
        } catch (const base::Error& error) {
            EXPECT_EQ(error.code(), base::kHostUnreachable);
        }
        script_.before_each = [] {};
        restart_second();
        EXPECT_EQ(second_->member().role().state(), is_cut ? State::startup2 : State::secondary);
        catch_up();
        follower_->step();
        expect_equal();
    }
    EXPECT_GT(cuts, 3);
}

}  // namespace
}  // namespace replica
