#include "text/term_scores.h"

#include <algorithm>

#include "base/dcheck.h"

namespace text {

namespace {

constexpr int kStopWord = -1;
// Zipf's law: those that come first are those that come often.
constexpr size_t kWordsKept = 16384;
constexpr size_t kWordBytesMax = 64;

}  // namespace

TermScores::TermScores(std::shared_ptr<const Spec> spec, const Folding& folding,
                       const std::vector<std::string>& terms)
    : spec_(std::move(spec)), folding_(folding), terms_(terms) {
    std::ranges::sort(terms_);
    const auto rest = std::ranges::unique(terms_);
    terms_.erase(rest.begin(), rest.end());
    scores_.resize(terms_.size() + 1);
}

size_t TermScores::number_of(std::string_view term) const {
    const auto found = std::ranges::lower_bound(terms_, term);
    return found != terms_.end() && *found == term ? static_cast<size_t>(found - terms_.begin())
                                                   : terms_.size();
}

TermScores::Words& TermScores::words_of(const Language& language) {
    for (auto& [name, words] : words_)
        if (name == language.name()) return words;
    return words_.emplace_back(language.name(), Words()).second;
}

int TermScores::look_up(std::string_view word, Language& language) {
    Words& words = words_of(language);
    if (const auto known = words.find(word); known != words.end()) return known->second;
    const std::string term = term_of(word, spec_->version, language, folding_);
    const int number =
        term.empty() ? kStopWord : static_cast<int>(number_of(key_term(term, spec_->version)));
    if (words.size() < kWordsKept && word.size() <= kWordBytesMax)
        words.emplace(std::string(word), number);
    return number;
}

void TermScores::read_part(const Part& part) {
    occurrences_.assign(scores_.size(), {});
    int words = 0;
    Tokens tokens(part.text, spec_->version, part.language);
    for (Token token; tokens.next(&token);) {
        if (!token.is_word) continue;
        const int number = look_up(token.text, part.language);
        if (number == kStopWord) continue;
        ++words;
        Occurrences& seen = occurrences_[static_cast<size_t>(number)];
        ++seen.n;
        seen.weight += seen.next;
        seen.next /= 2;  // half as much for each further one
    }
    for (size_t i = 0; i < terms_.size(); ++i) {
        const Occurrences& seen = occurrences_[i];
        if (seen.n == 0) continue;
        const auto is_whole = [&] {
            const std::string_view text = part.text.substr(0, part.text.find('\0'));
            return terms_[i] ==
                   key_term(fold(text, spec_->version, folding_, part.language.has_dotless_i()),
                            spec_->version);
        };
        const double share = 0.5 * seen.n / words + 0.5;
        const double for_whole = seen.n == words && is_whole() ? 1.1 : 1;
        scores_[i] += part.weight * seen.weight * share * for_whole;
    }
    DCHECK(scores_.back() == 0);
}

void TermScores::read(bson::Doc doc) {
    std::ranges::fill(scores_, 0);
    for_each_part(*spec_, doc, [this](const Part& part) { read_part(part); });
}

}  // namespace text
