#include "storage/mmapv1/space/index_definition.h"

#include <algorithm>
#include <array>

namespace mmapv1 {

namespace {

// An option, and the field of the key pattern that stands for it on disk.
struct NewerKind {
    std::string_view option;
    std::string_view mark;
    std::string_view kind;
};
constexpr NewerKind kKinds[] = {{"partialFilterExpression", "_partial", "partial"},
                                {"collation", "_collation", "collation"}};

bool has(bson::Doc spec, const NewerKind& kind) {
    return spec[kind.option].is_object() && spec["key"].is_object();
}

bool is_mark(const bson::Element& field, const NewerKind& kind) {
    return field.name() == kind.mark && field.is_string() && field.as_string() == kind.kind;
}

// Whether its key names a kind of 2.4.
bool has_newer_fields(bson::Doc spec) {
    const bson::Element key = spec["key"];
    if (!key.is_object()) return false;
    for (const bson::Element& field : key.as_doc())
        if (field.is_string() && field.as_string() == "2dsphere") return true;
    return false;
}

}  // namespace

bool is_newer_kind(bson::Doc spec) {
    return has_newer_fields(spec) ||
           std::ranges::any_of(kKinds, [&](const NewerKind& kind) { return has(spec, kind); });
}

bson::Object stored_definition(bson::Doc spec) {
    const bson::Element key = spec["key"];
    bson::Builder out;
    for (const bson::Element& field : spec) {
        if (field.raw() != key.raw() || !key.is_object()) {
            out.append(field);
            continue;
        }
        bson::Builder marked = out.sub_object("key");
        for (const NewerKind& kind : kKinds)
            if (has(spec, kind)) marked.append(kind.mark, kind.kind);
        marked.append_all(key.as_doc());
    }
    return out.object();
}

bson::Object shown_definition(bson::Doc stored) {
    const bson::Element key = stored["key"];
    std::array<bool, std::size(kKinds)> marked = {};
    bson::Builder plain;
    // The marks come first, in the order of the kinds.
    const NewerKind* next = std::begin(kKinds);
    for (const bson::Element& field : key.is_object() ? key.as_doc() : bson::Doc()) {
        const NewerKind* const found = std::find_if(
            next, std::end(kKinds),
            [&](const NewerKind& kind) { return is_mark(field, kind) && has(stored, kind); });
        if (found == std::end(kKinds)) {
            plain.append(field);
            next = found;
        } else {
            marked[static_cast<size_t>(found - kKinds)] = true;
            next = found + 1;
        }
    }
    bson::Builder out;
    for (const bson::Element& field : stored) {
        const NewerKind* const kind = std::ranges::find(kKinds, field.name(), &NewerKind::option);
        if (field.raw() == key.raw() && key.is_object())
            out.append("key", plain.doc());
        else if (kind == std::end(kKinds) || marked[static_cast<size_t>(kind - kKinds)])
            out.append(field);
    }
    return out.object();
}

}  // namespace mmapv1
