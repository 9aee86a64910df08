#include "query/update_base.h"

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "query/document_check.h"
#include "query/element_writer.h"
#include "query/update_tree.h"

namespace query {

using bson::Element;
using bson::Type;

namespace {

constexpr int kUnsupportedFormat = 12;

// Equality nodes that always apply: below the root and nested conjunctions and $all, not $or.
void collect_equalities(const MatchNode& node, std::vector<const MatchNode*>& out) {
    for (const auto& child : node.children) {
        if (child->kind == MatchKind::eq) {
            out.push_back(child.get());
        } else if (child->kind == MatchKind::conjunction || child->kind == MatchKind::all) {
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
        if (part.empty() || part[0] == '$') {
            base::fail(kUnsupportedFormat, "Cannot insert a document with the field path '{}'",
                       path);
        }
        mod.path.emplace_back(part);
        at = dot + 1;
    }
    mod.modifier = make_set(node.operand);
    return mod;
}

}  // namespace

void check_path_names(const std::vector<std::string>& path, bson::Doc doc) {
    bool is_array = false;
    for (const std::string& part : path) {
        const int64_t index = is_array ? array_index(part) : -1;
        Element found;
        Element previous;
        int64_t at = 0;
        for (const Element& e : doc) {
            if (is_array ? at++ == index : e.name() == part) {
                found = e;
                break;
            }
            previous = e;
        }
        if (!found) return;
        if (!is_array) check_stored_name(found, previous, doc);
        if (!found.is_object() && !found.is_array()) return;
        is_array = found.is_array();
        doc = found.as_doc();
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

void check_size(bson::Doc doc) {
    if (doc.size() > bson::kMaxDocumentBytes) {
        base::fail(17419, "Resulting document after update is larger than {}",
                   bson::kMaxDocumentBytes);
    }
}

bson::Object upsert_base(const Matcher& query) {
    std::vector<const MatchNode*> equalities;
    collect_equalities(query.root(), equalities);
    std::vector<Mod> mods;
    for (const MatchNode* node : equalities)
        mods.push_back(equality_mod(*node));
    bson::Buffer buffer;
    try {
        ModTree(mods, true).apply(bson::Doc(), buffer);
    } catch (const base::Error& e) {
        throw base::Error(kUnsupportedFormat, std::string("Cannot build the document to insert "
                                                          "from the query: ") +
                                                  e.what());
    }
    const bson::Doc doc(buffer.data());
    check_id_type(doc["_id"], base::kInvalidIdField);
    check_stored_names(doc, false, 1);
    return bson::Object(doc);
}

void write_with_id_first(bson::Doc doc, const Element& id, bson::Buffer& out) {
    const size_t start = open_doc(out);
    if (id) {
        write_value(out, "_id", id);
    } else {
        write_fixed(out, Type::object_id, "_id", bson::new_object_id());
    }
    for (const Element& e : doc) {
        if (e.name() != "_id") out.append(e.raw(), e.size());
    }
    close_doc(out, start);
}

}  // namespace query
