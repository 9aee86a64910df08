#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/operation.h"
#include "command/families/families.h"
#include "command/repair.h"
#include "command/startup_log.h"
#include "command/ttl.h"
#include "server/engines.h"
#include "server/start_messages.h"
#include "server/version.h"

namespace server {

namespace {

using namespace std::chrono_literals;

constexpr auto kTtlInterval = 60s;
constexpr auto kCursorInterval = 4s;
// An operation that does not look at interruptions for so long is left behind; the final commit
// then waits for its lock (journal spec 5.9).
constexpr auto kPatience = 30s;

wire::Listener::Options listener_options(const Config& config) {
    wire::Listener::Options options;
    options.addresses = config.bind_addresses;
    options.port = config.port;
    options.ipv6 = config.ipv6;
    options.unix_socket = config.unix_socket;
    options.unix_socket_prefix = config.unix_socket_prefix;
    options.max_connections = usable_connections(config);
    // The loops only move messages and run short operations; the rest of a machine is for those
    // that have been handed over, for commits and flushes.
    const int processors = static_cast<int>(std::thread::hardware_concurrency());
    options.loops = std::clamp(processors / 2, 2, 4);
    return options;
}

}  // namespace

Server::Server(const Config& config, Settings& settings, LogSetup& log,
               std::function<void()> request_shutdown)
    : config_(config),
      settings_(settings),
      log_(log),
      context_(make_context(std::move(request_shutdown))) {}

Server::~Server() {
    settings_.follow(static_cast<command::Service*>(nullptr));
    settings_.follow(static_cast<storage::Durability*>(nullptr));
}

command::ServerContext Server::make_context(std::function<void()> request_shutdown) {
    command::ServerContext context;
    context.version = settings_.reported_version();
    context.git_version = fmt::format("mongod-dur-{}", kProgramVersion);
    context.host = fmt::format("{}:{}", host_name(), config_.port);
    context.max_wire_version = settings_.announced_max_wire_version();
    context.test_commands = settings_.test_commands();
    context.argv = config_.argv;
    context.parsed_options = config_.parsed;
    context.request_shutdown = std::move(request_shutdown);
    context.rotate_log = [this] { log_.rotate(); };
    context.connections = [this] {
        const wire::Listener::Stats stats = listener_->stats();
        return command::ConnectionCounts{stats.connections_open, stats.connections_available,
                                         stats.connections_ever};
    };
    context.network = [this] {
        const wire::Listener::Stats stats = listener_->stats();
        return command::NetworkCounts{stats.bytes_in, stats.bytes_out, stats.requests};
    };
    if (config_.journal) {
        context.journal_latency_test = [this](bson::Builder& out) {
            engine_->durability().run_latency_test(out);
        };
    }
    return context;
}

void Server::open_data() {
    engine_ = open_engine(config_, settings_);
    settings_.follow(&engine_->durability());
    catalog_ = std::make_unique<catalog::Catalog>(*engine_);
    service_ = std::make_unique<command::Service>(*catalog_, context_, command::all_families());
    service_->profiler().set_slow_ms(config_.slow_ms);
    service_->profiler().set_default_level(config_.profile_level);
    settings_.follow(service_.get());
    const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
    for (const std::string& name : catalog_->database_names()) {
        catalog::Database& database = *catalog_->database(name);
        if (!database.writable()) continue;
        try {
            database.drop_temporary();
            database.recover_interrupted_builds(config_.index_build_retry);
        } catch (const base::Error& error) {
            // What is damaged there must not keep the rest from its users.
            base::log::error("database {}: {}", name, error.what());
        }
    }
}

void Server::repair() {
    int failed = 0;
    // Those that cannot be opened are named with the reason, by the same attempt.
    std::vector<std::string> names = engine_->database_names();
    for (const std::string& name : engine_->unusable_databases())
        names.push_back(name);
    std::ranges::sort(names);
    for (const std::string& name : names) {
        try {
            command::repair_database(*service_, name);
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

void Server::listen() {
    listener_ = std::make_unique<wire::Listener>(*service_, listener_options(config_));
    listener_->bind();
    context_.host = fmt::format("{}:{}", host_name(), listener_->port());
    command::log_startup(*service_);
    listener_->start();
    start_background();
    base::log::info("waiting for connections on port {}", listener_->port());
}

void Server::start_background() {
    background_.push_back(std::make_unique<Periodic>("TTLMonitor", kTtlInterval, [this] {
        if (settings_.ttl_monitor_enabled()) command::delete_expired(*service_);
    }));
    background_.push_back(std::make_unique<Periodic>("clientcursormon", kCursorInterval,
                                                     [this] { service_->expire_cursors(); }));
}

void Server::end_connections() {
    if (listener_ == nullptr) return;
    base::log::info("shutdown: going to close listening sockets...");
    listener_->stop_accepting();
    if (!listener_->unix_socket_path().empty())
        base::log::info("removing socket file: {}", listener_->unix_socket_path());
    base::log::info("shutdown: going to close sockets...");
    base::Operation::interrupt_all();
    service_->fsync_lock().unlock();
    background_.clear();
    if (listener_->stop(kPatience)) return;
    base::log::warning("shutdown: an operation is still running after {} seconds; going on",
                       std::chrono::seconds(kPatience).count());
}

void Server::stop() {
    base::log::info("dbexit: ");
    end_connections();
    base::log::info("shutdown: waiting for fs preallocator...");
    engine_->shutdown();
    base::log::info("shutdown: removing fs lock...");
    base::log::info("dbexit: really exiting now");
}

}  // namespace server
