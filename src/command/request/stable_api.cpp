#include "command/request/stable_api.h"

#include <algorithm>
#include <iterator>

#include "dialect/dialect.h"
#include "sched/tick.h"

namespace command {

namespace {

constexpr std::string_view kStable[] = {"abortTransaction",
                                        "aggregate",
                                        "authenticate",
                                        "bulkWrite",
                                        "collMod",
                                        "commitTransaction",
                                        "count",
                                        "create",
                                        "createIndexes",
                                        "delete",
                                        "drop",
                                        "dropDatabase",
                                        "dropIndexes",
                                        "endSessions",
                                        "explain",
                                        "find",
                                        "findAndModify",
                                        "getMore",
                                        "hello",
                                        "insert",
                                        "killCursors",
                                        "listCollections",
                                        "listDatabases",
                                        "listIndexes",
                                        "ping",
                                        "refreshSessions",
                                        "saslContinue",
                                        "saslStart",
                                        "update"};

constexpr std::string_view kUnstableStages[] = {"$currentOp",         "$indexStats",
                                                "$listLocalSessions", "$listSessions",
                                                "$planCacheStats",    "$search"};

constexpr std::string_view kUnstableOfIndexes[] = {"background", "bucketSize", "sparse",
                                                   "storageEngine"};

struct UnstableField {
    std::string_view command;
    std::string_view field;
};

constexpr UnstableField kUnstableFields[] = {
    {"create", "autoIndexId"},   {"create", "capped"},    {"create", "indexOptionDefaults"},
    {"create", "max"},           {"create", "size"},      {"create", "storageEngine"},
    {"find", "awaitData"},       {"find", "max"},         {"find", "min"},
    {"find", "noCursorTimeout"}, {"find", "oplogReplay"}, {"find", "returnKey"},
    {"find", "showRecordId"},    {"find", "tailable"},
};

[[noreturn]] void refuse_field(std::string_view owner, std::string_view field) {
    base::fail(base::kAPIStrictError, "BSON field '{}.{}' is not allowed with apiStrict:true",
               owner, field);
}

void check_stages(const bson::Element& pipeline) {
    if (!pipeline.is_array()) return;
    for (const bson::Element& stage : sched::ticked(pipeline.as_doc())) {
        if (!stage.is_object()) continue;
        const bson::Element spec = stage.as_doc().first();
        if (std::ranges::find(kUnstableStages, spec.name()) != std::end(kUnstableStages))
            base::fail(base::kAPIStrictError,
                       "stage {} is not allowed with 'apiStrict: true' in API Version 1",
                       spec.name());
        if (spec.name() != "$collStats" || !spec.is_object()) continue;
        for (const bson::Element& statistic : spec.as_doc()) {
            if (statistic.name() != "count")
                base::fail(base::kAPIStrictError,
                           "only the 'count' option to $collStats is supported in API Version 1");
        }
    }
}

void check_indexes(const bson::Element& indexes) {
    if (!indexes.is_array()) return;
    for (const bson::Element& index : sched::ticked(indexes.as_doc())) {
        if (!index.is_object()) continue;
        for (const std::string_view field : kUnstableOfIndexes) {
            if (index.as_doc().has(field)) refuse_field("createIndexes.indexes", field);
        }
    }
}

void check(bson::Doc body, const Command& command, dialect::Dialect dialect) {
    if (std::ranges::find(kStable, command.name) == std::end(kStable))
        base::fail(base::kAPIStrictError,
                   "Provided apiStrict:true, but the command {} is not in API Version 1",
                   command.name);
    for (const UnstableField& unstable : kUnstableFields) {
        if (unstable.command == command.name && !is_absent(body[unstable.field], dialect))
            refuse_field(command.name, unstable.field);
    }
    if (command.name == "aggregate") check_stages(body["pipeline"]);
    if (command.name == "createIndexes") check_indexes(body["indexes"]);
}

}  // namespace

void check_stable_api(const Invocation& invocation, const Command& command) {
    check(invocation.body, command, invocation.dialect());
    const bson::Element explained = invocation.first();
    if (command.name != "explain" || !explained.is_object()) return;
    if (const Command* inner =
            invocation.service.commands().find(explained.as_doc().first().name()))
        check(explained.as_doc(), *inner, invocation.dialect());
}

}  // namespace command
