// Fuzz target: an update as an item of the command, {q, u, upsert, multi}, and documents that it is
// applied to.
#include "query/update/update.h"

#include <cstring>

#include "bson/compare.h"
#include "dialect/dialect.h"
#include "mutator.h"
#include "query/stage/update_pipeline.h"
#include "target.h"

std::span<const char* const> fuzz::words() {
    static constexpr const char* kWords[] = {
        "q",         "u",         "upsert",    "multi",        "$set",         "$unset",
        "$inc",      "$mul",      "$rename",   "$setOnInsert", "$min",         "$max",
        "$bit",      "and",       "or",        "xor",          "$currentDate", "timestamp",
        "date",      "$push",     "$pushAll",  "$each",        "$slice",       "$sort",
        "$position", "$addToSet", "$pop",      "$pull",        "$pullAll",     "$elemMatch",
        "$in",       "$gt",       "$isolated", "a.$",          "$[]",          "$type",
        "a.$[]",     "a.$[x].b",  "x",         "arrayFilters", "$addFields",   "$replaceRoot",
        "newRoot",   "$literal",  "$$ROOT"};
    return kWords;
}

namespace {

void check_changed(const query::UpdateResult& result, bson::Doc old, const bson::Buffer& out) {
    if (!result.changed) return;
    std::vector<uint8_t> now(out.data(), out.data() + out.size());
    if (result.in_place) {
        now.assign(old.bytes().begin(), old.bytes().end());
        for (const bson::Patch& patch : result.patches) {
            fuzz::expect(
                patch.offset >= 4 && patch.size >= 0 && patch.offset + patch.size < old.size(),
                "patches lie inside of the document");
            std::memcpy(now.data() + patch.offset, patch.bytes, static_cast<size_t>(patch.size));
        }
    }
    fuzz::expect_document(now, "an updated document is valid");
    fuzz::expect(now.size() <= static_cast<size_t>(bson::kDocumentBytesMax),
                 "an updated document can be stored");
    const bson::Element id = old["_id"];
    if (id) {
        fuzz::expect(bson::compare_values(id, bson::Doc(now.data())["_id"]) == 0,
                     "an update leaves _id alone");
    }
}

void apply(query::Update& update, const query::Matcher& matcher, bson::Doc doc) {
    bson::Buffer fixed;
    const bson::Doc stored =
        query::fix_for_insert(doc, true, fixed) ? bson::Doc(fixed.data()) : doc;
    fuzz::expect_document(stored.bytes(), "what is inserted is valid");
    query::MatchDetails details;
    details.want_index = update.needs_details();
    if (!matcher.matches(stored, &details)) return;
    bson::Buffer out;
    check_changed(update.apply(stored, details, out), stored, out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::vector<bson::Object> documents = fuzz::documents(data, size);
    if (documents.size() < 2) return fuzz::kNoInput;
    const bson::Element q = documents[0]["q"], u = documents[0]["u"];
    if (!q.is_object() || (!u.is_object() && !u.is_array())) return fuzz::kNoInput;
    std::unique_ptr<query::Matcher> matcher;
    std::unique_ptr<query::Update> update;
    const query::Update::Options options = {
        .multi = documents[0]["multi"].truthy(),
        .upsert = documents[0]["upsert"].truthy(),
        .dialect = size % 2 == 0 ? dialect::kToday : dialect::kV26,
        .array_filters = documents[0]["arrayFilters"]};
    const bool parsed = fuzz::as_operation([&] {
        matcher = query::Matcher::parse(q.as_doc());
        update = query::parse_update(u.as_doc(), u.is_array(), options, nullptr);
    });
    if (!parsed) return fuzz::kTaken;
    for (size_t i = 1; i < documents.size(); ++i)
        fuzz::as_operation([&] { apply(*update, *matcher, documents[i]); });
    fuzz::as_operation([&] {
        if (!options.upsert) return;
        bson::Buffer out;
        update->build_upsert(*matcher, out);
        fuzz::expect_document({out.data(), out.size()}, "what an upsert inserts is valid");
        fuzz::expect(bson::Doc(out.data()).first().name() == "_id", "_id comes first");
    });
    return fuzz::kTaken;
}
