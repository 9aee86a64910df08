#include "server/options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "command/commands/families.h"
#include "command/commands/wire_versions.h"
#include "journal/commit_schedule.h"
#include "options/catalogue.h"
#include "options/parameters.h"
#include "options/series.h"
#include "options/testing/reset.h"
#include "server/wire_version.h"

namespace server {
namespace {

CommandLine parse(std::vector<std::string> words) {
    for (options::Option* option : options::all())
        options::reset(*option);
    words.insert(words.begin(), "mongod");
    return parse_options(words);
}

// The value of an option after these words.
template <typename Option>
auto after(const std::vector<std::string>& words, const Option& option) {
    parse(words);
    return option.get();
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

CommandLine parse_file(const std::string& text, std::vector<std::string> more = {}) {
    const ConfigFile file(text);
    more.insert(more.begin(), {"--config", file.path()});
    return parse(more);
}
template <typename Option>
auto after_file(const std::string& text, const Option& option) {
    parse_file(text);
    return option.get();
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
    const CommandLine c = parse({});
    EXPECT_EQ(options::port.get(), 27017);
    EXPECT_EQ(bind_addresses(), std::vector<std::string>{"127.0.0.1"});
    EXPECT_EQ(options::max_connections.get(), 1'000'000);
    EXPECT_FALSE(options::no_unix_socket.get());
    EXPECT_EQ(options::dbpath.get(), "/data/db");
    EXPECT_TRUE(options::journal_enabled());
    EXPECT_FALSE(journal::configured_commit_interval());
    EXPECT_EQ(options::ns_size.get(), 16);
    EXPECT_EQ(options::sync_delay.get(), 60);
    EXPECT_EQ(options::slow_ms.get(), 100);
    EXPECT_EQ(options::verbose.get(), 0);
    EXPECT_TRUE(c.parsed.doc().empty());
    EXPECT_EQ(c.argv, std::vector<std::string>{"mongod"});
}

TEST(Options, CommandLine) {
    const CommandLine c = parse({"--port",
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
                                 "announcedVersion=2.4.9",
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
    EXPECT_EQ(options::port.get(), 28000);
    EXPECT_EQ(bind_addresses(), (std::vector<std::string>{"127.0.0.1", "10.0.0.1"}));
    EXPECT_EQ(options::dbpath.get(), "/tmp/x");
    EXPECT_FALSE(options::journal_enabled());
    EXPECT_TRUE(options::small_files.get());
    EXPECT_EQ(options::verbose.get(), 3);
    EXPECT_EQ(options::sync_delay.get(), 0.5);
    EXPECT_EQ(options::ns_size.get(), 1);
    EXPECT_TRUE(options::no_unix_socket.get());
    EXPECT_TRUE(options::quiet.get());
    EXPECT_EQ(options::max_connections.get(), 50);
    EXPECT_EQ(options::enable_test_commands.get(), 1);
    EXPECT_EQ(options::announced_version.get(), "2.4.9");

    // getCmdLineOpts shows the options nested by YAML names, and switches without one at the top.
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
    EXPECT_EQ(after({"-v"}, options::verbose), 1);
    EXPECT_EQ(after({"-vvvvv"}, options::verbose), 5);
    EXPECT_EQ(after({"--verbose"}, options::verbose), 1);
    EXPECT_EQ(after({"--verbose=vv"}, options::verbose), 2);
    EXPECT_NE(error_of({"-vvvvvv"}), "");
}

TEST(Options, HelpAndVersionComeBeforeEverythingElse) {
    EXPECT_TRUE(after({"--help", "--port", "999999"}, options::help));
    EXPECT_TRUE(after({"-h"}, options::help));
    EXPECT_TRUE(after({"--version", "--replSet", "x"}, options::version));
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
    for (const char* other : {"other", "", "MMAPV1", "wiredtiger"})
        EXPECT_NE(error_of({"--storageEngine", other})
                      .find(fmt::format("--storageEngine {} is not available, only mmapv1", other)),
                  std::string::npos);
    EXPECT_NE(error_of({"--timeStampFormat", "roman"}), "");
    EXPECT_NE(error_of({"--maxConns", "1"}), "");
    EXPECT_NE(error_of({"--profile", "3"}), "");
    EXPECT_EQ(after({"--profile", "2"}, options::profile), 2);
    EXPECT_EQ(error_of({"frobnicate"}, 1).rfind("Invalid command: frobnicate", 0), 0u);
    EXPECT_NE(error_of({"--config", "/nonexistent/mongod.conf"}), "");
}

// Numbers of what the clients of others do are for those who log in, and by TLS.
TEST(Options, MetricsAreForThisMachineOrForThoseWhoLogIn) {
    EXPECT_EQ(error_of({"--metricsPort", "9216"}), "");
    EXPECT_EQ(metrics_addresses(), std::vector<std::string>{"127.0.0.1"});
    EXPECT_EQ(error_of({"--metricsPort", "9216", "--metricsBindIp", "localhost,127.0.0.2,::1"}),
              "");
    const std::vector<std::string> login{"--auth"};
    const std::vector<std::string> tls{"--tlsMode", "allowTLS", "--tlsCertificateKeyFile", "x"};
    const auto error_with = [](const char* address, std::vector<std::string> more) {
        more.insert(more.end(), {"--metricsPort", "9216", "--metricsBindIp", address});
        return error_of(more);
    };
    for (const char* address : {"0.0.0.0", "::", "127.0.0.1,10.0.0.1", "127.example.com"}) {
        for (const std::vector<std::string>& more : {{}, login, tls})
            EXPECT_NE(error_with(address, more).find("needs --auth and --tlsMode"),
                      std::string::npos);
        std::vector<std::string> both = login;
        both.insert(both.end(), tls.begin(), tls.end());
        EXPECT_EQ(error_with(address, both), "");
    }
    EXPECT_NE(error_of({"--metricsBindIp", "127.0.0.1"}), "");
    EXPECT_NE(error_of({"--metricsPort", "27017"}), "") << "clients connect there";
    EXPECT_NE(error_of({"--metricsPort", "65536"}), "");
}

TEST(Options, JournalOptionsAreCheckedTogether) {
    EXPECT_EQ(
        error_of({"--journal", "--nojournal"}),
        std::string("BadValue Can't specify both --journal and --nojournal options.") + kHint);
    EXPECT_NE(error_of({"--dur", "--nodur"}), "");
    EXPECT_EQ(error_of({"--journal", "--repair"}),
              std::string("BadValue Can't specify both --journal and --repair options.") + kHint);
    parse({"--repair"});
    EXPECT_FALSE(options::journal_enabled());
    for (const char* bad : {"1", "0", "301", "-5"}) {
        EXPECT_EQ(error_of({"--journalCommitInterval", bad}),
                  "BadValue --journalCommitInterval out of allowed range (0-300ms)" +
                      options::missing_values("journalCommitInterval") + kHint);
    }
    parse({"--journalCommitInterval", "2"});
    EXPECT_EQ(journal::configured_commit_interval(), 2000);
    parse({"--journalCommitInterval", "300"});
    EXPECT_EQ(journal::configured_commit_interval(), 300'000);
    EXPECT_EQ(after({"--journalOptions", "24"}, options::journal_options), 24);
    EXPECT_EQ(after({"--durOptions", "8"}, options::journal_options), 8);
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
    EXPECT_EQ(after({"--syncdelay", "1e1"}, options::sync_delay), 10);
    EXPECT_EQ(after({"--nssize", "+8"}, options::ns_size), 8);
}

TEST(Options, WhatASingleNodeLacksIsRefused) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"--slave"},
                                               {"--configsvr"},
                                               {"--httpinterface"},
                                               {"--sslClusterFile", "x"},
                                               {"--quota"}}) {
        EXPECT_NE(error_of(words).find("is not available"), std::string::npos) << words[0];
    }
    EXPECT_EQ(after({"--shardsvr"}, options::port), 27018);
    EXPECT_EQ(error_of({"--noauth"}), "");
    EXPECT_EQ(error_of({"--nohttpinterface", "--noscripting", "--objcheck"}), "");
    EXPECT_EQ(parse({"--cpu"}).ignored, std::vector<std::string>{"cpu"});
    EXPECT_EQ(parse({"--journalOptions", "20"}).ignored,
              std::vector<std::string>{"journalOptions 16"});
    EXPECT_TRUE(parse({"--journalOptions", "111"}).ignored.empty());
}

TEST(Options, OneLogAtMostIsKept) {
    EXPECT_NE(error_of({"--oplogSize", "8"}).find("--oplogSize needs --master or --replSet"),
              std::string::npos);
    EXPECT_EQ(after({"--master", "--oplogSize", "8"}, options::oplog_size_mb), 8);
    EXPECT_EQ(after({"--replSet", "rs0", "--oplogSize", "8"}, options::oplog_size_mb), 8);
    EXPECT_EQ(after({"--replSet", "rs0"}, options::replica_set), "rs0");
    EXPECT_NE(error_of({"--replSet", "rs0", "--master"}).find("--master together with --replSet"),
              std::string::npos);
    EXPECT_NE(error_of({"--replSet", ""}).find("--replSet names no set"), std::string::npos);
    EXPECT_NE(error_of({"--replSet", "rs0/a,b"}).find("hosts behind the name"), std::string::npos);
    parse_file("replication: {replSetName: rs1, oplogSizeMB: 16}\n");
    EXPECT_EQ(options::replica_set.get(), "rs1");
    EXPECT_EQ(options::oplog_size_mb.get(), 16);
}

TEST(Options, Yaml) {
    const CommandLine c = parse_file(
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
        "setParameter: {enableTestCommands: 1, announcedVersion: 2.4.10}\n",
        {"--port", "28002"});
    EXPECT_EQ(options::port.get(), 28002) << "the command line wins";
    EXPECT_EQ(options::log_path.get(), "/var/log/m.log");
    EXPECT_TRUE(options::log_append.get());
    EXPECT_FALSE(options::log_to_syslog.get());
    EXPECT_EQ(options::verbose.get(), 2);
    EXPECT_EQ(options::time_stamp_format.get(), "ctime");
    EXPECT_TRUE(options::no_unix_socket.get());
    EXPECT_EQ(options::unix_socket_prefix.get(), "/run");
    EXPECT_FALSE(options::journal_enabled());
    EXPECT_EQ(journal::configured_commit_interval(), 50'000);
    EXPECT_TRUE(options::small_files.get());
    EXPECT_EQ(options::sync_delay.get(), 30);
    EXPECT_EQ(options::slow_ms.get(), 20);
    EXPECT_TRUE(options::fork.get());
    EXPECT_EQ(options::enable_test_commands.get(), 1);
    EXPECT_EQ(options::announced_version.get(), "2.4.10");
    EXPECT_EQ(at(c.parsed, "net.port").as_int32(), 28002);
    EXPECT_FALSE(at(c.parsed, "storage.journal.enabled").as_bool());
    EXPECT_FALSE(at(c.parsed, "storage.journal.enabled").missing());
    EXPECT_EQ(at(c.parsed, "operationProfiling.mode").as_string(), "off");
    EXPECT_EQ(at(c.parsed, "systemLog.destination").as_string(), "file");
    EXPECT_TRUE(at(c.parsed, "storage.smallFiles").as_bool());
    EXPECT_EQ(at(c.parsed, "setParameter.announcedVersion").as_string(), "2.4.10");
}

TEST(Options, AnAnnouncedVersionHasItsWireVersion) {
    const auto announced = [](const std::vector<std::string>& parameters) {
        std::vector<std::string> words;
        for (const std::string& parameter : parameters) {
            words.emplace_back("--setParameter");
            words.push_back(parameter);
        }
        parse(words);
        return announced_wire_version();
    };
    EXPECT_EQ(announced({}), 9);
    EXPECT_EQ(announced({"announcedVersion=2.4.9"}), 9);
    EXPECT_EQ(announced({"announcedVersion=4.4.29"}), 9);
    EXPECT_EQ(announced({"announcedVersion=5.0.0"}), 13);
    EXPECT_EQ(announced({"announcedVersion=6.3.2"}), 17);
    EXPECT_EQ(announced({"announcedVersion=7.0.14"}), 21);
    EXPECT_EQ(announced({"announcedVersion=8.0.1"}), 25);
    EXPECT_EQ(announced({"announcedVersion=7.0.14", "announcedMaxWireVersion=8"}), 8);
    EXPECT_EQ(announced({"announcedMaxWireVersion=2"}), 2);
}

TEST(Options, NoWireVersionIsAnnouncedThatPromisesWhatIsNotHere) {
    const auto announced = [](int wire_version) {
        parse({"--setParameter", fmt::format("announcedMaxWireVersion={}", wire_version)});
        return announced_wire_version();
    };
    const auto missing = command::first_unkept_promise(command::all_families());
    const int limit = missing ? missing->wire_version : 30;
    for (int wire_version = 2; wire_version < limit; ++wire_version)
        EXPECT_EQ(announced(wire_version), wire_version);
    for (int wire_version = limit; wire_version < 30; ++wire_version)
        EXPECT_THROW(announced(wire_version), OptionError) << wire_version;
}

TEST(Options, TheCommandLineWinsOverYamlForSwitches) {
    parse_file("storage: {journal: {enabled: true}}\n");
    EXPECT_TRUE(options::journal_enabled());
    const ConfigFile file("storage: {journal: {enabled: true}}\n");
    parse({"--config", file.path(), "--nojournal"});
    EXPECT_FALSE(options::journal_enabled());
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
    EXPECT_NE(file_error("net: {http: {enabled: true}}\n").find("is not available"),
              std::string::npos);
    EXPECT_EQ(file_error("net: {port: 99999}\n"),
              std::string("BadValue bad --port number") + kHint);
}

// A path would end at the NUL, although its text goes on.
TEST(Options, NoValueHoldsANul) {
    for (const char* text : {"storage: {dbPath: \"/data\\0/db\"}\n",
                             "systemLog: {path: \"/log\\0.old\", destination: file}\n",
                             "net: {bindIp: \"127.0.0.1\\0.example\"}\n"})
        EXPECT_NE(file_error(text).find("must not contain a NUL byte"), std::string::npos) << text;
}

TEST(Options, YamlNamesOfWhatTheOldServerHad) {
    const CommandLine c = parse_file(
        "systemLog: {traceAllExceptions: true, syslogFacility: daemon}\n"
        "sharding: {clusterRole: shardsvr}\n"
        "net: {ssl: {mode: disabled, FIPSMode: false, sslOnNormalPorts: false}}\n"
        "replication:\n"
        "#  replSetName: a\n"
        "processManagement:\n");
    EXPECT_TRUE(options::trace_exceptions.get());
    EXPECT_EQ(options::syslog_facility.get(), "daemon");
    EXPECT_EQ(options::port.get(), 27018);
    for (const char* refused :
         {"sharding: {clusterRole: configsvr}\n", "net: {ssl: {FIPSMode: true}}\n",
          "net: {ssl: {clusterFile: x}}\n", "replication: {secondaryIndexPrefetch: none}\n"})
        EXPECT_NE(file_error(refused).find("is not available"), std::string::npos) << refused;
}

TEST(Options, AKeyImpliesLogins) {
    EXPECT_EQ(error_of({"--keyFile", "k"}), "");
    EXPECT_TRUE(options::asks_for_login());
    EXPECT_EQ(error_of({"--keyFile", "k", "--noauth"}), "");
    EXPECT_FALSE(options::asks_for_login());
    EXPECT_EQ(file_error("security: {keyFile: k, clusterAuthMode: keyFile}\n"), "");
    EXPECT_TRUE(options::asks_for_login());
    EXPECT_EQ(error_of({"--keyFile", "k", "--firstUserFile", "u"}), "");
    EXPECT_EQ(error_of({"--auth"}), "");
    EXPECT_TRUE(options::asks_for_login());
    EXPECT_EQ(error_of({}), "");
    EXPECT_FALSE(options::asks_for_login());
    EXPECT_NE(error_of({"--keyFile", ""}).find("--keyFile is empty"), std::string::npos);
    EXPECT_NE(error_of({"--clusterAuthMode", "keyFile"}).find("needs --keyFile"),
              std::string::npos);
    for (const char* other : {"x509", "sendX509", "sendKeyFile"})
        EXPECT_NE(error_of({"--keyFile", "k", "--clusterAuthMode", other}).find("clusterAuthMode"),
                  std::string::npos);
}

TEST(Options, YamlThatSaysNothingOrTwoThings) {
    const std::string what = "Error parsing YAML config file: ";
    EXPECT_EQ(file_error("net: {port: 1}\nstorage: {}\nnet: {ipv6: true}\n"),
              what + "net is there twice; remove one" + kHint);
    EXPECT_EQ(file_error("net:\n  port: 1\n  port: 2\n"),
              what + "net.port is there twice; remove one" + kHint);
    EXPECT_EQ(
        file_error("storage: {journal: {commitIntervalMs: 50},"
                   " mmapv1: {journal: {commitIntervalMs: 70}}}\n"),
        what +
            "storage.journal.commitIntervalMs and storage.mmapv1.journal.commitIntervalMs are "
            "the same; remove one" +
            kHint);
    for (const char* twice : {"setParameter: {notablescan: 1, notablescan: 0}\n",
                              "setParameter = notablescan=1\nsetParameter = notablescan=0\n"})
        EXPECT_EQ(
            file_error(twice),
            std::string("BadValue setParameter notablescan is there twice; remove one") + kHint);
    EXPECT_EQ(error_of({"--setParameter", "notablescan=1", "--setParameter", "notablescan=1"}),
              std::string("BadValue setParameter notablescan is there twice; remove one") + kHint);
    EXPECT_EQ(file_error("storage:\n  dbPath:\n"), what + "storage.dbPath has no value" + kHint);
    EXPECT_EQ(file_error("nosuch:\n"), std::string("Unrecognized option: nosuch") + kHint);
    EXPECT_EQ(file_error("systemLog: {destination: file}\n"),
              what + "systemLog.destination: file needs systemLog.path" + kHint);
}

TEST(Options, YamlThatLeadsIntoItself) {
    const std::string unknown = "Unrecognized option: ";
    EXPECT_EQ(file_error("a: &a {b: *a}\n"), unknown + "a.b.b.b.b.b.b.b" + kHint);
    EXPECT_EQ(file_error("net: &n {net: *n}\n"),
              unknown + "net.net.net.net.net.net.net.net" + kHint);
    // Each level doubles what there is to examine.
    std::string doubled = "a0: &a0 {}\n";
    for (int i = 1; i <= 60; ++i)
        doubled += fmt::format("a{0}: &a{0} {{x: *a{1}, y: *a{1}}}\n", i, i - 1);
    EXPECT_EQ(file_error(doubled), unknown + "a0" + kHint);
}

TEST(Options, AConfigFileThatIsADirectory) {
    EXPECT_EQ(error_of({"--config", testing::TempDir()}),
              "Error reading config file: " + testing::TempDir() + "\nit is a directory" + kHint);
}

TEST(Options, LinesThatRaiseTheVerbosity) {
    EXPECT_EQ(after_file("v = true\n", options::verbose), 1);
    EXPECT_EQ(after_file("vvv = true\n", options::verbose), 3);
    EXPECT_EQ(after_file("vvv = false\nport = 1\n", options::verbose), 0);
    EXPECT_EQ(after_file("verbose = true\n", options::verbose), 1);
    EXPECT_EQ(after_file("verbose = false\n", options::verbose), 0);
    EXPECT_EQ(file_error("vvv = maybe\n").rfind("Error parsing INI config file: ", 0), 0u);
}

TEST(Options, LinesOfNamesAndValues) {
    const CommandLine c = parse_file(
        "# the old form\n"
        "port = 28003\n"
        "dbpath = /tmp/z\n"
        "nojournal = true\n"
        "smallfiles = false\n"
        "verbose = vv\n"
        "setParameter = enableTestCommands=1\n"
        "setParameter = logLevel=1\n");
    EXPECT_EQ(options::port.get(), 28003);
    EXPECT_EQ(options::dbpath.get(), "/tmp/z");
    EXPECT_FALSE(options::journal_enabled());
    EXPECT_FALSE(options::small_files.get());
    EXPECT_EQ(options::verbose.get(), 1) << "setParameter comes after the options";
    EXPECT_EQ(options::enable_test_commands.get(), 1);
    EXPECT_EQ(at(c.parsed, "systemLog.verbosity").as_int32(), 2);
    parse_file("journal = false\n");
    EXPECT_FALSE(options::journal_enabled());
    parse_file("nojournal = false\n");
    EXPECT_TRUE(options::journal_enabled());
    EXPECT_EQ(file_error("nosuch = 1\n"),
              std::string("Error parsing INI config file: unknown option nosuch") + kHint);
    EXPECT_EQ(file_error("port = x\n").rfind("Error parsing INI config file: ", 0), 0u);
}

// An option of a patch is distinguished from a misspelt word, wherever it is given.
TEST(Options, NamesThePatchThatIsMissing) {
    for (const options::SeriesPatch& patch : options::series()) {
        SCOPED_TRACE(patch.slug);
        const options::Option* const option = options::find(patch.option);
        if (option != nullptr) {
            EXPECT_EQ(option->description().yaml.front(), std::string_view(patch.yaml));
            continue;
        }
        EXPECT_FALSE(patch.applied);
        const std::string hint =
            fmt::format(": it comes with the patch {}, which this program was built without{}",
                        patch.slug, kHint);
        EXPECT_EQ(
            error_of({fmt::format("--{}", patch.option)}),
            fmt::format("Error parsing command line: unknown option {}{}", patch.option, hint));
        EXPECT_EQ(file_error(fmt::format("{}: 1\n", patch.yaml)),
                  fmt::format("Unrecognized option: {}{}", patch.yaml, hint));
        EXPECT_EQ(
            file_error(fmt::format("{} = 1\n", patch.option)),
            fmt::format("Error parsing INI config file: unknown option {}{}", patch.option, hint));
        EXPECT_EQ(
            error_of({"--setParameter", fmt::format("{}=1", patch.option)}),
            fmt::format("BadValue Illegal --setParameter parameter: \"{}\"{}", patch.option, hint));
    }
}

TEST(Options, NamesThePatchThatTakesMore) {
    const std::string said = error_of({"--journalCommitInterval", "1000"});
    for (const options::SeriesPatch& patch : options::series()) {
        const std::string hint = fmt::format("with the patch {}: {}\n", patch.slug, patch.values);
        const bool expected =
            !patch.applied && patch.option == std::string_view("journalCommitInterval");
        EXPECT_EQ(said.find(hint) != std::string::npos, expected) << patch.slug;
    }
}

TEST(Options, ParametersAtTheStart) {
    EXPECT_EQ(after({"--setParameter", "syncdelay=0.5"}, options::sync_delay), 0.5);
    EXPECT_EQ(error_of({"--setParameter", "nosuch=1"}),
              std::string("BadValue Illegal --setParameter parameter: \"nosuch\"") + kHint);
    EXPECT_EQ(error_of({"--setParameter", "authSchemaVersion=1"}),
              std::string("BadValue Cannot use --setParameter to set \"authSchemaVersion\" at "
                          "startup") +
                  kHint);
    EXPECT_EQ(error_of({"--setParameter", "logLevel=6"}),
              std::string("BadValue parameter logLevel must be between 0 and 5") + kHint);
    EXPECT_EQ(error_of({"--setParameter", "logLevel=x"}),
              std::string("BadValue bad value 'x' for parameter logLevel") + kHint);
    EXPECT_EQ(error_of({"--nojournal", "--setParameter", "journalCommitInterval=10"}),
              std::string("BadValue journaling is off") + kHint);
}

// Who gives a certificate wants no connections without it.
TEST(Options, TlsFilesWithoutAModeAreRefused) {
    for (const auto& [name, old_name] :
         {std::pair("tlsCertificateKeyFile", "sslPEMKeyFile"),
          std::pair("tlsCertificateKeyFilePassword", "sslPEMKeyPassword"),
          std::pair("tlsCAFile", "sslCAFile"), std::pair("tlsCRLFile", "sslCRLFile")}) {
        for (const char* either : {name, old_name}) {
            const std::string word = fmt::format("--{}", either);
            EXPECT_EQ(error_of({word, "/x.pem"}),
                      fmt::format("BadValue --{} has no effect without --tlsMode{}", name, kHint));
            EXPECT_EQ(error_of({word, "/x.pem", "--tlsMode", "disabled"}), "");
            EXPECT_EQ(error_of({word, "/x.pem", "--sslMode", "disabled"}), "");
        }
    }
    EXPECT_NE(file_error("net: {tls: {certificateKeyFile: /x.pem}}\n"), "");
    EXPECT_EQ(file_error("net: {tls: {mode: disabled, certificateKeyFile: /x.pem}}\n"), "");
}

TEST(Options, OldNamesOfTls) {
    EXPECT_EQ(error_of({"--sslMode", "preferSSL", "--sslPEMKeyFile", "/x.pem"}), "");
    EXPECT_EQ(options::tls_mode.get(), "preferTLS");
    EXPECT_EQ(options::tls_certificate_key_file.get(), "/x.pem");
    EXPECT_EQ(options::parameter_value(*options::find_parameter("sslMode")),
              options::Value("preferSSL"));
    EXPECT_EQ(error_of({"--sslOnNormalPorts", "--sslPEMKeyFile", "/x.pem"}), "");
    EXPECT_EQ(options::tls_mode.get(), "requireTLS");
    EXPECT_EQ(file_error("net: {ssl: {mode: requireSSL, PEMKeyFile: /x.pem, "
                         "weakCertificateValidation: true}}\n"),
              "");
    EXPECT_EQ(options::tls_mode.get(), "requireTLS");
    EXPECT_TRUE(options::tls_allow_without_certificates.get());
    // The command line names an option by both names.
    const std::vector<std::string> files = {"--sslPEMKeyFile", "/x", "--tlsCertificateKeyFile"};
    for (const auto& [file, error] :
         {std::pair("/x", ""), std::pair("/y",
                                         "Error parsing command line: --tlsCertificateKeyFile and "
                                         "--sslPEMKeyFile say different things")}) {
        std::vector<std::string> words = files;
        words.insert(words.end(), {file, "--tlsMode", "requireTLS", "--sslMode", "requireSSL"});
        EXPECT_EQ(error_of(words).substr(0, std::string_view(error).size()), error) << file;
    }
    EXPECT_NE(file_error("net: {ssl: {mode: disabled}, tls: {mode: disabled}}\n"), "");
    EXPECT_EQ(error_of({"--sslMode", "requireTLS"}),
              std::string("Error parsing command line: sslMode has to be disabled, allowSSL, "
                          "preferSSL, requireSSL") +
                  kHint);
}

// The second one was not read, whatever it says about who may do what.
TEST(Options, AFileOfSeveralDocumentsIsRefused) {
    const std::string text = "net: {port: 28000}\n";
    const std::string other = "security: {authorization: enabled}\n";
    for (const char* between : {"---\n", "...\n", "... # end\n", "...\n---\n"}) {
        EXPECT_NE(file_error(text + between + other).find("more than one document"),
                  std::string::npos)
            << between;
    }
    for (const std::string& one :
         {"---\n" + text, text + "...\n", text + "---\n", "# a\n---\n" + text + "---\n# b\n"})
        EXPECT_EQ(after_file(one, options::port), 28000) << one;
}

}  // namespace
}  // namespace server
