// options/absent.h - options and parameters about what this server does not have: a choice of whom
// secondaries read from, sharding, an HTTP interface, a plan cache. Old scripts, configuration
// files and clients give and read them. An option whose effect would be missed is refused; one that
// changes nothing is taken.
#pragma once

#include "options/option.h"

namespace options {

// An option that is known, and refused with the reason; only the default may be given.
class Refused : public Option {
  public:
    Refused(const char* name, Value default_value, std::vector<const char*> yaml, const char* why,
            bool secret = false)
        : Option({.name = name,
                  .yaml = std::move(yaml),
                  .group = Group::absent,
                  .value_name = std::holds_alternative<bool>(default_value) ? "" : "VALUE",
                  .default_value = std::move(default_value),
                  .hidden = true,
                  .secret = secret,
                  .refused = why}) {}
};

// An option that is taken: what it asks for is so anyway.
class Granted : public Option {
  public:
    Granted(const char* name, std::vector<const char*> yaml, bool yaml_opposite, const char* why)
        : Option({.name = name,
                  .yaml = std::move(yaml),
                  .yaml_opposite = yaml_opposite,
                  .group = Group::absent,
                  .help = why,
                  .hidden = true}) {}
};

// An option that is taken with a warning, and without effect.
class Ignored : public Option {
  public:
    Ignored(const char* name, Value default_value, std::vector<const char*> yaml,
            bool yaml_opposite, const char* why)
        : Option({.name = name,
                  .yaml = std::move(yaml),
                  .yaml_opposite = yaml_opposite,
                  .group = Group::absent,
                  .value_name = std::holds_alternative<bool>(default_value) ? "" : "VALUE",
                  .default_value = std::move(default_value),
                  .help = why,
                  .hidden = true,
                  .ignored = why}) {}
};

// A parameter that keeps what it is set to; nothing reads it.
class UnusedParameter : public Option {
  public:
    UnusedParameter(const char* name, Parameter when, Value default_value, const char* why)
        : Option({.name = name,
                  .group = Group::parameters,
                  .default_value = std::move(default_value),
                  .help = why,
                  .parameter = when,
                  .hidden = true}) {}
};

inline constexpr const char* kOneNode = "this server follows no other";
inline constexpr const char* kNoShards = "this server does not take part in a sharded cluster";
inline constexpr const char* kNoHttp = "this server has no HTTP interface";
inline constexpr const char* kNoClusterTls =
    "members show each other the certificate of --tlsCertificateKeyFile";
inline constexpr const char* kNotByTls = "OpenSSL's usual rules hold";
inline constexpr const char* kNoQuota = "this server does not limit the files of a database";
inline constexpr const char* kChecked = "every message is checked";
inline constexpr const char* kOldDiagnosis = "of no use here";

inline constexpr const char* kSetOnReplicas =
    "can't set {name} on a server that does not replicate";

inline Granted granted[] = {
    {"objcheck", {"net.wireObjectCheck"}, false, kChecked},
    {"nohttpinterface", {"net.http.enabled"}, true, kNoHttp},
};

inline Ignored ignored[] = {
    {"noobjcheck", false, {"net.wireObjectCheck"}, true, kChecked},
    {"cpu", false, {}, false, kOldDiagnosis},
    {"sysinfo", false, {}, false, kOldDiagnosis},
    {"diaglog", 0, {}, false, kOldDiagnosis},
};

// Its only effect is the default port.
inline Flag shard_server({
    .name = "shardsvr",
    .yaml = {"sharding.clusterRole"},
    .yaml_words = {{"shardsvr", true}},
    .group = Group::absent,
    .help = "Listen on port 27018 unless told otherwise; has no other effect.",
    .hidden = true,
});

inline Flag config_server({
    .name = "configsvr",
    .yaml = {"sharding.clusterRole"},
    .yaml_words = {{"configsvr", true}},
    .group = Group::absent,
    .hidden = true,
    .refused = kNoShards,
});

inline Text index_prefetch({
    .name = "replIndexPrefetch",
    .yaml = {"replication.secondaryIndexPrefetch"},
    .group = Group::absent,
    .value_name = "WHICH",
    .default_value = "uninitialized",
    .parameter = Parameter::always,
    .parameter_error = kSetOnReplicas,
    .hidden = true,
    .refused = kOneNode,
});

inline Refused refused[] = {
    {"httpinterface", false, {"net.http.enabled"}, kNoHttp},
    {"rest", false, {"net.http.RESTInterfaceEnabled"}, kNoHttp},
    {"jsonp", false, {"net.http.JSONPEnabled"}, kNoHttp},
    {"sslClusterFile", "", {"net.ssl.clusterFile"}, kNoClusterTls},
    {"sslClusterPassword", "", {"net.ssl.clusterPassword"}, kNoClusterTls, true},
    {"sslAllowInvalidCertificates", false, {"net.ssl.allowInvalidCertificates"}, kNotByTls},
    {"tlsAllowInvalidCertificates", false, {"net.tls.allowInvalidCertificates"}, kNotByTls},
    {"tlsClusterFile", "", {"net.tls.clusterFile"}, kNoClusterTls},
    {"sslFIPSMode", false, {"net.ssl.FIPSMode"}, kNotByTls},
    {"quota", false, {"storage.quota.enforced", "storage.mmapv1.quota.enforced"}, kNoQuota},
    {"quotaFiles",
     8,
     {"storage.quota.maxFilesPerDB", "storage.mmapv1.quota.maxFilesPerDB"},
     kNoQuota},
    {"slave", false, {}, kOneNode},
    {"source", "", {}, kOneNode},
    {"only", "", {}, kOneNode},
    {"slavedelay", 0, {}, kOneNode},
    {"autoresync", false, {}, kOneNode},
    {"fastsync", false, {}, kOneNode},
    {"moveParanoia", false, {"sharding.archiveMovedChunks"}, kNoShards},
};

inline constexpr const char* kSharding = "No effect: there is no sharding.";
inline constexpr const char* kOneSource =
    "No effect: a secondary reads from the primary alone, entry by entry.";
inline constexpr const char* kPlanCache = "No effect: there is no plan cache.";
inline constexpr const char* kPlanner = "No effect: there is no such setting of the planner.";
inline constexpr const char* kUsers = "No effect.";

inline UnusedParameter unused_parameters[] = {
    {"_forceLegacyShardWriteMode", Parameter::always, false, kSharding},
    {"authSchemaVersion", Parameter::read_only, 3, "The form of the documents of users."},
    {"connPoolMaxConnsPerHost", Parameter::at_start, 200, kSharding},
    {"connPoolMaxShardedConnsPerHost", Parameter::at_start, 200, kSharding},
    {"internalQueryCacheFeedbacksStored", Parameter::always, 20, kPlanCache},
    {"internalQueryCacheSize", Parameter::always, 5000, kPlanCache},
    {"internalQueryCacheStdDeviations", Parameter::always, 2.0, kPlanCache},
    {"internalQueryCacheWriteOpsBetweenFlush", Parameter::always, 1000, kPlanCache},
    {"internalQueryEnumerationMaxIntersectPerAnd", Parameter::always, 3, kPlanner},
    {"internalQueryEnumerationMaxOrSolutions", Parameter::always, 10, kPlanner},
    {"internalQueryForceIntersectionPlans", Parameter::always, false, kPlanner},
    {"internalQueryMaxScansToExplode", Parameter::always, 200, kPlanner},
    {"internalQueryPlanEvaluationCollFraction", Parameter::always, 0.3, kPlanner},
    {"internalQueryPlanEvaluationMaxResults", Parameter::always, 101, kPlanner},
    {"internalQueryPlanEvaluationWorks", Parameter::always, 10000, kPlanner},
    {"internalQueryPlanOrChildrenIndependently", Parameter::always, true, kPlanner},
    {"internalQueryPlannerEnableHashIntersection", Parameter::always, false, kPlanner},
    {"internalQueryPlannerEnableIndexIntersection", Parameter::always, true, kPlanner},
    {"internalQueryPlannerMaxIndexedSolutions", Parameter::always, 64, kPlanner},
    {"internalSCCAllowFastestAuthConfigReads", Parameter::always, false, kSharding},
    {"internalSCCAllowFastestMetadataConfigReads", Parameter::always, false, kSharding},
    {"logUserIds", Parameter::always, false, kUsers},
    {"maxSyncSourceLagSecs", Parameter::always, 30, kOneSource},
    {"queueForMigrationCommit", Parameter::always, true, kSharding},
    {"releaseConnectionsAfterResponse", Parameter::always, true, kSharding},
    {"replMonitorMaxFailedChecks", Parameter::always, 30, kSharding},
    {"supportCompatibilityFormPrivilegeDocuments", Parameter::at_start, true, kUsers},
    {"textSearchEnabled", Parameter::always, true,
     "No effect: there is no text search, whatever this says."},
    {"verboseQueryLogging", Parameter::always, false, "No effect: there is no such logging."},
};

// The parameter is for members of a replica set; this server is none.
inline Integer apply_batch_size({
    .name = "replApplyBatchSize",
    .group = Group::parameters,
    .default_value = 1,
    .help = kOneSource,
    .parameter = Parameter::always,
    .parameter_error = kSetOnReplicas,
    .hidden = true,
});

}  // namespace options
