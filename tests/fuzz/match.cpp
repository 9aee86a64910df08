// Fuzz target: a filter, and the documents that it is asked about.
#include "mutator.h"
#include "query/match/match_tree.h"
#include "target.h"

std::span<const char* const> fuzz::words() {
    static constexpr const char* kWords[] = {
        "$eq",          "$ne",         "$lt",      "$lte",       "$gt",           "$gte",
        "$in",          "$nin",        "$all",     "$size",      "$exists",       "$type",
        "$mod",         "$regex",      "$not",     "$elemMatch", "$options",      "$and",
        "$or",          "$nor",        "$comment", "$where",     "$atomic",       "$expr",
        "$isolated",    "$bitsAllSet", "$near",    "$text",      "$bitsAllClear", "$bitsAnySet",
        "$bitsAnyClear"};
    return kWords;
}

namespace {

std::unique_ptr<query::Matcher> try_parse(bson::Doc filter) {
    std::unique_ptr<query::Matcher> matcher;
    fuzz::as_operation(
        [&] { matcher = query::Matcher::parse(filter, &query::kNoExpressionsHere); });
    return matcher;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::vector<bson::Object> documents = fuzz::documents(data, size);
    if (documents.size() < 2) return fuzz::kNoInput;
    const auto matcher = try_parse(documents[0]);
    if (matcher == nullptr) return fuzz::kTaken;
    bson::Builder opposite;
    opposite.sub_array("$nor").push(documents[0].doc());
    const auto negated = try_parse(opposite.doc());
    for (size_t i = 1; i < documents.size(); ++i) {
        bool first = false;
        if (!fuzz::as_operation([&] { first = matcher->matches(documents[i]); })) continue;
        fuzz::as_operation([&] {
            query::MatchDetails details;
            details.want_index = true;
            fuzz::expect(matcher->matches(documents[i], &details) == first,
                         "a match does not depend on who wants details");
            fuzz::expect(negated == nullptr || negated->matches(documents[i]) != first,
                         "a filter and its opposite disagree");
        });
    }
    return fuzz::kTaken;
}
