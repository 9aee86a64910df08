#include "server/option_table.h"

#include <fmt/format.h>

#include "journal/options/registry.h"

namespace server {

namespace {

constexpr const char* kGeneral = "General";
constexpr const char* kNetwork = "Network";
constexpr const char* kStorage = "Data files";
constexpr const char* kJournal = "Journal";
constexpr const char* kLogging = "Log";
constexpr const char* kProcess = "Process";
constexpr const char* kHidden = "";

constexpr const char* kOneNode = "this server is a single node and does not replicate";
constexpr const char* kNoShards = "this server does not take part in a sharded cluster";
constexpr const char* kNoHttp = "this server has no HTTP interface";
constexpr const char* kNoTls = "this server does not speak TLS";
constexpr const char* kNoAuth = "this server has no access control yet";
constexpr const char* kNoQuota = "this server does not limit the files of a database";

std::vector<OptionSpec> general() {
    return {
        {"help", 'h', Kind::flag, kGeneral, "", "Print this text and exit."},
        {"version", 0, Kind::flag, kGeneral, "",
         "Print the version and the patches this program was built with, and exit."},
        {"config", 'f', Kind::text, kGeneral, "FILE",
         "Read options from a file: YAML, or the old form of 'name = value' lines. Options on the "
         "command line win."},
        {"setParameter",
         0,
         Kind::list,
         kGeneral,
         "NAME=VALUE",
         "Set a server parameter; may be repeated. getParameter with '*' lists them.",
         {"setParameter"}},
        {"slowms",
         0,
         Kind::integer,
         kGeneral,
         "MS",
         "Log operations that take longer than this. Default 100.",
         {"operationProfiling.slowOpThresholdMs"}},
        {"profile",
         0,
         Kind::integer,
         kGeneral,
         "LEVEL",
         "Keep operations in system.profile of their database: 0 none, 1 those slower than slowms, "
         "2 all. Default 0; the profile command sets it for one database.",
         {"operationProfiling.mode"}},
        {"notablescan", 0, Kind::flag, kGeneral, "",
         "Refuse queries that no index supports. For tests of applications."},
    };
}

std::vector<OptionSpec> network() {
    return {
        {"port",
         0,
         Kind::integer,
         kNetwork,
         "PORT",
         "TCP port, 0 to 65535; 0 takes any free one. Default 27017.",
         {"net.port"}},
        {"bind_ip",
         0,
         Kind::text,
         kNetwork,
         "ADDRESSES",
         "Addresses to listen on, separated by commas. Default 127.0.0.1: only programs on this "
         "machine can connect. There is no access control, so open it wider only in a trusted "
         "network.",
         {"net.bindIp"}},
        {"ipv6", 0, Kind::flag, kNetwork, "", "Use IPv6 addresses too. Default off.", {"net.ipv6"}},
        {"maxConns",
         0,
         Kind::integer,
         kNetwork,
         "N",
         "Close connections beyond this number at once. Default 1000000, lowered to what the limit "
         "on open files allows. An idle connection costs about 4 KB of memory here.",
         {"net.maxIncomingConnections"}},
        {"nounixsocket",
         0,
         Kind::flag,
         kNetwork,
         "",
         "Do not listen on a Unix socket. Default: it does.",
         {"net.unixDomainSocket.enabled"},
         true},
        {"unixSocketPrefix",
         0,
         Kind::text,
         kNetwork,
         "DIR",
         "Directory of the Unix socket mongodb-PORT.sock. Default /tmp.",
         {"net.unixDomainSocket.pathPrefix"}},
        {"objcheck", 0, Kind::flag, kHidden, "", "", {"net.wireObjectCheck"}},
        {"noobjcheck", 0, Kind::flag, kHidden, "", "", {"net.wireObjectCheck"}, true},
        {"nohttpinterface", 0, Kind::flag, kHidden, "", "", {"net.http.enabled"}, true},
        {"httpinterface", 0, Kind::flag, kHidden, "", "", {"net.http.enabled"}, false, kNoHttp},
        {"rest", 0, Kind::flag, kHidden, "", "", {"net.http.RESTInterfaceEnabled"}, false, kNoHttp},
        {"jsonp", 0, Kind::flag, kHidden, "", "", {"net.http.JSONPEnabled"}, false, kNoHttp},
        {"sslMode", 0, Kind::text, kHidden, "", "", {"net.ssl.mode"}, false, kNoTls},
        {"sslOnNormalPorts",
         0,
         Kind::flag,
         kHidden,
         "",
         "",
         {"net.ssl.sslOnNormalPorts"},
         false,
         kNoTls},
        {"sslPEMKeyFile", 0, Kind::text, kHidden, "", "", {"net.ssl.PEMKeyFile"}, false, kNoTls},
        {"sslPEMKeyPassword",
         0,
         Kind::text,
         kHidden,
         "",
         "",
         {"net.ssl.PEMKeyPassword"},
         false,
         kNoTls},
        {"sslCAFile", 0, Kind::text, kHidden, "", "", {"net.ssl.CAFile"}, false, kNoTls},
        {"sslCRLFile", 0, Kind::text, kHidden, "", "", {"net.ssl.CRLFile"}, false, kNoTls},
        {"sslClusterFile", 0, Kind::text, kHidden, "", "", {"net.ssl.clusterFile"}, false, kNoTls},
        {"sslClusterPassword",
         0,
         Kind::text,
         kHidden,
         "",
         "",
         {"net.ssl.clusterPassword"},
         false,
         kNoTls},
        {"sslWeakCertificateValidation",
         0,
         Kind::flag,
         kHidden,
         "",
         "",
         {"net.ssl.weakCertificateValidation"},
         false,
         kNoTls},
        {"sslAllowInvalidCertificates",
         0,
         Kind::flag,
         kHidden,
         "",
         "",
         {"net.ssl.allowInvalidCertificates"},
         false,
         kNoTls},
        {"sslFIPSMode", 0, Kind::flag, kHidden, "", "", {"net.ssl.FIPSMode"}, false, kNoTls},
    };
}

std::vector<OptionSpec> storage() {
    return {
        {"dbpath",
         0,
         Kind::text,
         kStorage,
         "DIR",
         "Where the data files live. It must exist. Default /data/db.",
         {"storage.dbPath"}},
        {"directoryperdb",
         0,
         Kind::flag,
         kStorage,
         "",
         "Give each database a directory of its own. Must stay as it was when the files were made. "
         "Default off.",
         {"storage.directoryPerDB"}},
        {"smallfiles",
         0,
         Kind::flag,
         kStorage,
         "",
         "Make data files a quarter of the usual size, journal files 128 MB instead of 1 GB. "
         "Saves space on small disks; large databases then have many files. Default off.",
         {"storage.smallFiles", "storage.mmapv1.smallFiles"}},
        {"nssize",
         0,
         Kind::integer,
         kStorage,
         "MB",
         "Size of new .ns files, 1 to 2047; 16 MB hold about 24000 collections and indexes. "
         "Default 16.",
         {"storage.nsSize", "storage.mmapv1.nsSize"}},
        {"noprealloc",
         0,
         Kind::flag,
         kStorage,
         "",
         "Do not make the next data file ahead of need. It is not made ahead by default either.",
         {"storage.preallocDataFiles", "storage.mmapv1.preallocDataFiles"},
         true},
        {"syncdelay",
         0,
         Kind::number,
         kStorage,
         "SECONDS",
         "Time between background flushes of all data files, up to 100000; 0 never flushes. "
         "With the journal it only bounds journal size and recovery time; without, it is how much "
         "can be lost. Default 60.",
         {"storage.syncPeriodSecs"}},
        {"repair", 0, Kind::flag, kStorage, "",
         "Write all collections anew, without documents that cannot be read, and build their "
         "indexes again, then exit. Works in the data files themselves and without the journal, "
         "so copy them first. The log names what is left out."},
        {"repairpath", 0, Kind::text, kHidden, "", "", {"storage.repairPath"}},
        {"upgrade", 0, Kind::flag, kStorage, "",
         "Bring data files of older servers up to date, then exit."},
        {"noIndexBuildRetry",
         0,
         Kind::flag,
         kStorage,
         "",
         "Remove index builds that a stop of the server interrupted instead of building them "
         "again at the start.",
         {"storage.indexBuildRetry"},
         true},
        {"storageEngine",
         0,
         Kind::text,
         kStorage,
         "NAME",
         "The storage engine; there is one, mmapv1.",
         {"storage.engine"}},
        {"quota",
         0,
         Kind::flag,
         kHidden,
         "",
         "",
         {"storage.quota.enforced", "storage.mmapv1.quota.enforced"},
         false,
         kNoQuota},
        {"quotaFiles",
         0,
         Kind::integer,
         kHidden,
         "",
         "",
         {"storage.quota.maxFilesPerDB", "storage.mmapv1.quota.maxFilesPerDB"},
         false,
         kNoQuota},
    };
}

std::vector<OptionSpec> journal() {
    std::vector<OptionSpec> specs = {
        {"journal",
         0,
         Kind::flag,
         kJournal,
         "",
         "Write changes to a journal before the data files, so that a crash loses at most the last "
         "commit interval, and nothing that was acknowledged with j: true. Default on.",
         {"storage.journal.enabled"}},
        {"nojournal",
         0,
         Kind::flag,
         kJournal,
         "",
         "No journal: a crash can lose up to syncdelay seconds and leaves files that need "
         "--repair.",
         {"storage.journal.enabled"},
         true},
        {"journalCommitInterval",
         0,
         Kind::integer,
         kJournal,
         "MS",
         "Longest time between group commits, 2 to 300; a commit somebody waits for comes after a "
         "third of it. This much unacknowledged work a crash can lose. Default 100, or 30 when "
         "the journal lies on another device than the data.",
         {"storage.journal.commitIntervalMs", "storage.mmapv1.journal.commitIntervalMs"}},
        {"journalOptions",
         0,
         Kind::integer,
         kJournal,
         "BITS",
         "For diagnosis, added up: 1 log the journal during recovery, 2 scan it only (and stop), "
         "4 recover only (and stop), 8 check that every changed byte was declared, 16 nothing (as "
         "in "
         "the old server), 32 remap after every commit, 64 do not check for free space. Default 0.",
         {"storage.journal.debugFlags", "storage.mmapv1.journal.debugFlags"}},
        {"dur", 0, Kind::flag, kHidden, "", ""},
        {"nodur", 0, Kind::flag, kHidden, "", ""},
        {"durOptions", 0, Kind::integer, kHidden, "", ""},
        {"nopreallocj", 0, Kind::flag, kHidden, "", "", {"storage.mmapv1.journal.nopreallocj"}},
    };
    for (const ::journal::options::Descriptor* d : ::journal::options::all()) {
        OptionSpec spec;
        spec.name = d->name;
        spec.group = kJournal;
        spec.help = fmt::format("{} Default {}.", d->help, d->default_value);
        spec.yaml = {d->yaml_name};
        switch (d->type) {
            case ::journal::options::Type::flag:
                spec.kind = Kind::flag;
                break;
            case ::journal::options::Type::integer:
                spec.kind = Kind::integer;
                break;
            case ::journal::options::Type::text:
                spec.kind = Kind::text;
                break;
        }
        if (spec.kind != Kind::flag) spec.value_name = d->values;
        specs.push_back(std::move(spec));
    }
    return specs;
}

std::vector<OptionSpec> logging() {
    return {
        {"logpath",
         0,
         Kind::text,
         kLogging,
         "FILE",
         "Log to a file instead of standard output.",
         {"systemLog.path"}},
        {"logappend",
         0,
         Kind::flag,
         kLogging,
         "",
         "Go on with the log file of the last run. Otherwise that one is renamed first.",
         {"systemLog.logAppend"}},
        {"syslog",
         0,
         Kind::flag,
         kLogging,
         "",
         "Log to the system's log; not together with --logpath.",
         {"systemLog.destination"}},
        {"syslogFacility",
         0,
         Kind::text,
         kLogging,
         "NAME",
         "Facility for --syslog. Default user.",
         {"systemLog.syslogFacility"}},
        {"timeStampFormat",
         0,
         Kind::text,
         kLogging,
         "FORMAT",
         "ctime, iso8601-utc or iso8601-local. Default iso8601-local.",
         {"systemLog.timeStampFormat"}},
        {"verbose",
         'v',
         Kind::integer,
         kLogging,
         "LEVEL",
         "Log more: -v to -vvvvv. Default 0.",
         {"systemLog.verbosity"}},
        {"quiet",
         0,
         Kind::flag,
         kLogging,
         "",
         "Log less: no lines about connections.",
         {"systemLog.quiet"}},
        {"traceExceptions",
         0,
         Kind::flag,
         kLogging,
         "",
         "Log every error where it is thrown, also those that clients get as replies. For finding "
         "faults. Default off.",
         {"systemLog.traceAllExceptions"}},
    };
}

std::vector<OptionSpec> process() {
    return {
        {"fork",
         0,
         Kind::flag,
         kProcess,
         "",
         "Run in the background. The command returns when the server accepts connections. Needs "
         "--logpath or --syslog.",
         {"processManagement.fork"}},
        {"pidfilepath",
         0,
         Kind::text,
         kProcess,
         "FILE",
         "Write the process id to this file.",
         {"processManagement.pidFilePath"}},
        {"shutdown", 0, Kind::flag, kProcess, "",
         "Stop the server that runs on this dbpath, wait for it, and exit."},
        {"noscripting", 0, Kind::flag, kHidden, "", "", {"security.javascriptEnabled"}, true},
        {"noauth", 0, Kind::flag, kHidden, "", ""},
        {"auth", 0, Kind::flag, kHidden, "", "", {"security.authorization"}, false, kNoAuth},
        {"keyFile", 0, Kind::text, kHidden, "", "", {"security.keyFile"}, false, kNoAuth},
        {"clusterAuthMode",
         0,
         Kind::text,
         kHidden,
         "",
         "",
         {"security.clusterAuthMode"},
         false,
         kNoAuth},
        {"cpu", 0, Kind::flag, kHidden, "", ""},
        {"sysinfo", 0, Kind::flag, kHidden, "", ""},
        {"diaglog", 0, Kind::integer, kHidden, "", ""},
    };
}

std::vector<OptionSpec> clusters() {
    const auto refused = [](const char* name, Kind kind, std::vector<std::string> yaml,
                            const char* why) {
        OptionSpec spec;
        spec.name = name;
        spec.kind = kind;
        spec.yaml = std::move(yaml);
        spec.refused = why;
        return spec;
    };
    std::vector<OptionSpec> specs = {
        refused("replSet", Kind::text, {"replication.replSetName", "replication.replSet"},
                kOneNode),
        refused("oplogSize", Kind::integer, {"replication.oplogSizeMB"}, kOneNode),
        refused("master", Kind::flag, {}, kOneNode),
        refused("slave", Kind::flag, {}, kOneNode),
        refused("source", Kind::text, {}, kOneNode),
        refused("only", Kind::text, {}, kOneNode),
        refused("slavedelay", Kind::integer, {}, kOneNode),
        refused("autoresync", Kind::flag, {}, kOneNode),
        refused("fastsync", Kind::flag, {}, kOneNode),
        refused("replIndexPrefetch", Kind::text, {"replication.secondaryIndexPrefetch"}, kOneNode),
        refused("configsvr", Kind::flag, {}, kNoShards),
        refused("moveParanoia", Kind::flag, {"sharding.archiveMovedChunks"}, kNoShards),
    };
    OptionSpec shard;
    shard.name = "shardsvr";
    shard.yaml = {"sharding.clusterRole"};
    specs.push_back(shard);
    return specs;
}

std::vector<OptionSpec> make_table() {
    std::vector<OptionSpec> table;
    for (auto part : {general(), network(), storage(), journal(), logging(), process(), clusters()})
        table.insert(table.end(), part.begin(), part.end());
    return table;
}

// `text` in lines of at most `width`, each after the first indented.
void append_wrapped(std::string& out, std::string_view text, size_t indent, size_t width) {
    size_t column = indent;
    while (!text.empty()) {
        const size_t space = text.find(' ');
        const std::string_view word = text.substr(0, space);
        text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
        if (column != indent && column + 1 + word.size() > width) {
            out.append(1, '\n').append(indent, ' ');
            column = indent;
        }
        if (column != indent) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
    out += '\n';
}

void append_option(std::string& out, const OptionSpec& spec) {
    constexpr size_t kIndent = 28;
    constexpr size_t kWidth = 80;
    std::string head = spec.letter != 0 ? fmt::format("  -{}, --{}", spec.letter, spec.name)
                                        : fmt::format("  --{}", spec.name);
    if (!spec.value_name.empty()) head += " " + spec.value_name;
    if (head.size() + 2 > kIndent) {
        out += head + "\n";
        head.clear();
    }
    out += head;
    out.append(kIndent - head.size(), ' ');
    append_wrapped(out, spec.help, kIndent, kWidth);
}

}  // namespace

const std::vector<OptionSpec>& option_table() {
    static const std::vector<OptionSpec> table = make_table();
    return table;
}

const std::vector<OptionGroup>& option_groups() {
    static const std::vector<OptionGroup> groups = {
        {kGeneral, ""},
        {kNetwork, ""},
        {kStorage, ""},
        {kJournal,
         "What is acknowledged with j: true is on the disk. The other writes follow with "
         "the next group commit."},
        {kLogging, ""},
        {kProcess, ""},
    };
    return groups;
}

const OptionSpec* find_option(std::string_view name) {
    for (const OptionSpec& spec : option_table()) {
        if (spec.name == name) return &spec;
    }
    return nullptr;
}

std::string help_text() {
    std::string out =
        "mongod [options]\n\n"
        "A document server that MongoDB clients can talk to, with memory-mapped data\n"
        "files and a journal. Without options it keeps its data in /data/db and serves\n"
        "programs on this machine at port 27017. In a configuration file the options\n"
        "have the names in brackets.\n";
    for (const OptionGroup& group : option_groups()) {
        out += fmt::format("\n{}:\n", group.name);
        if (!group.introduction.empty()) {
            out += "  ";
            append_wrapped(out, group.introduction, 2, 80);
        }
        for (const OptionSpec& spec : option_table()) {
            if (spec.group != group.name) continue;
            OptionSpec shown = spec;
            if (!spec.yaml.empty()) shown.help += fmt::format(" [{}]", spec.yaml.front());
            append_option(out, shown);
        }
    }
    return out;
}

}  // namespace server
