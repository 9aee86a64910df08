#include "storage/mmapv1/space/index_definition.h"

namespace mmapv1 {

namespace {

constexpr std::string_view kOption = "partialFilterExpression";
constexpr std::string_view kMark = "_partial";
constexpr std::string_view kKind = "partial";

bool is_marked(bson::Doc key_pattern) {
    const bson::Element first = key_pattern.first();
    return first.name() == kMark && first.is_string() && first.as_string() == kKind;
}

}  // namespace

bool is_partial(bson::Doc spec) {
    return spec[kOption].is_object() && spec["key"].is_object();
}

bson::Object stored_definition(bson::Doc spec) {
    if (!is_partial(spec)) return bson::Object(spec);
    const bson::Element key = spec["key"];
    bson::Builder out;
    for (const bson::Element& field : spec) {
        if (field.raw() != key.raw()) {
            out.append(field);
            continue;
        }
        bson::Builder marked = out.sub_object("key");
        marked.append(kMark, kKind).append_all(key.as_doc());
    }
    return out.object();
}

bson::Object shown_definition(bson::Doc stored) {
    const bson::Element key = stored["key"];
    const bool partial = is_partial(stored) && is_marked(key.as_doc());
    bson::Builder out;
    for (const bson::Element& field : stored) {
        if (partial && field.raw() == key.raw()) {
            bson::Builder plain = out.sub_object("key");
            for (const bson::Element& e : key.as_doc())
                if (e.raw() != key.as_doc().first().raw()) plain.append(e);
        } else if (partial || field.name() != kOption) {
            out.append(field);
        }
    }
    return out.object();
}

}  // namespace mmapv1
