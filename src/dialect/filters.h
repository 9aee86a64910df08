// dialect/filters.h - what differs between the dialects in filters, sorts and projections: the rows
// of a table of docs/differences.md, which ./lab docs writes from here.
#pragma once

#include "dialect/difference.h"

namespace dialect {

inline constexpr Difference kTimesAreTwoClasses{
    "Dates and Timestamps", "one class",
    "two, Dates first, everywhere. An index gives no order where it has a Timestamp of 1970's "
    "first 18 hours or a Date beyond 10889; `min` and `max` of a Date then: 2. The first sort "
    "that could use an index looks through the keys it was opened with. A unique index takes "
    "equal bits for equal"};
inline constexpr Difference kNaNIsApart{
    "NaN under ranges", "below all numbers",
    "only at most and at least itself; `$expr` and sorts have it as first number"};
inline constexpr Difference kTextTakesLetters{
    "`$text` by letters; version 3 of text and `2dsphere`", "2; 16730", "by default"};
inline constexpr Difference kExpressionsInFilters{
    "`$expr`, `let`", "-",
    "in every filter but of upserts and arrays (224), partial indexes (67), `$elemMatch` (2). "
    "Indexes serve `$eq` with constants, and ranges that leave no arrays: `{$gt: [\"$a\", 5]}` "
    "only beside an upper bound"};
inline constexpr Difference kBitTests{"`$bitsAllSet` and its like", "2",
                                      "masks have 63 bits as a number; whole decimals count"};
inline constexpr Difference kConstantFilters{"`$sampleRate`, `$alwaysTrue`, `$alwaysFalse`", "2",
                                             "done, `$sampleRate` where `$expr` may be"};
inline constexpr Difference kIsolatedIsRefused{"`$isolated`, `$atomic`", "unseen in part", "2"};
inline constexpr Difference kEndsNeedHint{"`min`, `max` without hint", "searches an index",
                                          "51173, but beside an `_id` alone"};
inline constexpr Difference kTypesHaveNames{"`$type` by name, by list; by number", "2; an element",
                                            "done, `array` is the whole; as by name"};
inline constexpr Difference kOperandsAreChecked{
    "impossible operands (`$size` of no whole number, `$type` of none, `$mod` of none or too "
    "large, NUL in `$regex`, flags twice)",
    "taken", "2, 14, 51074, 51075"};
inline constexpr Difference kNotTakesRegex{"`{$not: {$regex}}`", "2", "done"};
inline constexpr Difference kRegexIsChecked{
    "flags other than `imsxu`; pattern that does not compile", "ignored; 2", "51108; 51091"};
inline constexpr Difference kModOfNaNMatchesNothing{"`$mod` of NaN, infinity, beyond 64 bits",
                                                    "the processor's", "no match"};
inline constexpr Difference kNegativeCountsAreRefused{
    "negative `limit`, `skip`, `batchSize` of find", "taken; 2", "51024"};
inline constexpr Difference kCountTakesHints{"hint of a count without a query", "ignored",
                                             "used: a sparse index counts what it holds"};
inline constexpr Difference kSortIgnoresFilter{"element that sorts an array",
                                               "among those that the filter allows", "among all"};
inline constexpr Difference kSortsUseFiles{"sorts in memory", "32 MB",
                                           "100 MB, then files; with `allowDiskUse: false` 292"};
inline constexpr Difference kProjectionsCompute{
    "projections; a path and one inside it; parts of `_id`; `{q: 1, \"d.l\": {$slice: 1}}`; "
    "`$elemMatch` under a collation",
    "values are true or false; the last wins; all of `_id`; all of `d`; -",
    "as `$project`; `$slice`, `$elemMatch`, `$meta`, `.$` beside expressions: 72; 31249, "
    "31250; the parts; only `l`; compared by it"};
inline constexpr Difference kSortsAreChecked{
    "bad projections and sorts; `$natural` other than 1, -1, or with fields; score of a text "
    "index",
    "`a.` is `a`, 2; by sign; 0",
    "15998, 16410, 31394, 40352, 40353; 31253, 31254, 31256, 31274 to 31276, 31395, 28667, "
    "51246, 15974, 15975; 2; 40218"};
inline constexpr Difference kPositionalNeedsNoSort{"positional operator of findAndModify",
                                                   "beside a sort only", "always"};
inline constexpr Difference kBadQueriesAreOfFind{"bad query of distinct, findAndModify, `$match`",
                                                 "17216; 17383, 13106; 16810", "as of a find"};

}  // namespace dialect
