#include "server/start_messages.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/available_memory.h"
#include "base/log.h"
#include "base/program_version.h"
#include "bson/json.h"
#include "options/catalogue.h"
#include "os/device_read_ahead.h"
#include "server/version.h"
#include "server/wire_version.h"
#include "storage/mmapv1/mapping/random_access.h"

namespace server {

namespace {

// Below this a warning is logged; the old server's limit for a machine in production.
constexpr uint64_t kFilesWanted = 64000;
constexpr uint64_t kFilesLeast = 1000;

uint64_t soft_limit(int resource) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return RLIM_INFINITY;
    return limit.rlim_cur;
}

void log_versions() {
    utsname system{};
    ::uname(&system);
    base::log::info("db version v{}", options::kDefaultVersion);
    base::log::info("git version: mongod-dur-{}", base::kProgramVersion);
    base::log::info("build info: patches {}; running on {} {} {}", patches_text(), system.sysname,
                    system.release, system.machine);
    base::log::info("allocator: system");
}

// As of the old server: a page of a mapped file that is missing brings as many others with it.
void warn_of_device_read_ahead() {
    constexpr int64_t kWantedKb = 256;
    constexpr int64_t kSectorsInKb = 2;
    const auto kb = os::device_read_ahead_kb(options::dbpath.get());
    if (!kb || *kb <= kWantedKb) return;
    base::log::startup_warning(
        fmt::format("** WARNING: Readahead for {} is set to {}KB", options::dbpath.get(), *kb));
    base::log::startup_warning(
        fmt::format("**          We suggest setting it to {}KB ({} sectors) or less", kWantedKb,
                    kWantedKb * kSectorsInKb));
    base::log::startup_warning("**          http://dochub.mongodb.org/core/readahead");
}

}  // namespace

std::string host_name() {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
    return name;
}

bool is_local_address(const std::string& address) {
    const bool is_number = address.find_first_not_of("0123456789.") == std::string::npos;
    return address == "localhost" || address == "::1" || (is_number && address.starts_with("127."));
}

void log_banner(const CommandLine& command_line) {
    base::log::info("MongoDB starting : pid={} port={} dbpath={} 64-bit host={}", ::getpid(),
                    options::port.get(), options::dbpath.get(), host_name());
    log_versions();
    base::log::info("options: {}", bson::to_text(command_line.parsed.doc()));
}

void log_process() {
    base::log::info("pid={} port={} 64-bit host={}", ::getpid(), options::port.get(), host_name());
    log_versions();
}
void log_memory() {
    const base::AvailableMemory memory = base::available_memory();
    if (memory.group_bytes == 0) return;
    std::string values;
    for (const options::Option* option : options::all()) {
        const bool is_known =
            option->engine().empty() || option->engine() == options::storage_engine.get();
        if (option->description().default_of_memory == nullptr || !is_known) continue;
        values += fmt::format("; {} is {}{}", option->description().name,
                              options::value_text(option->value()),
                              option->is_set() ? ", as it was set" : "");
    }
    base::log::info("memory: the control group may have {} MB, the machine has {} MB{}",
                    memory.group_bytes >> 20, memory.machine_bytes >> 20, values);
}

void log_start_warnings(const CommandLine& command_line) {
    using base::log::startup_warning;
    for (const std::string& address : bind_addresses()) {
        if (is_local_address(address)) continue;
        if (options::asks_for_login()) continue;
        startup_warning(
            fmt::format("** WARNING: listening on {}: other machines can connect without logging "
                        "in. Start with --auth and make users (docs/security.md), or bind "
                        "to 127.0.0.1.",
                        address));
    }
    if (!options::journal_enabled() && !options::repair.get()) {
        startup_warning(
            "** WARNING: the journal is off. A crash can damage the data files and lose writes of "
            "the last syncdelay seconds.");
    }
    if (options::storage_engine.get() == "mmapv1" && options::journal_enabled() &&
        !options::journal_commit_interval.is_set()) {
        base::log::info(
            "journal: a write with j:true is answered after up to 34 ms (11 where the journal has "
            "a device of its own). --journalCommitInterval shortens that; conf/durable.yaml, in a "
            "build with the patch series, answers as soon as the disk has it");
    }
    if (options::storage_engine.get() == "mmapv1" && !mmapv1::expects_random_access())
        warn_of_device_read_ahead();
    const uint64_t files = soft_limit(RLIMIT_NOFILE);
    if (files < kFilesLeast) {
        startup_warning(
            fmt::format("** WARNING: soft rlimits too low. Number of files is {}, "
                        "should be at least {}",
                        files, kFilesLeast));
    } else if (files < kFilesWanted) {
        base::log::debug(1, "number of files is limited to {}, {} are recommended", files,
                         kFilesWanted);
    }
    if (soft_limit(RLIMIT_AS) != RLIM_INFINITY) {
        startup_warning(
            "** WARNING: the address space of this process is limited (ulimit -v); mapped data "
            "files may not fit");
    }
    const int of_release = options::announced_wire_version(std::numeric_limits<int>::max());
    if (announced_wire_version() < of_release)
        base::log::info(
            "announcedVersion {}: the maxWireVersion is {}, since {} promises what this "
            "server does not have",
            options::announced_version.get(), announced_wire_version(), of_release);
    for (const std::string& name : command_line.ignored)
        startup_warning(fmt::format("** NOTE: option --{} has no effect in this server.", name));
}

int64_t usable_connections() {
    const int64_t wanted = std::min<int64_t>(options::max_connections.get(), 1'000'000);
    const uint64_t files = soft_limit(RLIMIT_NOFILE);
    if (files == RLIM_INFINITY) return wanted;
    // Half of them are for the tables of wiredTiger, which ends the process that has none left.
    const int tenths = options::storage_engine.get() == "wiredTiger" ? 4 : 8;
    return std::min(wanted, static_cast<int64_t>(files) * tenths / 10);
}

std::string reachable_name() {
    const std::vector<std::string> addresses = bind_addresses();
    const auto others = std::ranges::find_if_not(addresses, is_local_address);
    const std::string& chosen = others == addresses.end() ? addresses.front() : *others;
    if (chosen == "0.0.0.0" || chosen == "::") return host_name();
    return chosen.find(':') == std::string::npos ? chosen : fmt::format("[{}]", chosen);
}

}  // namespace server
