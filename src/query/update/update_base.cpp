#include "query/update/update_base.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/interruption.h"
#include "base/operation.h"
#include "bson/compare.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "query/update/document_check.h"
#include "query/update/update_tree.h"

namespace query {

using bson::Element;
using bson::Type;

namespace {

// Equality nodes that always apply: below the root and nested conjunctions and $all, and an $or of
// a single clause.
void collect_equalities(const MatchNode& node, std::vector<const MatchNode*>& out) {
    for (const auto& child : node.children) {
        if (child->kind == MatchKind::eq) {
            out.push_back(child.get());
        } else if (child->kind == MatchKind::conjunction || child->kind == MatchKind::all ||
                   (child->kind == MatchKind::disjunction && child->children.size() == 1)) {
            collect_equalities(*child, out);
        }
    }
}

Mod equality_mod(const MatchNode& node) {
    Mod mod;
    const std::string_view path = node.path;
    for (size_t at = 0; at <= path.size();) {
        const size_t dot = std::min(path.find('.', at), path.size());
        const std::string_view part = path.substr(at, dot - at);
        if (part.empty()) {
            base::fail(base::kEmptyFieldName, "The field path '{}' contains an empty field name",
                       path);
        }
        if (part[0] == '$') {
            base::fail(base::kUnsupportedFormat,
                       "Cannot insert a document with the field path '{}'", path);
        }
        mod.path.emplace_back(part);
        at = dot + 1;
    }
    mod.modifier = make_set(node.operand);
    return mod;
}

}  // namespace

void check_leaf_name(const std::vector<std::string>& path, bson::Doc doc) {
    const std::vector<std::string> above(path.begin(), path.end() - 1);
    if (!above.empty()) {
        const Place place = find_place(above, doc);
        if (place.depth != above.size() || !place.element.is_object()) return;
        doc = place.element.as_doc();
    }
    constexpr int32_t kBytesPerTick = 1024;
    base::Operation::tick(doc.size() / kBytesPerTick);
    Element previous;
    for (const Element& e : doc) {
        if (e.name() == path.back()) {
            check_stored_name(e, previous);
            return;
        }
        previous = e;
    }
}

void check_same_id(const Element& before, const Element& now) {
    if (now.is_array()) {
        base::fail(base::kNotSingleValueField, "The (immutable) field '_id' can't be an array: {}",
                   bson::to_text(now));
    }
    if (!before && !now) return;
    if (!now || !before || !bson::equal_values(before, now)) {
        base::fail(base::kImmutableField,
                   "The _id field cannot be changed from {{_id: {}}} to {{_id: {}}}.",
                   bson::to_text(before), bson::to_text(now));
    }
}

void check_id_type(const Element& id, int array_code) {
    if (id.is_array()) {
        base::fail(array_code, "The '_id' value cannot be of type array");
    }
    if (id.type() == Type::regex || id.type() == Type::undefined) {
        base::fail(base::kInvalidIdField, "The '_id' value cannot be of type {}",
                   id.type() == Type::regex ? "regex" : "undefined");
    }
}

void check_filter_id(const Element& id) {
    check_id_type(id, base::kInvalidIdField);
    if (!id.is_object()) return;
    Element previous;
    for (const Element& e : id.as_doc()) {
        if (e.name().starts_with('$')) check_stored_name(e, previous);
        previous = e;
    }
}

void check_size(bson::Doc doc) {
    if (doc.size() > bson::kMaxDocumentBytes) {
        base::fail(17419, "Resulting document after update is larger than {}",
                   bson::kMaxDocumentBytes);
    }
}

bson::Object upsert_base(const Matcher& query) {
    std::vector<const MatchNode*> equalities;
    collect_equalities(query.root(), equalities);
    std::stable_sort(equalities.begin(), equalities.end(),
                     [](const MatchNode* a, const MatchNode* b) {
                         base::Operation::tick();
                         return a->path < b->path;
                     });
    std::vector<Mod> mods;
    mods.reserve(equalities.size());
    for (const MatchNode* node : equalities)
        mods.push_back(equality_mod(*node));
    bson::Buffer buffer;
    try {
        ModTree(mods, true).apply(bson::Doc(), buffer);
    } catch (const base::Error& e) {
        base::fail_because(e, base::kUnsupportedFormat,
                           "Cannot build the document to insert from the query: {}", e.what());
    }
    const bson::Doc doc(buffer.data());
    for (const Element& e : doc) {
        if (e.name() == "_id") {
            check_filter_id(e);
        } else if (e.is_object() || e.is_array()) {
            check_stored_names(e.as_doc(), e.is_array(), 2);
        }
    }
    return bson::Object(doc);
}

void write_with_id_first(bson::Doc doc, const Element& id, bson::Buffer& out) {
    const size_t start = open_doc(out);
    if (id) {
        write_value(out, "_id", id);
    } else {
        write_fixed(out, Type::object_id, "_id", bson::new_object_id());
    }
    // What lies between is copied in long pieces.
    constexpr std::ptrdiff_t kPieceBytes = 1 << 16;
    constexpr int64_t kTicksPerPiece = 1 << 10;
    const uint8_t* piece = doc.data() + sizeof(int32_t);
    for (const Element& e : doc) {
        const bool is_id = e.name() == "_id";
        if (!is_id && e.raw() - piece < kPieceBytes) continue;
        out.append(piece, static_cast<size_t>(e.raw() - piece));
        piece = is_id ? e.raw() + e.size() : e.raw();
        base::Operation::tick(kTicksPerPiece);
    }
    const uint8_t* const end = doc.data() + doc.size() - 1;
    out.append(piece, static_cast<size_t>(end - piece));
    close_doc(out, start);
}

}  // namespace query
