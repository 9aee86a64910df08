// Random filters, projections, sorts and index patterns over random documents. They are seldom
// meaningful; what must hold for all of them is checked. Meant to be run under sanitizers, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/validate.h"
#include "catalog/index_keys.h"
#include "query/plan/distinct.h"
#include "query/plan/sort.h"
#include "query/project/projection.h"

namespace query {
namespace {

using bson::Builder;
using bson::Doc;
using bson::Object;

constexpr const char* kNames[] = {"a", "b",  "0",   "1",   "a.b",   "a.0", "a.b.c", "b.1.a",
                                  "",  "a.", "_id", "a.$", "b.$.a", "$id", "$ref"};
constexpr const char* kOperators[] = {
    "$eq",   "$ne",        "$lt",      "$lte",   "$gt",     "$gte",   "$in",      "$nin", "$all",
    "$size", "$elemMatch", "$exists",  "$type",  "$mod",    "$regex", "$options", "$not", "$and",
    "$or",   "$nor",       "$comment", "$slice", "$atomic", "$foo",   "$where",   "$meta"};
constexpr const char* kStrings[] = {"", "a", "b", "^a", "(", "a|b", "hashed", "i", "textScore"};
constexpr double kNumbers[] = {
    0, 1, -1, 0.5, 2, 1e300, -1e300, 9223372036854775808.0, __builtin_nan(""), __builtin_inf()};

class Generator {
  public:
    explicit Generator(uint32_t seed) : random_(seed) {}

    // A document whose names are fields, or, with `operators`, some of them operators.
    Object document(bool operators) {
        Builder b;
        fill(b, operators, 4);
        return b.object();
    }
    // {name: +-1, ...}
    Object pattern() {
        Builder b;
        const int fields = 1 + pick(3);
        for (int i = 0; i < fields; ++i)
            b.append(kNames[static_cast<size_t>(pick(8))], pick(2) == 0 ? 1 : -1);
        return b.object();
    }
    int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  private:
    template <size_t N>
    const char* any(const char* const (&names)[N]) {
        return names[static_cast<size_t>(pick(N))];
    }

    void fill(Builder& b, bool operators, int depth) {
        const int fields = pick(4);
        for (int i = 0; i < fields; ++i) {
            const bool op = operators && pick(2) == 0;
            append(b, op ? any(kOperators) : any(kNames), operators, depth);
        }
    }

    void append(Builder& b, std::string_view name, bool operators, int depth) {
        switch (pick(depth > 0 ? 16 : 12)) {
            case 0:
                b.append(name, pick(5) - 2);
                return;
            case 1:
                b.append(name, int64_t{1} << pick(63));
                return;
            case 2:
                b.append(name, kNumbers[pick(static_cast<int>(std::size(kNumbers)))]);
                return;
            case 3:
                b.append(name, any(kStrings));
                return;
            case 4:
                b.append(name, pick(2) == 0);
                return;
            case 5:
                b.append_null(name);
                return;
            case 6:
                b.append_regex(name, any(kStrings), "i");
                return;
            case 7:
                b.append_date(name, pick(9) - 4);
                return;
            case 8:
                b.append(name, bson::ObjectId());
                return;
            case 9:
                pick(2) == 0 ? b.append_min_key(name) : b.append_max_key(name);
                return;
            case 10:
                b.append_undefined(name);
                return;
            case 11:
                b.append_symbol(name, any(kStrings));
                return;
            case 12:
            case 13: {
                Builder array = b.sub_array(name);
                const int members = pick(4);
                for (int i = 0; i < members; ++i)
                    append(array, array.next().view(), operators, depth - 1);
                return;
            }
            default: {
                Builder object = b.sub_object(name);
                fill(object, operators, depth - 1);
            }
        }
    }

    std::mt19937 random_;
};

std::unique_ptr<Matcher> try_parse(Doc filter) {
    try {
        return Matcher::parse(filter);
    } catch (const base::Error& e) {
        // The last two: of lists for $type.
        EXPECT_TRUE(e.code() == base::kBadValue || e.code() == base::kFailedToParse ||
                    e.code() == base::kTypeMismatch)
            << e.code();
        EXPECT_STRNE(e.what(), "");
        return nullptr;
    }
}

void expect_valid(const bson::Buffer& buffer) {
    EXPECT_EQ(bson::validate(buffer.data(), buffer.size()), "");
}

TEST(Random, FiltersAndTheirOpposites) {
    int parsed = 0;
    Generator generator(1);
    for (int i = 0; i < 30000; ++i) {
        const Object filter = generator.document(true);
        const auto matcher = try_parse(filter);
        if (matcher == nullptr) continue;
        ++parsed;
        Builder opposite;
        {
            Builder clauses = opposite.sub_array("$nor");
            clauses.push(filter.doc());
        }
        const auto negated = try_parse(opposite.doc());
        for (int d = 0; d < 3; ++d) {
            const Object doc = generator.document(false);
            MatchDetails details;
            details.want_index = true;
            const bool matches = matcher->matches(doc, &details);
            EXPECT_EQ(matches, matcher->matches(doc));
            if (negated != nullptr) {
                EXPECT_NE(matches, negated->matches(doc));
            }
        }
    }
    EXPECT_GT(parsed, 3000);
}

TEST(Random, Projections) {
    int applied = 0;
    Generator generator(2);
    for (int i = 0; i < 30000; ++i) {
        const auto matcher = try_parse(generator.document(generator.pick(2) == 0));
        const Object spec = generator.document(true);
        bson::Buffer out;
        try {
            const auto projection = Projection::parse(spec, matcher.get());
            if (projection == nullptr) continue;
            const Object doc = generator.document(false);
            MatchDetails details;
            details.want_index = true;
            if (matcher != nullptr) matcher->matches(doc, &details);
            projection->apply(doc, &details, out);
        } catch (const base::Error& e) {
            EXPECT_EQ(e.code(), base::kBadValue);
            continue;
        }
        expect_valid(out);
        ++applied;
    }
    EXPECT_GT(applied, 3000);
}

TEST(Random, IndexKeys) {
    Generator generator(3);
    catalog::KeySet keys;
    int derived = 0;
    for (int i = 0; i < 30000; ++i) {
        const Object pattern = generator.pattern();
        const auto index = catalog::KeyGenerator::make(
            bson::make("key", pattern, "sparse", generator.pick(2) == 0));
        try {
            index->keys(generator.document(false), keys);
        } catch (const base::Error& e) {
            EXPECT_TRUE(e.code() == 10088 || e.code() == 16746) << e.code();
            continue;
        }
        ++derived;
        for (size_t k = 0; k < keys.size(); ++k) {
            EXPECT_EQ(bson::validate(keys[k].data(), static_cast<size_t>(keys[k].size())), "");
            EXPECT_EQ(keys[k].field_count(), pattern.doc().field_count());
            if (k > 0) {
                EXPECT_LT(bson::compare_keys(keys[k - 1], keys[k], index->descending_bits()), 0);
            }
        }
    }
    EXPECT_GT(derived, 20000);
}

TEST(Random, SortedDocumentsAreInOrder) {
    Generator generator(4);
    for (int i = 0; i < 300; ++i) {
        const auto matcher = try_parse(generator.document(true));
        const SortPattern pattern(generator.pattern(), matcher.get());
        const int64_t limit = generator.pick(2) == 0 ? 0 : 1 + generator.pick(20);
        DocumentSorter sorter(pattern, limit);
        int64_t added = 0;
        for (int d = 0; d < 50; ++d) {
            try {
                sorter.add(generator.document(false), 0, {});
                ++added;
            } catch (const base::Error& e) {
                EXPECT_TRUE(e.code() == base::kBadValue || e.code() == 16746) << e.code();
            }
        }
        sorter.finish();
        bson::Buffer last;
        bson::Buffer key;
        Doc doc;
        uint64_t tag = 0;
        MatchDetails details;
        int64_t returned = 0;
        while (sorter.next(&doc, &tag, &details)) {
            key.clear();
            pattern.append_key(doc, key);
            if (returned++ > 0) {
                EXPECT_LE(bson::compare_keys(Doc(last.data()), Doc(key.data()),
                                             pattern.descending_bits()),
                          0);
            }
            last.swap(key);
        }
        EXPECT_EQ(returned, limit == 0 ? added : std::min(added, limit));
    }
}

TEST(Random, DistinctValuesAreDistinct) {
    Generator generator(5);
    for (int i = 0; i < 500; ++i) {
        DistinctValues values(kNames[static_cast<size_t>(generator.pick(10))]);
        for (int d = 0; d < 50; ++d)
            values.add(generator.document(false));
        Builder array;
        values.append_to(array);
        std::vector<bson::Element> sorted;
        const Doc all = array.doc();
        for (const bson::Element& e : all)
            sorted.push_back(e);
        std::sort(sorted.begin(), sorted.end(), bson::ValueLess());
        EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end(), bson::equal_values),
                  sorted.end());
        EXPECT_EQ(values.size(), static_cast<int64_t>(sorted.size()));
    }
}

}  // namespace
}  // namespace query
