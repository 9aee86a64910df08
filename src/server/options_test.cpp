#include "server/options.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "server/given_options.h"
#include "server/option_table.h"

namespace server {
namespace {

Config parse(std::vector<std::string> words) {
    words.insert(words.begin(), "mongod");
    return parse_options(words);
}

// The error's text; "" if there is none.
std::string error_of(const std::vector<std::string>& words, int exit_code = 2) {
    try {
        parse(words);
    } catch (const OptionError& error) {
        EXPECT_EQ(error.exit_code(), exit_code);
        return error.what();
    }
    return "";
}

class ConfigFile {
  public:
    explicit ConfigFile(const std::string& text) : path_(testing::TempDir() + "/mongod.conf") {
        std::ofstream(path_) << text;
    }
    ~ConfigFile() { std::remove(path_.c_str()); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

Config parse_file(const std::string& text, std::vector<std::string> more = {}) {
    const ConfigFile file(text);
    more.insert(more.begin(), {"--config", file.path()});
    return parse(more);
}
std::string file_error(const std::string& text) {
    const ConfigFile file(text);
    return error_of({"-f", file.path()});
}

bson::Element at(const bson::Object& doc, std::string_view path) {
    return doc.doc().at_path(path);
}

constexpr const char* kHint = "\ntry 'mongod --help' for more information";

TEST(Options, Defaults) {
    const Config c = parse({});
    EXPECT_EQ(c.port, 27017);
    EXPECT_EQ(c.bind_addresses, std::vector<std::string>{"127.0.0.1"});
    EXPECT_EQ(c.max_connections, 1'000'000);
    EXPECT_TRUE(c.unix_socket);
    EXPECT_EQ(c.dbpath, "/data/db");
    EXPECT_TRUE(c.journal);
    EXPECT_FALSE(c.commit_interval);
    EXPECT_EQ(c.ns_size_mb, 16);
    EXPECT_EQ(c.sync_delay_seconds, 60);
    EXPECT_EQ(c.slow_ms, 100);
    EXPECT_EQ(c.verbosity, 0);
    EXPECT_TRUE(c.parsed.doc().empty());
    EXPECT_EQ(c.argv, std::vector<std::string>{"mongod"});
}

TEST(Options, CommandLine) {
    const Config c = parse({"--port",
                            "28000",
                            "--bind_ip=127.0.0.1, 10.0.0.1",
                            "--dbpath",
                            "/tmp/x/",
                            "--nojournal",
                            "--smallfiles",
                            "--noprealloc",
                            "-vvv",
                            "--setParameter",
                            "enableTestCommands=1",
                            "--setParameter",
                            "a=b=c",
                            "--syncdelay",
                            "0.5",
                            "--nssize",
                            "1",
                            "--nounixsocket",
                            "--quiet",
                            "--maxConns",
                            "50",
                            "--profile",
                            "0",
                            "run"});
    EXPECT_EQ(c.port, 28000);
    EXPECT_EQ(c.bind_addresses, (std::vector<std::string>{"127.0.0.1", "10.0.0.1"}));
    EXPECT_EQ(c.dbpath, "/tmp/x");
    EXPECT_FALSE(c.journal);
    EXPECT_TRUE(c.small_files);
    EXPECT_EQ(c.verbosity, 3);
    EXPECT_EQ(c.sync_delay_seconds, 0.5);
    EXPECT_EQ(c.ns_size_mb, 1);
    EXPECT_FALSE(c.unix_socket);
    EXPECT_TRUE(c.quiet);
    EXPECT_EQ(c.max_connections, 50);
    ASSERT_EQ(c.parameters.size(), 2u);
    EXPECT_EQ(c.parameters[0], (std::pair<std::string, std::string>("enableTestCommands", "1")));
    EXPECT_EQ(c.parameters[1], (std::pair<std::string, std::string>("a", "b=c")));

    // What getCmdLineOpts shows: nested by YAML names, switches without one at the top.
    EXPECT_EQ(at(c.parsed, "net.port").as_int32(), 28000);
    EXPECT_EQ(at(c.parsed, "net.bindIp").as_string(), "127.0.0.1, 10.0.0.1");
    EXPECT_EQ(at(c.parsed, "storage.dbPath").as_string(), "/tmp/x/");
    EXPECT_TRUE(at(c.parsed, "storage.smallFiles").as_bool());
    EXPECT_TRUE(at(c.parsed, "nojournal").as_bool());
    EXPECT_TRUE(at(c.parsed, "noprealloc").as_bool());
    EXPECT_EQ(at(c.parsed, "setParameter.enableTestCommands").as_string(), "1");
    EXPECT_EQ(at(c.parsed, "systemLog.verbosity").as_int32(), 3);
    EXPECT_FALSE(c.parsed.doc().has("storage.journal"));
}

TEST(Options, VerbositySpellings) {
    EXPECT_EQ(parse({"-v"}).verbosity, 1);
    EXPECT_EQ(parse({"-vvvvv"}).verbosity, 5);
    EXPECT_EQ(parse({"--verbose"}).verbosity, 1);
    EXPECT_EQ(parse({"--verbose=vv"}).verbosity, 2);
    EXPECT_NE(error_of({"-vvvvvv"}), "");
}

TEST(Options, HelpAndVersionComeBeforeEverythingElse) {
    EXPECT_TRUE(parse({"--help", "--port", "999999"}).help);
    EXPECT_TRUE(parse({"-h"}).help);
    EXPECT_TRUE(parse({"--version", "--replSet", "x"}).version);
}

TEST(Options, ErrorsOfTheCommandLine) {
    EXPECT_EQ(error_of({"--nosuch"}),
              std::string("Error parsing command line: unknown option nosuch") + kHint);
    EXPECT_EQ(error_of({"--journalPadKB", "4"}),
              std::string("Error parsing command line: unknown option journalPadKB") + kHint);
    EXPECT_NE(error_of({"--dbpat", "x"}), "") << "names are not guessed";
    EXPECT_EQ(error_of({"--port", "abc"}),
              std::string("Error parsing command line: the argument ('abc') for option '--port' is "
                          "invalid") +
                  kHint);
    EXPECT_EQ(error_of({"--port", "70000"}), std::string("BadValue bad --port number") + kHint);
    EXPECT_EQ(error_of({"--port", "-1"}), std::string("BadValue bad --port number") + kHint);
    EXPECT_EQ(error_of({"--port"}).rfind("Error parsing command line: ", 0), 0u);
    EXPECT_EQ(error_of({"--port", "1", "--port", "2"}).rfind("Error parsing command line: ", 0),
              0u);
    EXPECT_NE(error_of({"--setParameter", "novalue"}), "");
    EXPECT_NE(error_of({"--fork"}), "");
    EXPECT_NE(error_of({"--logpath", "x", "--syslog"}), "");
    EXPECT_NE(error_of({"--nssize", "2048"}), "");
    EXPECT_NE(error_of({"--nssize", "0"}), "");
    EXPECT_NE(error_of({"--syncdelay", "-1"}), "");
    EXPECT_EQ(error_of({"--storageEngine", "mmapv1"}), "");
    for (const char* other : {"other", "", "MMAPV1", "wiredTiger"})
        EXPECT_NE(error_of({"--storageEngine", other})
                      .find(fmt::format("--storageEngine {} is not available, only mmapv1", other)),
                  std::string::npos);
    EXPECT_NE(error_of({"--timeStampFormat", "roman"}), "");
    EXPECT_NE(error_of({"--maxConns", "1"}), "");
    EXPECT_NE(error_of({"--profile", "3"}), "");
    EXPECT_EQ(parse({"--profile", "2"}).profile_level, 2);
    EXPECT_EQ(error_of({"frobnicate"}, 1).rfind("Invalid command: frobnicate", 0), 0u);
    EXPECT_NE(error_of({"--config", "/nonexistent/mongod.conf"}), "");
}

TEST(Options, JournalOptionsAreCheckedTogether) {
    EXPECT_EQ(
        error_of({"--journal", "--nojournal"}),
        std::string("BadValue Can't specify both --journal and --nojournal options.") + kHint);
    EXPECT_NE(error_of({"--dur", "--nodur"}), "");
    EXPECT_EQ(error_of({"--journal", "--repair"}),
              std::string("BadValue Can't specify both --journal and --repair options.") + kHint);
    EXPECT_FALSE(parse({"--repair"}).journal);
    for (const char* bad : {"1", "0", "301", "-5"}) {
        EXPECT_EQ(
            error_of({"--journalCommitInterval", bad}),
            std::string("BadValue --journalCommitInterval out of allowed range (0-300ms)") + kHint);
    }
    EXPECT_EQ(parse({"--journalCommitInterval", "2"}).commit_interval, 2000);
    EXPECT_EQ(parse({"--journalCommitInterval", "300"}).commit_interval, 300'000);
    EXPECT_EQ(parse({"--journalOptions", "24"}).journal_options, 24);
    EXPECT_EQ(parse({"--durOptions", "8"}).journal_options, 8);
    EXPECT_NE(error_of({"--durOptions", "8", "--journalOptions", "8"}, 1), "");
    EXPECT_NE(error_of({"--journalOptions", "128"}), "");
    EXPECT_NE(error_of({"--repairpath", "/elsewhere", "--dbpath", "/tmp"}), "");
    EXPECT_EQ(error_of({"--repairpath", "/tmp/r", "--dbpath", "/tmp"}), "");
    EXPECT_EQ(error_of({"--repairpath", "/elsewhere", "--dbpath", "/tmp", "--nojournal"}), "");
}

TEST(Options, NumbersAreDecimal) {
    for (const char* bad : {"0x10", " 8", "8 ", "8k", "inf", "nan", "", "99999999999999999999"}) {
        const std::string invalid = fmt::format("the argument ('{}') for option", bad);
        EXPECT_NE(error_of({"--nssize", bad}).find(*bad ? invalid : "nssize"), std::string::npos);
        if (*bad == '9') continue;
        EXPECT_NE(error_of({"--syncdelay", bad}).find(*bad ? invalid : "syncdelay"),
                  std::string::npos);
    }
    EXPECT_EQ(parse({"--syncdelay", "1e1"}).sync_delay_seconds, 10);
    EXPECT_EQ(parse({"--nssize", "+8"}).ns_size_mb, 8);
}

TEST(Options, WhatASingleNodeLacksIsRefused) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"--replSet", "rs0"},
                                               {"--master"},
                                               {"--configsvr"},
                                               {"--auth"},
                                               {"--httpinterface"},
                                               {"--sslMode", "requireSSL"},
                                               {"--quota"}}) {
        EXPECT_NE(error_of(words).find("is not available"), std::string::npos) << words[0];
    }
    EXPECT_EQ(parse({"--shardsvr"}).port, 27018);
    EXPECT_EQ(error_of({"--noauth"}), "");
    EXPECT_EQ(error_of({"--nohttpinterface", "--noscripting", "--objcheck"}), "");
    EXPECT_EQ(parse({"--cpu"}).ignored, std::vector<std::string>{"cpu"});
    EXPECT_EQ(parse({"--journalOptions", "20"}).ignored,
              std::vector<std::string>{"journalOptions 16"});
    EXPECT_TRUE(parse({"--journalOptions", "111"}).ignored.empty());
}

TEST(Options, Yaml) {
    const Config c = parse_file(
        "systemLog:\n"
        "  destination: file\n"
        "  path: /var/log/m.log\n"
        "  logAppend: true\n"
        "  verbosity: 2\n"
        "  timeStampFormat: ctime\n"
        "net:\n"
        "  port: 28001\n"
        "  bindIp: 127.0.0.1\n"
        "  unixDomainSocket: {enabled: false, pathPrefix: /run}\n"
        "  http: {enabled: false}\n"
        "storage:\n"
        "  dbPath: /tmp/y\n"
        "  journal:\n"
        "    enabled: false\n"
        "    commitIntervalMs: 50\n"
        "  mmapv1:\n"
        "    smallFiles: true\n"
        "  preallocDataFiles: true\n"
        "  syncPeriodSecs: 30\n"
        "security: {authorization: disabled}\n"
        "operationProfiling: {mode: off, slowOpThresholdMs: 20}\n"
        "processManagement.fork: true\n"
        "setParameter: {enableTestCommands: 1, x: abc}\n",
        {"--port", "28002"});
    EXPECT_EQ(c.port, 28002) << "the command line wins";
    EXPECT_EQ(c.log_path, "/var/log/m.log");
    EXPECT_TRUE(c.log_append);
    EXPECT_FALSE(c.syslog);
    EXPECT_EQ(c.verbosity, 2);
    EXPECT_EQ(c.timestamps, base::log::TimestampFormat::ctime);
    EXPECT_FALSE(c.unix_socket);
    EXPECT_EQ(c.unix_socket_prefix, "/run");
    EXPECT_FALSE(c.journal);
    EXPECT_EQ(c.commit_interval, 50'000);
    EXPECT_TRUE(c.small_files);
    EXPECT_EQ(c.sync_delay_seconds, 30);
    EXPECT_EQ(c.slow_ms, 20);
    EXPECT_TRUE(c.fork);
    ASSERT_EQ(c.parameters.size(), 2u);
    EXPECT_EQ(c.parameters[1].second, "abc");
    EXPECT_EQ(at(c.parsed, "net.port").as_int32(), 28002);
    EXPECT_FALSE(at(c.parsed, "storage.journal.enabled").as_bool());
    EXPECT_FALSE(at(c.parsed, "storage.journal.enabled").missing());
    EXPECT_EQ(at(c.parsed, "operationProfiling.mode").as_string(), "off");
    EXPECT_EQ(at(c.parsed, "systemLog.destination").as_string(), "file");
    EXPECT_TRUE(at(c.parsed, "storage.smallFiles").as_bool());
    EXPECT_EQ(at(c.parsed, "setParameter.x").as_string(), "abc");
}

TEST(Options, TheCommandLineWinsOverYamlForSwitches) {
    EXPECT_TRUE(parse_file("storage: {journal: {enabled: true}}\n").journal);
    const ConfigFile file("storage: {journal: {enabled: true}}\n");
    EXPECT_FALSE(parse({"--config", file.path(), "--nojournal"}).journal);
}

TEST(Options, ErrorsInYaml) {
    EXPECT_EQ(file_error("net: {prot: 1}\n"), std::string("Unrecognized option: net.prot") + kHint);
    EXPECT_EQ(file_error("a: {b: {c: 1}}\n"), std::string("Unrecognized option: a.b.c") + kHint);
    EXPECT_EQ(file_error("net: {port: abc}\n").rfind("Error parsing YAML config file: ", 0), 0u);
    EXPECT_EQ(file_error("net: {ipv6: 7}\n").rfind("Error parsing YAML config file: ", 0), 0u);
    EXPECT_EQ(file_error("net:\n  port: 1\n bad\n").rfind("Error parsing YAML config file: ", 0),
              0u);
    EXPECT_EQ(file_error("net: {bindIp: [a, b]}\n").rfind("Error parsing YAML config file: ", 0),
              0u);
    EXPECT_NE(file_error("security: {authorization: enabled}\n").find("is not available"),
              std::string::npos);
    EXPECT_NE(file_error("net: {http: {enabled: true}}\n").find("is not available"),
              std::string::npos);
    EXPECT_EQ(file_error("net: {port: 99999}\n"),
              std::string("BadValue bad --port number") + kHint);
}

TEST(Options, YamlNamesOfWhatTheOldServerHad) {
    const Config c = parse_file(
        "systemLog: {traceAllExceptions: true, syslogFacility: daemon}\n"
        "sharding: {clusterRole: shardsvr}\n"
        "net: {ssl: {mode: disabled, FIPSMode: false, sslOnNormalPorts: false}}\n"
        "replication:\n"
        "#  replSetName: a\n"
        "processManagement:\n");
    EXPECT_TRUE(c.trace_exceptions);
    EXPECT_EQ(c.syslog_facility, "daemon");
    EXPECT_EQ(c.port, 27018);
    for (const char* refused :
         {"sharding: {clusterRole: configsvr}\n", "net: {ssl: {FIPSMode: true}}\n",
          "net: {ssl: {mode: requireSSL}}\n", "net: {ssl: {CRLFile: x}}\n",
          "replication: {secondaryIndexPrefetch: none}\n", "security: {clusterAuthMode: x509}\n"})
        EXPECT_NE(file_error(refused).find("is not available"), std::string::npos) << refused;
}

TEST(Options, YamlThatSaysNothingOrTwoThings) {
    const std::string what = "Error parsing YAML config file: ";
    EXPECT_EQ(file_error("net: {port: 1}\nstorage: {}\nnet: {ipv6: true}\n"),
              what + "net is there twice; remove one" + kHint);
    EXPECT_EQ(file_error("net:\n  port: 1\n  port: 2\n"),
              what + "net.port is there twice; remove one" + kHint);
    EXPECT_EQ(file_error("storage:\n  dbPath:\n"), what + "storage.dbPath has no value" + kHint);
    EXPECT_EQ(file_error("nosuch:\n"), std::string("Unrecognized option: nosuch") + kHint);
    EXPECT_EQ(file_error("systemLog: {destination: file}\n"),
              what + "systemLog.destination: file needs systemLog.path" + kHint);
}

TEST(Options, AConfigFileThatIsADirectory) {
    EXPECT_EQ(error_of({"--config", testing::TempDir()}),
              "Error reading config file: " + testing::TempDir() + kHint);
}

TEST(Options, LinesThatRaiseTheVerbosity) {
    EXPECT_EQ(parse_file("v = true\n").verbosity, 1);
    EXPECT_EQ(parse_file("vvv = true\n").verbosity, 3);
    EXPECT_EQ(parse_file("vvv = false\nport = 1\n").verbosity, 0);
    EXPECT_EQ(parse_file("verbose = true\n").verbosity, 1);
    EXPECT_EQ(parse_file("verbose = false\n").verbosity, 0);
    EXPECT_EQ(file_error("vvv = maybe\n").rfind("Error parsing INI config file: ", 0), 0u);
}

TEST(Options, LinesOfNamesAndValues) {
    const Config c = parse_file(
        "# the old form\n"
        "port = 28003\n"
        "dbpath = /tmp/z\n"
        "nojournal = true\n"
        "smallfiles = false\n"
        "verbose = vv\n"
        "setParameter = enableTestCommands=1\n"
        "setParameter = a=b\n");
    EXPECT_EQ(c.port, 28003);
    EXPECT_EQ(c.dbpath, "/tmp/z");
    EXPECT_FALSE(c.journal);
    EXPECT_FALSE(c.small_files);
    EXPECT_EQ(c.verbosity, 2);
    EXPECT_EQ(c.parameters.size(), 2u);
    EXPECT_EQ(file_error("nosuch = 1\n"),
              std::string("Error parsing INI config file: unknown option nosuch") + kHint);
    EXPECT_EQ(file_error("port = x\n").rfind("Error parsing INI config file: ", 0), 0u);
}

TEST(Options, NamesAreUniqueAndDescribed) {
    std::set<std::string> names;
    for (const OptionSpec& spec : option_table()) {
        EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
        if (spec.group.empty()) continue;
        EXPECT_FALSE(spec.help.empty()) << spec.name;
        EXPECT_EQ(spec.kind == Kind::flag, spec.value_name.empty()) << spec.name;
        EXPECT_TRUE(spec.refused.empty()) << spec.name;
    }
}

TEST(Options, HelpIsGroupedAndFitsTheTerminal) {
    const std::string help = help_text();
    size_t begin = 0;
    while (begin < help.size()) {
        const size_t end = help.find('\n', begin);
        EXPECT_LE(end - begin, 80u) << help.substr(begin, end - begin);
        begin = end + 1;
    }
    for (const OptionGroup& group : option_groups())
        EXPECT_NE(help.find("\n" + group.name + ":\n"), std::string::npos);
    EXPECT_NE(help.find("  --journalCommitInterval MS"), std::string::npos);
    EXPECT_NE(help.find("storage.journal.commitIntervalMs"), std::string::npos);
    EXPECT_EQ(help.find("--replSet"), std::string::npos);
}

}  // namespace
}  // namespace server
