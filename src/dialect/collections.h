// dialect/collections.h - what differs between the dialects in collections and indexes: the rows of
// a table of docs/differences.md, which ./lab docs writes from here.
#pragma once

#include "dialect/difference.h"

namespace dialect {

inline constexpr Difference kNamesOfCollectionsAreChecked{
    "names with leading or double dots, or that nothing can be written to", "taken; 2", "73"};
inline constexpr Difference kCappedNeedsSize{"`size` or `max` without `capped`, and reverse",
                                             "taken; 14832", "72"};
inline constexpr Difference kAutoIndexIdIsOfLocal{"`autoIndexId: false`", "done",
                                                  "only in `local`, else 72"};
inline constexpr Difference kSimilarIndexesConflict{
    "same keys, other name; same name, other `unique` or `sparse`", "taken for the same", "85; 86"};
inline constexpr Difference kIndexDefinitionsAreChecked{
    "odd key directions; `{_id: -1}`; options of the `_id` index; name `*`; `collation: {}`; "
    "`v: 0`; `v` beyond 2",
    "ascending; the others taken, the last 14803", "67; 2; 197; 2; 2; 67; 67"};
inline constexpr Difference kExpiriesAreChecked{
    "expiry beyond 31 bits; on a capped collection; on several fields or hashed; on `_id`; by "
    "collMod",
    "taken", "67; 67; 67; 197; 72"};
inline constexpr Difference kDropDupsRemovesNothing{"`dropDups`", "removes documents",
                                                    "no effect: 11000"};
inline constexpr Difference kViews{
    "views", "collections",
    "kept in `system.views`; writes and index commands 166; finds with `tailable`, "
    "`showRecordId`, `returnKey`, `min`, `max`, `$slice`, `$elemMatch`, `.$` 168. Old messages "
    "get 166"};
inline constexpr Difference kCollectionsHaveUuids{
    "UUIDs of collections", "none", "of the name; a set's made by OP_MSG random, stored as `uuid`"};
inline constexpr Difference kCollations{"collations", "refused here, 72", "by ICU, as below"};

}  // namespace dialect
