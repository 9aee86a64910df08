// query/plan/long_work.h - work on one document that may take long, under a lock that others may
// wait for.
//
// Most documents take a moment and are worked on where they lie. Work that outlasts the operation's
// slice of time (base/operation.h) is given up and begun again with a copy, so that others may have
// the lock meanwhile, and change the document.
#pragma once

#include "base/operation.h"
#include "bson/builder.h"
#include "query/plan/executor.h"

namespace query {

// While work is done in place.
class InPlace final : public base::Operation::Pause {
  public:
    struct Over {};
    void pause() override { throw Over(); }
};

// Lets others in as the executor does between two rows.
class GivingWay final : public base::Operation::Pause {
  public:
    explicit GivingWay(Executor& executor) : executor_(executor) {}
    void pause() override { executor_.give_way(); }

  private:
    Executor& executor_;
};

// Calls `work` with the document, and where that takes too long once more with a copy in `copy`:
// then `others` is paused now and then. Returns what it was done with.
template <typename Work>
bson::Doc work_on(bson::Doc doc, bson::Object& copy, base::Operation::Pause& others, Work&& work) {
    try {
        InPlace in_place;
        const base::Operation::PauseScope scope(&in_place);
        work(doc);
        return doc;
    } catch (const InPlace::Over&) {
    }
    copy = bson::Object(doc);
    others.pause();  // a slice is over
    const base::Operation::PauseScope scope(&others);
    work(copy.doc());
    return copy;
}

}  // namespace query
