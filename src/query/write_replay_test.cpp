// Replays the recorded write cases (tests/oracle/README.md) against a collection in memory: what
// updates, inserts and the choice of documents do, without storage, plans or the command layer.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/testing/oracle_file.h"
#include "base/testing/replay_tally.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "bson/testing/shown_document.h"
#include "catalog/index_keys.h"
#include "query/match/match_tree.h"
#include "query/plan/sort.h"
#include "query/project/projection.h"
#include "query/update/update.h"

namespace query {
namespace {

using bson::Doc;
using bson::Element;
using bson::Object;

// Needs storage, indexes or the command layer; judged over the socket.
bool covered(std::string_view id) {
    static constexpr std::string_view kElsewhere[] = {
        "write-capped",          "write-insert-ns",
        "write-insert-shape",    "write-update-shape",
        "write-delete-shape",    "write-delete-limit",
        "write-query-error-fam", "write-fam-shape",
        "write-insert-keylong",  "write-keylong-update",
        "write-insert-parallel", "write-parallel-update",
        "write-insert-hashed",   "write-hashed-update",
        "write-too-large",       "write-move",
        "write-multi-walk",      "write-index-sparse",
        "write-update-first",    "write-delete-first"};
    return std::none_of(std::begin(kElsewhere), std::end(kElsewhere),
                        [&](std::string_view topic) { return id.starts_with(topic); });
}

// Deliberate differences (docs/differences.md).
const char* known_difference(std::string_view id) {
    struct Known {
        std::string_view id;
        const char* reason;
    };
    static constexpr const char* kIndex = "an array index beyond 64 bits is no index, not 0";
    static constexpr Known kKnown[] = {
        {"write-date-timestamp", "dates and timestamps have one order"},
        {"write-path-set-0074", kIndex},
        {"write-path-unset-0074", kIndex},
        {"write-path-inc-007", kIndex},
        {"write-path-push-007", kIndex},
        {"write-conflict-0051", "two spellings of one array index conflict"},
        {"write-conflict-same-operator-0011", "two spellings of one array index conflict"},
        {"write-set-dbref-0002", "shown by the recording client with a $id that is not there"},
        {"write-replace-id-type-0019", "the document can't be inserted in the first place"},
    };
    for (const Known& known : kKnown) {
        if (id.starts_with(known.id)) return known.reason;
    }
    return nullptr;
}

bool same_code(int64_t want, int got) {
    // Wrappers of 2.6 around any specific error, or no code at all.
    if (want == 16837 || want == 16836 || want == -1) return got != 0;
    if (want == 10334) return got == 17419 || got == 17420 || got == 10334;
    if (want == 17287 || want == 17144) return got == 2 || got == want;
    return want == got;
}

// One collection: documents in natural order, and the keys its indexes would hold.
class Collection {
  public:
    // `keys` as pairs of name and direction.
    void add_index(const Element& keys, Doc options) {
        bson::Builder spec;
        {
            auto pattern = spec.sub_object("key");
            for (const Element& pair : keys.as_doc()) {
                pattern.append_as(pair.as_doc()["0"].as_string(), pair.as_doc()["1"]);
            }
        }
        spec.append_all(options);
        indexes_.push_back({catalog::KeyGenerator::make(spec.doc()), options["unique"].truthy()});
    }

    // Throws what storing `doc` in place of `except` would.
    void check(Doc doc, const Object* except) const {
        for (const Object& other : docs_) {
            if (&other != except && bson::equal_values(other["_id"], doc["_id"])) {
                throw duplicate();
            }
        }
        for (const Index& index : indexes_) {
            const auto keys = keys_of(index, doc);
            if (!index.unique) continue;
            for (const Object& other : docs_) {
                if (&other == except) continue;
                if (share_key(keys, keys_of(index, other))) throw duplicate();
            }
        }
    }

    std::vector<Object>& docs() { return docs_; }

  private:
    struct Index {
        std::unique_ptr<catalog::KeyGenerator> generator;
        bool unique;
    };

    static base::Error duplicate() { return {base::kDuplicateKey, "duplicate key"}; }

    static std::vector<Object> keys_of(const Index& index, Doc doc) {
        catalog::KeySet set;
        index.generator->keys(doc, set);
        std::vector<Object> keys;
        for (size_t i = 0; i < set.size(); ++i)
            keys.emplace_back(set[i]);
        return keys;
    }

    static bool share_key(const std::vector<Object>& a, const std::vector<Object>& b) {
        return std::any_of(a.begin(), a.end(), [&](const Object& x) {
            return std::any_of(b.begin(), b.end(),
                               [&](const Object& y) { return bson::compare_keys(x, y, 0) == 0; });
        });
    }

    std::vector<Object> docs_;
    std::vector<Index> indexes_;
};

struct Outcome {
    int64_t n = 0;
    int64_t modified = 0;
    std::vector<std::pair<int, Object>> upserted;
    std::vector<std::pair<int, int>> errors;
};

class Replay {
  public:
    explicit Replay(Doc line) : line_(line) {}

    // Empty if all steps and the final documents are as recorded.
    std::string run() {
        const Doc before = line_["before"].as_doc();
        if (before.has("indexes")) {
            for (const Element& index : before["indexes"].as_doc()) {
                collection_.add_index(index.as_doc()["0"], index.as_doc()["1"].as_doc());
            }
        }
        for (const Element& doc : before["docs"].as_doc())
            insert_one(doc.as_doc());
        auto want = line_["want"].as_doc().begin();
        int number = 0;
        for (const Element& step : line_["steps"].as_doc()) {
            const std::string difference = run_step(step.as_doc(), want->as_doc());
            if (!difference.empty()) {
                return "step " + std::to_string(number) + ": " + difference;
            }
            ++want;
            ++number;
        }
        return check_after();
    }

  private:
    std::string run_step(Doc step, Doc want) {
        const std::string_view op = step.first().name();
        const Doc args = step.first().as_doc();
        try {
            if (op == "insert") return compare(insert(args), want, false);
            if (op == "update") return compare(update(args), want, true);
            if (op == "delete") return compare(remove(args), want, false);
            if (op == "findAndModify") return find_and_modify(args, want);
            if (op == "find") return find(args, want);
            if (op == "count") return count(args, want);
            if (op == "command") return command(args, step["pick"], want);
        } catch (const base::Error& e) {
            if (want["top"].truthy() && same_code(want["code"].to_int64(), e.code())) return {};
            return std::string("threw ") + std::to_string(e.code()) + " " + e.what() + ", wanted " +
                   bson::to_json(want);
        }
        return "unknown operation " + std::string(op);
    }

    void insert_one(Doc doc) {
        bson::Buffer fixed;
        const bool changed = fix_for_insert(doc, true, fixed);
        store(Object(changed ? Doc(fixed.data()) : doc));
    }

    void store(Object doc) {
        collection_.check(doc, nullptr);
        collection_.docs().push_back(std::move(doc));
    }

    template <typename Items, typename Each>
    Outcome for_items(const Items& items, bool ordered, Each each) {
        Outcome outcome;
        int index = 0;
        for (const Element& item : items) {
            try {
                each(item.as_doc(), index, outcome);
            } catch (const base::Error& e) {
                outcome.errors.emplace_back(index, e.code());
                if (ordered) break;
            }
            ++index;
        }
        return outcome;
    }

    static bool ordered(Doc args) { return !args.has("ordered") || args["ordered"].truthy(); }

    Outcome insert(Doc args) {
        return for_items(args["documents"].as_doc(), ordered(args),
                         [this](Doc doc, int, Outcome& outcome) {
                             insert_one(doc);
                             ++outcome.n;
                         });
    }

    Outcome update(Doc args) {
        return for_items(
            args["updates"].as_doc(), ordered(args),
            [this](Doc item, int index, Outcome& outcome) { update_one(item, index, outcome); });
    }

    void update_one(Doc item, int index, Outcome& outcome) {
        const bool multi = item["multi"].truthy();
        const auto update = Update::parse(item["u"].as_doc(), {multi, item["upsert"].truthy()});
        const auto matcher = Matcher::parse(item["q"].as_doc());
        int64_t n = 0;
        int64_t modified = 0;
        for (Object& doc : collection_.docs()) {
            MatchDetails details;
            details.want_index = update->needs_details();
            if (!matcher->matches(doc, &details)) continue;
            ++n;
            if (apply(*update, doc, details)) ++modified;
            if (!multi) break;
        }
        if (n == 0 && item["upsert"].truthy()) {
            bson::Buffer out;
            update->build_upsert(*matcher, out);
            Object doc{Doc(out.data())};
            store(doc);
            outcome.upserted.emplace_back(index, doc);
            n = 1;
        }
        outcome.n += n;
        outcome.modified += modified;
    }

    // Changes a stored document in place of the storage layer.
    bool apply(Update& update, Object& doc, const MatchDetails& details) {
        bson::Buffer out;
        const UpdateResult result = update.apply(doc, details, out);
        if (!result.changed) {
            EXPECT_EQ(out.size(), 0U);
            return false;
        }
        Object now;
        if (result.in_place) {
            std::vector<uint8_t> bytes = doc.bytes();
            for (const Patch& patch : result.patches) {
                std::copy_n(patch.bytes, patch.size, bytes.begin() + patch.offset);
            }
            now = Object(Doc(bytes.data()));
        } else {
            now = Object(Doc(out.data()));
        }
        collection_.check(now, &doc);
        doc = now;
        return true;
    }

    Outcome remove(Doc args) {
        return for_items(args["deletes"].as_doc(), ordered(args),
                         [this](Doc item, int, Outcome& outcome) {
                             const auto matcher = Matcher::parse(item["q"].as_doc());
                             auto& docs = collection_.docs();
                             const bool one = item["limit"].to_int64() == 1;
                             for (auto it = docs.begin(); it != docs.end();) {
                                 if (!matcher->matches(*it)) {
                                     ++it;
                                     continue;
                                 }
                                 it = docs.erase(it);
                                 ++outcome.n;
                                 if (one) break;
                             }
                         });
    }

    static std::string compare(const Outcome& got, Doc want, bool is_update) {
        bson::Builder b;
        b.append("n", static_cast<int32_t>(got.n));
        if (is_update) b.append("nModified", static_cast<int32_t>(got.modified));
        if (!got.upserted.empty()) {
            auto list = b.sub_array("upserted");
            for (const auto& [index, doc] : got.upserted) {
                auto pair = list.sub_array(list.next().view());
                pair.push(static_cast<int32_t>(index));
                pair.push_element(doc["_id"]);
            }
        }
        if (!got.errors.empty()) {
            auto list = b.sub_array("errors");
            for (const auto& [index, code] : got.errors) {
                auto pair = list.sub_array(list.next().view());
                pair.push(static_cast<int32_t>(index));
                pair.push(static_cast<int32_t>(wanted_code(want["errors"], index, code)));
            }
        }
        return difference(b.doc(), want);
    }

    // The recorded code where ours may stand for it.
    static int wanted_code(const Element& errors, int index, int code) {
        if (!errors) return code;
        for (const Element& pair : errors.as_doc()) {
            const int64_t want = pair.as_doc()["1"].to_int64();
            if (pair.as_doc()["0"].to_int64() == index && same_code(want, code)) {
                return static_cast<int>(want);
            }
        }
        return code;
    }

    static std::string difference(Doc got, Doc want) {
        if (bson::as_shown(got).bytes() == bson::as_shown(want).bytes()) return {};
        return "got " + bson::to_json(got) + " want " + bson::to_json(want);
    }

    // The documents of a find, sorted and projected.
    std::vector<Object> select(const Matcher& matcher, const Element& sort) {
        std::vector<Object> found;
        for (const Object& doc : collection_.docs()) {
            if (matcher.matches(doc)) found.push_back(doc);
        }
        if (!sort.is_object() || sort.as_doc().empty() || sort.as_doc().has("$natural")) {
            return found;
        }
        const SortPattern pattern(sort.as_doc());
        std::vector<std::pair<Object, Object>> keyed;
        for (const Object& doc : found) {
            bson::Buffer key;
            pattern.append_key(doc, key);
            keyed.emplace_back(Object(Doc(key.data())), doc);
        }
        std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
            return bson::compare_keys(a.first, b.first, pattern.descending_bits()) < 0;
        });
        found.clear();
        for (auto& [key, doc] : keyed)
            found.push_back(doc);
        return found;
    }

    static Object project(Doc doc, const Element& spec, const Matcher& matcher) {
        const auto projection =
            spec.is_object() ? Projection::parse(spec.as_doc(), &matcher) : nullptr;
        if (!projection) return Object(doc);
        MatchDetails details;
        details.want_index = projection->needs_details();
        matcher.matches(doc, &details);
        bson::Buffer out;
        projection->apply(doc, &details, out);
        return Object(Doc(out.data()));
    }

    static Object project_value(Doc doc, const Element& fields) {
        const auto projection =
            fields.is_object() ? Projection::parse_by_name(fields.as_doc()) : nullptr;
        if (!projection) return Object(doc);
        bson::Buffer out;
        projection->apply(doc, nullptr, out);
        return Object(Doc(out.data()));
    }

    std::string find(Doc args, Doc want) {
        if (args.has("hint")) return {};  // asks what an index holds
        const auto matcher = Matcher::parse(args["filter"].as_doc());
        bson::Builder b;
        auto list = b.sub_array("docs");
        for (const Object& doc : select(*matcher, args["sort"])) {
            list.push(project(doc, args["projection"], *matcher).doc());
        }
        list.finish();
        return difference(b.doc(), want);
    }

    std::string count(Doc args, Doc want) {
        const auto matcher = Matcher::parse(args["query"].as_doc());
        const auto n = static_cast<int32_t>(select(*matcher, Element()).size());
        return difference(bson::make("n", n), want);
    }

    std::string find_and_modify(Doc args, Doc want) {
        const Doc query = args["query"].is_object() ? args["query"].as_doc() : Doc();
        const auto matcher = Matcher::parse(query);
        const bool removes = args["remove"].truthy();
        const bool gives_new = args["new"].truthy();
        const std::vector<Object> found = select(*matcher, args["sort"]);
        std::unique_ptr<Update> update;
        if (!removes) {
            update = Update::parse(args["update"].as_doc(), {false, args["upsert"].truthy()});
        }
        bson::Builder b;
        Object value;
        bool has_value = false;
        Object upserted;
        if (!found.empty()) {
            auto& docs = collection_.docs();
            const auto at = std::find_if(docs.begin(), docs.end(), [&](const Object& doc) {
                return bson::equal_values(doc["_id"], found[0]["_id"]);
            });
            has_value = true;
            if (!gives_new) value = project_value(*at, args["fields"]);
            if (removes) {
                docs.erase(at);
            } else {
                MatchDetails details;
                details.want_index = update->needs_details();
                matcher->matches(*at, &details);
                apply(*update, *at, details);
                if (gives_new) value = project_value(*at, args["fields"]);
            }
        } else if (!removes && args["upsert"].truthy()) {
            bson::Buffer out;
            update->build_upsert(*matcher, out);
            upserted = Object(Doc(out.data()));
            store(upserted);
            // With a sort 2.6 gave {} for the document that was not there.
            has_value = gives_new || (args["sort"].is_object() && !args["sort"].as_doc().empty());
            if (gives_new) value = project_value(upserted, args["fields"]);
        }
        if (has_value) {
            b.append("value", value);
        } else {
            b.append_null("value");
        }
        if (want.has("n")) {
            b.append("n", static_cast<int32_t>(!found.empty() || !upserted.empty()));
        }
        if (want.has("updatedExisting")) b.append("updatedExisting", !found.empty());
        if (want.has("upserted")) b.append_as("upserted", upserted["_id"]);
        return difference(b.doc(), want);
    }

    // insert, update and delete in command form, with the picked parts of the reply.
    std::string command(Doc args, const Element& pick, Doc want) {
        const std::string_view name = args.first().name();
        if (name == "validate") return {};  // of the storage
        Outcome outcome;
        if (name == "insert") {
            outcome = insert(args);
        } else if (name == "update") {
            outcome = update(args);
        } else if (name == "delete") {
            outcome = remove(args);
        } else {
            return "unknown command " + std::string(name);
        }
        bson::Builder b;
        auto reply = b.sub_object("reply");
        for (const Element& path : pick.as_doc()) {
            append_picked(reply, path.as_string(), outcome, want["reply"], name == "update");
        }
        reply.finish();
        return difference(b.doc(), want);
    }

    static void append_picked(bson::Builder& out, std::string_view path, const Outcome& outcome,
                              const Element& want, bool is_update) {
        if (path == "n") out.append(path, static_cast<int32_t>(outcome.n));
        if (path == "nModified" && is_update) {
            out.append(path, static_cast<int32_t>(outcome.modified));
        }
        for (size_t i = 0; i < outcome.errors.size(); ++i) {
            const std::string at = "writeErrors." + std::to_string(i);
            const auto& [index, code] = outcome.errors[i];
            if (path == at + ".index") out.append(path, static_cast<int32_t>(index));
            if (path == at + ".code") {
                const int64_t wanted = want ? want.as_doc()[path].to_int64() : 0;
                out.append(path, static_cast<int32_t>(same_code(wanted, code) ? wanted : code));
            }
        }
    }

    std::string check_after() {
        if (!line_["after"].is_array()) return {};
        std::vector<Object> docs = collection_.docs();
        std::stable_sort(docs.begin(), docs.end(), [](const Object& a, const Object& b) {
            return bson::compare_values(a["_id"], b["_id"]) < 0;
        });
        bson::Builder b;
        {
            auto list = b.sub_array("after");
            for (const Object& doc : docs)
                list.push(doc.doc());
        }
        bson::Builder want;
        want.append(line_["after"]);
        const std::string text = difference(b.doc(), want.doc());
        return text.empty() ? text : "after: " + text;
    }

    Doc line_;
    Collection collection_;
};

TEST(WriteReplay, RecordedCases) {
    base::ReplayTally tally;
    base::for_each_oracle_line("write.jsonl.xz", [&](const std::string& text) {
        const Object line = bson::parse_test_json(text);
        const std::string id(line["id"].as_string());
        if (!covered(id)) return;
        std::string difference;
        try {
            difference = Replay(line).run();
        } catch (const base::Error& e) {
            difference = std::string("threw ") + e.what();
        }
        tally.add(id, difference, known_difference(id));
    });
    tally.print("write cases");
    EXPECT_GE(tally.passed() * 100, tally.total() * 99);
}

}  // namespace
}  // namespace query
