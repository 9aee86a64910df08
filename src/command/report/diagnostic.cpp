// Commands that tell what the server is and where it runs: buildInfo, hostInfo, getLog,
// listCommands ... (wire spec 2.2).
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "command/report/build_info.h"
#include "command/report/reports.h"
#include "command/request/invocation.h"

namespace command {

namespace {

constexpr int kWrongFieldType = 13111;

void run_build_info(Invocation& invocation) {
    append_build_info(invocation.service.context(), invocation.service.engine(), *invocation.reply);
}

// The value behind "key<tabs>: value" or "KEY=value" in a small text file of the system.
std::string value_in_file(const char* path, std::string_view key, char separator) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        if (!line.starts_with(key)) continue;
        const size_t at = line.find(separator);
        if (at == std::string::npos) continue;
        const size_t begin = line.find_first_not_of(" \t\"", at + 1);
        const size_t end = line.find_last_not_of(" \t\"");
        if (begin == std::string::npos || end < begin) return {};
        return line.substr(begin, end - begin + 1);
    }
    return {};
}

void run_host_info(Invocation& invocation) {
    utsname host{};
    uname(&host);
    const int64_t page_bytes = sysconf(_SC_PAGESIZE);
    const int64_t pages = sysconf(_SC_PHYS_PAGES);
    {
        bson::Builder system = invocation.reply->sub_object("system");
        system.append_date("currentTime", base::ms_since_1970())
            .append("hostname", host.nodename)
            .append("cpuAddrSize", static_cast<int32_t>(sizeof(void*) * 8))
            .append("memSizeMB", static_cast<int32_t>((page_bytes * pages) >> 20))
            .append("numCores", static_cast<int32_t>(std::thread::hardware_concurrency()))
            .append("cpuArch", host.machine)
            .append("numaEnabled", access("/sys/devices/system/node/node1", F_OK) == 0);
    }
    {
        bson::Builder os = invocation.reply->sub_object("os");
        os.append("type", host.sysname)
            .append("name", value_in_file("/etc/os-release", "PRETTY_NAME", '='))
            .append("version", fmt::format("Kernel {}", host.release));
    }
    bson::Builder extra = invocation.reply->sub_object("extra");
    extra.append("versionString", fmt::format("{} {}", host.sysname, host.version))
        .append("libcVersion", gnu_get_libc_version())
        .append("kernelVersion", host.release)
        .append("cpuFrequencyMHz", value_in_file("/proc/cpuinfo", "cpu MHz", ':'))
        .append("cpuFeatures", value_in_file("/proc/cpuinfo", "flags", ':'))
        .append("pageSize", page_bytes)
        .append("numPages", static_cast<int32_t>(pages))
        .append("maxOpenFiles", static_cast<int32_t>(sysconf(_SC_OPEN_MAX)));
}

void run_get_log(Invocation& invocation) {
    const bson::Element which = invocation.first();
    if (!which.is_string())
        base::fail(invocation.dialect().code(kWrongFieldType, base::kTypeMismatch),
                   "wrong type for field (getLog): expected a string");
    const std::string_view name = which.as_string();
    if (name == "*") {
        bson::Builder names = invocation.reply->sub_array("names");
        names.push("global");
        names.push("startupWarnings");
        return;
    }
    base::log::Ring ring;
    if (name == "global") {
        ring = base::log::recent_lines();
    } else if (name == "startupWarnings") {
        ring = base::log::startup_warnings();
    } else if (name != "rs") {
        base::fail(base::kOperationFailed, "no RamLog named: {}", name);
    }
    DCHECK(ring.total >= static_cast<int64_t>(ring.lines.size()));
    invocation.reply->append("totalLinesWritten", static_cast<int32_t>(ring.total));
    bson::Builder lines = invocation.reply->sub_array("log");
    for (const std::string& line : ring.lines)
        lines.push(line);
}

void run_get_cmd_line_opts(Invocation& invocation) {
    const ServerContext& context = invocation.service.context();
    {
        bson::Builder argv = invocation.reply->sub_array("argv");
        for (const std::string& word : context.argv)
            argv.push(word);
    }
    invocation.reply->append("parsed", context.parsed_options);
}

void run_list_commands(Invocation& invocation) {
    bson::Builder commands = invocation.reply->sub_object("commands");
    for (const Command* command : invocation.service.commands().sorted()) {
        if ((command->flags & kTestOnly) != 0 && !invocation.service.context().test_commands)
            continue;
        bson::Builder entry = commands.sub_object(command->name);
        entry.append("help", command->help)
            .append("slaveOk", command->lock != LockKind::write)
            .append("adminOnly", (command->flags & kAdminOnly) != 0);
    }
}

void run_features(Invocation& invocation) {
    {
        bson::Builder js = invocation.reply->sub_object("js");
        js.append("utf8", true);
    }
    const bson::ObjectId id = bson::new_object_id();
    int32_t machine = 0;
    std::memcpy(&machine, id.bytes + 4, 3);
    // The number of the machine is chosen once, at random, and not anew: nothing else can have the
    // same.
    if (invocation.body["oidReset"].truthy()) invocation.reply->append("oidMachineOld", machine);
    invocation.reply->append("oidMachine", machine);
}

void run_available_query_options(Invocation& invocation) {
    invocation.reply->append("options", wire::kTailable | wire::kSlaveOk | wire::kOplogReplay |
                                            wire::kNoCursorTimeout | wire::kAwaitData |
                                            wire::kExhaust | wire::kPartial);
}

void run_driver_oid_test(Invocation& invocation) {
    const bson::Element id = invocation.first();
    if (id.type() != bson::Type::object_id)
        base::fail(base::kTypeMismatch, "driverOIDTest needs an ObjectId");
    std::string text;
    for (const uint8_t byte : id.as_object_id().bytes)
        text += fmt::format("{:02x}", byte);
    invocation.reply->append_as("oid", id).append("str", text);
}

void run_sharding_state(Invocation& invocation) {
    invocation.reply->append("enabled", false);
}

void run_diag_logging(Invocation& invocation) {
    invocation.reply->append("was", int32_t{0});
}

void run_conn_pool_stats(Invocation& invocation) {
    for (const char* name : {"hosts", "replicaSets", "createdByType"})
        invocation.reply->sub_object(name).finish();
    for (const char* name :
         {"totalAvailable", "totalCreated", "numDBClientConnection", "numAScopedConnection"})
        invocation.reply->append(name, int32_t{0});
}

void run_nothing(Invocation&) {}

constexpr Field kFeaturesFields[] = {
    {"oidReset", types::flag},
};

constexpr Command kCommands[] = {
    {"buildInfo", "buildinfo", 0, LockKind::none, "version and build of the server", run_build_info,
     needs::nothing},
    {"hostInfo", "", 0, LockKind::none, "the machine the server runs on", run_host_info,
     needs::on_cluster(auth::action::hostInfo)},
    {"getLog", "", kAdminOnly, LockKind::none,
     "{ getLog: '*' } or { getLog: 'global' }: recent lines of the log", run_get_log,
     needs::on_cluster(auth::action::getLog)},
    {"getCmdLineOpts", "", kAdminOnly, LockKind::none, "the options the server was started with",
     run_get_cmd_line_opts, needs::on_cluster(auth::action::getCmdLineOpts)},
    {"listCommands", "", 0, LockKind::none, "get a list of all db commands", run_list_commands,
     needs::login},
    {"features", "", 0, LockKind::none, "what was built in", run_features, needs::login,
     kFeaturesFields},
    {"availableQueryOptions", "availablequeryoptions", 0, LockKind::none,
     "flags of OP_QUERY that are understood", run_available_query_options, needs::login},
    {"driverOIDTest", "", 0, LockKind::none, "{ driverOIDTest: id }: for tests of drivers",
     run_driver_oid_test, needs::login},
    {"shardingState", "", kAdminOnly, LockKind::none, "always { enabled: false }",
     run_sharding_state, needs::on_cluster(auth::action::shardingState)},
    {"diagLogging", "", kAdminOnly, LockKind::none, "not supported; answers 0", run_diag_logging,
     needs::on_cluster(auth::action::diagLogging)},
    {"connPoolStats", "", 0, LockKind::none, "outgoing connections; there are none",
     run_conn_pool_stats, needs::on_cluster(auth::action::connPoolStats)},
    {"connPoolSync", "", 0, LockKind::none, "outgoing connections; there are none", run_nothing,
     needs::on_cluster(auth::action::connPoolSync)},
};

}  // namespace

Family diagnostic_commands() {
    return kCommands;
}

}  // namespace command
