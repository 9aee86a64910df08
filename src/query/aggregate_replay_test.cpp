// Replays the recorded pipelines (tests/oracle/README.md) over documents in memory: stages,
// expressions and their errors, without storage and the command layer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/testing/oracle_file.h"
#include "base/testing/replay_tally.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "bson/testing/shown_document.h"
#include "query/aggregation/pipeline.h"

namespace query {
namespace {

using bson::Doc;
using bson::Element;
using bson::Object;

// Needs indexes, storage or the command layer; judged over the socket.
bool covered(std::string_view id) {
    static constexpr std::string_view kElsewhere[] = {"aggregate-command", "aggregate-out-",
                                                      "aggregate-index-sort",
                                                      "aggregate-quirk-sort-by-multikey-index"};
    return std::none_of(std::begin(kElsewhere), std::end(kElsewhere),
                        [&](std::string_view topic) { return id.starts_with(topic); });
}

bool same_code(int64_t want, int got) {
    return want == got || want == -1;
}

// Deliberate differences (docs/differences.md).
bool differs_by_design(std::string_view id) {
    static constexpr std::string_view kKnown[] = {
        // Later stages and operators: $set, $replaceRoot, $sortByCount, $type by name.
        "aggregate-newer-stages-0002", "aggregate-newer-stages-0007", "aggregate-newer-stages-0008",
        "aggregate-match-spec-0018",
        // Dates and timestamps have one order; the smallest date has a year.
        "aggregate-quirk-timestamp-and-date", "aggregate-quirk-date-overflow",
        "aggregate-quirk-match-timestamp"};
    return std::any_of(std::begin(kKnown), std::end(kKnown),
                       [&](std::string_view known) { return id.starts_with(known); });
}

struct Outcome {
    int code = 0;
    std::string text;
    std::vector<Object> docs;
};

Outcome run(const Element& stages, const std::vector<Object>& input) {
    Outcome outcome;
    try {
        if (stages && !stages.is_array()) base::fail(13111, "pipeline is no array");
        const auto pipeline = Pipeline::parse(stages ? stages.as_doc() : Doc(), PipelineContext());
        size_t at = 0;
        pipeline->set_source([&](Doc* out) {
            if (at == input.size()) return false;
            *out = input[at++];
            return true;
        });
        Doc doc;
        while (pipeline->next(&doc))
            outcome.docs.emplace_back(doc);
    } catch (const base::Error& e) {
        outcome.code = e.code();
        outcome.text = e.what();
    }
    return outcome;
}

std::vector<Object> shown(const std::vector<Object>& docs, bool unordered) {
    std::vector<Object> out;
    for (const Object& doc : docs)
        out.push_back(bson::as_shown(doc));
    if (unordered) {
        std::sort(out.begin(), out.end(),
                  [](const Object& a, const Object& b) { return a.bytes() < b.bytes(); });
    }
    return out;
}

std::string compare(const Outcome& got, Doc want, bool unordered) {
    if (got.code != 0) {
        if (want["top"].truthy() && same_code(want["code"].to_int64(), got.code)) return {};
        return "threw " + std::to_string(got.code) + " " + got.text + ", wanted " +
               bson::to_json(want);
    }
    if (!want.has("docs")) return "wanted " + bson::to_json(want);
    std::vector<Object> wanted;
    for (const Element& e : want["docs"].as_doc())
        wanted.emplace_back(e.as_doc());
    const std::vector<Object> a = shown(got.docs, unordered);
    const std::vector<Object> b = shown(wanted, unordered);
    if (a.size() != b.size()) {
        return std::to_string(a.size()) + " documents instead of " + std::to_string(b.size());
    }
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i].bytes() != b[i].bytes()) {
            return "document " + std::to_string(i) + ": got " + bson::to_json(a[i]) + " want " +
                   bson::to_json(b[i]);
        }
    }
    return {};
}

TEST(AggregateReplay, RecordedCases) {
    std::map<std::string, std::vector<Object>> collections;
    base::ReplayTally tally;
    base::for_each_oracle_line("aggregate.jsonl.xz", [&](const std::string& text) {
        const Object line = bson::parse_test_json(text);
        if (!line["id"]) {
            std::vector<Object>& docs = collections[std::string(line["collection"].as_string())];
            for (const Element& e : line["docs"].as_doc())
                docs.emplace_back(e.as_doc());
            return;
        }
        const std::string id(line["id"].as_string());
        const Element op = line["op"];
        if (!covered(id) || !op.is_object() || op.as_doc().first().name() != "aggregate") return;
        const Outcome got = run(op.as_doc().first().as_doc()["pipeline"],
                                collections[std::string(line["on"].as_string())]);
        const std::string difference =
            compare(got, line["want"].as_doc(), line["unordered"].truthy());
        tally.add(id, difference, differs_by_design(id) ? "by design" : nullptr);
    });
    tally.print("pipelines");
    EXPECT_EQ(tally.passed(), tally.total());
}

}  // namespace
}  // namespace query
