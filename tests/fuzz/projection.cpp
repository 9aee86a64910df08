// Fuzz target: {filter, projection} as a find has them, and documents to be shown.
#include "query/project/projection.h"

#include "mutator.h"
#include "target.h"

std::span<const char* const> fuzz::words() {
    static constexpr const char* kWords[] = {"filter", "projection", "$slice", "$elemMatch",
                                             "$meta",  "textScore",  "$eq",    "$in",
                                             "$and",   "$or",        "a.$",    "$gt"};
    return kWords;
}

namespace {

void show(const query::Projection& projection, const query::Matcher& matcher, bson::Doc doc) {
    query::MatchDetails details;
    details.want_index = projection.needs_details();
    if (!matcher.matches(doc, &details)) return;
    bson::Buffer out;
    projection.apply(doc, &details, out);
    fuzz::expect_document({out.data(), out.size()}, "what is shown is valid");
}

// What an index on the fields of the projection may show in place of the document is the same.
void show_covered(const query::Projection& projection, bson::Doc spec, bson::Doc doc) {
    std::vector<std::string> fields;
    for (const bson::Element& field : spec)
        fields.emplace_back(field.name());
    if (!projection.covered_by(fields)) return;
    bson::Buffer out;
    projection.apply(doc, nullptr, out);
    const bson::Doc shown(out.data());
    for (const bson::Element& field : shown)
        fuzz::expect(projection.takes(field.name()), "an index shows what a document does");
    for (const std::string& name : fields) {
        const bool has = projection.takes(name) && doc[name];
        fuzz::expect(static_cast<bool>(shown[name]) == has, "an index shows no more than that");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::vector<bson::Object> documents = fuzz::documents(data, size);
    if (documents.size() < 2) return fuzz::kNoInput;
    const bson::Element filter = documents[0]["filter"], spec = documents[0]["projection"];
    if (!spec.is_object()) return fuzz::kNoInput;
    std::unique_ptr<query::Matcher> matcher;
    fuzz::as_operation([&] {
        matcher = query::Matcher::parse(filter.is_object() ? filter.as_doc() : bson::Doc());
    });
    if (matcher == nullptr) return fuzz::kTaken;
    for (const bool by_name : {false, true}) {
        std::unique_ptr<query::Projection> projection;
        fuzz::as_operation([&] {
            projection = by_name ? query::Projection::parse_by_name(spec.as_doc())
                                 : query::Projection::parse(spec.as_doc(), matcher.get());
        });
        if (projection == nullptr) continue;
        for (size_t i = 1; i < documents.size(); ++i) {
            fuzz::as_operation([&] { show(*projection, *matcher, documents[i]); });
            if (!by_name)
                fuzz::as_operation([&] { show_covered(*projection, spec.as_doc(), documents[i]); });
        }
    }
    return fuzz::kTaken;
}
