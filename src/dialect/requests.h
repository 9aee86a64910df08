// dialect/requests.h - what differs between the dialects in requests and replies: the rows of a
// table of docs/differences.md, which ./lab docs writes from here.
#pragma once

#include "dialect/difference.h"

namespace dialect {

inline constexpr Difference kRepliesTellMore{
    "connectionStatus; `hello`, `validate`, `collStats`, `dbStats`; fsync with lock, "
    "getParameter; createIndexes again",
    "-",
    "`authenticatedUserRoles`; `readOnly`, `connectionId` (wire version 6), `keysPerIndex` by "
    "names, `scaleFactor`, `maxSize`; `lockCount`, log levels by component; `numIndexesAfter`"};
inline constexpr Difference kHashNeedsNoIdIndex{"dbHash of a collection without `_id` index",
                                                "a constant", "its documents in natural order"};
inline constexpr Difference kFieldsAreChecked{"unknown fields, or wrong types", "ignored",
                                              "refused: [below](#fields-of-commands)"};
inline constexpr Difference kNullIsAbsent{"field that is null or undefined", "has that value",
                                          "counts as missing"};
inline constexpr Difference kFieldsOfTodayAreTaken{
    "`let` and other new fields that change the result", "ignored (72 here)", "done"};
inline constexpr Difference kNamesAreNeeded{"collection's name that is no text, or is not needed",
                                            "9, null, ignored", "73"};
inline constexpr Difference kNulIsRefused{"NUL byte in a name; in a key of distinct", "ends it",
                                          "73; 31032"};
inline constexpr Difference kCatalogueIsHidden{"`listCollections`", "-",
                                               "hides `system.indexes`, which can still be read"};
inline constexpr Difference kProfileShowsCommands{
    "log, currentOp and system.profile",
    "`query`, `updateobj`, `execStats`; here an entry for each item",
    "`command`: an update's or delete's item; an insert's documents in one entry. `ns` is the "
    "collection; `execStats` has `summary` only"};
inline constexpr Difference kProfileIsCapped{"profiling into an uncapped `system.profile`",
                                             "writes nothing", "20"};
inline constexpr Difference kIndexesAreOfVersionTwo{"index definitions in listIndexes and its like",
                                                    "`ns`, `v: 1`", "no `ns`, `v: 2`"};
inline constexpr Difference kAdminIsListed{"`listDatabases` while `admin` is empty",
                                           "leaves it out", "lists it"};
inline constexpr Difference kHelloWaits{"`hello` with `topologyVersion`", "-",
                                        "waits for news, and may stream them"};
inline constexpr Difference kCursorIsNeeded{"aggregate without `cursor`", "`{result}`",
                                            "9, but with `explain`"};
inline constexpr Difference kExplainShowsPlans{
    "explain", "`stages` with `$cursor`",
    "`queryPlanner`, `executionStats`, `command`; bounds are texts; stages behind `$cursor` are "
    "not counted. COUNT, UPDATE, DELETE stand above the plan and say how many documents they would "
    "take; DISTINCT_SCAN is a distinct that reads a key for each value"};
inline constexpr Difference kLastErrorIsTold{
    "`lastErrorObject` of a findAndModify that finds nothing", "-", "there, `n: 0`"};
inline constexpr Difference kStatsAreLeftOut{"`stats` of distinct, `missing` of count", "there",
                                             "missing"};
inline constexpr Difference kFindAndModifyIsOneRequest{
    "findAndModify with sort", "several requests; `lastErrorObject` as getLastError; inserts: `{}`",
    "one; `n`, `updatedExisting`, `upserted`; null"};
inline constexpr Difference kOwnNameIsIllegal{"rename to the own name", "48", "20"};
inline constexpr Difference kErrorsOfToday{
    "text of 11000; details of an error; arrays in two indexed fields",
    "`index: db.c.$a_1  dup key: { : 1 }`; in front; 10088",
    "`collection: db.c index: a_1 dup key: { a: 1 }`; behind; 171"};
inline constexpr Difference kTextsOfToday{
    "texts of errors", "`not master`, `pre-condition failed`, `collection already exists`",
    "`not primary`, `preCondition failed`, `Collection db.c already exists.`"};
inline constexpr Difference kIndexesAreDroppedByList{"`dropIndexes` by a list", "27",
                                                     "all or none, 27"};
inline constexpr Difference kDropOfNothingIsDone{"drop of nothing", "26", "no error"};
inline constexpr Difference kLostWritesFail{"a write meets the end of its primary or server",
                                            "`writeErrors`", "the command fails, 11602 or 11600"};
inline constexpr Difference kReadPreferenceIsChecked{"unknown `mode` in `$readPreference`",
                                                     "ignored", "9"};
inline constexpr Difference kWriteConcernIsChecked{"`w` below 0 or above 50", "taken", "9"};
inline constexpr Difference kTooManyMembersFail{"`w` beyond the members",
                                                "waits; here 100 without `wtimeout`",
                                                "100 at once. The write is done"};
inline constexpr Difference kMajorityIsJournaled{
    "`w: \"majority\"`", "as other `w`",
    "awaits journals, unless `writeConcernMajorityJournalDefault` is false"};
inline constexpr Difference kWritesAreRetried{
    "retryable writes", "- (`txnNumber`: 20)",
    "done once; `txnNumber` elsewhere is refused, 50768, without a set 20. findAndModify's "
    "result is kept with its projection"};
inline constexpr Difference kMembersTellTime{"`operationTime`, `$clusterTime` of a member",
                                             "to `helloOk`", "in each reply, unsigned"};
inline constexpr Difference kOptimesHaveTerms{"`optime` in replSetGetStatus", "a timestamp",
                                              "`ts` and `t`, with `optimeDurable`"};

}  // namespace dialect
