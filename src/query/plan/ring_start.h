// query/plan/ring_start.h - the way to the place where a scan of an oplog from a `ts` on begins, a
// document at a time: a mark that is near (catalog/ring_marks.h), or the walk back that makes
// marks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "catalog/collection.h"
#include "query/plan/query.h"

namespace query {

// The `ts` from which on a query wants documents, where it reads a log in its order and so can
// begin there; nothing: it has to read all.
std::optional<uint64_t> first_ts_wanted(const catalog::Collection& collection,
                                        const FindQuery& query);

class RingStart {
  public:
    // REQUIRES: the collection is capped.
    RingStart(catalog::Collection& collection, uint64_t wanted);

    // Null while the place is not known: step() is to be called. A scan forward from there returns
    // every document whose `ts` is `wanted` or later, and some before.
    storage::HeldCursor take_scan() { return std::move(scan_); }
    // Examines one document.
    void step();

    void save();
    void restore();

  private:
    void look();
    void scan_from(storage::RecordId id);

    catalog::Collection& collection_;
    const uint64_t wanted_;
    storage::HeldCursor walk_;  // back
    storage::HeldCursor scan_;
    std::optional<uint64_t> last_ts_;  // that the walk has met
    int64_t bytes_ = 0;                // since the last mark
};

}  // namespace query
