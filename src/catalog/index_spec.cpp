#include "catalog/index_spec.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/field_path.h"
#include "bson/json.h"
#include "bson/texts.h"
#include "catalog/collation.h"
#include "catalog/names.h"
#include "geo/index_kind.h"
#include "query/match/match_tree.h"
#include "sched/tick.h"
#include "storage/index_limits.h"
#include "text/spec.h"

namespace catalog {

namespace {

constexpr int32_t kKeyPatternBytesMax = 2048;
// The most options of a definition: they are looked for one by one whenever it is read.
constexpr int kOptionsMax = 10000;
constexpr std::string_view kSphereVersion = "2dsphereIndexVersion";
constexpr std::string_view kPlugins[] = {"hashed", "2d", "2dsphere", "geoHaystack", "text"};

[[noreturn]] void bad_key(std::string_view why, bson::Doc key) {
    base::fail(base::kCannotCreateIndex, "bad index key pattern {}: {}", bson::to_text(key), why);
}

void check_path(std::string_view path, bson::Doc key) {
    bson::check_path_parts(path);
    size_t begin = 0;
    while (true) {
        const size_t dot = path.find('.', begin);
        const std::string_view part = path.substr(begin, dot - begin);
        if (part.empty()) bad_key("a field name has an empty part", key);
        const bool reference = part == "$id" || part == "$ref" || part == "$db";
        if (part.front() == '$' && (begin == 0 || !reference))
            bad_key("a field name starts with '$'", key);
        if (dot == std::string_view::npos) return;
        begin = dot + 1;
    }
}

void check_key(bson::Doc key) {
    if (key.empty()) bad_key("it is empty", key);
    if (key.size() > kKeyPatternBytesMax) bad_key("it is longer than 2048 bytes", key);
    int fields = 0;
    std::string_view plugin;
    for (const bson::Element& e : key) {
        ++fields;
        if (e.is_object() || e.is_array()) bad_key("values must be numbers or kinds of index", key);
        if (e.is_string() && !e.as_string().empty()) {
            const std::string_view kind = e.as_string();
            if (std::ranges::find(kPlugins, kind) == std::end(kPlugins))
                base::fail(base::kCannotCreateIndex, "Unknown index plugin '{}'", kind);
            if (!plugin.empty() && plugin != kind) bad_key("it has fields of two kinds", key);
            plugin = kind;
        }
    }
    for (const bson::Element& e : key) {
        const bool wildcard = e.name() == "$**" || e.name().ends_with(".$**");
        if (wildcard && plugin != "text")
            base::fail(base::kCannotCreateIndex,
                       "wildcard indexes are not supported by this server, '{}': make indexes on "
                       "the paths that filters and sorts name",
                       e.name());
        if (e.name() != "$**") check_path(e.name(), key);
    }
    if (fields > storage::kKeyFieldsMax) base::fail(13103, "too many compound keys");
}

// Every index is built in the format of version 1. Dumps of older and newer servers ask for 0
// and 2.
void check_version(const bson::Element& v) {
    if (v.missing()) return;
    if (!v.is_number()) base::fail(13118, "index version must be a number");
    const double given = v.to_double();
    if (given != 0 && given != 1 && given != 2)
        base::fail(14803,
                   "this version of the server cannot build new indexes of version number {}",
                   given);
}

// Options of newer servers that change which documents an index holds or refuses, in which order,
// or which queries use it. An index without them would not do what was asked, so they are not
// stored unread as others are.
void check_options_of_today(bson::Doc spec) {
    for (const std::string_view option : {"wildcardProjection", "columnstoreProjection"}) {
        if (spec.has(option))
            base::fail(base::kCannotCreateIndex, "the index option '{}' is not supported", option);
    }
    for (const std::string_view option : {"prepareUnique", "clustered"}) {
        if (spec[option].truthy())
            base::fail(base::kCannotCreateIndex, "the index option '{}' is not supported", option);
    }
    const bson::Element engine = spec["storageEngine"];
    if (engine && !(engine.is_object() && engine.as_doc().empty()))
        base::fail(base::kCannotCreateIndex, "the index option 'storageEngine' is not supported");
}

// Whether a partial index can be of the documents that match: clauses that a query can be seen to
// imply (query/match/implication.h).
bool may_be_filter(const query::MatchNode& node) {
    switch (node.kind) {
        case query::MatchKind::conjunction:
        case query::MatchKind::disjunction:
            return std::ranges::all_of(node.children,
                                       [](const auto& child) { return may_be_filter(*child); });
        case query::MatchKind::in:
            return node.regexes.empty();
        case query::MatchKind::eq:
        case query::MatchKind::lt:
        case query::MatchKind::lte:
        case query::MatchKind::gt:
        case query::MatchKind::gte:
        case query::MatchKind::exists:
        case query::MatchKind::type:
        case query::MatchKind::always_true:
        case query::MatchKind::always_false:
            return true;
        default:
            return false;
    }
}

void check_partial(bson::Doc spec) {
    const bson::Element filter = spec["partialFilterExpression"];
    if (filter.missing()) return;
    if (!filter.is_object())
        base::fail(base::kCannotCreateIndex, "partialFilterExpression has to be a document");
    if (spec["sparse"].truthy())
        base::fail(base::kCannotCreateIndex,
                   "an index has either partialFilterExpression or sparse, not both");
    static const query::RefusedExpressions kNoExpressions(
        base::kCannotCreateIndex, "unsupported expression in partial index: $expr");
    if (!may_be_filter(query::Matcher::parse(filter.as_doc(), &kNoExpressions)->root()))
        base::fail(
            base::kCannotCreateIndex,
            "partialFilterExpression can have equality, $exists: true, $gt, $gte, $lt, $lte, "
            "$type, $in, $and and $or: {}",
            bson::to_text(filter.as_doc()));
}

// Refuses a collation for the indexes whose keys can have no order but that of bytes.
void check_collation(bson::Doc key, const collation::Collator* collator,
                     const collation::Collator* inherited) {
    if (is_id_pattern(key) && !collation::is_same(collator, inherited))
        base::fail(base::kBadValue, "The _id index must have the same collation as the collection");
    if (collator == nullptr) return;
    for (const bson::Element& e : key)
        if (e.is_string() && !e.as_string().empty())
            base::fail(base::kCannotCreateIndex,
                       "a {} index with a collation is not supported by this server, give it "
                       "{{locale: \"simple\"}}",
                       e.as_string());
}

// Refuses the options that the index on _id cannot have, since it has all documents and the server
// itself looks them up by it.
void check_id_index(bson::Doc spec) {
    if (spec["sparse"].truthy()) base::fail(base::kCannotCreateIndex, "_id index cannot be sparse");
    if (spec.has("partialFilterExpression"))
        base::fail(base::kCannotCreateIndex, "_id index cannot be a partial index");
    if (spec["hidden"].truthy()) base::fail(base::kCannotCreateIndex, "_id index cannot be hidden");
}

// Options that do not take part in the comparison of two definitions.
bool descriptive(std::string_view field) {
    constexpr std::array<std::string_view, 10> kFields = {
        "key", "name", "ns", "v", "background", "dropDups", "unique", "sparse", "_id", "hidden"};
    return std::ranges::find(kFields, field) != kFields.end();
}

// The options of a definition, which may be many. If several have one name, the first counts.
using Options = std::unordered_map<std::string_view, bson::Element>;

Options options_of(bson::Doc spec) {
    Options out;
    for (const bson::Element& e : sched::ticked(spec)) {
        if (!descriptive(e.name())) out.emplace(e.name(), e);
    }
    return out;
}

// Whether `spec` has no options but these.
bool has_no_others(bson::Doc spec, const Options& options) {
    for (const bson::Element& e : sched::ticked(spec)) {
        if (descriptive(e.name())) continue;
        const auto found = options.find(e.name());
        if (found == options.end() || !bson::equal_values(e, found->second)) return false;
    }
    return true;
}

bson::Object simple_collation() {
    return bson::make("locale", "simple");
}

bool same_definition(const Index& index, bson::Doc spec) {
    if (!index.is_id && index.unique != spec["unique"].truthy()) return false;
    return index.sparse == spec["sparse"].truthy() && has_no_others(index.spec, options_of(spec)) &&
           has_no_others(spec, options_of(index.spec));
}

}  // namespace

bson::Object id_index_spec(std::string_view ns, const collation::Collator* collator) {
    bson::Builder spec;
    spec.append("v", 1).append("key", bson::make("_id", 1)).append("name", "_id_");
    if (collator != nullptr) spec.append("collation", collator->spec());
    return spec.append("ns", ns).object();
}

bson::Object normalise_index_spec(bson::Doc given, std::string_view ns,
                                  const std::shared_ptr<const collation::Collator>& inherited,
                                  const storage::NameLimits& limits) {
    // The ticks for checking one (sched/tick.h).
    constexpr int64_t kTicks = 8;
    constexpr int32_t kBytesPerTick = 128;
    bson::Doc spec = given;
    sched::tick(kTicks + spec.size() / kBytesPerTick);
    if (spec.field_count() > kOptionsMax)
        base::fail(base::kCannotCreateIndex, "an index definition has more than {} fields",
                   kOptionsMax);
    // The engine writes their documents itself, past any index.
    const std::string_view collection = split(ns).collection;
    if (is_catalogue(collection))
        base::fail(base::kCannotCreateIndex, "cannot create an index on {}", collection);
    const bson::Element key = spec["key"];
    if (!key.is_object())
        base::fail(base::kCannotCreateIndex, "an index definition needs a key document");
    check_key(key.as_doc());
    const bson::Element name = spec["name"];
    if (!name.is_string() || name.as_string().empty())
        base::fail(base::kCannotCreateIndex, "an index definition needs a name");
    if (name.as_string().find('\0') != std::string_view::npos)
        base::fail(base::kCannotCreateIndex, "the name of an index must not contain a NUL byte");
    if (ns.size() + 2 + name.as_string().size() > limits.index_ns)
        base::fail(base::kCannotCreateIndex,
                   "namespace name generated from index name \"{}.${}\" is too long ({} byte max)",
                   ns, name.as_string(), limits.index_ns);
    if (!bson::texts_are_utf8(spec))
        base::fail(base::kCannotCreateIndex, "the texts of an index definition must be UTF-8");
    check_version(spec["v"]);
    check_options_of_today(spec);
    check_partial(spec);
    const bson::Element own = spec["collation"];
    const bool is_named = own.is_object() && !own.as_doc().empty();
    const auto collator = is_named ? collator_of(spec) : inherited;
    check_collation(key.as_doc(), collator.get(), inherited.get());
    if (is_id_pattern(key.as_doc())) {
        check_id_index(spec);
        return id_index_spec(ns, inherited.get());
    }
    bson::Object of_text;
    if (text::is_text_key(key.as_doc())) {
        of_text = text::stored_form(spec);
        spec = of_text;
    }
    bson::Builder out;
    out.append("v", 1);
    if (spec["unique"].truthy()) out.append("unique", true);
    out.append("key", spec["key"].as_doc()).append(name);
    if (!spec.has("ns")) out.append("ns", ns);
    // The simple one is that of an index without the option, but not where the collection has
    // another, which the index would inherit wherever its definition comes to next.
    const bool has_collation = collator != nullptr || inherited != nullptr;
    bool shows_collation = false;
    const auto show_collation = [&] {
        if (!has_collation || std::exchange(shows_collation, true)) return;
        if (collator != nullptr)
            out.append("collation", collator->spec());
        else
            out.append("collation", simple_collation());
    };
    for (const bson::Element& e : spec) {
        const std::string_view field = e.name();
        if (field == "v" || field == "unique" || field == "key" || field == "name" ||
            field == "_id")
            continue;
        if (field == "collation" && (e.is_object() || has_collation)) {
            show_collation();
        } else if (field == "ns") {
            out.append("ns", ns);
        } else if (field == "hidden") {
            if (e.truthy()) out.append("hidden", true);
        } else {
            out.append(e);
        }
    }
    show_collation();
    const bool is_sphere = geo::index_kind(key.as_doc()) == geo::IndexKind::sphere;
    if (is_sphere && !spec.has(kSphereVersion)) out.append(kSphereVersion, 2);
    return out.object();
}

bson::Object spec_to_copy(bson::Doc stored) {
    if (stored["collation"].is_object()) return bson::Object(stored);
    bson::Builder spec;
    spec.append_all(stored);
    return spec.append("collation", simple_collation()).object();
}

void check_key_kind(bson::Doc normalised) {
    geo::check_index(normalised);
    KeyGenerator::make(normalised);  // refuses what no key could be derived from
    if (!normalised["unique"].truthy()) return;
    for (const bson::Element& e : normalised["key"].as_doc()) {
        if (e.is_string() && e.as_string() == "hashed")
            base::fail(16764, "Currently hashed indexes cannot guarantee uniqueness.");
    }
}

bool index_exists(const Collection& collection, bson::Doc normalised) {
    const std::string_view name = normalised["name"].as_string();
    const bson::Doc key = normalised["key"].as_doc();
    if (const Index* same_name = collection.find_index(name)) {
        if (bson::compare_docs(same_name->key_pattern, key) != 0)
            base::fail(base::kIndexKeySpecsConflict,
                       "Trying to create an index with same name {} with different key spec {} vs "
                       "existing spec {}",
                       name, bson::to_text(key), bson::to_text(same_name->key_pattern));
        if (!same_name->is_like(normalised))
            base::fail(base::kIndexKeySpecsConflict,
                       "An existing index has the same name and other documents: {}", name);
        if (!same_definition(*same_name, normalised))
            base::fail(base::kIndexOptionsConflict,
                       "Index with name: {} already exists with "
                       "different options",
                       name);
        return true;
    }
    if (const Index* same_key = collection.find_index_like(normalised)) {
        if (!same_definition(*same_key, normalised))
            base::fail(base::kIndexOptionsConflict,
                       "Index with pattern: {} already exists with different options",
                       bson::to_text(key));
        return true;
    }
    const auto is_text = [](const auto& index) { return text::is_text_key(index->key_pattern); };
    if (text::is_text_key(key) && std::ranges::any_of(collection.indexes(), is_text))
        base::fail(base::kIndexOptionsConflict, "only one text index per collection is allowed");
    if (collection.indexes().size() >= kIndexesMax)
        base::fail(base::kCannotCreateIndex, "add index fails, too many indexes for {} key:{}",
                   collection.ns(), bson::to_text(key));
    return false;
}

bson::Object with_versions_of_today(bson::Doc spec) {
    constexpr int32_t kVersion = 3;
    bson::Builder out;
    out.append_all(spec);
    const bson::Element key = spec["key"];
    if (!key.is_object()) return out.object();
    if (text::is_text_key(key.as_doc()) && !spec.has("textIndexVersion"))
        out.append("textIndexVersion", kVersion);
    if (geo::index_kind(key.as_doc()) == geo::IndexKind::sphere &&
        !spec.has("2dsphereIndexVersion"))
        out.append("2dsphereIndexVersion", kVersion);
    return out.object();
}

}  // namespace catalog
