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
    const Folding own = folding_of(spec_->version);
    std::vector<std::string> wanted = folding_ == own ? terms_ : strict_terms_;
    wanted.insert(wanted.end(), negated_terms_.begin(), negated_terms_.end());
    if (folding_ == own) {
        scores_.emplace(spec_, own, wanted);
    } else {
        scores_.emplace(spec_, own, terms_);
        strict_scores_.emplace(spec_, folding_, wanted);
    }
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

bool Search::matches(bson::Doc doc, double* score) {
    *score = 0;
    // The cheapest first.
    if (!has_phrases(doc)) return false;
    scores_->read(doc);
    bool has_term = false;
    for (const std::string& term : terms_) {
        const double found = scores_->of(term);
        has_term = has_term || found != 0;
        *score += found;
    }
    if (!has_term) return false;
    if (strict_scores_) strict_scores_->read(doc);
    const TermScores& strict = strict_scores_ ? *strict_scores_ : *scores_;
    const auto has = [&strict](const std::string& term) { return strict.of(term) != 0; };
    if (strict_scores_ && std::ranges::none_of(strict_terms_, has)) return false;
    return std::ranges::none_of(negated_terms_, has);
}

}  // namespace text
