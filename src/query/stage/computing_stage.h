// query/stage/computing_stage.h - what stages that evaluate expressions share.
#pragma once

#include "bson/element_writer.h"
#include "query/plan/query.h"
#include "query/stage/stage.h"
#include "sched/tick.h"

namespace query {

// Makes $$ROOT a document that carries the score of a text search (kScoreField): the score is none
// of its fields where the whole of it is asked for.
inline void set_scored_root(Scope& scope, bson::Doc doc) {
    scope.set_root(doc);
    if (!doc.has(kScoreField)) return;
    bson::Builder own;
    for (const bson::Element& e : sched::ticked(doc))
        if (e.name() != kScoreField) own.append(e);
    const Value whole = make_doc(scope.arena, bson::Type::object, own.object());
    scope.variables[Scope::kRoot].value = scope.variables[Scope::kCurrent].value = whole;
}

// A stage that computes each output document from one input document.
class Computing : public Stage {
  public:
    void carry_score() override { carries_score_ = true; }

  protected:
    // Prepares the scope for the names that parsing left; call once the expressions are parsed.
    void prepare(const Names& names) { scope_.prepare(names); }
    Scope& scope_for(bson::Doc doc) {
        arena_.clear();
        if (carries_score_)
            set_scored_root(scope_, doc);
        else
            scope_.set_root(doc);
        return scope_;
    }
    // Hands the score of a text search on.
    static void append_score(bson::Doc doc, bson::Buffer& out) {
        if (const Value score = doc[kScoreField]) write_value(out, kScoreField, score);
    }

    Arena arena_;
    Scope scope_{arena_};
    bson::Buffer out_;
    bool carries_score_ = false;
};

}  // namespace query
