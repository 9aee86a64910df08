// dialect/pipelines.h - what differs between the dialects in pipelines: the rows of a table
// of docs/differences.md, which ./lab docs writes from here.
#pragma once

#include "dialect/difference.h"

namespace dialect {

inline constexpr Difference kChangesAreStreamed{
    "`$changeStream`", "40573", "[on members of a set](replication.md#change-streams)"};
inline constexpr Difference kUnknownOperators{"unknown stage; expression", "16436; 15999",
                                              "40324; 168"};
inline constexpr Difference kProjectExcludes{"`$project` that excludes; mixed", "16406, 16403",
                                             "done; 31253, 31254, computed 31252"};
inline constexpr Difference kProjectComputes{
    "`$project` that shows and computes",
    "computed fields keep their place; numbers, lists, null, plain texts refused",
    "document order, then computed ones, per array element; all but numbers and booleans is "
    "computed; collisions 31249, 31250"};
inline constexpr Difference kListsAreExpressions{
    "lists and documents as expressions; as `_id` of a group", "refused or constant",
    "of expressions"};
inline constexpr Difference kTextsOfValues{"texts of doubles, of dates, of decimals",
                                           "6 digits; seconds; refused",
                                           "shortest that reads back; milliseconds and Z; done"};
inline constexpr Difference kVariablesOfToday{"`$$NOW`, `$$REMOVE`; `$$CLUSTER_TIME`", "-",
                                              "done; 51144"};
inline constexpr Difference kReferencesArePaths{"`$ref`, `$id`, `$db` in the path of a field",
                                                "16410", "fields of a DBRef"};
inline constexpr Difference kUnwindTakesAll{"`$unwind` of a scalar; as document", "15978; 15981",
                                            "done"};
inline constexpr Difference kStagesAreChecked{
    "`$limit`, `$skip` of fractions; other mistakes", "cut",
    "5107201, 5107200; 14, 40323, `$group` 40234 to 40238"};
inline constexpr Difference kStageSortsAsFind{"`$sort`", "whole values, missing before null",
                                              "as a find sorts, at any place; parallel arrays 2"};
inline constexpr Difference kStagesOfToday{
    "`$unset`, `$replaceWith`, `$bucket`, `$documents`, `$bucketAuto`, `$setWindowFields`, "
    "`$fill`, "
    "`$densify`",
    "16436",
    "done, the last four within 100 MB of memory (16819, 146), whatever `allowDiskUse` says"};
inline constexpr Difference kStagesReadOthers{
    "`$lookup`, `$graphLookup`, `$unionWith`", "-",
    "same database, no snapshot; a dropped collection ends readers (17356). 20 levels (232), "
    "1000 stages (9), 64 MB for a document (4568). No writing or server stages inside (51047, "
    "31441)"};
inline constexpr Difference kOutputsOfToday{
    "`$merge`, `$out: {db, coll}`", "-; 16990",
    "each result is its own write: earlier ones stay after an error. No time series (72), not "
    "into `admin`, `config`, `local` (31320, 31321). Explain writes nothing"};

}  // namespace dialect
