// Replays the recorded index keys (tests/oracle/key.jsonl.xz) on the key generators: hashes, scan
// order, keys, counts and the multikey flag, with an index held in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/testing/oracle_file.h"
#include "bson/compare.h"
#include "bson/testing/json.h"
#include "catalog/index_keys.h"
#include "query/match/match_tree.h"

namespace query {
namespace {

using bson::Doc;
using bson::Element;
using bson::Object;

// Where ours answers otherwise, and why.
struct Difference {
    const char* reason;
    std::vector<const char*> ids;
};
const Difference kDifferences[] = {
    {"null matches undefined with a hashed index, too",
     {"key-hash-index-0012", "key-hash-index-0039"}},
    {"timestamps from 2^31 seconds on are not lost to index bounds", {"key-order-0016"}},
    {"an index gives the answers of a scan: null and the ends of the order on paths over arrays",
     {"key-sparse-query-0052", "key-null-query-0033", "key-null-query-0039", "key-null-query-0077",
      "key-null-query-0082", "key-null-query-0087", "key-null-query-0088"}},
};

bool is_difference(std::string_view id) {
    for (const Difference& d : kDifferences)
        if (std::find(d.ids.begin(), d.ids.end(), id) != d.ids.end()) return true;
    return false;
}

// One collection with one index, as the server would have them.
class IndexedDocs {
  public:
    IndexedDocs(Doc documents, Doc index) {
        auto part = index.begin();
        const Object pattern(part->as_doc());
        bson::Builder spec;
        spec.append("key", pattern);
        spec.append_all((++part)->as_doc());
        spec_ = spec.object();
        generator_ = catalog::KeyGenerator::make(spec_);
        for (const Element& e : documents)
            insert(e.as_doc());
        std::stable_sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
            const int c = bson::compare_keys(a.key, b.key, generator_->descending_bits());
            return c != 0 ? c < 0 : a.doc < b.doc;
        });
    }

    Doc pattern() const { return spec_["key"].as_doc(); }
    bool multikey() const { return multikey_; }
    size_t documents() const { return docs_.size(); }
    size_t keys() const { return entries_.size(); }

    struct Found {
        const Object* doc;
        const Object* key;
    };
    // The matching documents of a scan, each at its first key.
    std::vector<Found> scan(const Matcher& filter, bool backward) const {
        std::vector<bool> seen(docs_.size());
        std::vector<Found> found;
        for (size_t i = 0; i < entries_.size(); ++i) {
            const Entry& entry = entries_[backward ? entries_.size() - 1 - i : i];
            if (seen[entry.doc] || !filter.matches(docs_[entry.doc])) continue;
            seen[entry.doc] = true;
            found.push_back({&docs_[entry.doc], &entry.key});
        }
        return found;
    }

  private:
    struct Entry {
        Object key;
        size_t doc;
    };

    // Documents that have no keys (parallel arrays) are not stored.
    void insert(Doc doc) {
        catalog::KeySet keys;
        try {
            generator_->keys(doc, keys);
        } catch (const base::Error&) {
            return;
        }
        for (size_t i = 0; i < keys.size(); ++i)
            entries_.push_back({Object(keys[i]), docs_.size()});
        docs_.emplace_back(doc);
        multikey_ = multikey_ || keys.multikey();
    }

    Object spec_;
    std::unique_ptr<catalog::KeyGenerator> generator_;
    std::vector<Object> docs_;
    std::vector<Entry> entries_;
    bool multikey_ = false;
};

std::string bytes_of(Doc doc) {
    return {reinterpret_cast<const char*>(doc.data()), static_cast<size_t>(doc.size())};
}

Object only_id(const Element& id) {
    bson::Builder out;
    out.append(id);
    return out.object();
}

// The recording client shows some old types as others.
void append_shown(bson::Builder& out, std::string_view name, const Element& value) {
    switch (value.type()) {
        case bson::Type::undefined:
            out.append_null(name);
            return;
        case bson::Type::symbol:
            out.append(name, value.as_string());
            return;
        case bson::Type::db_pointer: {
            bson::Builder reference = out.sub_object(name);
            reference.append("$ref", value.as_string());
            reference.append("$id",
                             bson::load<bson::ObjectId>(value.value() + value.value_size() - 12));
            return;
        }
        default:
            out.append_as(name, value);
    }
}

Object named_key(Doc pattern, Doc key) {
    bson::Builder out;
    auto value = key.begin();
    for (const Element& e : pattern) {
        append_shown(out, e.name(), *value);
        ++value;
    }
    return out.object();
}

bool find_agrees(const IndexedDocs& index, Doc args, Doc want) {
    const Doc filter = args["filter"].as_doc();
    bool backward = false;
    if (args["sort"]) {
        const Element by = args["sort"].as_doc().first();
        backward = (by.to_double() < 0) != (index.pattern()[by.name()].to_double() < 0);
    }
    std::vector<std::string> got;
    for (const auto& found : index.scan(*Matcher::parse(filter), backward)) {
        got.push_back(bytes_of(args["returnKey"].truthy()
                                   ? named_key(index.pattern(), found.key->doc())
                                   : only_id((*found.doc)["_id"])));
    }
    std::vector<std::string> wanted;
    for (const Element& e : want["docs"].as_doc())
        wanted.push_back(bytes_of(e.as_doc()));
    // A filter on an array moves documents to their first matching key; "g" is never an array.
    if (index.multikey() && !filter.empty() && filter.first().name() != "g") {
        std::sort(got.begin(), got.end());
        std::sort(wanted.begin(), wanted.end());
    }
    return got == wanted;
}

bool counts_agree(const IndexedDocs& index, Doc want) {
    const Doc counts = want["reply"].as_doc()["keysPerIndex"].as_doc();
    for (const Element& e : counts) {
        const bool id = e.name().ends_with("$_id_");
        if (e.to_int64() != static_cast<int64_t>(id ? index.documents() : index.keys()))
            return false;
    }
    return true;
}

bool is_unique(Doc index) {
    for (const Element& part : index)
        if (part.as_doc()["unique"].truthy()) return true;
    return false;
}

class Replay {
  public:
    void line(const Object& line) {
        if (line["collection"]) {
            const Doc indexes = line["indexes"].as_doc();
            if (indexes.empty() || is_unique(indexes.first().as_doc())) return;
            collections_.emplace(std::string(line["collection"].as_string()),
                                 IndexedDocs(line["docs"].as_doc(), indexes.first().as_doc()));
            return;
        }
        if (line["op"].missing()) return;
        const Element op = line["op"].as_doc().first();
        const auto on = collections_.find(std::string(line["on"].as_string()));
        if (op.as_doc()["_hashBSONElement"])
            hash(line, op.as_doc());
        else if (on != collections_.end())
            read(line, on->second, op);
    }
    int covered = 0;

  private:
    void hash(const Object& line, Doc command) {
        if (line["want"].as_doc()["code"]) return;  // a seed that the command refuses
        ++covered;
        EXPECT_EQ(
            catalog::hash_value(command["_hashBSONElement"], catalog::hash_seed(command["seed"])),
            line["want"].as_doc()["reply"].as_doc()["out"].to_int64())
            << line["id"].as_string();
    }

    void read(const Object& line, const IndexedDocs& index, const Element& op) {
        const Doc args = op.as_doc();
        const Doc want = line["want"].as_doc();
        const bool keys_or_ids = args["returnKey"] || (args["projection"] &&
                                                       args["projection"].as_doc()["_id"].truthy());
        const bool by_index =
            args["hint"].is_object() && !args["min"] && !args["max"] && keys_or_ids;
        bool same = true;
        if (want["code"]) return;  // bad filters; the reads' replay has many
        if (op.name() == "find" && by_index)
            same = find_agrees(index, args, want);
        else if (args["validate"])
            same = counts_agree(index, want);
        else if (op.name() == "explain" && args["filter"].as_doc().empty())
            same = want["plan"].as_doc()["isMultiKey"].truthy() == index.multikey();
        else
            return;
        ++covered;
        EXPECT_NE(same, is_difference(line["id"].as_string())) << line["id"].as_string();
    }

    std::map<std::string, IndexedDocs> collections_;
};

TEST(Oracle, Keys) {
    Replay replay;
    base::for_each_oracle_line("key.jsonl.xz", [&](const std::string& text) {
        const Object line = bson::parse_test_json(text);
        replay.line(line);
    });
    EXPECT_GT(replay.covered, 1000);
}

}  // namespace
}  // namespace query
