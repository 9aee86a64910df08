#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/program_version.h"
#include "command/admin/repair.h"
#include "command/commands/families.h"
#include "command/cursor/session_ends.h"
#include "command/report/startup_log.h"
#include "command/request/entry_commands.h"
#include "command/write/ttl.h"
#include "journal/commit_schedule.h"
#include "oplog/replay.h"
#include "options/catalogue.h"
#include "os/copy_tree.h"
#include "peer/interrupt.h"
#include "replica/remote_sync_source.h"
#include "replica/step_down.h"
#include "sched/memory.h"
#include "sched/operation.h"
#include "script/script.h"
#include "server/coordinator_options.h"
#include "server/engines.h"
#include "server/first_user.h"
#include "server/key_file.h"
#include "server/start_messages.h"
#include "server/tls.h"
#include "server/wire_version.h"
#include "spill/run.h"

namespace server {

namespace {

using namespace std::chrono_literals;

constexpr auto kTtlInterval = 60s;
constexpr auto kCursorInterval = 4s;
constexpr auto kSessionInterval = 60s;
constexpr auto kTransactionInterval = 250ms;
constexpr auto kPriorityInterval = 10s;
constexpr auto kReplayReports = 5s;
// An operation that does not check for interrupts for so long is left behind; the final commit then
// waits for its lock (journal spec 5.9).
constexpr auto kListenerStopTimeout = 30s;

// The rooms begin with the values that follow from the default.
constexpr options::MemoryLimits kDefaults = options::limits_of_memory(options::kMemoryLimitMB);
static_assert(sched::memory::kAllBytes == kDefaults.all_operations_bytes);
static_assert(sched::memory::kOperationBytes == kDefaults.operation_bytes);
static_assert(spill::kAllBytes == kDefaults.temporary_files_bytes);
static_assert(wire::ReceiveLimits{}.bytes == kDefaults.incomplete_messages_bytes);
static_assert(command::CursorLimits{}.all == kDefaults.cursors);
static_assert(command::CursorLimits{}.of_opener == kDefaults.cursors_per_connection);
static_assert(static_cast<int64_t>(command::LogicalSessions::kOpenMax) == kDefaults.sessions);

wire::ReceiveLimits receive_limits() {
    return {.bytes = options::memory_limits().incomplete_messages_bytes,
            .with_served_bytes = options::memory_limits().messages_bytes,
            .time = std::chrono::seconds(options::incomplete_message_seconds.get())};
}

wire::Listener::Options listener_options() {
    wire::Listener::Options listener;
    listener.addresses = bind_addresses();
    listener.port = static_cast<int>(options::port.get());
    listener.ipv6 = options::ipv6.get();
    listener.unix_socket = !options::no_unix_socket.get();
    listener.unix_socket_prefix = options::unix_socket_prefix.get();
    listener.max_connections = usable_connections();
    listener.tls = tls_options();
    // The loops only move messages and run short operations; the rest of a machine is for those
    // that have been handed over, for commits and flushes.
    const int processors = static_cast<int>(std::thread::hardware_concurrency());
    listener.loops = std::clamp(processors / 2, 2, 4);
    return listener;
}

// Returns the size of a log of writes that is made anew.
int64_t log_bytes() {
    constexpr int64_t kMB = 1 << 20;
    constexpr int64_t kMegabytesMin = 990;
    constexpr int64_t kMegabytesMax = 51200;
    int64_t megabytes = options::oplog_size_mb.get();
    if (megabytes == 0) {
        const auto free =
            static_cast<int64_t>(std::filesystem::space(options::dbpath.get()).available);
        megabytes = std::clamp(free / 20 / kMB, kMegabytesMin, kMegabytesMax);
    }
    return megabytes * kMB;
}

// Returns why this server could not speak with other members; empty: it can.
std::string why_alone() {
    if (options::asks_for_login() && options::key_file.get().empty())
        return "members log in to each other by a key, and none is given (--keyFile)";
    const wire::TlsOptions tls = tls_options();
    if (tls.mode == wire::TlsMode::required && tls.ca_file.empty())
        return "members look at each other's certificates, and who signs them is not given "
               "(--tlsCAFile)";
    return {};
}

// Throws base::Error where a file that it takes is of no use.
peer::Identity identity_of_options() {
    peer::Identity identity;
    if (options::key_file.is_set()) identity.key = read_key_file(options::key_file.get());
    const wire::TlsOptions tls = tls_options();
    if (options::replica_set.is_set() && tls.mode == wire::TlsMode::required &&
        !tls.ca_file.empty())
        identity.tls = std::make_shared<wire::TlsClient>(tls);
    return identity;
}

// Global W. The entries that are replayed drop temporary collections, or give them another name.
void go_on_as_follower(catalog::Database& database) {
    if (!database.writable()) return;
    database.complete_definitions();
    database.recover_interrupted_builds(!options::no_index_build_retry.get());
}

}  // namespace

Server::Server(const CommandLine& command_line, LogSetup& log,
               std::function<void()> request_shutdown)
    : log_(log), context_(make_context(command_line, std::move(request_shutdown))) {
    options::memory_limit_mb.follow([this](const options::Value&) { set_memory_limits(); });
    options::document_work_ticks.follow([](const options::Value&) {
        sched::WorkLimit::set_limit(options::document_work_ticks.get());
    });
    set_memory_limits();
    script::allow(options::scripting.get());
    sched::memory::keep_reserve();
}

Server::~Server() {
    options::memory_limit_mb.follow({});
    options::document_work_ticks.follow({});
    options::incomplete_message_seconds.follow({});
    options::sync_delay.follow({});
    options::journal_commit_interval.follow({});
}

void Server::set_memory_limits() {
    const options::MemoryLimits limits = options::memory_limits();
    sched::memory::set_limits(limits.operation_bytes, limits.all_operations_bytes);
    spill::set_limit(limits.temporary_files_bytes);
    if (service_) {
        service_->sessions().set_open_max(static_cast<size_t>(limits.sessions));
        service_->cursors().set_limits(
            {.all = limits.cursors, .of_opener = limits.cursors_per_connection});
    }
    if (listener_) listener_->set_receive_limits(receive_limits());
}

command::ServerContext Server::make_context(const CommandLine& command_line,
                                            std::function<void()> request_shutdown) {
    command::ServerContext context;
    context.version = options::announced_version.get();
    context.git_version = fmt::format("mongod-dur-{}", base::kProgramVersion);
    context.host = fmt::format("{}:{}", host_name(), options::port.get());
    context.max_wire_version = announced_wire_version();
    context.test_commands = options::enable_test_commands.get() != 0;
    context.retry_index_builds = !options::no_index_build_retry.get();
    context.argv = command_line.argv;
    context.parsed_options = command_line.parsed;
    context.request_shutdown = std::move(request_shutdown);
    context.rotate_log = [this] { log_.rotate(); };
    context.read_certificates = [this] { return read_certificates(); };
    context.connections = [this] {
        const wire::Listener::Stats stats = listener_->stats();
        return command::ConnectionCounts{stats.connections_open, stats.connections_available,
                                         stats.connections_ever};
    };
    context.network = [this] {
        const wire::Listener::Stats stats = listener_->stats();
        return command::NetworkCounts{stats.bytes_in, stats.bytes_out, stats.requests};
    };
    if (options::journal_enabled()) {
        context.journal_latency_test = [this](bson::Builder& out) {
            engine_->durability().run_latency_test(out);
        };
    }
    return context;
}

void Server::open_data() {
    identity_ = identity_of_options();
    if (options::coordinator.is_set()) coordinator_ = open_coordinator();
    engine_ = open_engine();
    context_.data_directory = std::filesystem::canonical(options::dbpath.get()).generic_string();
    follow_options();
    catalog_ = std::make_unique<catalog::Catalog>(*engine_, &expressions_);
    if (options::replica_set.is_set()) catalog_->give_uuids();
    open_replication();
    service_ = std::make_unique<command::Service>(*catalog_, context_, command::all_families());
    service_->access_control().enabled = options::asks_for_login();
    if (!identity_.key.empty()) service_->access_control().users.accept_members(identity_.key);
    set_memory_limits();
    service_->profiler().set_slow_ms(static_cast<int>(options::slow_ms.get()));
    service_->profiler().set_default_level(static_cast<int>(options::profile.get()));
    const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
    for (const std::string& name : catalog_->database_names()) {
        try {
            catalog::Database& database = *catalog_->database(name);
            if (options::replay_oplog.is_set())
                go_on_as_follower(database);
            else
                service_->opener().finish_opening(database);
        } catch (const base::Error& error) {
            // A damaged database must not keep the rest from its users.
            base::log::error("database {}: {}", name, error.what());
        }
    }
}

// Repairs change the files of this server, and no documents; a replay changes them as its set did.
void Server::open_replication() {
    if (options::repair.get() || options::upgrade.get() || options::replay_oplog.is_set()) return;
    try {
        if (options::master.get())
            open_master_log();
        else if (options::replica_set.is_set())
            open_member();
        else
            warn_of_set();
    } catch (...) {
        heartbeats_ = nullptr;
        elections_ = nullptr;
        member_ = nullptr;
        catalog_ = nullptr;
        engine_->shutdown();
        throw;
    }
}

void Server::open_master_log() {
    log_of_writes_ = std::make_unique<oplog::Log>(*engine_, *catalog_, oplog::Form::master);
    const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
    log_of_writes_->open(log_bytes());
}

void Server::open_member() {
    log_of_writes_ = std::make_unique<oplog::Log>(*engine_, *catalog_, oplog::Form::replica_set);
    const auto port = static_cast<int>(options::port.get());
    member_ = std::make_unique<replica::Member>(
        *engine_, *catalog_, *log_of_writes_,
        replica::Member::Options{.set_name = options::replica_set.get(),
                                 .own_name = host_name(),
                                 .own_host = fmt::format("{}:{}", reachable_name(), port),
                                 .port = port,
                                 .log_bytes = log_bytes(),
                                 .elects = options::coordinator.is_set(),
                                 .rollback_folder = options::dbpath.get() + "/rollback",
                                 .why_alone = why_alone()});
    context_.member = member_.get();
    if (options::coordinator.is_set()) {
        elections_ = std::make_unique<replica::Elections>(*member_, std::move(coordinator_),
                                                          options::coordinator.get());
        member_->set_elections(elections_.get());
    }
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        member_->open();
    }
    heartbeats_ = std::make_unique<replica::Heartbeats>(*member_, identity_);
    if (elections_ != nullptr) return;
    heartbeats_->ask_all();
    member_->begin_own_term();
}

// The listener answers by now.
void Server::start_following() {
    if (member_ == nullptr) return;
    heartbeats_->start();
    if (elections_ != nullptr) elections_->start();
    follower_ = std::make_unique<replica::Tailer>(
        *catalog_, *member_,
        [this](std::string_view db, bson::Doc command) {
            command::run_entry_command(*service_, db, command);
        },
        [this](const std::string& host, const peer::Interrupt& interrupt) {
            return std::make_unique<replica::RemoteSyncSource>(host, *member_, interrupt,
                                                               identity_);
        },
        [this](bson::Doc entry) { service_->access_control().users.applied(entry); });
    reporter_ = std::make_unique<replica::Reporter>(*member_, identity_);
    reporter_->start();
    follower_->start();
}

// Warns that the writes from now on are missing in the log that followers read.
void Server::warn_of_set() try {
    const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::R);
    catalog::Collection* const configs = catalog_->collection(replica::kConfigs);
    if (configs == nullptr || configs->records().count() == 0) return;
    base::log::startup_warning(
        fmt::format("** WARNING: started without --replSet, yet {} has the configuration of a "
                    "replica set: what is written now will be missing in its log",
                    replica::kConfigs));
} catch (const base::Error&) {
    // The opening of databases reports the faults of `local`.
}

// Tells the engine, while it is open, of values that setParameter changes.
void Server::follow_options() {
    storage::Durability& durability = engine_->durability();
    options::sync_delay.follow([&durability](const options::Value&) {
        durability.set_sync_delay_seconds(options::sync_delay.get());
    });
    options::journal_commit_interval.follow([&durability](const options::Value&) {
        durability.set_commit_interval(journal::configured_commit_interval());
    });
}

void Server::repair() {
    int failed = 0;
    // The databases that cannot be opened are named with the reason, by the same attempt.
    std::vector<std::string> names = engine_->database_names();
    for (const std::string& name : engine_->unusable_databases())
        names.push_back(name);
    std::ranges::sort(names);
    for (const std::string& name : names) {
        try {
            command::repair_database(*catalog_, service_->cursors(), name);
        } catch (const base::Error& error) {
            ++failed;
            base::log::error("{}", error.what());
        }
    }
    if (failed > 0)
        base::fail(base::kInternalError,
                   "{} databases could not be repaired, or not wholly; the lines above say why",
                   failed);
}

// What `local` has is of the set at another time; a server that joins it again would take writes
// for missing that are here.
void Server::replay(const std::function<bool()>& is_stopped) {
    os::FileSystem& files = os::real_file_system();
    const std::string path = options::replay_oplog.get();
    std::ifstream entries(path, std::ios::binary);
    if (!entries) base::fail(base::kBadValue, "{} cannot be read", path);
    oplog::Replay replay(
        *catalog_,
        [this](std::string_view db, bson::Doc command) {
            command::run_entry_command(*service_, db, command);
        },
        entries,
        options::replay_to.is_set() ? oplog::read_replay_end(options::replay_to.get())
                                    : oplog::ReplayEnd());
    replay.find_begin();
    base::log::info("replay of {} from {}", path, oplog::text_of(replay.last().ts));
    os::mark_unfinished(files, options::dbpath.get());
    auto next_line = std::chrono::steady_clock::now() + kReplayReports;
    replay.play([&] {
        if (is_stopped()) base::fail(base::kInterruptedAtShutdown, "the replay was ended");
        if (std::chrono::steady_clock::now() < next_line) return;
        next_line += kReplayReports;
        base::log::info("replay: {} entries, {}", replay.applied(),
                        oplog::text_of(replay.last().ts));
    });
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        catalog_->drop_database("local");
        engine_->durability().commit_now();
    }
    engine_->durability().flush_all(true);
    os::mark_finished(files, options::dbpath.get());
    base::log::info("replay: complete with {} entries, {}", replay.applied(),
                    oplog::text_of(replay.last().ts));
}

void Server::listen() {
    bind_metrics_port();
    listener_ = std::make_unique<wire::Listener>(*service_, listener_options());
    listener_->bind();
    options::incomplete_message_seconds.follow(
        [this](const options::Value&) { listener_->set_receive_limits(receive_limits()); });
    context_.host = fmt::format("{}:{}", host_name(), listener_->port());
    if (service_->access_control().enabled)
        prepare_users(service_->contexts(), service_->access_control().users,
                      member_ == nullptr || !member_->role().follows());
    command::log_startup(*catalog_, context_);
    if (metrics_ != nullptr) metrics_->start();
    listener_->start();
    start_background();
    start_following();
    base::log::info("waiting for connections on port {}", listener_->port());
}

// Who can connect to the server finds this port, too.
void Server::bind_metrics_port() {
    if (options::metrics_port.get() == 0) return;
    monitoring::PortOptions port;
    port.addresses = metrics_addresses();
    port.port = static_cast<int>(options::metrics_port.get());
    port.asks_for_login = service_->access_control().enabled;
    port.data_directory = context_.data_directory;
    const wire::TlsMode mode = tls_options().mode;
    if (mode != wire::TlsMode::disabled) port.tls = [this] { return listener_->tls_files(); };
    // A password is not to be readable on the network.
    port.tls_required =
        mode == wire::TlsMode::required || !std::ranges::all_of(port.addresses, is_local_address);
    metrics_ = std::make_unique<monitoring::Port>(*service_, std::move(port));
    base::log::info("metrics at /metrics of port {}", options::metrics_port.get());
}

void Server::start_background() {
    background_.push_back(std::make_unique<Periodic>("TTLMonitor", kTtlInterval, [this] {
        const bool takes_writes = member_ == nullptr || member_->role().takes_writes();
        if (options::ttl_monitor_enabled.get() && takes_writes)
            command::delete_expired(service_->contexts());
    }));
    background_.push_back(std::make_unique<Periodic>("clientcursormon", kCursorInterval, [this] {
        sched::memory::keep_reserve();
        service_->expire_cursors();
        sched::memory::give_back_unused();
    }));
    background_.push_back(std::make_unique<Periodic>("sessionmon", kSessionInterval, [this] {
        service_->session_ends().expire(command::LogicalSessions::Clock::now());
        if (member_ != nullptr) member_->retries().expire(oplog::Retries::Clock::now());
    }));
    if (member_ != nullptr)
        background_.push_back(
            std::make_unique<Periodic>("transactionmon", kTransactionInterval, [this] {
                service_->transactions().look_after(
                    member_->role().takes_writes(),
                    std::chrono::seconds(options::transaction_lifetime_seconds.get()));
            }));
    if (member_ != nullptr && member_->elections() != nullptr)
        background_.push_back(std::make_unique<Periodic>(
            "rsPriority", kPriorityInterval,
            [takeover = std::make_shared<replica::PriorityTakeover>(*member_)] {
                takeover->look();
            }));
    if (member_ == nullptr || !options::write_periodic_noops.get()) return;
    background_.push_back(std::make_unique<Periodic>(
        "NoopWriter", std::chrono::seconds(options::periodic_noop_seconds.get()),
        [this] { member_->note_idleness(); }));
}

bool Server::end_connections() {
    if (listener_ == nullptr) return true;
    base::log::info("shutdown: going to close listening sockets...");
    listener_->stop_accepting();
    if (!listener_->unix_socket_path().empty())
        base::log::info("removing socket file: {}", listener_->unix_socket_path());
    base::log::info("shutdown: going to close sockets...");
    sched::Operation::interrupt_all();
    service_->fsync_lock().end();
    background_.clear();
    metrics_ = nullptr;
    if (elections_ != nullptr) elections_->stop();
    follower_ = nullptr;
    reporter_ = nullptr;
    heartbeats_ = nullptr;
    if (listener_->stop(kListenerStopTimeout)) return true;
    base::log::warning("shutdown: an operation is still running after {} seconds; going on",
                       std::chrono::seconds(kListenerStopTimeout).count());
    return false;
}

bool Server::read_certificates() {
    if (tls_options().mode == wire::TlsMode::disabled) return false;
    DCHECK(listener_ != nullptr);
    if (identity_.tls != nullptr) identity_.tls->read_anew();
    listener_->read_certificates();
    base::log::info("the certificates were read anew, for connections from now on");
    return true;
}

bool Server::stop() {
    base::log::info("dbexit: ");
    const bool all_ended = end_connections();
    if (service_) service_->transactions().end_all("this server shuts down");
    base::log::info("shutdown: waiting for fs preallocator...");
    engine_->shutdown();
    base::log::info("shutdown: removing fs lock...");
    base::log::info("dbexit: really exiting now");
    return all_ended;
}

}  // namespace server
