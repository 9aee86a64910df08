// dialect/updates.h - what differs between the dialects in updates and inserts: the rows of a table
// of docs/differences.md, which ./lab docs writes from here.
#pragma once

#include "dialect/difference.h"

namespace dialect {

inline constexpr Difference kUpdatesByPipeline{
    "an update by a pipeline, `c`", "9",
    "`$set`, `$addFields`, `$unset`, `$project`, `$replaceRoot`, `$replaceWith`; others 72, no "
    "stage 40324; `c` beside other updates 51198"};
inline constexpr Difference kArrayFilters{"`$[]`, `$[id]`, `arrayFilters`",
                                          "field names; ignored (refused here, 72)", "done"};
inline constexpr Difference kPathsConflict{"modifiers on one path or around another",
                                           "refused if both act",
                                           "40 always, `$setOnInsert` where it inserts"};
inline constexpr Difference kInsertPathsAreApart{
    "impossible path of a `$setOnInsert` that inserts nothing", "refused", "no error"};
inline constexpr Difference kPushAllIsGone{"`$pushAll`", "done", "9"};
inline constexpr Difference kPositionsCountFromEnd{"negative `$position`", "2", "from the end"};
inline constexpr Difference kArgumentsAreChecked{
    "other `$pop`; `$bit` of nothing; `$each` no array; `$addToSet` with `$position`, "
    "`$slice`, `$sort`",
    "by sign; 0; 2; ignored", "9; 2; 14; 2"};
inline constexpr Difference kPullTakesConditions{
    "`$eq`, `$bitsAllSet` and its like on values in `$pull`", "fields", "done"};
inline constexpr Difference kEmptyModifierIsTaken{"`{$set: {}}`", "9", "changes nothing"};
inline constexpr Difference kNewFieldsAreSorted{"order of new fields", "of modifiers",
                                                "of names, numbers by value, but with `$rename`"};
inline constexpr Difference kSetChangesType{"`$set` of an equal number of another type", "nothing",
                                            "changes it"};
inline constexpr Difference kDecimalsAreNumbers{"`$inc`, `$mul` of decimals", "refused", "done"};
inline constexpr Difference kEmptyUpdateEmpties{"findAndModify by `{}`", "none, with sort empties",
                                                "empties"};
inline constexpr Difference kBadUpdateIsRefused{"bad update or `fields` that meet no document",
                                                "not examined", "refused"};
inline constexpr Difference kRemovalsAreChecked{
    "`limit` of a delete other than 0 and 1; `remove` with `update`", "0; taken", "9"};
inline constexpr Difference kNamesAreFree{
    "names with `$` or dots", "2, 52, 55, 57",
    "taken, but a `$` at the top of a replacement, in `_id`, or in a modifier's path: 52, `$` "
    "alone 2"};
inline constexpr Difference kUpdateErrors{"errors of updates", "16837, 16836",
                                          "28, 2, 14, 34, 40, 66"};
inline constexpr Difference kUpsertsTakeOneValue{
    "upsert by one path twice; by `$in` of one; by part of `_id`", "12; no field; that part",
    "54; the field; 111"};
inline constexpr Difference kOneId{"two `_id`; an `_id` that is array, regex, undefined",
                                   "second dropped; 2", "2; 53"};

}  // namespace dialect
