#include "server/options.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "base/error.h"
#include "journal/debug_flags.h"
#include "oplog/replay.h"
#include "options/catalogue.h"
#include "options/help.h"
#include "options/parameters.h"
#include "options/series.h"
#include "server/given_options.h"
#include "server/secret_words.h"
#include "server/start_messages.h"
#include "server/tls.h"
#include "server/wire_version.h"
#include "storage/mmapv1/mapping/data_file_name.h"

namespace server {

namespace {

std::vector<std::string> addresses_in(const std::string& text) {
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

[[noreturn]] void refuse(const std::string& text, int exit_code = base::kExitBadOptions) {
    throw OptionError(fmt::format("BadValue {}\ntry 'mongod --help' for more information", text),
                      exit_code);
}

void check(bool good, const std::string& text) {
    if (!good) refuse(text);
}

// Stores a value that was given; each option checks its own.
void take(options::Option& option, const options::Value& value) {
    try {
        option.set(value);
    } catch (const base::Error& error) {
        refuse(error.what() + options::missing_values(option.description().name));
    }
}

void take_all(const GivenOptions& given, CommandLine& command_line) {
    for (options::Option* option : options::all()) {
        const options::Value* const value = given.find(*option);
        if (value == nullptr) continue;
        const options::Description& d = option->description();
        if (*d.refused != '\0' && *value != d.default_value)
            refuse(fmt::format("--{} is not available: {}", d.name, d.refused));
        if (*d.ignored != '\0') command_line.ignored.push_back(d.name);
        take(*option, *value);
    }
}

bool lies_under(const std::string& path, const std::string& directory) {
    const std::filesystem::path inner = std::filesystem::weakly_canonical(path);
    const std::filesystem::path outer = std::filesystem::weakly_canonical(directory);
    return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first ==
           outer.end();
}

void check_journal(CommandLine& command_line) {
    using namespace options;
    const auto given_and = [](const Flag& flag, bool on) {
        return flag.is_set() && flag.get() == on;
    };
    const bool on = given_and(journal_on, true) || given_and(old_journal_on, true);
    const bool off = journal_off.get() || old_journal_off.get();
    check(!(on && off), "Can't specify both --journal and --nojournal options.");
    check(!(on && repair.get()), "Can't specify both --journal and --repair options.");
    if (journal_options.is_set() && old_journal_options.is_set())
        refuse("Can't specify both --journalOptions and --durOptions options.", base::kExitError);
    if (old_journal_options.is_set()) journal_options.set(old_journal_options.get());
    if ((journal_options.get() & journal::kAlwaysCommit) != 0)
        command_line.ignored.push_back(fmt::format("journalOptions {}", +journal::kAlwaysCommit));
    check(repair_path.get().empty() || !journal_enabled() ||
              lies_under(repair_path.get(), dbpath.get()),
          "You must specify a --repairpath that is a subdirectory of --dbpath when using "
          "journaling");
}

// Whether the server keeps something of its own under that name in the dbpath.
bool is_of_database(const std::string& path, const std::string& directory) {
    std::error_code no_file;
    std::error_code no_directory;
    const std::string name =
        std::filesystem::weakly_canonical(path, no_file)
            .lexically_relative(std::filesystem::weakly_canonical(directory, no_directory))
            .generic_string();
    if (no_file || no_directory) return false;
    const std::string_view folder = std::string_view(name).substr(0, name.find('/'));
    return name == mmapv1::kLockFile || name == mmapv1::kMetadataFile ||
           folder == mmapv1::kJournalDirectory || folder == mmapv1::kScratchDirectory ||
           folder == options::storage_engine.get() ||
           mmapv1::parse_data_file_name(name).has_value();
}

// It would be moved aside, overwritten or removed.
void check_output_files() {
    using namespace options;
    for (const Text* option : {&log_path, &pid_file})
        check(option->get().empty() || !is_of_database(option->get(), dbpath.get()),
              fmt::format("--{} {} is a file that the server itself has in the dbpath: give it "
                          "another name",
                          option->description().name, option->get()));
}

void check_salvage() {
    using namespace options;
    if (!salvage.is_set()) return;
    check(!salvage.get().empty(), "--salvage names no directory");
    check(!repair.get() && !upgrade.get() && !shutdown.get(),
          "Can't specify --salvage together with --repair, --upgrade or --shutdown.");
    check(!lies_under(salvage.get(), dbpath.get()),
          fmt::format("--salvage {} lies in the dbpath {}, where nothing is changed: name a "
                      "directory outside of it",
                      salvage.get(), dbpath.get()));
}

void check_replay() {
    using namespace options;
    check(!replay_to.is_set() || replay_oplog.is_set(), "--replayTo needs --replayOplog");
    if (!replay_oplog.is_set()) return;
    check(!replay_oplog.get().empty(), "--replayOplog names no file");
    check(!repair.get() && !upgrade.get() && !salvage.is_set() && !master.get() &&
              !replica_set.is_set(),
          "Can't specify --replayOplog together with --repair, --upgrade, --salvage, --master or "
          "--replSet.");
    try {
        if (replay_to.is_set()) oplog::read_replay_end(replay_to.get());
    } catch (const base::Error& error) {
        refuse(fmt::format("--replayTo: {}", error.what()));
    }
}

// Refuses an option that only another storage engine knows, since it would have no effect.
void check_engine() {
    const std::string engine = options::storage_engine.get();
    for (const options::Option* option : options::all()) {
        const std::string_view wanted = option->engine();
        if (option->is_set() && !wanted.empty() && wanted != engine)
            refuse(fmt::format("--{} is an option of storage engine {}, and not of {}",
                               option->description().name, wanted, engine));
    }
}

void check_replication() {
    using namespace options;
    check(!(master.get() && replica_set.is_set()), "Can't use --master together with --replSet");
    check(!replica_set.is_set() || !replica_set.get().empty(), "--replSet names no set");
    check(replica_set.get().find('/') == std::string::npos,
          fmt::format("--replSet {}: hosts behind the name are not supported: "
                      "rs.initiate() takes them",
                      replica_set.get()));
    check(!coordinator.is_set() || replica_set.is_set(), "--coordinator needs --replSet");
    check(!coordinator.is_set() || !coordinator.get().empty(), "--coordinator names no etcd");
    check(!coordinator.is_set() || journal_enabled(),
          "--coordinator needs the journal: members promise what is in theirs");
    for (const Text* each : {&coordinator_user, &coordinator_password_file, &coordinator_ca_file,
                             &coordinator_certificate_key_file})
        check(!each->is_set() || coordinator.is_set(),
              fmt::format("--{} needs --coordinator", each->description().name));
    check(coordinator_user.is_set() == coordinator_password_file.is_set(),
          "--coordinatorUser and --coordinatorPasswordFile need each other");
    check(oplog_size_mb.get() == 0 || master.get() || replica_set.is_set(),
          "--oplogSize needs --master or --replSet");
}

// The numbers tell what the clients of others do, and how much.
void check_metrics() {
    using namespace options;
    check(!metrics_bind_ip.is_set() || metrics_port.get() != 0,
          "--metricsBindIp needs --metricsPort");
    check(!metrics_addresses().empty(), "--metricsBindIp names no address");
    for (const std::string& address : metrics_addresses())
        check(is_local_address(address) ||
                  (asks_for_login() && tls_options().mode != wire::TlsMode::disabled),
              fmt::format("--metricsBindIp {}: other machines can connect to it, so that it needs "
                          "--auth and --tlsMode",
                          address));
    check(metrics_port.get() == 0 || metrics_port.get() != port.get(),
          "--metricsPort has to be another one than --port");
}

// Checks what one option cannot know of another.
void check_together(CommandLine& command_line) {
    using namespace options;
    if (shard_server.get() && !port.is_set()) port.set(27018);
    check(!bind_addresses().empty(), "--bind_ip names no address");
    check(!(auth.get() && no_auth.get()), "Can't specify both --auth and --noauth options.");
    check(!(scripting.get() && no_scripting.get()),
          "Can't specify both --scripting and --noscripting.");
    try {
        tls_options();
    } catch (const base::Error& error) {
        refuse(error.what());
    }
    check_metrics();
    check(first_user_file.get().empty() || asks_for_login(), "--firstUserFile needs --auth");
    check(!key_file.is_set() || !key_file.get().empty(), "--keyFile is empty");
    check(cluster_auth_mode.get() != "keyFile" || key_file.is_set(),
          "--clusterAuthMode keyFile needs --keyFile");
    std::string path = dbpath.get();
    check(!path.empty(), "--dbpath is empty");
    while (path.size() > 1 && path.back() == '/')
        path.pop_back();
    dbpath.set(path);
    check_engine();
    check_replication();
    check_journal(command_line);
    check_salvage();
    check_replay();
    check(!(log_to_syslog.get() && log_path.is_set()), "Can't use both a logpath and syslog");
    check_output_files();
    check(!log_path.is_set() || !log_path.get().empty(), "--logpath is empty");
    check(!options::fork.get() || log_path.is_set() || log_to_syslog.get(),
          "--fork has to be used with --logpath or --syslog");
}

void set_parameters() {
    std::set<std::string, std::less<>> seen;
    for (const std::string& pair : options::set_parameter_pairs.get()) {
        const size_t at = pair.find('=');
        check(at != std::string::npos && at != 0,
              fmt::format("Illegal option assignment: \"{}\"", pair));
        check(seen.insert(pair.substr(0, at)).second,
              fmt::format("setParameter {} is there twice; remove one", pair.substr(0, at)));
        try {
            options::set_parameter_at_start(pair.substr(0, at), pair.substr(at + 1));
        } catch (const base::Error& error) {
            refuse(error.what());
        }
    }
}

void take_command(const std::vector<std::string>& words, CommandLine& command_line) {
    if (words.empty()) return;
    if (words.size() == 1 && words[0] == "run") return;
    if (words.size() == 1 && words[0] == "dbpath") {
        command_line.print_dbpath = true;
        return;
    }
    throw OptionError(fmt::format("Invalid command: {}\n\n{}", words[0], options::help_text()),
                      base::kExitError);
}

}  // namespace

std::vector<std::string> bind_addresses() {
    return addresses_in(options::bind_ip.get());
}

std::vector<std::string> metrics_addresses() {
    return addresses_in(options::metrics_bind_ip.get());
}

CommandLine parse_options(const std::vector<std::string>& argv) {
    CommandLine command_line;
    command_line.argv = without_secrets(argv);
    GivenOptions given;
    const std::vector<std::string> words = read_command_line(argv, given);
    for (options::Option* asked : std::initializer_list<options::Option*>{
             &options::help, &options::version, &options::describe}) {
        const options::Value* const value = given.find(*asked);
        if (value == nullptr) continue;
        take(*asked, *value);
        return command_line;
    }
    if (const options::Value* file = given.find(options::config))
        read_config_file(std::get<std::string>(*file), given);
    take_all(given, command_line);
    check_together(command_line);
    set_parameters();
    try {
        announced_wire_version();
    } catch (const base::Error& error) {
        refuse(error.what());
    }
    take_command(words, command_line);
    command_line.parsed = given.parsed();
    return command_line;
}

}  // namespace server
