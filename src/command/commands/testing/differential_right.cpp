#include "command/commands/testing/differential_right.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "catalog/index_keys.h"
#include "catalog/index_spec.h"
#include "geo/near.h"
#include "query/match/path.h"
#include "text/search.h"
#include "text/spec.h"

namespace command::differential {

namespace {

constexpr int kOutOfIndex = 16433;

using Documents = std::vector<bson::Object>;

// A document of an answer, with its distance or score.
struct Rank {
    std::string id;
    double number = 0;
};

enum class Order { none, ascending, descending };

struct Part {
    Order order = Order::none;
    size_t skip = 0;
    size_t limit = SIZE_MAX;
};

bool is_same(double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::max({std::abs(a), std::abs(b), 1e-3});
}

std::string id_of(bson::Doc doc) {
    return bson::to_text(doc["_id"]);
}

std::string show(const std::vector<Rank>& ranks) {
    std::string out;
    for (const Rank& rank : ranks)
        out += fmt::format("  {} {}\n", rank.id, rank.number);
    return out;
}

// Whether `given` are so many of `right`, each once, and with an order the right ones.
bool is_part(std::vector<Rank> right, const std::vector<Rank>& given, const Part& part) {
    std::ranges::stable_sort(right, [&](const Rank& a, const Rank& b) {
        return part.order == Order::descending ? a.number > b.number : a.number < b.number;
    });
    std::map<std::string, double> numbers;
    for (const Rank& rank : right)
        numbers[rank.id] = rank.number;
    const size_t behind = right.size() - std::min(right.size(), part.skip);
    if (given.size() != std::min(part.limit, behind)) return false;
    std::set<std::string> met;
    for (size_t i = 0; i < given.size(); ++i) {
        const auto own = numbers.find(given[i].id);
        if (own == numbers.end() || !met.insert(given[i].id).second) return false;
        if (!is_same(own->second, given[i].number)) return false;
        if (part.order != Order::none && !is_same(right[i + part.skip].number, given[i].number))
            return false;
    }
    return true;
}

Documents batch_of(const bson::Object& reply) {
    Documents found;
    const bson::Element batch = reply.doc().at_path("cursor.firstBatch");
    if (batch.is_array())
        for (const bson::Element& one : batch.as_doc())
            found.emplace_back(one.as_doc());
    return found;
}

// Nothing: the filter is refused.
std::optional<Documents> matching(const Searched& searched, const Node* filter) {
    Node find = object().set("find", text('"' + searched.holders.front().collection + '"'));
    find.set("filter", filter == nullptr ? object() : *filter).set("batchSize", text("1000"));
    const bson::Object reply = searched.run(find.json());
    if (reply["code"].is_number()) return std::nullopt;
    return batch_of(reply);
}

size_t number_in(const Node& arguments, const char* name, size_t otherwise) {
    const Node* const given = arguments.find(name);
    return given == nullptr ? otherwise : std::stoul(given->text);
}

std::string text_in(const bson::Object& doc, const char* name) {
    const bson::Element e = doc[name];
    return e.is_string() ? std::string(e.as_string()) : "";
}

// Each document that is neither too near nor too far. `flat`: as a 2d index measures.
std::vector<Rank> nearest(const Documents& documents, const std::string& path,
                          const geo::Near& near, bool flat, double unit) {
    std::vector<Rank> ranks;
    for (const bson::Object& doc : documents) {
        std::optional<double> least;
        query::visit_values(bson::FieldPath(path, SIZE_MAX), doc, query::LeafArrays::keep,
                            [&](const query::PathValue& value) {
                                const auto found = near.nearest(value.value, flat);
                                if (found && (!least || found->distance < *least))
                                    least = found->distance;
                                return false;
                            });
        if (least) ranks.push_back({id_of(doc), *least * unit});
    }
    return ranks;
}

// The indexes of a holder that may answer.
struct Usable {
    bool flat = false, sphere = false;
    bool surely = false;  // one of them is not partial
};

Usable usable(const Holder& holder, const std::string& path, bool for_flat, bool for_sphere) {
    Usable out;
    for (const bson::Object& index : holder.indexes) {
        const bson::Element kind = index["key"].as_doc()[path];
        if (!kind.is_string()) continue;
        const bool flat = for_flat && kind.as_string() == "2d";
        const bool sphere = for_sphere && kind.as_string() == "2dsphere";
        out.flat = out.flat || flat;
        out.sphere = out.sphere || sphere;
        if (flat || sphere) out.surely = out.surely || !index.doc().has("partialFilterExpression");
    }
    return out;
}

struct Asking {
    std::string command;
    std::string path;
    const Documents& documents;
    const geo::Near& near;
    double flat_unit = 1, sphere_unit = 1;
    bool shows_distance = false;
    bool may_fail = false;  // by a 2d index
    Part part = {};
};

std::string ask_for_near(const Searched& searched, const Holder& holder, const Usable& indexes,
                         const Asking& asking) {
    if (asking.documents.empty()) return "";  // there may be no collection
    const bson::Object reply = searched.run(asking.command);
    const auto wrong = [&](const std::string& what) {
        return fmt::format("collection '{}': {}\n{}\n", holder.collection, what,
                           bson::to_text(reply));
    };
    if (reply["code"].is_number()) {
        const bool may_fail = !indexes.surely || (indexes.flat && asking.may_fail) ||
                              (indexes.flat && reply["code"].to_int32() == kOutOfIndex);
        return may_fail ? "" : wrong("an error");
    }
    std::string why = "no index can answer";
    for (const bool flat : {true, false}) {
        if (flat ? !indexes.flat : !indexes.sphere) continue;
        const double unit = flat ? asking.flat_unit : asking.sphere_unit;
        const std::vector<Rank> right =
            nearest(asking.documents, asking.path, asking.near, flat, unit);
        std::map<std::string, double> numbers;
        for (const Rank& rank : right)
            numbers[rank.id] = rank.number;
        std::vector<Rank> given;
        for (const bson::Object& doc : batch_of(reply)) {
            const std::string id = id_of(doc);
            given.push_back({id, asking.shows_distance ? doc["dist"].to_double() : numbers[id]});
        }
        if (is_part(right, given, asking.part)) return "";
        why = fmt::format("right is\n{}and it gives\n{}", show(right), show(given));
    }
    return wrong(why);
}

// The clause and the filter, as one.
Node joined(const std::string& name, const Node& clause, const Node* filter) {
    Node made = object().set(name, clause);
    if (filter != nullptr)
        for (const auto& [other, value] : filter->members)
            made.set(other, value);
    return made;
}

}  // namespace

std::string check_near(const Searched& searched, const Node& arguments) {
    const Node* const operators = arguments.find("near");
    const Node* const named = arguments.find("path");
    if (operators == nullptr || operators->members.empty() || named == nullptr ||
        !named->text.starts_with('"'))
        return "";
    const std::string path = named->text.substr(1, named->text.size() - 2);
    const auto near = geo::Near::parse(bson::parse_test_json(operators->json()), geo::Rules::today);
    const Node* const filter = arguments.find("filter");
    const auto documents = matching(searched, filter);
    if (!documents) return "";
    for (const Holder& holder : searched.holders) {
        Node find = object().set("find", text('"' + holder.collection + '"'));
        find.set("filter", joined(path, *operators, filter)).set("batchSize", text("1000"));
        for (const char* name : {"limit", "skip"})
            if (const Node* given = arguments.find(name)) find.set(name, *given);
        Asking asking{.command = find.json(), .path = path, .documents = *documents, .near = *near};
        asking.part = {Order::ascending, number_in(arguments, "skip", 0),
                       number_in(arguments, "limit", SIZE_MAX)};
        const std::string wrong = ask_for_near(
            searched, holder, usable(holder, path, near->can_use_flat(), near->can_use_sphere()),
            asking);
        if (!wrong.empty()) return wrong;
    }
    return "";
}

std::string check_geo_near(const Searched& searched, const Node& arguments) {
    const Node* const stage = arguments.find("stage");
    const Node* const limit = arguments.find("limit");
    if (stage == nullptr || limit == nullptr) return "";
    for (const char* name : {"near", "spherical", "distanceField", "key"})
        if (stage->find(name) == nullptr) return "";
    const bson::Object given = bson::parse_test_json(stage->json());
    const bson::Element from = given["near"];
    const bson::Element coordinates = from.is_array() ? from : from.as_doc()["coordinates"];
    if (!coordinates.is_array() || coordinates.as_doc().field_count() != 2) return "";
    geo::Near::Parts parts;
    parts.centre = {coordinates.as_doc()["0"].to_double(), coordinates.as_doc()["1"].to_double()};
    parts.geojson = !from.is_array();
    parts.spherical = given["spherical"].truthy();
    if (given.doc().has("maxDistance")) parts.most = given["maxDistance"].to_double();
    if (given.doc().has("minDistance")) parts.least = given["minDistance"].to_double();
    const geo::Near near(parts, geo::Rules::today);
    const std::string path = text_in(given, "key");
    const double times =
        given.doc().has("distanceMultiplier") ? given["distanceMultiplier"].to_double() : 1;
    const auto documents = matching(searched, stage->find("query"));
    if (!documents) return "";
    for (const Holder& holder : searched.holders) {
        const Asking asking{
            .command = fmt::format(R"({{"aggregate": "{}", "pipeline": [{{"$geoNear": {}}},
                                      {{"$limit": {}}}], "cursor": {{"batchSize": 1000}}}})",
                                   holder.collection, stage->json(), limit->text),
            .path = path,
            .documents = *documents,
            .near = near,
            .flat_unit = times,
            .sphere_unit = times * (parts.geojson ? geo::kEarthMetres : 1),
            .shows_distance = true,
            .may_fail = parts.geojson,
            .part = {Order::ascending, 0, std::stoul(limit->text)}};
        const std::string wrong = ask_for_near(
            searched, holder,
            usable(holder, path, !parts.geojson, parts.geojson || parts.spherical), asking);
        if (!wrong.empty()) return wrong;
    }
    return "";
}

namespace {

// The score of a document by its keys in the index.
double score_of(bson::Doc doc, const catalog::KeyGenerator& index, const text::Search& search) {
    catalog::KeySet keys;
    index.keys(doc, keys);
    double score = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
        auto value = keys[i].begin();
        for (size_t n = 0; n < index.text()->prefix.size(); ++n)
            ++value;
        const std::string term(value->as_string());
        ++value;
        score += value->to_double() * static_cast<double>(std::ranges::count(search.terms(), term));
    }
    return score;
}

// Whether a filter says one value for each plain field before the words.
bool has_prefix(const Node* filter, const std::vector<std::string>& fields) {
    return std::ranges::all_of(fields, [&](const std::string& field) {
        const Node* const value = filter == nullptr ? nullptr : filter->find(field);
        return value != nullptr && value->text.find("$regularExpression") == std::string::npos &&
               (value->members.empty() || !value->members.front().name.starts_with('$'));
    });
}

}  // namespace

std::string check_text(const Searched& searched, const Node& arguments) {
    const Node* const clause = arguments.find("text");
    if (clause == nullptr || clause->find("$search") == nullptr) return "";
    const bson::Object asked = bson::parse_test_json(clause->json());
    const text::Request request{
        .search = text_in(asked, "$search"),
        .language = text_in(asked, "$language"),
        .folding = {asked["$caseSensitive"].truthy(), asked["$diacriticSensitive"].truthy()}};
    const Node* const filter = arguments.find("filter");
    const Node* const beside = arguments.find("or");
    const bool sorted = arguments.find("sort") != nullptr;
    const auto documents = matching(searched, filter);
    if (!documents) return "";
    std::set<std::string> besides;
    if (beside != nullptr) {
        Node both = array().push(*beside);
        if (filter != nullptr) both.push(*filter);
        const Node all = object().set("$and", std::move(both));
        const auto found = matching(searched, &all);
        if (!found) return "";
        for (const bson::Object& doc : *found)
            besides.insert(id_of(doc));
    }
    for (const Holder& holder : searched.holders) {
        Node condition = joined("$text", *clause, filter);
        if (beside != nullptr) {
            Node branches = array().push(object().set("$text", *clause)).push(*beside);
            condition = joined("$or", branches, filter);
        }
        const Node score = object().set("s", text(R"({"$meta": "textScore"})"));
        Node find = object().set("find", text('"' + holder.collection + '"'));
        find.set("filter", std::move(condition)).set("projection", score);
        find.set("batchSize", text("1000"));
        if (sorted) find.set("sort", score);
        if (const Node* limit = arguments.find("limit")) find.set("limit", *limit);
        const bson::Object reply = searched.run(find.json());
        const auto wrong = [&](const std::string& what) {
            return fmt::format("collection '{}': {}\n{}\n", holder.collection, what,
                               bson::to_text(reply));
        };
        std::unique_ptr<catalog::KeyGenerator> index;
        bool is_partial = false;
        for (const bson::Object& definition : holder.indexes) {
            if (!text::is_text_key(definition["key"].as_doc())) continue;
            index = catalog::KeyGenerator::make(
                text::stored_form(catalog::with_versions_of_today(definition)));
            is_partial = definition.doc().has("partialFilterExpression");
        }
        if (reply["code"].is_number()) {
            const bool may_fail = index == nullptr || is_partial || beside != nullptr ||
                                  !has_prefix(filter, index->text()->prefix);
            if (!may_fail) return wrong("an error");
            continue;
        }
        if (index == nullptr && documents->empty()) continue;  // there may be no collection
        if (index == nullptr) return wrong("no index can answer");
        text::Search search(index->text(), request);
        std::vector<Rank> right;
        for (const bson::Object& doc : *documents) {
            double ignored = 0;
            if (search.matches(doc, &ignored)) {
                right.push_back({id_of(doc), score_of(doc, *index, search)});
            } else if (besides.contains(id_of(doc))) {
                right.push_back({id_of(doc), 0});
            }
        }
        std::vector<Rank> given;
        for (const bson::Object& doc : batch_of(reply))
            given.push_back({id_of(doc), doc["s"].to_double()});
        const Part part{sorted ? Order::descending : Order::none, 0,
                        number_in(arguments, "limit", SIZE_MAX)};
        if (!is_part(right, given, part))
            return wrong(fmt::format("right is\n{}and it gives\n{}", show(right), show(given)));
    }
    return "";
}

}  // namespace command::differential
