// Holds each operator's bounds to the rule of query/plan/bounds.h: of every stored value, in every
// kind of index, what the bounds and their tightness find is what the matcher finds. Keys come from
// the key generator, and each combination is a collection of one document.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "query/plan/index_bounds.h"

namespace query {
namespace {

using bson::Element;

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
        text.replace(at, what.size(), by);
    return text;
}

constexpr const char* kScalars[] = {
    "1",
    R"({"$numberInt": "31"})",
    R"({"$numberLong": "2"})",
    R"({"$numberLong": "9007199254740993"})",
    R"({"$numberDouble": "9007199254740992.0"})",
    R"({"$numberLong": "-9223372036854775808"})",
    R"({"$numberDouble": "2.5"})",
    R"({"$numberDouble": "0.0"})",
    R"({"$numberDouble": "-0.0"})",
    R"({"$numberDouble": "NaN"})",
    R"({"$numberDouble": "Infinity"})",
    R"({"$numberDouble": "-Infinity"})",
    R"({"$numberDecimal": "2"})",
    R"({"$numberDecimal": "9007199254740993.5"})",
    R"("")",
    R"("ab")",
    R"("abc")",
    R"({"$symbol": "ab"})",
    "{}",
    R"({"x": 1})",
    R"({"0": 31})",
    R"({"b": null})",
    R"({"$binary": {"base64": "AQI=", "subType": "00"}})",
    R"({"$oid": "000000000000000000000000"})",
    R"({"$oid": "ffffffffffffffffffffffff"})",
    "false",
    "true",
    R"({"$date": {"$numberLong": "-5000"}})",
    R"({"$date": {"$numberLong": "5000"}})",
    R"({"$date": {"$numberLong": "9223372036854775807"}})",
    R"({"$timestamp": {"t": 5, "i": 0}})",
    R"({"$timestamp": {"t": 4294967295, "i": 1}})",
    R"({"$regularExpression": {"pattern": "^ab", "options": ""}})",
    R"({"$dbPointer": {"$ref": "c", "$id": {"$oid": "0123456789abcdef01234567"}}})",
    R"({"$code": "f"})",
    R"({"$code": "f", "$scope": {"x": 1}})",
    "null",
    R"({"$undefined": true})",
    R"({"$minKey": 1})",
    R"({"$maxKey": 1})",
};

// Around a scalar `$`, and without one.
constexpr const char* kArrays[] = {"[$]", "[$, 31]", "[[$]]", "[[$, 40], [1]]", "[[[$]]]"};
constexpr const char* kOtherValues[] = {"[]", "[[]]", "[[], 1]", R"([{"x": 1}, {"x": 2}])"};

// The places where a value may stand.
constexpr const char* kShapes[] = {
    R"({"a": $})",
    R"({"a": {"b": $}})",
    R"({"a": [{"b": $}]})",
    R"({"a": [{"b": $}, {"b": 1}]})",
    R"({"a": [{"b": $}, {"c": 1}, 5]})",
    R"({"a": [{"c": 1}, $]})",
    R"({"a": {"0": $}})",
    R"({"a": [1, {"1": $}]})",
    R"({"a": [[{"b": $}]]})",
    R"({"a": {"b": [{"c": $}]}})",
    R"({"a": [{"b": $, "c": 1}, {"b": 1, "c": $}]})",
};

bool is_scalar_operand(const std::string& value) {
    return value.find("undefined") == std::string::npos;
}

std::vector<std::string> values_around(std::span<const char* const> scalars) {
    std::vector<std::string> values(scalars.begin(), scalars.end());
    for (size_t i = 0; i < scalars.size(); i += 6)
        for (const char* array : kArrays)
            values.push_back(replace_all(array, "$", scalars[i]));
    values.insert(values.end(), std::begin(kOtherValues), std::end(kOtherValues));
    return values;
}

// Returns all documents; no value is twice in it.
std::vector<bson::Object> all_documents() {
    std::vector<std::string> texts{"{}"};
    for (const std::string& value : values_around(kScalars))
        for (const char* shape : kShapes)
            texts.push_back(replace_all(shape, "$", value));
    std::ranges::sort(texts);
    texts.erase(std::ranges::unique(texts).begin(), texts.end());
    std::vector<bson::Object> documents;
    for (const std::string& text : texts) {
        // With what compound indexes have beside the field.
        bson::Builder b;
        const bson::Object doc = bson::parse_test_json(text);
        for (const Element& e : doc)
            b.append(e);
        b.append("z", 5);
        documents.push_back(b.object());
    }
    return documents;
}

// Predicates on one field, as text.
std::vector<std::string> all_predicates() {
    std::vector<std::string> operands;
    for (const char* scalar : kScalars)
        if (is_scalar_operand(scalar)) operands.push_back(scalar);
    const size_t scalars = operands.size();
    for (const char* array : {"[]", "[1]", "[31, 1]", "[null]", "[[]]", "[[1]]", "[[1, 40], [1]]",
                              R"([{"$undefined": true}])", R"([{"$maxKey": 1}])"})
        operands.push_back(array);

    std::vector<std::string> leaves;
    for (const char* op : {"$gt", "$gte", "$lt", "$lte", "$eq", "$ne"})
        for (const std::string& operand : operands)
            leaves.push_back(fmt::format(R"("{}": {})", op, operand));
    for (const char* op : {"$in", "$nin"}) {
        for (size_t i = 0; i < operands.size(); ++i) {
            leaves.push_back(fmt::format(R"("{}": [{}])", op, operands[i]));
            leaves.push_back(
                fmt::format(R"("{}": [{}, {}])", op, operands[i], operands[(i + 7) % scalars]));
        }
        leaves.push_back(fmt::format(R"("{}": [])", op));
    }
    for (const int type :
         {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 127})
        leaves.push_back(fmt::format(R"("$type": {})", type));
    for (const char* types : {R"(["array"])", R"(["null", "int"])", R"(["minKey", "maxKey"])"})
        leaves.push_back(fmt::format(R"("$type": {})", types));
    for (const char* other :
         {R"("$exists": true)", R"("$exists": false)", R"("$mod": [2, 1])", R"("$size": 0)",
          R"("$size": 1)", R"("$regex": "^ab")", R"("$regex": "b")", R"("$all": [1])",
          R"("$all": [1, 31])", R"("$all": [[1]])", R"("$all": [null])", R"("$bitsAnySet": 1)",
          R"("$bitsAllClear": 30)"})
        leaves.push_back(other);

    std::vector<std::string> predicates;
    for (const std::string& leaf : leaves) {
        predicates.push_back("{" + leaf + "}");
        if (leaf.find("$regex") == std::string::npos)
            predicates.push_back("{\"$not\": {" + leaf + "}}");
        predicates.push_back("{\"$elemMatch\": {" + leaf + "}}");
        predicates.push_back("{\"$elemMatch\": {\"$elemMatch\": {" + leaf + "}}}");
    }
    for (const char* inner :
         {R"("$gt": 1)", R"("$gte": null)", R"("$ne": 31)", R"("$gt": 1, "$lt": 40)",
          R"("$type": 4)", R"("$in": [[1], 31])", R"("$not": {"$lt": 2})",
          R"("$elemMatch": {"$gt": 30}, "$size": 1)", R"("$not": {"$elemMatch": {"$gt": 30}})",
          R"("$gt": {"$minKey": 1})"}) {
        for (const char* around :
             {R"({"$elemMatch": {@}, "$gt": 0})", R"({"$all": [{"$elemMatch": {@}}]})",
              R"({"$not": {"$elemMatch": {@}}})", R"({"$elemMatch": {"$elemMatch": {@}}})",
              R"({"$elemMatch": {"b": {@}}})", R"({"$elemMatch": {"b": {@}, "x": null}})",
              R"({"$elemMatch": {"0": {@}}})", R"({"$elemMatch": {"1": {@}}})",
              R"({"$elemMatch": {"$elemMatch": {"b": {@}}}})"})
            predicates.push_back(replace_all(around, "@", inner));
    }
    return predicates;
}

// A document with its keys in one index.
struct Indexed {
    size_t number = 0;  // of the document
    catalog::KeySet keys;
};

struct TestIndex {
    TestIndex(const char* keys, const char* options) {
        bson::Builder b;
        const bson::Object pattern = bson::parse_test_json(keys);
        const bson::Object more = bson::parse_test_json(options);
        b.append("key", pattern.doc());
        for (const Element& e : more)
            b.append(e);
        definition = b.object();
        index.spec = definition.doc();
        index.key_pattern = definition["key"].as_doc();
        index.sparse = definition["sparse"].truthy();
        index.unique = definition["unique"].truthy();
        index.generator = catalog::KeyGenerator::make(definition);
    }
    bson::Object definition;
    catalog::Index index;
    std::vector<Indexed> indexed;
};

std::vector<Indexed> index_all(const std::vector<bson::Object>& documents,
                               const catalog::Index& index) {
    std::vector<Indexed> result;
    for (size_t i = 0; i < documents.size(); ++i) {
        Indexed one{i, {}};
        try {
            index.generator->keys(documents[i], one.keys);
        } catch (const base::Error&) {
            continue;  // such a document cannot be in the index
        }
        result.push_back(std::move(one));
    }
    return result;
}

bool holds(const IntervalList& list, const Element& value) {
    for (const Interval& interval : list) {
        const int low = bson::compare_values(value, interval.low);
        if (low < 0 || (low == 0 && !interval.low_inclusive)) continue;
        const int high = bson::compare_values(value, interval.high);
        if (high < 0 || (high == 0 && interval.high_inclusive)) return true;
    }
    return false;
}

// Decides as a scan does (index_scan.cpp, plan_run.cpp).
bool finds(const ConjunctionBounds& bounds, bson::Doc key, bool matches) {
    auto list = bounds.fields.begin();
    for (const Element& value : key)
        if (!holds(*list++, value)) return false;
    for (const KeyPredicate& p : bounds.key_filter) {
        auto value = key.begin();
        for (size_t i = 0; i < p.field; ++i)
            ++value;
        bson::Buffer buffer;
        if (!(bson::is_large_number(*value) ? matches : key_matches(*p.node, *value, buffer)))
            return false;
    }
    return !bounds.check_document || matches;
}

bool finds(const ConjunctionBounds& bounds, const Indexed& one, bool matches) {
    for (size_t k = 0; k < one.keys.size(); ++k)
        if (finds(bounds, one.keys[k], matches)) return true;
    return false;
}

class BoundsRule : public testing::Test {
  protected:
    // `matches`: which documents the filter does. `indexed`: those that may be in the index.
    void check(const Matcher& matcher, const std::vector<bool>& matches, catalog::Index& index,
               const std::vector<Indexed>& indexed) {
        const Conjunction conjunction = flatten(matcher.root());
        for (const bool multikey : {false, true}) {
            index.multikey = multikey;
            ValueArena arena;
            std::vector<ConjunctionBounds> branches(1);
            bool exact = true;
            if (!bound_conjunction(index, conjunction, arena, branches[0])) {
                branches.clear();
                const BranchIndex indexes[] = {{&index, nullptr}};
                if (conjunction.disjunctions.empty() ||
                    !bound_branches(*conjunction.disjunctions[0], indexes, arena, branches, exact))
                    continue;
                for (ConjunctionBounds& branch : branches)
                    branch.check_document = true;
            }
            ++used_;
            for (ConjunctionBounds& branch : branches)
                for (IntervalList& list : branch.fields)
                    round_long_ends(list, 1, arena);
            for (const Indexed& one : indexed) {
                if (!multikey && one.keys.multikey()) continue;
                const bool found = std::ranges::any_of(branches, [&](const auto& branch) {
                    return finds(branch, one, matches[one.number]);
                });
                if (found != matches[one.number] && ++failures_ < 30)
                    ADD_FAILURE() << bson::to_text(matcher.filter()) << " on "
                                  << bson::to_text(index.spec) << (multikey ? " multikey" : "")
                                  << (found ? " finds " : " misses ")
                                  << bson::to_text(documents_[one.number]);
            }
        }
    }

    const std::vector<bson::Object> documents_ = all_documents();
    int used_ = 0;
    int failures_ = 0;
};

struct Kind {
    const char* keys;
    const char* options;
};
constexpr Kind kKinds[] = {
    {R"({"@": 1})", "{}"},
    {R"({"@": -1})", R"({"unique": true})"},
    {R"({"@": 1, "z": 1})", "{}"},
    {R"({"z": 1, "@": -1})", "{}"},
    {R"({"@": 1})", R"({"sparse": true})"},
    {R"({"@": 1, "y": 1})", R"({"sparse": true})"},
    {R"({"@": 1, "a.c": -1})", "{}"},
    {R"({"@": "hashed"})", "{}"},
    {R"({"@": "hashed"})", R"({"sparse": true})"},
};
constexpr const char* kPaths[] = {"a", "a.b", "a.0", "a.1", "a.0.b", "a.b.c", "a.0.0"};

// The filters that parse; a regular expression, say, may not be an operand of $gt.
using Matchers = std::vector<std::unique_ptr<Matcher>>;
void add_filter(Matchers& matchers, const std::string& filter) {
    try {
        matchers.push_back(Matcher::parse(bson::parse_test_json(filter), &kNoExpressionsHere));
    } catch (const base::Error&) {
    }
}

Matchers all_filters(const char* path) {
    const std::vector<std::string> predicates = all_predicates();
    // The first paths are tried in full.
    const bool simple = std::string_view(path) == "a" || std::string_view(path) == "a.b" ||
                        std::string_view(path) == "a.0";
    Matchers matchers;
    for (size_t i = 0; i < predicates.size(); i += simple ? 1 : 9) {
        const std::string& predicate = predicates[i];
        add_filter(matchers, fmt::format(R"({{"{}": {}, "z": 5}})", path, predicate));
        // The predicates inside of this $elemMatch are on another field.
        if (predicate.starts_with(R"({"$elemMatch": {")") && predicate[16] != '$')
            add_filter(matchers, fmt::format(R"({{"a": {}}})", predicate));
    }
    // Filters of two predicates together.
    std::mt19937 random(1);
    const auto any = [&] { return predicates[random() % predicates.size()]; };
    for (int i = 0; i < 100; ++i) {
        for (const char* both :
             {R"({"$and": [{"@": 1$}, {"@": 2$}]})", R"({"$or": [{"@": 1$}, {"@": 2$}]})",
              R"({"@": 1$, "a.c": 2$})", R"({"a": {"$elemMatch": {"b": 1$, "c": 2$}}})"})
            add_filter(matchers, replace_all(replace_all(replace_all(both, "@", path), "1$", any()),
                                             "2$", any()));
    }
    return matchers;
}

TEST_F(BoundsRule, HoldsForEachOperatorValueAndKindOfIndex) {
    std::vector<bool> matches(documents_.size());
    for (const char* path : kPaths) {
        std::vector<std::unique_ptr<TestIndex>> indexes;
        for (const Kind& kind : kKinds) {
            indexes.push_back(std::make_unique<TestIndex>(replace_all(kind.keys, "@", path).c_str(),
                                                          kind.options));
            indexes.back()->indexed = index_all(documents_, indexes.back()->index);
        }
        for (const auto& matcher : all_filters(path)) {
            std::transform(documents_.begin(), documents_.end(), matches.begin(),
                           [&](const bson::Object& doc) { return matcher->matches(doc); });
            for (const auto& made : indexes)
                check(*matcher, matches, made->index, made->indexed);
        }
    }
    EXPECT_GT(used_, 10000);
}

}  // namespace
}  // namespace query
