// Replays the recorded reads (tests/oracle/find.jsonl.xz) on the library itself: no index,
// documents in memory, matcher, sort, skip, limit and projection as a collection scan would use
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/testing/oracle_file.h"
#include "bson/testing/json.h"
#include "query/plan/distinct.h"
#include "query/plan/query.h"
#include "query/plan/sort.h"

namespace query {
namespace {

using bson::Doc;
using bson::Element;
using bson::Object;
using Docs = std::vector<Object>;

// Answers that need a server, an index or its order.
constexpr const char* kNotHere[] = {
    "find-hint",        "find-minmax",     "find-rand-minmax",  "find-rand-hint",
    "find-modifiers",   "find-count-args", "find-count-hint",   "find-natural-ix",
    "find-sort-memory", "find-id-order",   "find-sort-ties-ix",
};

// Where ours answers otherwise, and why.
struct Difference {
    const char* reason;
    std::vector<const char*> ids;
};
const Difference kDifferences[] = {
    {"$ne and $nin of null on a dotted path lost documents by an index",
     {"find-ix-path-null-0002", "find-ix-path-null-0003", "find-rand-ix-nested-other-0006",
      "find-rand-ix-nested-other-0016", "find-rand-ix-nested-other-0025",
      "find-rand-ix-nested-other-0031", "find-rand-ix-nested-other-0038",
      "find-rand-ix-nested-other-0061", "find-rand-ix-nested-other-0072",
      "find-rand-ix-sort-array-0003", "find-rand-ix-array-other-0043",
      "find-rand-ix-array-other-0077"}},
    {"sorted by any element that a range end allows which is an array, or null",
     {"find-sort-types-query-0005", "find-sort-odd-types-0003"}},
    {"$type by name is answered",
     {"find-rand-error-query-0054", "find-rand-error-query-0059", "find-rand-error-query-0063",
      "find-rand-error-query-0070"}},
    {"a regular expression that is none is refused",
     {"find-ix-regex-prefix-0029", "find-regex-bad-0001", "find-regex-bad-0004",
      "find-regex-bad-0005", "find-regex-bad-0007", "find-regex-bad-ix-0002",
      "find-regex-bad-ix-0003", "find-regex-operator-0009"}},
    {"a document without a sort key has one code, whatever the plan",
     {"find-sort-path-ambiguous-0002", "find-sort-path-ambiguous-0004",
      "find-sort-path-ambiguous-0006"}},
};

bool starts_with_any(const std::string& topic) {
    return std::any_of(std::begin(kNotHere), std::end(kNotHere),
                       [&](const char* prefix) { return topic.starts_with(prefix); });
}

bool is_difference(const std::string& id) {
    for (const Difference& d : kDifferences)
        if (std::find(d.ids.begin(), d.ids.end(), id) != d.ids.end()) return true;
    return false;
}

// "find-path-null" of "find-path-null-0003".
std::string topic_of(const Object& line) {
    const std::string id(line["id"].as_string());
    return id.substr(0, id.rfind('-'));
}

// As stored: _id first.
Object stored(Doc doc) {
    bson::Builder out;
    out.append(doc["_id"]);
    for (const Element& e : doc)
        if (e.name() != "_id") out.append(e);
    return out.object();
}

Doc document_or_empty(const Element& e) {
    return e.is_object() ? e.as_doc() : Doc();
}

struct Answer {
    int code = 0;
    Docs docs;
    int64_t n = 0;
    Object values;
};

// {$query, $orderby} of the old protocol is taken apart as the server does.
FindQuery canonical(Doc args) {
    FindQuery::Parts parts;
    parts.filter = document_or_empty(args["filter"]);
    parts.sort = document_or_empty(args["sort"]);
    parts.hint = args["hint"];
    // The client that asked sends an empty projection as {_id: 1}.
    static const Object only_id = bson::make("_id", 1);
    parts.projection = document_or_empty(args["projection"]);
    if (args["projection"] && parts.projection.empty()) parts.projection = only_id;
    if (parts.filter.first().name() == "$query") {
        parts.sort = document_or_empty(parts.filter["$orderby"]);
        parts.filter = document_or_empty(parts.filter["$query"]);
    }
    FindQuery query;
    query.skip = args["skip"].to_int64();
    query.limit = std::abs(args["limit"].to_int64());  // negative: one batch only
    query.canonicalise(parts);
    return query;
}

Answer find(const Docs& collection, Doc args) {
    const FindQuery query = canonical(args);
    const SortPattern pattern(query.sort, query.matcher.get());
    DocumentSorter sorter(pattern, query.limit == 0 ? 0 : query.skip + query.limit);
    MatchDetails details;
    details.want_index = query.projection != nullptr && query.projection->needs_details();
    std::vector<std::pair<Doc, MatchDetails>> found;
    for (size_t i = 0; i < collection.size(); ++i) {
        const bool backward = query.natural < 0;
        const Doc doc = collection[backward ? collection.size() - 1 - i : i].doc();
        if (!query.matcher->matches(doc, &details)) continue;
        if (query.sort.empty())
            found.emplace_back(doc, details);
        else
            sorter.add(doc, i, details);
    }
    sorter.finish();
    Doc doc;
    uint64_t tag = 0;
    while (sorter.next(&doc, &tag, &details))
        found.emplace_back(doc, details);
    Answer answer;
    const auto skip = std::min(found.size(), static_cast<size_t>(query.skip));
    const size_t end = query.limit == 0
                           ? found.size()
                           : std::min(found.size(), skip + static_cast<size_t>(query.limit));
    for (size_t i = skip; i < end; ++i) {
        bson::Buffer out;
        if (query.projection == nullptr) {
            answer.docs.emplace_back(found[i].first);
            continue;
        }
        query.projection->apply(found[i].first, &found[i].second, out);
        answer.docs.emplace_back(Doc(out.data()));
    }
    return answer;
}

Answer count(const Docs& collection, Doc args) {
    const auto matcher = Matcher::parse(document_or_empty(args["query"]));
    int64_t n = std::count_if(collection.begin(), collection.end(),
                              [&](const Object& doc) { return matcher->matches(doc); });
    n = std::max<int64_t>(0, n - args["skip"].to_int64());
    const int64_t limit = std::abs(args["limit"].to_int64());
    Answer answer;
    answer.n = limit == 0 ? n : std::min(n, limit);
    return answer;
}

Answer distinct(const Docs& collection, Doc args) {
    const auto matcher = Matcher::parse(document_or_empty(args["query"]));
    DistinctValues values(args["key"].is_string() ? args["key"].as_string() : "");
    for (const Object& doc : collection)
        if (matcher->matches(doc)) values.add(doc);
    bson::Builder array;
    values.append_to(array);
    Answer answer;
    answer.values = array.object();
    return answer;
}

Answer answer(const Docs& collection, const Element& op) {
    try {
        if (op.name() == "find") return find(collection, op.as_doc());
        if (op.name() == "count") return count(collection, op.as_doc());
        return distinct(collection, op.as_doc());
    } catch (const base::Error& e) {
        Answer failed;
        failed.code = e.code();
        return failed;
    }
}

// The specific code where the recorded one is a wrapper.
int wanted_code(Doc want) {
    if (want["inner"]) return want["inner"].to_int32();
    const int code = want["code"].to_int32();
    return code == 17216 ? base::kBadValue : code;
}

// The elements' bytes, sorted if their order means nothing.
std::vector<std::string> values_of(Doc array, bool unordered) {
    std::vector<std::string> result;
    for (const Element& e : array) {
        std::string bytes(1, static_cast<char>(e.type()));
        bytes.append(reinterpret_cast<const char*>(e.value()), e.value_size());
        result.push_back(bytes);
    }
    if (unordered) std::sort(result.begin(), result.end());
    return result;
}

bool agrees(const Answer& got, Doc want, bool unordered) {
    if (want["code"]) return got.code == wanted_code(want);
    if (got.code != 0) return false;
    if (want["n"]) return got.n == want["n"].to_int64();
    // distinct follows the order on disk, which is not known here.
    if (want["values"])
        return values_of(got.values, true) == values_of(want["values"].as_doc(), true);
    bson::Builder docs;
    for (const Object& doc : got.docs)
        docs.push(doc);
    return values_of(docs.doc(), unordered) == values_of(want["docs"].as_doc(), unordered);
}

TEST(Oracle, Reads) {
    std::map<std::string, Docs> collections;
    int covered = 0;
    int left_out = 0;
    base::for_each_oracle_line("find.jsonl.xz", [&](const std::string& text) {
        const Object line = bson::parse_test_json(text);
        if (line["collection"]) {
            Docs& docs = collections[std::string(line["collection"].as_string())];
            for (const Element& e : line["docs"].as_doc())
                docs.push_back(stored(e.as_doc()));
            return;
        }
        const Element op = line["op"].missing() ? line["op"] : line["op"].as_doc().first();
        if (op.missing() || starts_with_any(topic_of(line))) {
            ++left_out;
            return;
        }
        const std::string id(line["id"].as_string());
        const Answer got = answer(collections[std::string(line["on"].as_string())], op);
        const bool same = agrees(got, line["want"].as_doc(), line["unordered"].truthy());
        EXPECT_NE(same, is_difference(id)) << id << " code " << got.code;
        ++covered;
    });
    EXPECT_GT(covered, 4900);
    EXPECT_LT(left_out, 300);
}

}  // namespace
}  // namespace query
