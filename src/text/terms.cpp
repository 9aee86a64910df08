#include "text/terms.h"

#include <optional>
#include <vector>

#include "base/error.h"
#include "sched/tick.h"

namespace text {

namespace {

using bson::Doc;
using bson::Element;

class Walk {
  public:
    Walk(const Spec& spec, const std::function<void(const Part&)>& call)
        : spec_(spec), call_(call) {}

    void document(Doc doc, const std::string& path, Language& outer, bool in_array) {
        Language& language = language_of(doc, path, outer);
        for (const Element& e : sched::ticked(doc)) {
            if (e.name() == spec_.language_override) continue;
            std::string own = path;
            if (!own.empty()) own += '.';
            own += e.name();
            value(e, own, language, in_array);
        }
    }

  private:
    // A document says its own language, in version 1 only the whole one.
    Language& language_of(Doc doc, const std::string& path, Language& outer) const {
        if (spec_.version == Version::v1 && !path.empty()) return outer;
        const Element own = doc[spec_.language_override];
        if (own.missing()) return outer;
        if (spec_.version == Version::v1 && (!own.is_string() || own.as_string().empty()))
            return outer;
        if (!own.is_string())
            base::fail(17261, "the field {} of a document with a text index must be a text",
                       spec_.language_override);
        const std::optional<std::string> name = language_name(own.as_string(), spec_.version);
        if (!name) base::fail(17262, "there is no language '{}' for text", own.as_string());
        return Language::of(*name);
    }

    void value(const Element& e, const std::string& path, Language& language, bool in_array) {
        if (spec_.wildcard) return any_value(e, path, language, in_array);
        const auto own = spec_.weights.find(path);
        const bool has_own = own != spec_.weights.end();
        const bool goes_below = spec_.goes_below(path);
        const auto one = [&](const Element& value) {
            if (value.is_string() && has_own)
                call_({value.as_string(), language, own->second});
            else if (value.is_object() && goes_below)
                document(value.as_doc(), path, language, false);
        };
        if (!has_own && !goes_below) return;
        if (!e.is_array()) return one(e);
        for (const Element& member : sched::ticked(e.as_doc())) {
            one(member);
            if (spec_.version == Version::v1 && member.is_string())
                below(member.as_string(), path, language);
        }
    }

    // Version 1 takes a text in an array for each path that leads through the array.
    void below(std::string_view text, const std::string& path, Language& language) const {
        const std::string inside = path + '.';
        for (auto at = spec_.weights.lower_bound(inside);
             at != spec_.weights.end() && at->first.starts_with(inside); ++at)
            call_({text, language, at->second});
    }

    void any_value(const Element& e, const std::string& path, Language& language, bool in_array) {
        if (e.is_string()) {
            call_({e.as_string(), language, spec_.wildcard_weight(path, in_array)});
        } else if (e.is_object()) {
            document(e.as_doc(), path, language, in_array);
        } else if (e.is_array()) {
            for (const Element& member : sched::ticked(e.as_doc()))
                any_value(member, path, language, true);
        }
    }

    const Spec& spec_;
    const std::function<void(const Part&)>& call_;
};

}  // namespace

Folding folding_of(Version version) {
    return {.case_sensitive = false, .diacritic_sensitive = version != Version::v3};
}

void for_each_part(const Spec& spec, Doc doc, const std::function<void(const Part&)>& call) {
    Walk(spec, call).document(doc, "", Language::of(spec.default_language), false);
}

void add_scores(const Part& part, Version version, const Folding& folding, Scores& scores) {
    struct Occurrences {
        int n = 0;
        double weight = 0;
        double next = 1;  // half as much for each further one
    };
    sched::UnorderedMap<std::string, Occurrences> terms;
    int words = 0;
    Tokens tokens(part.text, version, part.language);
    for (Token token; tokens.next(&token);) {
        if (!token.is_word) continue;
        std::string term = term_of(token.text, version, part.language, folding);
        if (term.empty()) continue;
        ++words;
        Occurrences& seen = terms[std::move(term)];
        ++seen.n;
        seen.weight += seen.next;
        seen.next /= 2;
    }
    const std::string whole = terms.size() != 1
                                  ? ""
                                  : fold(part.text.substr(0, part.text.find('\0')), version,
                                         folding, part.language.has_dotless_i());
    for (const auto& [term, seen] : terms) {
        const double share = 0.5 * seen.n / words + 0.5;
        const double for_whole = term == whole ? 1.1 : 1;
        scores[key_term(term, version)] += part.weight * seen.weight * share * for_whole;
    }
}

Scores scores_of(const Spec& spec, Doc doc, const Folding& folding) {
    Scores scores;
    for_each_part(spec, doc,
                  [&](const Part& part) { add_scores(part, spec.version, folding, scores); });
    return scores;
}

}  // namespace text
