#include "replica/heartbeats.h"

#include <pthread.h>

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "base/signal_stack.h"

namespace replica {

namespace {

using namespace std::chrono_literals;

constexpr auto kLimit = 2s;  // to connect, and to answer
// While there is no configuration: until the first member that knows one has asked.
constexpr auto kFirstInterval = 500ms;

}  // namespace

void Heartbeats::ask(const std::string& host) {
    const auto begin = std::chrono::steady_clock::now();
    std::unique_ptr<peer::Connection>& connection = connections_[host];
    try {
        if (connection == nullptr)
            connection = std::make_unique<peer::Connection>(host, end_, kLimit, identity_);
        const bson::Doc answer = connection->run("admin", member_.peers().question(), kLimit);
        member_.peers().note_answer(host, answer, base::ms_since(begin));
    } catch (const base::Error& error) {
        connection = nullptr;
        if (!end_.is_set()) member_.peers().note_no_answer(host, error.what());
    }
}

void Heartbeats::ask_all() {
    const std::vector<std::string> hosts = member_.peers().hosts();
    std::erase_if(connections_, [&hosts](const auto& each) {
        return std::ranges::find(hosts, each.first) == hosts.end();
    });
    for (const std::string& host : hosts)
        if (!end_.is_set()) ask(host);
}

void Heartbeats::start() {
    DCHECK(!thread_.joinable());
    thread_ = std::thread([this] { run(); });
}

void Heartbeats::stop() {
    end_.set();
    member_.peers().ask_soon();
    if (thread_.joinable()) thread_.join();
}

void Heartbeats::run() {
    const base::SignalStack signal_stack;
    base::log::set_context("rsHeartbeat");
    ::pthread_setname_np(::pthread_self(), "rsHeartbeat");
    for (;;) {
        const std::shared_ptr<const Config> config = member_.config();
        const std::chrono::milliseconds interval =
            config == nullptr ? std::chrono::milliseconds(kFirstInterval)
                              : std::chrono::milliseconds(config->heartbeat_interval_ms);
        member_.peers().wait_to_ask(interval);
        if (end_.is_set()) return;
        try {
            ask_all();
        } catch (const std::exception& error) {
            base::log::error("{}", error.what());
        }
    }
}

}  // namespace replica
