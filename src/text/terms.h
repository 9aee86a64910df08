// text/terms.h - the terms of a document, and what each counts there.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "bson/view.h"
#include "sched/counted.h"
#include "text/spec.h"
#include "text/tokens.h"

namespace text {

// A text of a document that an index is about.
struct Part {
    std::string_view text;
    Language& language;
    double weight;
};

// Calls for each of them, in the order of the document. Throws base::Error 17261 and 17262 for the
// language of a document, or of one inside of it, that is no text or is not known.
void for_each_part(const Spec& spec, bson::Doc doc, const std::function<void(const Part&)>& call);

// By the terms as keys have them.
using Scores = sched::UnorderedMap<std::string, double>;
// `folding`: that of the index, or a stricter one, which gives other terms.
Scores scores_of(const Spec& spec, bson::Doc doc, const Folding& folding);
// How an index of that version takes letters.
Folding folding_of(Version version);
// Adds those of one text.
void add_scores(const Part& part, Version version, const Folding& folding, Scores& scores);

}  // namespace text
