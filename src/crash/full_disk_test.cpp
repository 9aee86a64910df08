// A disk on which no data file finds space any more, or now and then none: every kind of write is
// refused as a whole or done as a whole, removals go on, and no index ever holds a key without its
// document.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/testing/effort.h"
#include "base/testing/slice.h"
#include "bson/json.h"
#include "bson/testing/values.h"
#include "crash/testing/sim_disk.h"
#include "storage/testing/space_refusal.h"

namespace crash {
namespace {

using bson::make;

// Decides which requests for space are refused; null: none is. Behind the first one all of the same
// operation are: what is taken back finds the disk as full.
bson::TestValues* g_refusals = nullptr;
bool g_has_refused = false;
void refuse_some() {
    if (g_refusals == nullptr || (!g_has_refused && g_refusals->below(10) != 0)) return;
    g_has_refused = true;
    base::fail(base::kOperationFailed, "no space left on device");
}

class FullDiskTest : protected SimDisk, public command::ServiceTest {
  protected:
    FullDiskTest() : command::ServiceTest([this] { return make_engine(); }) {}

    std::unique_ptr<storage::Engine> make_engine() {
        mmapv1::EngineOptions options = small_options();
        options.durable.journal = false;
        return mmapv1::open_engine(options, disk);
    }

    int insert_one(const std::string& collection, const bson::Object& doc) {
        const bson::Object list = make("0", doc);
        bson::Builder command;
        command.append("insert", collection).append_array("documents", list);
        return write(command.object());
    }
    // The code of a write command, 0 if it succeeded.
    int write(const bson::Object& command) {
        const bson::Object reply = run(command);
        if (code(reply) != 0) return code(reply);
        const bson::Element errors = reply["writeErrors"];
        return errors.missing() ? 0 : errors.as_doc()["0"].as_doc()["code"].to_int32();
    }
    int update(int id, const std::string& change, bool upsert = false) {
        return write(bson::from_json(fmt::format(
            R"({{"update": "c", "updates": [{{"q": {{"_id": {}}}, "u": {}, "upsert": {}}}]}})", id,
            change, upsert)));
    }
    void fill_disk() {
        disk.set_full(true);
        const std::string text(60000, 'x');
        for (int i = 0; insert_one("filler", make("_id", i, "t", text)) == 0; ++i) {
        }
        for (int i = 0; code(run(fmt::format(R"({{"create": "small{}"}})", i))) == 0; ++i) {
        }
    }
    void make_collections() {
        ASSERT_EQ(code(run(R"({"create": "ring", "capped": true, "size": 200000})")), 0);
        for (const char* collection : {"c", "ring"})
            for (const char* key : {R"({"a": 1})", R"({"b": -1, "a": 1})", R"({"h": "hashed"})"})
                ASSERT_EQ(
                    code(run(fmt::format(
                        R"({{"createIndexes": "{}", "indexes": [{{"key": {}, "name": "{}"}}]}})",
                        collection, key, std::string(key).substr(2, 1)))),
                    0);
    }
    // Thousands of operations; how many of each were refused.
    void write_at_random(std::map<std::string, int>& refused);
    void expect_valid(const std::string& after) {
        for (const char* collection : {"c", "ring"}) {
            const bson::Object reply =
                run(fmt::format(R"({{"validate": "{}", "full": true}})", collection));
            ASSERT_TRUE(reply["valid"].truthy())
                << collection << " after " << after << ": " << bson::to_text(reply);
        }
    }
    int64_t count(const char* collection) { return run(make("count", collection))["n"].to_int64(); }
};

void FullDiskTest::write_at_random(std::map<std::string, int>& refused) {
    bson::TestValues* const refusals = g_refusals;
    bson::TestValues values(1);
    const auto text = [&](size_t most) {
        return fmt::format("{}{}", values.below(1000000), std::string(values.below(most), 'k'));
    };
    const auto array = [&] {
        bson::Builder list;
        for (uint64_t n = values.below(30); n > 0; --n)
            list.append(list.next().view(), text(500));
        return list.object();
    };
    const auto document = [&](int id) {
        bson::Builder doc;
        doc.append("_id", id).append("b", text(100)).append("h", id);
        doc.append_array("a", array());
        return doc.object();
    };
    std::map<std::string, int> done;
    base::Slice validated = base::test_slice(4);  // what a step breaks is still broken later
    int last_id = 0;
    for (int step = 0; step < std::max(3000, base::test_effort(3000)); ++step) {
        const int some = static_cast<int>(values.below(static_cast<uint64_t>(last_id) + 1));
        const int64_t before = count("c");
        const int64_t in_ring = count("ring");
        std::string what;
        int error = 0;
        g_has_refused = false;
        switch (values.below(24)) {
            case 0:
            case 1:
                what = "remove";
                error = write(bson::from_json(fmt::format(
                    R"({{"delete": "c", "deletes": [{{"q": {{"_id": {}}}, "limit": 1}}]}})",
                    some)));
                break;
            case 2:
            case 3:
            case 4:
                what = "update";
                error = update(some, fmt::format(R"({{"$set": {{"b": "{}"}}}})", text(600)));
                break;
            case 5:
            case 6:
                what = "push";
                error = update(some, fmt::format(R"({{"$push": {{"a": "{}"}}}})", text(900)));
                break;
            case 7:
                what = "upsert";
                error = update(++last_id,
                               fmt::format(R"({{"b": "{}", "a": ["{}", "{}"]}})", text(500),
                                           text(500), text(500)),
                               true);
                break;
            case 8:
                what = "build";
                error = code(
                    run(R"({"createIndexes": "c", "indexes": [{"key": {"z": 1}, "name": "z"}]})"));
                break;
            case 9:
                what = "background build";
                error = code(run(R"({"createIndexes": "c", "indexes":
                    [{"key": {"b": 1}, "name": "z", "background": true}]})"));
                break;
            case 10:
                what = "drop";
                run(R"({"dropIndexes": "c", "index": "z"})");
                break;
            case 11:
                what = "create";
                error = code(run(fmt::format(R"({{"create": "made{}"}})", step)));
                break;
            case 12:
                what = "rename";
                error = code(run(R"({"renameCollection": "test.ring", "to": "test.)" +
                                     std::string(100, 'r') + "\"}",
                                 "admin"));
                if (error == 0) {
                    g_refusals = nullptr;
                    ASSERT_EQ(code(run(R"({"renameCollection": "test.)" + std::string(100, 'r') +
                                           R"(", "to": "test.ring"})",
                                       "admin")),
                              0);
                    g_refusals = refusals;
                }
                break;
            case 13:
                if (step % 5 == 0) {
                    what = "compact";  // it may lose an index
                    g_refusals = nullptr;
                    error = code(run(R"({"compact": "c"})"));
                    g_refusals = refusals;
                }
                break;
            case 14:
                what = "new database";
                error = code(run(R"({"create": "c"})", fmt::format("db{}", step)));
                break;
            case 15:
            case 16:
            case 17:
                what = "ring";  // what it needs is reserved, and so not refused
                g_refusals = nullptr;
                error = insert_one("ring", document(step));
                g_refusals = refusals;
                break;
            default:
                what = "insert";
                error = insert_one("c", document(++last_id));
                break;
        }
        ++(error == 0 ? done : refused)[what];
        if (error == 0 && step % 20 != 0 && what != "compact") continue;
        if (error != 0) {
            ASSERT_EQ(count("c"), before) << what;
            ASSERT_EQ(count("ring"), in_ring) << what;
        }
        if (!validated.takes_next()) continue;
        expect_valid(fmt::format("step {}: {}, code {}", step, what, error));
        if (HasFatalFailure()) return;
    }
    expect_valid("all steps");
    EXPECT_EQ(refused["remove"], 0);
}

TEST_F(FullDiskTest, EveryWriteIsDoneOrRefusedAsAWhole) {
    make_collections();
    fill_disk();
    std::map<std::string, int> refused;
    write_at_random(refused);
    for (const char* what : {"insert", "update", "push", "upsert", "ring", "create"})
        EXPECT_GT(refused[what], 0) << what;
    disk.set_full(false);
    EXPECT_EQ(insert_one("c", make("_id", "last")), 0);
    expect_valid("the disk has space again");
}

// Its oldest documents would be gone by the time an index finds no space for the new one.
TEST_F(FullDiskTest, ARingLosesNothingWhereItsIndexesGetNoSpace) {
    make_collections();
    const auto document = [](int id, int keys) {
        bson::Builder array;
        for (int i = 0; i < keys; ++i)
            array.append(array.next().view(),
                         fmt::format("{}{}", id * 1000 + i, std::string(500, 'k')));
        bson::Builder doc;
        doc.append("_id", id).append("b", std::string(300, 'x')).append("h", id);
        return doc.append_array("a", array.object()).object();
    };
    for (int i = 0; i < 400; ++i)
        ASSERT_EQ(insert_one("ring", document(i, 1)), 0);
    const int64_t before = count("ring");
    ASSERT_LT(before, 400) << "the ring has not come round";
    const int64_t oldest = query("test.ring", "{}", 1).at(0)["_id"].to_int64();
    storage::test::on_space_request([] { base::fail(base::kOperationFailed, "no space"); });
    EXPECT_EQ(insert_one("ring", document(1000, 100)), base::kOperationFailed);
    storage::test::on_space_request(nullptr);
    EXPECT_EQ(count("ring"), before);
    EXPECT_EQ(query("test.ring", "{}", 1).at(0)["_id"].to_int64(), oldest);
    EXPECT_EQ(insert_one("ring", document(1000, 100)), 0);
    expect_valid("a refused document");
}

// The number of requests that are still granted.
int64_t g_granted = 0;
void refuse_behind() {
    if (--g_granted < 0) base::fail(base::kOperationFailed, "no space left on device");
}

// From the refused request on the disk is full: nothing that is taken back may need space.
TEST_F(FullDiskTest, TheUndoItselfFindsNoSpace) {
    make_collections();
    const auto list = [](int id, int from, int keys) {
        bson::Builder array;
        for (int i = from; i < from + keys; ++i)
            array.append(array.next().view(),
                         fmt::format("{}{}", (i * 7919 + id) % 10000, std::string(600, 'k')));
        return array.object();
    };
    const auto document = [&](int id, int from, int keys, size_t pad) {
        bson::Builder doc;
        doc.append("_id", id).append("b", from).append("h", id).append("t", std::string(pad, 'x'));
        return doc.append_array("a", list(id, from, keys)).object();
    };
    for (int id = 0; id < 60; ++id)
        ASSERT_EQ(insert_one("c", document(id, 0, 12, 100)), 0);
    const auto stored = [&] {
        std::string text;
        for (const bson::Object& doc : query("test.c", "{}", 0))
            text += bson::to_text(doc);
        return text;
    };
    const auto refuse_each = [&](const char* what, const std::function<int()>& change) {
        const std::string before = stored();
        int refused = 0;
        for (int64_t granted = 0;; ++granted) {
            g_granted = granted;
            storage::test::on_space_request(refuse_behind);
            const int error = change();
            storage::test::on_space_request(nullptr);
            if (error == 0) break;
            if (g_granted >= 0) {
                ADD_FAILURE() << what << " fails by itself: " << error;
                break;
            }
            ++refused;
            EXPECT_TRUE(stored() == before) << what << ", " << granted << " granted";
            expect_valid(fmt::format("{}, {} granted", what, granted));
            if (HasFailure()) break;
        }
        EXPECT_TRUE(stored() != before) << what;
        return refused;
    };
    const auto replace = [&](int id, int from, int keys, size_t pad) {
        return update(id, bson::to_json(document(id, from, keys, pad)));
    };
    EXPECT_GT(refuse_each("in place", [&] { return replace(7, 6, 12, 90); }), 0);
    EXPECT_GT(refuse_each("moved", [&] { return replace(8, 6, 60, 9000); }), 1);
    EXPECT_GT(refuse_each("insert", [&] { return insert_one("c", document(99, 0, 60, 50)); }), 0);
    EXPECT_EQ(
        refuse_each("remove",
                    [&] {
                        return write(bson::from_json(
                            R"({"delete": "c", "deletes": [{"q": {"_id": 8}, "limit": 1}]})"));
                    }),
        0);
}

// The disk has space, but not for the key after the next: changes are undone half-way.
TEST_F(FullDiskTest, EverySpaceRequestMayBeRefused) {
    make_collections();
    bson::TestValues refusals(2);
    g_refusals = &refusals;
    storage::test::on_space_request(refuse_some);
    std::map<std::string, int> refused;
    write_at_random(refused);
    storage::test::on_space_request(nullptr);
    g_refusals = nullptr;
    for (const char* what : {"insert", "update", "push", "upsert", "create", "build"})
        EXPECT_GT(refused[what], 0) << what;
}

}  // namespace
}  // namespace crash
