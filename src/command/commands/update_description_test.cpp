// Random updates, and what a change stream says of them: what it describes, done to the document as
// it was, gives the document as it is.
#include <fmt/core.h>

#include <algorithm>
#include <random>

#include "base/testing/effort.h"
#include "command/commands/testing/replica_set.h"

namespace command {
namespace {

class UpdateDescriptionTest : public ReplicaSetTest {
  protected:
    UpdateDescriptionTest() { initiate(); }

    size_t pick(size_t below) {
        return std::uniform_int_distribution<size_t>(0, below - 1)(random_);
    }
    const char* one_of(std::initializer_list<const char*> choices) {
        return choices.begin()[pick(choices.size())];
    }
    std::string value(int depth = 0) {
        switch (pick(depth < 2 ? 9 : 6)) {
            case 0:
                return fmt::format("{}", pick(5));
            case 1:
                return fmt::format("{}.5", pick(5));
            case 2:
                return fmt::format("\"t{}\"", pick(5));
            case 3:
                return "null";
            case 4:
                return one_of({"[]", "{}", "true"});
            case 5:
                return fmt::format(R"({{"$numberLong": "{}"}})", pick(5));
            case 6:
                return fmt::format("[{}, {}]", value(depth + 1), value(depth + 1));
            case 7:
                return fmt::format(R"({{"p": {}, "q": {}}})", value(depth + 1), value(depth + 1));
            default:
                return fmt::format(R"([{{"p": {}}}, {}, 3])", value(depth + 1), value(depth + 1));
        }
    }
    const char* path() {
        return one_of({"a", "b", "l", "o", "o.p", "o.q", "o.p.q", "l.0", "l.1.p", "l.3", "n", "z"});
    }
    // The `u` of an update.
    std::string update() {
        switch (pick(17)) {
            case 0:
                return fmt::format(R"({{"$set": {{"{}": {}}}}})", path(), value());
            case 1:
                return fmt::format(R"({{"$unset": {{"{}": 1}}}})", path());
            case 2:
                return fmt::format(R"({{"$inc": {{"n": {}}}}})", pick(4));
            case 3:
                return fmt::format(R"({{"$push": {{"{}": {}}}}})", one_of({"l", "o.p", "a"}),
                                   value());
            case 4:
                return fmt::format(R"({{"$push": {{"l": {{"$each": [{}, {}], "$slice": {}}}}}}})",
                                   value(), value(), static_cast<int>(pick(5)) - 2);
            case 5:
                return fmt::format(R"({{"$pop": {{"l": {}}}}})", pick(2) == 0 ? 1 : -1);
            case 6:
                return fmt::format(R"({{"$pull": {{"l": {}}}}})", value());
            case 7:
                return fmt::format(R"({{"$rename": {{"{}": "{}"}}}})", one_of({"a", "b", "o.p"}),
                                   one_of({"c", "z", "o.q"}));
            case 8:
                return fmt::format(R"([{{"$set": {{"{}": {}}}}}])", one_of({"a", "o.p", "o", "l"}),
                                   value());
            case 9:
                return fmt::format(
                    R"([{{"$unset": "{}"}}, {{"$set": {{"n": {{"$add": [1, 2]}}}}}}])",
                    one_of({"a", "o.p", "b"}));
            case 10:
                return R"([{"$set": {"l": {"$cond": [{"$isArray": "$l"},
                                                     {"$slice": ["$l", 2]}, []]}}}])";
            case 11:
                return fmt::format(
                    R"([{{"$replaceWith": {{"$mergeObjects": ["$$ROOT", {{"{}": {}}}]}}}}])",
                    one_of({"a", "b", "z"}), value());
            case 12:
                return fmt::format(R"({{"$set": {{"{}": {}}}, "$unset": {{"{}": 1}}}})",
                                   one_of({"a", "o"}), value(), one_of({"b", "n", "l"}));
            case 13:
                return fmt::format(R"([{{"$set": {{"l": {{"$concatArrays": [
                                       {{"$cond": [{{"$isArray": "$l"}}, "$l", [1, 2]]}},
                                       [{}, 7]]}}}}}}])",
                                   value());
            case 14:
                return R"([{"$set": {"o.q": {"$cond": [{"$isArray": "$o.q"},
                                                       {"$slice": ["$o.q", 1]}, [1, 2, 3, 4]]}}}])";
            case 15:
                return fmt::format(R"([{{"$set": {{"l": {{"$filter": {{
                                       "input": {{"$cond": [{{"$isArray": "$l"}}, "$l", []]}},
                                       "cond": {{"$ne": ["$$this", {}]}}}}}}}}}}])",
                                   value());
            default:
                return fmt::format(R"({{"a": {}, "o": {}, "l": [1, {}]}})", value(), value(),
                                   value());
        }
    }
    bson::Object found(const char* collection) {
        const bson::Object reply = run(fmt::format(R"({{"find": "{}"}})", collection));
        return bson::Object(reply.doc().at_path("cursor.firstBatch").as_doc().first().as_doc());
    }
    void change_copy(const bson::Object& change) {
        bson::Builder command;
        command.append("update", "copy");
        {
            bson::Builder updates = command.sub_array("updates");
            updates.push(bson::make("q", bson::make("_id", 1), "u", change));
        }
        const bson::Object reply = run(command.object());
        ASSERT_EQ(code(reply), 0) << bson::to_text(reply.doc());
        ASSERT_FALSE(reply.doc().has("writeErrors")) << bson::to_text(reply.doc());
    }
    // Does to the copy what a reader of the stream does to its own.
    void follow(bson::Doc event) {
        bson::Builder change;
        if (event["operationType"].as_string() == "replace") {
            change.append_all(event["fullDocument"].as_doc());
        } else {
            ASSERT_EQ(event["operationType"].as_string(), "update");
            const bson::Doc description = event["updateDescription"].as_doc();
            if (!description["updatedFields"].as_doc().empty())
                change.append("$set", description["updatedFields"].as_doc());
            if (!description["removedFields"].as_doc().empty()) {
                bson::Builder gone = change.sub_object("$unset");
                for (const bson::Element& e : description["removedFields"].as_doc())
                    gone.append(e.as_string(), true);
            }
            for (const bson::Element& e : description["truncatedArrays"].as_doc()) {
                ASSERT_NO_FATAL_FAILURE(change_copy(shortened(e.as_doc())));
                ++truncations_;
            }
            if (change.doc().empty()) return;
        }
        change_copy(change.object());
    }
    static bson::Object shortened(bson::Doc array) {
        bson::Builder update;
        {
            bson::Builder push = update.sub_object("$push");
            bson::Builder cut = push.sub_object(array["field"].as_string());
            cut.sub_array("$each").finish();
            cut.append("$slice", array["newSize"].to_int32());
        }
        return update.object();
    }

    std::mt19937_64 random_;
    int truncations_ = 0;
};

TEST_F(UpdateDescriptionTest, GivesTheNextDocument) {
    const uint64_t seed = std::random_device()();
    SCOPED_TRACE(fmt::format("seed {}", seed));
    random_.seed(seed);
    int updates = 0, replaces = 0;
    const auto has_some = [&] { return std::min({updates, replaces, truncations_}) > 5; };
    const int rounds = base::test_effort(20);
    for (int round = 0; round < rounds || (round < 200 && !has_some()); ++round) {
        run(R"({"drop": "c"})");
        run(R"({"drop": "copy"})");
        const std::string first = fmt::format(
            R"({{"_id": 1, "a": {}, "o": {{"p": {}, "q": [1, 2]}}, "l": [1, {{"p": 2}}, {}],
                "n": 1}})",
            value(), value(), value());
        for (const char* collection : {"c", "copy"})
            run(fmt::format(R"({{"insert": "{}", "documents": [{}]}})", collection, first));
        const bson::Object opened =
            run(R"({"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {}})");
        const int64_t id = opened.doc().at_path("cursor.id").to_int64();
        ASSERT_NE(id, 0) << bson::to_text(opened.doc());
        for (int i = 0; i < 40; ++i) {
            const bson::Object before = found("c");
            const std::string change = update();
            const bson::Object reply = run(fmt::format(
                R"({{"update": "c", "updates": [{{"q": {{"_id": 1}}, "u": {}}}]}})", change));
            if (reply["nModified"].to_int64() == 0) continue;  // refused, or no change
            bson::Object more;
            do {
                more = run(fmt::format(R"({{"getMore": {{"$numberLong": "{}"}},
                                            "collection": "c", "maxTimeMS": 1000}})",
                                       id));
                ASSERT_EQ(code(more), 0) << bson::to_text(more.doc());
            } while (more.doc().at_path("cursor.nextBatch").as_doc().empty());
            const bson::Doc batch = more.doc().at_path("cursor.nextBatch").as_doc();
            ASSERT_EQ(batch.field_count(), 1);
            const bson::Doc event = batch.first().as_doc();
            (event["operationType"].as_string() == "update" ? updates : replaces) += 1;
            ASSERT_NO_FATAL_FAILURE(follow(event)) << bson::to_text(before.doc()) << change;
            ASSERT_EQ(bson::to_text(found("copy").doc()), bson::to_text(found("c").doc()))
                << bson::to_text(before.doc()) << " " << change << " "
                << bson::to_text(event["updateDescription"]);
        }
        run(fmt::format(R"({{"killCursors": "c", "cursors": [{{"$numberLong": "{}"}}]}})", id));
    }
    EXPECT_TRUE(has_some()) << updates << " " << replaces << " " << truncations_;
}

}  // namespace
}  // namespace command
