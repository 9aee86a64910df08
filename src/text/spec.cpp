#include "text/spec.h"

#include <algorithm>

#include "base/error.h"
#include "bson/json.h"
#include "sched/tick.h"

namespace text {

namespace {

using bson::Doc;
using bson::Element;

constexpr std::string_view kTerm = "_fts";
constexpr std::string_view kScore = "_ftsx";
constexpr std::string_view kWildcard = "$**";
constexpr std::string_view kDefaultLanguage = "english";
constexpr std::string_view kDefaultOverride = "language";
constexpr int kDefaultVersion = 2;
constexpr double kWeightMax = 99999;

bool is_text(const Element& e) {
    return e.is_string() && e.as_string() == "text";
}

using Weights = std::map<std::string, int32_t, std::less<>>;

void check_weighted_path(std::string_view path) {
    if (path == kWildcard) return;
    if (path.empty()) base::fail(17294, "a weight of a text index has no field");
    for (size_t begin = 0; begin <= path.size();) {
        const size_t end = std::min(path.find('.', begin), path.size());
        if (begin == end)
            base::fail(17291, "the field '{}' of a text index has an empty part", path);
        if (path[begin] == '$')
            base::fail(17292, "the field '{}' of a text index has a part that begins with '$'",
                       path);
        begin = end + 1;
    }
}

void read_weights(const Element& given, Weights& weights) {
    if (given.missing()) return;
    if (given.is_string() && given.as_string() == kWildcard) {
        weights.emplace(kWildcard, 1);
        return;
    }
    if (!given.is_object())
        base::fail(17284, "the weights of a text index must be a document, or \"$**\"");
    for (const Element& e : sched::ticked(given.as_doc())) {
        if (!e.is_number()) base::fail(17283, "the weight of '{}' must be a number", e.name());
        const double weight = e.to_double();
        if (!(weight >= 1 && weight < kWeightMax + 1))
            base::fail(16674, "the weight of '{}' must be from 1 to 99999", e.name());
        check_weighted_path(e.name());
        weights[std::string(e.name())] = static_cast<int32_t>(weight);
    }
}

// Reads the key, makes its stored form, and gives weights to the fields that have none.
bson::Object stored_key(Doc key, Weights& weights, bool has_weights) {
    bson::Builder out;
    enum class At { before, inside, behind } at = At::before;
    bool is_stored_form = false;
    for (auto field = key.begin(); field != key.end(); ++field) {
        const std::string_view name = field->name();
        if (is_text(*field)) {
            if (at == At::behind)
                base::fail(17389, "the fields of a text index must stand side by side: {}",
                           bson::to_text(key));
            if (at == At::before) out.append(kTerm, "text").append(kScore, 1);
            at = At::inside;
            if (name != kTerm) {
                weights.emplace(name, 1);
                continue;
            }
            is_stored_form = true;
            if (++field == key.end() || field->name() != kScore)
                base::fail(17288, "in the key of a text index _ftsx must stand behind _fts: {}",
                           bson::to_text(key));
            continue;
        }
        if (name == kTerm)
            base::fail(17271, "the field _fts of a text index must be \"text\": {}",
                       bson::to_text(key));
        if (name == kScore)
            base::fail(17289, "in the key of a text index _ftsx must stand behind _fts: {}",
                       bson::to_text(key));
        if (!field->is_number())
            base::fail(base::kCannotCreateIndex,
                       "beside text an index can have plain fields only: {}", bson::to_text(key));
        if (at == At::inside) at = At::behind;
        out.append(*field);
    }
    if (is_stored_form && (!has_weights || weights.empty()))
        base::fail(16739, "an index on _fts needs weights: name the fields, as in {{a: \"text\"}}");
    return out.object();
}

Version read_version(const Element& given) {
    if (given.missing()) return static_cast<Version>(kDefaultVersion);
    if (!given.is_number()) base::fail(17293, "textIndexVersion must be a number");
    const int64_t version = given.to_int64();
    if (version < 1 || version > 3)
        base::fail(16730, "there are no text indexes of version {}", version);
    return static_cast<Version>(version);
}

std::string read_language(const Element& given, Version version) {
    if (given.missing()) return std::string(kDefaultLanguage);
    if (!given.is_string()) {
        if (version == Version::v1) return std::string(kDefaultLanguage);
        base::fail(17263, "the default_language of a text index must be a text");
    }
    if (version == Version::v1 && given.as_string().empty()) return std::string(kDefaultLanguage);
    if (!language_name(given.as_string(), version))
        base::fail(17264, "there is no language '{}' for text indexes", given.as_string());
    return std::string(given.as_string());
}

std::string read_override(const Element& given) {
    if (given.missing()) return std::string(kDefaultOverride);
    const std::string_view name = given.is_string() ? given.as_string() : "";
    if (name.empty() || name.front() == '$' || name.find('.') != std::string_view::npos)
        base::fail(17136, "language_override must be the name of a field, without dots");
    return std::string(name);
}

}  // namespace

bool is_text_key(Doc key) {
    for (const Element& e : key)
        if (is_text(e)) return true;
    return false;
}

bson::Object stored_form(Doc definition) {
    const Element given_weights = definition["weights"];
    const Element given_language = definition["default_language"];
    Weights weights;
    read_weights(given_weights, weights);
    const bson::Object key =
        stored_key(definition["key"].as_doc(), weights, given_weights.is_object());
    const Version version = read_version(definition["textIndexVersion"]);
    const std::string language = read_language(given_language, version);
    const std::string name_of_override = read_override(definition["language_override"]);

    bson::Builder out;
    const auto append_weights = [&] {
        bson::Builder of = out.sub_object("weights");
        for (const auto& [path, weight] : weights)
            of.append(path, weight);
    };
    for (const Element& e : definition) {
        if (e.name() == "key")
            out.append("key", key);
        else if (e.name() == "weights")
            append_weights();
        else if (e.name() == "default_language")
            out.append("default_language", language);
        else if (e.name() != "textIndexVersion")
            out.append(e);
    }
    if (given_weights.missing()) append_weights();
    if (given_language.missing()) out.append("default_language", language);
    if (!definition.has("language_override")) out.append("language_override", name_of_override);
    out.append("textIndexVersion", static_cast<int32_t>(version));
    return out.object();
}

Spec::Spec(Doc stored) {
    version = stored.has("textIndexVersion") ? read_version(stored["textIndexVersion"])
                                             : Version::v1;  // made by 2.4
    language_override = read_override(stored["language_override"]);
    default_language = language_name(read_language(stored["default_language"], version), version)
                           .value_or(std::string(kDefaultLanguage));
    Weights read;
    read_weights(stored["weights"], read);
    bool behind = false;
    for (const Element& field : stored["key"].as_doc()) {
        if (field.name() == kTerm || field.name() == kScore)
            behind = true;
        else
            (behind ? suffix : prefix).emplace_back(field.name());
    }
    if (read.empty() || !behind)
        base::fail(base::kCannotCreateIndex, "the definition of a text index is damaged: {}",
                   bson::to_text(stored));
    for (const auto& [path, weight] : read)
        weights.emplace(path, weight);
    wildcard = weights.contains(kWildcard);
}

// Version 2 looks up the first name that is not below the path, in the order of bytes: where the
// field has no weight of its own that is another one's.
double Spec::wildcard_weight(std::string_view path, bool in_array) const {
    const double rest = weights.find(kWildcard)->second;
    if (version == Version::v1) {
        const auto own = in_array ? weights.end() : weights.find(path);
        return own == weights.end() ? rest : own->second;
    }
    const auto next = weights.lower_bound(path);
    return next == weights.end() ? rest : next->second;
}

bool Spec::goes_below(std::string_view path) const {
    const std::string inside = std::string(path) + '.';
    const auto next = weights.lower_bound(inside);
    return next != weights.end() && next->first.starts_with(inside);
}

}  // namespace text
