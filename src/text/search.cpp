#include "text/search.h"

#include <algorithm>

#include "sched/tick.h"
#include "text/terms.h"

namespace text {

namespace {

Folding stricter(const Folding& a, const Folding& b) {
    return {a.case_sensitive || b.case_sensitive, a.diacritic_sensitive || b.diacritic_sensitive};
}

}  // namespace

Search::Search(std::shared_ptr<const Spec> spec, const Request& request)
    : spec_(std::move(spec)), folding_(stricter(folding_of(spec_->version), request.folding)) {
    read(request);
}

std::string Search::folded(std::string_view text) const {
    return fold(text, spec_->version, folding_);
}

void Search::add_word(std::string_view word, bool negated, Language& language) {
    const Version version = spec_->version;
    std::string strict = term_of(word, version, language, folding_);
    if (strict.empty()) return;
    strict = key_term(std::move(strict), version);
    if (negated) {
        negated_terms_.push_back(std::move(strict));
        return;
    }
    terms_.push_back(key_term(term_of(word, version, language, folding_of(version)), version));
    strict_terms_.push_back(std::move(strict));
}

void Search::read(const Request& request) {
    Language& language =
        Language::of(request.language.empty() ? spec_->default_language : request.language);
    const std::string_view text = request.search;
    Tokens tokens(text, spec_->version, language);
    bool is_negated = false;
    const char* phrase = nullptr;  // where the open one begins
    for (Token token; tokens.next(&token);) {
        if (token.is_word) {
            // A negated phrase has no words of its own.
            if (phrase == nullptr || !is_negated) add_word(token.text, is_negated, language);
            if (phrase == nullptr) is_negated = false;
        } else if (token.text == "\"") {
            if (phrase != nullptr) {
                const std::string_view inside(phrase,
                                              static_cast<size_t>(token.text.data() - phrase));
                if (!inside.empty())
                    (is_negated ? negated_phrases_ : phrases_).push_back(folded(inside));
                phrase = nullptr;
                is_negated = false;
            } else {
                phrase = token.text.data() + 1;
            }
        } else if (phrase == nullptr && token.text == "-" && token.after_space) {
            is_negated = true;
        }
    }
}

bool Search::has_phrases(bson::Doc doc) const {
    if (phrases_.empty() && negated_phrases_.empty()) return true;
    std::vector<char> found(phrases_.size());
    bool has_negated = false;
    for_each_part(*spec_, doc, [&](const Part& part) {
        const std::string text = folded(part.text);
        const auto has = [&](const std::string& phrase) {
            sched::tick_bytes(text.size(), sched::PerTick::walked);
            return text.find(phrase) != std::string::npos;
        };
        has_negated = has_negated || std::ranges::any_of(negated_phrases_, has);
        for (size_t i = 0; i < phrases_.size(); ++i)
            found[i] = found[i] != 0 || has(phrases_[i]) ? 1 : 0;
    });
    return !has_negated && std::ranges::all_of(found, [](char one) { return one != 0; });
}

bool Search::matches(bson::Doc doc, double* score) const {
    const Folding own = folding_of(spec_->version);
    const Scores scores = scores_of(*spec_, doc, own);
    *score = 0;
    bool has_term = false;
    for (const std::string& term : terms_) {
        const auto found = scores.find(term);
        if (found == scores.end()) continue;
        has_term = true;
        *score += found->second;
    }
    if (!has_term) return false;
    const Scores stricter_scores = folding_ == own ? Scores() : scores_of(*spec_, doc, folding_);
    const Scores& strict = folding_ == own ? scores : stricter_scores;
    const auto has = [&strict](const std::string& term) { return strict.contains(term); };
    if (folding_ != own && std::ranges::none_of(strict_terms_, has)) return false;
    return std::ranges::none_of(negated_terms_, has) && has_phrases(doc);
}

}  // namespace text
