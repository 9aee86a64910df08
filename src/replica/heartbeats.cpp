#include "replica/heartbeats.h"

#include <pthread.h>

#include <algorithm>

#include "base/boot_clock.h"
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

void name_thread() {
    base::log::set_context("rsHeartbeat");
    ::pthread_setname_np(::pthread_self(), "rsHeartbeat");
}

}  // namespace

// Asks one member by a thread of its own: one that does not answer keeps no question to another
// waiting. Calls of ask() while it waits for an answer are one more question, however many.
class Heartbeats::Asker {
  public:
    Asker(Peers& peers, std::string host, const peer::Identity& identity)
        : peers_(peers), host_(std::move(host)), identity_(identity), thread_([this] { run(); }) {}
    ~Asker() {
        end_.set();
        ask();
        thread_.join();
    }
    Asker(const Asker&) = delete;
    Asker& operator=(const Asker&) = delete;

    void ask() {
        {
            const std::lock_guard guard(mutex_);
            is_to_ask_ = true;
        }
        changed_.notify_all();
    }
    // Waits for the answers to all that ask() was called for.
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !is_to_ask_ && !is_asking_; });
    }

  private:
    void run();
    void exchange();

    Peers& peers_;
    const std::string host_;
    const peer::Identity& identity_;
    peer::Interrupt end_;
    std::unique_ptr<peer::Connection> connection_;  // of the thread
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_to_ask_ = false;  // guarded by mutex_, as the next
    bool is_asking_ = false;
    std::thread thread_;
};

void Heartbeats::Asker::run() {
    const base::SignalStack signal_stack;
    name_thread();
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return is_to_ask_; });
            is_to_ask_ = false;
            is_asking_ = true;
        }
        if (end_.is_set()) return;
        try {
            exchange();
        } catch (const std::exception& error) {
            base::log::error("{}", error.what());
        }
        {
            const std::lock_guard guard(mutex_);
            is_asking_ = false;
        }
        changed_.notify_all();
    }
}

void Heartbeats::Asker::exchange() {
    const auto begin = std::chrono::steady_clock::now();
    const bool was_connected = connection_ != nullptr;
    const auto fail = [this](const base::Error& error, bool is_refused) {
        connection_ = nullptr;
        if (!end_.is_set()) peers_.note_no_answer(host_, error.what(), is_refused);
    };
    try {
        if (connection_ == nullptr)
            connection_ = std::make_unique<peer::Connection>(host_, end_, kLimit, identity_);
        const int64_t sent_ms = base::ms_of_boot_clock();
        const bson::Doc answer = connection_->run("admin", peers_.question(host_), kLimit);
        peers_.note_answer(host_, answer, base::ms_since(begin), sent_ms);
    } catch (const peer::Refused& error) {
        fail(error, true);
    } catch (const base::Error& error) {
        fail(error, false);
        // Whether its process is gone shows by a new connection.
        if (was_connected && peers_.elects()) ask();
    }
}

Heartbeats::Heartbeats(Member& member, peer::Identity identity)
    : member_(member), identity_(std::move(identity)) {}

Heartbeats::~Heartbeats() {
    stop();
}

void Heartbeats::tell_askers() {
    const std::vector<std::string> hosts = member_.peers().hosts();
    std::erase_if(askers_, [&hosts](const auto& each) {
        return std::ranges::find(hosts, each.first) == hosts.end();
    });
    for (const std::string& host : hosts) {
        std::unique_ptr<Asker>& asker = askers_[host];
        if (asker == nullptr) asker = std::make_unique<Asker>(member_.peers(), host, identity_);
        asker->ask();
    }
}

void Heartbeats::ask_all() {
    DCHECK(!thread_.joinable());
    tell_askers();
    for (const auto& [host, asker] : askers_)
        asker->wait();
}

void Heartbeats::start() {
    DCHECK(!thread_.joinable());
    thread_ = std::thread([this] { run(); });
}

void Heartbeats::stop() {
    end_.set();
    member_.peers().ask_soon();
    if (thread_.joinable()) thread_.join();
    askers_.clear();
}

std::chrono::milliseconds Heartbeats::interval_of(const Config& config) const {
    constexpr int64_t kOfTimeout = 10;  // so many in an election timeout
    const int64_t usual = config.heartbeat_interval_ms;
    return std::chrono::milliseconds(
        member_.elections() == nullptr ? usual
                                       : std::min(usual, config.election_timeout_ms / kOfTimeout));
}

void Heartbeats::run() {
    const base::SignalStack signal_stack;
    name_thread();
    for (;;) {
        const std::shared_ptr<const Config> config = member_.config();
        const std::chrono::milliseconds interval =
            config == nullptr ? std::chrono::milliseconds(kFirstInterval) : interval_of(*config);
        member_.peers().wait_to_ask(interval);
        if (end_.is_set()) return;
        try {
            tell_askers();
            member_.begin_own_term();
        } catch (const std::exception& error) {
            base::log::error("{}", error.what());
        }
    }
}

}  // namespace replica
