// query/plan/detached_match.h - the match of a document where the filter runs scripts of clients:
// no other operation waits for them.
//
// The document is copied, and the match may go on without the lock (sched/yield_point.h). A
// document that has been changed by then is matched again.
#pragma once

#include <functional>

#include "catalog/collection.h"
#include "query/plan/executor.h"

namespace query {

// The one that drives plans implements this.
class Detaching {
  public:
    virtual ~Detaching() = default;
    // Calls `work`, and may give up the lock while it goes on (sched::LongLoop::detached): all
    // plans that it drives are saved and restored around that. Returns whether that was so. Throws
    // what throw_dropped() does, too.
    virtual bool detached(const std::function<void()>& work) = 0;
};

class DetachedMatch {
  public:
    // The arguments live longer.
    DetachedMatch(catalog::Collection& collection, const Matcher& matcher, Detaching& detaching)
        : collection_(collection), matcher_(matcher), detaching_(detaching) {}

    // Whether the record `id`, which is `doc`, matches. Makes `doc` a copy that lives until the
    // next call, and is what the record is. False also where it is not there any more.
    bool passes(storage::RecordId id, bson::Doc* doc, MatchDetails* details);

    // For PlanRun.
    void save();
    void restore();

  private:
    bool look(storage::RecordId id, bson::Doc* doc);

    catalog::Collection& collection_;
    const Matcher& matcher_;
    Detaching& detaching_;
    storage::RecordId matched_;   // null: none is being matched
    storage::HeldCursor record_;  // while the lock is given up: stands on it
    bson::Buffer copy_;
};

}  // namespace query
