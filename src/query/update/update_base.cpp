#include "query/update/update_base.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "dialect/dialect.h"
#include "dialect/updates.h"
#include "query/match/match_operands.h"
#include "query/update/document_check.h"
#include "query/update/update.h"
#include "query/update/update_tree.h"
#include "sched/interruption.h"
#include "sched/tick.h"

namespace query {

using bson::Element;
using bson::Type;

namespace {

// {$in: [x]}: to later servers, since 3.4, an equality. Under a collation only a key of x is left.
bool is_one_value(const MatchNode& node) {
    return node.kind == MatchKind::in && node.values.size() == 1 && node.regexes.empty() &&
           node.collator == nullptr;
}

// Equality nodes that always apply: below the root and nested conjunctions and $all, and an $or of
// a single clause.
void collect_equalities(const MatchNode& node, dialect::Dialect dialect,
                        std::vector<const MatchNode*>& out) {
    for (const auto& child : node.children) {
        if (child->kind == MatchKind::eq ||
            (dialect.has(dialect::kUpsertsTakeOneValue) && is_one_value(*child))) {
            out.push_back(child.get());
        } else if (child->kind == MatchKind::conjunction || child->kind == MatchKind::all ||
                   (child->kind == MatchKind::disjunction && child->children.size() == 1)) {
            collect_equalities(*child, dialect, out);
        }
    }
}

// Fields appear by the order of their paths, the parts of a DBRef in the order that makes it one.
std::string order_of(const std::string& path) {
    std::string order = path;
    for (const auto& [part, rank] :
         {std::pair(".$ref", ".$0"), std::pair(".$id", ".$1"), std::pair(".$db", ".$2")}) {
        const size_t at = order.rfind(part);
        if (at != std::string::npos) order.replace(at, std::string_view(part).size(), rank);
    }
    return order;
}

Element stated_value(const MatchNode& node) {
    if (node.kind == MatchKind::in) return node.values.front();
    return node.collator != nullptr ? node.stated : node.operand;
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
        if (part[0] == '$' && (at == 0 || !is_dbref_name(part))) {
            base::fail(base::kUnsupportedFormat,
                       "Cannot insert a document with the field path '{}'", path);
        }
        mod.path.emplace_back(part);
        at = dot + 1;
    }
    mod.take(make_set(stated_value(node)));
    return mod;
}

}  // namespace

bson::Doc updated_document(bson::Doc before, const UpdateResult& result, bson::Buffer& out) {
    if (!result.changed) return before;
    if (result.in_place) {
        out.clear();
        out.append(before.data(), static_cast<size_t>(before.size()));
        for (const bson::Patch& patch : result.patches)
            std::memcpy(out.data() + patch.offset, patch.bytes, static_cast<size_t>(patch.size));
    }
    return bson::Doc(out.data());
}

void check_leaf_name(const std::vector<std::string>& path, bson::Doc doc) {
    const std::vector<std::string> above(path.begin(), path.end() - 1);
    if (!above.empty()) {
        const FieldLocation place = locate_field(above, doc);
        if (place.depth != above.size() || !place.element.is_object()) return;
        doc = place.element.as_doc();
    }
    sched::tick_bytes(doc.size(), sched::PerTick::copied, 0);
    Element previous;
    for (const Element& e : doc) {
        if (e.name() == path.back()) {
            check_stored_name(e, previous, FieldNames::plain);
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

void check_id_type(const Element& id) {
    if (id.is_array() || id.type() == Type::regex || id.type() == Type::undefined) {
        base::fail(base::kInvalidIdField, "The '_id' value cannot be of type {}",
                   id.is_array() ? "array" : (id.type() == Type::regex ? "regex" : "undefined"));
    }
}

void check_size(bson::Doc doc) {
    if (doc.size() > bson::kDocumentBytesMax) {
        base::fail(17419, "Resulting document after update is larger than {}",
                   bson::kDocumentBytesMax);
    }
}

void refuse_part_of_id(const Matcher& query) {
    std::vector<const MatchNode*> equalities;
    collect_equalities(query.root(), dialect::kToday, equalities);
    for (const MatchNode* node : equalities)
        if (node->path.starts_with("_id."))
            base::fail(base::kNotExactValueField,
                       "field at '_id' must be exactly specified, field at sub-path '{}' found",
                       node->path);
}

UpsertBase::UpsertBase(const Matcher& query, dialect::Dialect dialect) : dialect_(dialect) {
    std::vector<const MatchNode*> equalities;
    collect_equalities(query.root(), dialect, equalities);
    if (dialect.has(dialect::kUpsertsTakeOneValue)) refuse_part_of_id(query);
    std::vector<std::pair<std::string, const MatchNode*>> ordered;
    for (const MatchNode* node : equalities)
        ordered.emplace_back(order_of(node->path), node);
    std::ranges::stable_sort(
        ordered, sched::ticking([](const auto& a, const auto& b) { return a.first < b.first; }));
    std::vector<Mod> mods;
    mods.reserve(ordered.size());
    for (const auto& [order, node] : ordered) {
        mods.push_back(equality_mod(*node));
        const std::vector<std::string>& path = mods.back().path;
        if (path[0] == "_id" || std::ranges::none_of(path, is_dbref_name)) continue;
        incomplete_.insert(path[0]);
        const Element value = stated_value(*node);
        if (value.is_object() || value.is_array())
            check_stored_names(value.as_doc(), value.is_array(), 2, names_in_documents(dialect));
    }
    bson::Buffer buffer;
    try {
        ModTree(mods, true).apply(bson::Doc(), buffer);
    } catch (const base::Error& e) {
        sched::fail_because(e, dialect.code(base::kUnsupportedFormat, base::kNotSingleValueField),
                            "Cannot build the document to insert from the query: {}", e.what());
    }
    doc_ = bson::Object(bson::Doc(buffer.data()));
}

void UpsertBase::check_names(bson::Doc now) const {
    for (const Element& e : now) {
        if (!e.is_object() && !e.is_array()) continue;
        if (incomplete_.contains(e.name())) continue;
        check_stored_names(
            e.as_doc(), e.is_array(), 2,
            e.name() == "_id" ? names_in_id(dialect_) : names_in_documents(dialect_));
    }
}

void write_with_id_first(bson::Doc doc, const Element& id, bson::Buffer& out) {
    const size_t start = open_doc(out);
    if (id) {
        write_value(out, "_id", id);
    } else {
        write_fixed(out, Type::object_id, "_id", bson::new_object_id());
    }
    // The fields between them are copied in long pieces.
    constexpr std::ptrdiff_t kPieceBytes = 1 << 16;
    constexpr int64_t kTicksPerPiece = 1 << 10;
    const uint8_t* piece = doc.data() + sizeof(int32_t);
    for (const Element& e : doc) {
        const bool is_id = e.name() == "_id";
        if (!is_id && e.raw() - piece < kPieceBytes) continue;
        out.append(piece, static_cast<size_t>(e.raw() - piece));
        piece = is_id ? e.raw() + e.size() : e.raw();
        sched::tick(kTicksPerPiece);
    }
    const uint8_t* const end = doc.data() + doc.size() - 1;
    out.append(piece, static_cast<size_t>(end - piece));
    close_doc(out, start);
}

}  // namespace query
