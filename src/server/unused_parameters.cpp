#include "server/unused_parameters.h"

#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/parameters.h"

namespace server {

namespace {

using base::Parameter;
using base::ParameterValue;
using Type = base::Parameter::Type;

enum class Change { never, at_start, at_runtime, both };

struct Unused {
    const char* name;
    Change change;
    ParameterValue value;
    const char* missing;  // what it would be about
};

struct Kept {
    std::mutex mutex;
    ParameterValue value;
};

void add(const Unused& unused) {
    const auto kept = std::make_shared<Kept>();
    kept->value = unused.value;
    Parameter parameter;
    parameter.name = unused.name;
    parameter.type = static_cast<Type>(unused.value.index());
    parameter.help = std::string("No effect: there is no ") + unused.missing + ".";
    parameter.at_start = unused.change == Change::at_start || unused.change == Change::both;
    parameter.at_runtime = unused.change == Change::at_runtime || unused.change == Change::both;
    parameter.get = [kept] {
        const std::lock_guard guard(kept->mutex);
        return kept->value;
    };
    parameter.set = [kept](const ParameterValue& value) {
        const std::lock_guard guard(kept->mutex);
        kept->value = value;
    };
    base::add_parameter(std::move(parameter));
}

// These can be set on members of a replica set only.
void add_of_replicas(const char* name, ParameterValue value) {
    Parameter parameter;
    parameter.name = name;
    parameter.type = static_cast<Type>(value.index());
    parameter.help = "No effect: there is no replication.";
    parameter.get = [value = std::move(value)] { return value; };
    parameter.set = [name](const ParameterValue&) {
        base::fail(base::kBadValue, "can't set {} on a server that does not replicate", name);
    };
    base::add_parameter(std::move(parameter));
}

}  // namespace

void add_unused_parameters() {
    const char* const kSharding = "sharding";
    const char* const kPlanCache = "plan cache";
    const char* const kPlannerSetting = "such setting of the planner";
    const char* const kUsers = "user management";
    const Unused all[] = {
        {"_forceLegacyShardWriteMode", Change::both, false, kSharding},
        {"clusterAuthMode", Change::never, std::string("undefined"), kUsers},
        {"enableLocalhostAuthBypass", Change::at_start, true, kUsers},
        {"internalQueryCacheFeedbacksStored", Change::both, int32_t{20}, kPlanCache},
        {"internalQueryCacheSize", Change::both, int32_t{5000}, kPlanCache},
        {"internalQueryCacheStdDeviations", Change::both, 2.0, kPlanCache},
        {"internalQueryCacheWriteOpsBetweenFlush", Change::both, int32_t{1000}, kPlanCache},
        {"internalQueryEnumerationMaxIntersectPerAnd", Change::both, int32_t{3}, kPlannerSetting},
        {"internalQueryEnumerationMaxOrSolutions", Change::both, int32_t{10}, kPlannerSetting},
        {"internalQueryForceIntersectionPlans", Change::both, false, kPlannerSetting},
        {"internalQueryPlanEvaluationCollFraction", Change::both, 0.3, kPlannerSetting},
        {"internalQueryPlanEvaluationMaxResults", Change::both, int32_t{101}, kPlannerSetting},
        {"internalQueryPlanEvaluationWorks", Change::both, int32_t{10000}, kPlannerSetting},
        {"internalQueryPlanOrChildrenIndependently", Change::both, true, kPlannerSetting},
        {"internalQueryPlannerEnableIndexIntersection", Change::both, true, kPlannerSetting},
        {"internalQueryPlannerMaxIndexedSolutions", Change::both, int32_t{64}, kPlannerSetting},
        {"logUserIds", Change::both, false, kUsers},
        {"maxSyncSourceLagSecs", Change::both, int32_t{30}, "replication"},
        {"queueForMigrationCommit", Change::both, true, kSharding},
        {"releaseConnectionsAfterResponse", Change::both, true, kSharding},
        {"replMonitorMaxFailedChecks", Change::both, int32_t{30}, kSharding},
        {"supportCompatibilityFormPrivilegeDocuments", Change::at_start, true, kUsers},
        {"textSearchEnabled", Change::both, true, "text search, whatever this says"},
        {"verboseQueryLogging", Change::both, false, "such logging"},
    };
    for (const Unused& unused : all)
        add(unused);
    add_of_replicas("replApplyBatchSize", int32_t{1});
    add_of_replicas("replIndexPrefetch", std::string("uninitialized"));
}

}  // namespace server
