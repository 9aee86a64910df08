#include "server/options.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "journal/debug_flags.h"
#include "journal/options/registry.h"
#include "server/engines.h"
#include "server/given_options.h"

namespace server {

namespace {

[[noreturn]] void refuse(const std::string& text, int exit_code = base::kExitBadOptions) {
    throw OptionError(fmt::format("BadValue {}\ntry 'mongod --help' for more information", text),
                      exit_code);
}

void check(bool good, const std::string& text) {
    if (!good) refuse(text);
}

int bounded(const GivenOptions& given, const char* name, int otherwise, int64_t low, int64_t high) {
    const int64_t value = given.integer(name, otherwise);
    check(value >= low && value <= high,
          fmt::format("--{} must be between {} and {}", name, low, high));
    return static_cast<int>(value);
}

void refuse_unavailable(const GivenOptions& given) {
    for (const std::string& name : given.names()) {
        const OptionSpec& spec = *find_option(name);
        if (spec.refused.empty()) continue;
        if (spec.kind == Kind::flag && !given.flag(name)) continue;  // switched off in YAML
        refuse(fmt::format("--{} is not available: {}", name, spec.refused));
    }
}

std::vector<std::string> split_at_commas(const std::string& text) {
    std::vector<std::string> parts;
    size_t begin = 0;
    while (begin <= text.size()) {
        const size_t comma = std::min(text.find(',', begin), text.size());
        std::string part = text.substr(begin, comma - begin);
        part.erase(0, part.find_first_not_of(' '));
        part.erase(part.find_last_not_of(' ') + 1);
        if (!part.empty()) parts.push_back(std::move(part));
        begin = comma + 1;
    }
    return parts;
}

void take_network(const GivenOptions& given, Config& config) {
    const int64_t default_port = given.flag("shardsvr") ? 27018 : 27017;
    const int64_t port = given.integer("port", default_port);
    check(port >= 0 && port <= 65535, "bad --port number");
    config.port = static_cast<int>(port);
    if (given.has("bind_ip")) {
        config.bind_addresses = split_at_commas(given.text("bind_ip"));
        check(!config.bind_addresses.empty(), "--bind_ip names no address");
    }
    config.ipv6 = given.flag("ipv6");
    config.max_connections = given.integer("maxConns", config.max_connections);
    check(config.max_connections >= 5, "maxConns has to be at least 5");
    config.max_connections = std::min<int64_t>(config.max_connections, 1'000'000);
    config.unix_socket = !given.flag("nounixsocket");
    config.unix_socket_prefix = given.text("unixSocketPrefix", config.unix_socket_prefix);
}

bool lies_under(const std::string& path, const std::string& directory) {
    const std::filesystem::path inner = std::filesystem::weakly_canonical(path);
    const std::filesystem::path outer = std::filesystem::weakly_canonical(directory);
    return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first ==
           outer.end();
}

void take_storage(const GivenOptions& given, Config& config) {
    config.dbpath = given.text("dbpath", config.dbpath);
    check(!config.dbpath.empty(), "--dbpath is empty");
    while (config.dbpath.size() > 1 && config.dbpath.back() == '/')
        config.dbpath.pop_back();
    config.directory_per_db = given.flag("directoryperdb");
    config.small_files = given.flag("smallfiles");
    config.ns_size_mb = static_cast<int>(given.integer("nssize", config.ns_size_mb));
    check(config.ns_size_mb >= 1 && config.ns_size_mb <= 2047, "bad --nssize arg");
    config.sync_delay_seconds = given.number("syncdelay", config.sync_delay_seconds);
    check(config.sync_delay_seconds >= 0 && config.sync_delay_seconds <= 100000,
          "syncdelay out of allowed range (0-100000)");
    config.repair = given.flag("repair");
    config.repair_path = given.text("repairpath");
    config.upgrade = given.flag("upgrade");
    config.index_build_retry = !given.flag("noIndexBuildRetry");
    config.storage_engine = given.text("storageEngine", std::string(kDefaultEngine));
    check(is_engine(config.storage_engine),
          fmt::format("--storageEngine {} is not available, only {}", config.storage_engine,
                      engine_names()));
}

void take_journal(const GivenOptions& given, Config& config) {
    const bool on = given.flag("journal") || given.flag("dur");
    const bool off = given.flag("nojournal") || given.flag("nodur");
    check(!(on && off), "Can't specify both --journal and --nojournal options.");
    check(!(on && config.repair), "Can't specify both --journal and --repair options.");
    config.journal = !off && !config.repair;
    if (given.has("journalCommitInterval")) {
        try {
            config.commit_interval = ::journal::parse_commit_interval(
                given.as_text("journalCommitInterval"), ::journal::IntervalSource::start_up);
        } catch (const base::Error& error) {
            refuse(error.what());
        }
    }
    if (given.has("journalOptions") && given.has("durOptions")) {
        refuse("Can't specify both --journalOptions and --durOptions options.", base::kExitError);
    }
    const char* name = given.has("durOptions") ? "durOptions" : "journalOptions";
    config.journal_options = bounded(given, name, 0, 0, ::journal::kAllDebugFlags);
    config.no_prealloc_journal = given.flag("nopreallocj");
    for (const ::journal::options::Descriptor* d : ::journal::options::all()) {
        if (!given.has(d->name)) continue;
        try {
            d->set(given.as_text(d->name));
        } catch (const base::Error& error) {
            refuse(error.what());
        }
        config.journal_registry.emplace_back(d->name, given.as_text(d->name));
    }
    if (!config.repair_path.empty() && config.journal)
        check(lies_under(config.repair_path, config.dbpath),
              "You must specify a --repairpath that is a subdirectory of --dbpath when using "
              "journaling");
}

void take_log(const GivenOptions& given, Config& config) {
    using base::log::TimestampFormat;
    config.log_path = given.text("logpath");
    config.log_append = given.flag("logappend");
    config.syslog = given.flag("syslog");
    check(!(config.syslog && given.has("logpath")), "Can't use both a logpath and syslog");
    check(!given.has("logpath") || !config.log_path.empty(), "--logpath is empty");
    config.syslog_facility = given.text("syslogFacility", config.syslog_facility);
    const std::string format = given.text("timeStampFormat", "iso8601-local");
    if (format == "ctime") {
        config.timestamps = TimestampFormat::ctime;
    } else if (format == "iso8601-utc") {
        config.timestamps = TimestampFormat::iso8601_utc;
    } else {
        check(format == "iso8601-local",
              "Value of logTimestampFormat must be one of ctime, iso8601-utc or iso8601-local; not "
              "\"" +
                  format + "\".");
    }
    config.verbosity = bounded(given, "verbose", 0, 0, 5);
    config.quiet = given.flag("quiet");
    config.trace_exceptions = given.flag("traceExceptions");
}

void take_process(const GivenOptions& given, Config& config) {
    config.fork = given.flag("fork");
    config.pid_file = given.text("pidfilepath");
    config.shutdown = given.flag("shutdown");
    config.slow_ms = bounded(given, "slowms", 100, -1, 1'000'000'000);
    config.profile_level = bounded(given, "profile", 0, 0, 2);
    config.no_table_scan = given.flag("notablescan");
    check(!config.fork || !config.log_path.empty() || config.syslog,
          "--fork has to be used with --logpath or --syslog");
    for (const std::string& pair : given.list("setParameter")) {
        const size_t at = pair.find('=');
        check(at != std::string::npos && at != 0,
              fmt::format("Illegal option assignment: \"{}\"", pair));
        config.parameters.emplace_back(pair.substr(0, at), pair.substr(at + 1));
    }
    for (const char* name : {"noobjcheck", "cpu", "sysinfo", "diaglog", "repairpath"}) {
        if (given.has(name)) config.ignored.push_back(name);
    }
    if ((config.journal_options & ::journal::kAlwaysCommit) != 0)
        config.ignored.push_back(fmt::format("journalOptions {}", +::journal::kAlwaysCommit));
}

void take_command(const std::vector<std::string>& words, Config& config) {
    if (words.empty()) return;
    if (words.size() == 1 && words[0] == "run") return;
    if (words.size() == 1 && words[0] == "dbpath") {
        config.print_dbpath = true;
        return;
    }
    throw OptionError(fmt::format("Invalid command: {}\n\n{}", words[0], help_text()),
                      base::kExitError);
}

}  // namespace

Config parse_options(const std::vector<std::string>& argv) {
    Config config;
    config.argv = argv;
    GivenOptions given;
    const std::vector<std::string> words = read_command_line(argv, given);
    config.help = given.flag("help");
    config.version = given.flag("version");
    if (config.help || config.version) return config;
    if (given.has("config")) read_config_file(given.text("config"), given);
    refuse_unavailable(given);
    take_network(given, config);
    take_storage(given, config);
    take_journal(given, config);
    take_log(given, config);
    take_process(given, config);
    take_command(words, config);
    config.parsed = given.parsed();
    return config;
}

}  // namespace server
