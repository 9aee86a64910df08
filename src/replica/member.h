// replica/member.h - this server as a member of a replica set.
//
// The room replica: what makes a server with --replSet a member: the set's configuration, which
// state the member is in, and what follows from it. A set has one member here. So there are three
// states: it waits for its configuration (startup), it takes the writes (primary), or it has the
// configuration of a set that it cannot serve (removed).
//
// Each start of a primary begins a term, which its entries in the log carry (oplog/entry.h), and
// its `electionId`: clients take what the later one says.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "oplog/log.h"
#include "replica/config.h"
#include "storage/engine.h"

namespace replica {

// By the numbers that clients know.
enum class State : int32_t { startup = 0, primary = 1, removed = 10 };
std::string_view name_of(State state);

class Member {
  public:
    struct Options {
        std::string set_name;
        std::string own_name;  // of this machine
        std::string own_host;  // "name:port", by which clients reach this server
        int port = 0;
        int64_t log_bytes = 0;  // of the log that a set begins with
    };

    // `log` has the form of a set. All outlive this.
    Member(storage::Engine& engine, catalog::Catalog& catalog, oplog::Log& log, Options options);
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    // global W, at the start. Reads the configuration; where it is one of this server, opens the
    // log and begins a term. Throws base::Error where the log cannot be opened.
    void open();

    // Any thread, all that follow.
    const std::string& set_name() const { return options_.set_name; }
    State state() const { return state_.load(std::memory_order_acquire); }
    bool is_primary() const { return state() == State::primary; }
    // Null unless it is the primary.
    std::shared_ptr<const Config> config() const;
    // Throws base::Error 94 in startup, 93 where it is removed.
    std::shared_ptr<const Config> needed_config() const;
    oplog::Position last() const { return log_.last(); }
    // What clients have written and may send again.
    oplog::Retries& retries() const { return log_.retries(); }
    // Of the term that this start began.
    bson::ObjectId election_id() const;
    uint64_t election_ts() const { return election_ts_.load(std::memory_order_relaxed); }

    // No lock: they take global W, after names have been looked up. `given` empty: this server
    // alone. Throws base::Error 23 (has one already), 93, 74 (the host is not this server), 20.
    void initiate(bson::Doc given);
    // Throws base::Error 94, 10107 (not the primary, and not forced), 93, 74, 103 (not newer).
    void reconfigure(bson::Doc given, bool force);

  private:
    struct Stored;

    Stored read_stored() const;
    void check_is_this_server(const Config& config) const;
    void store(const Config& config);
    void become_primary(Config config, int64_t term, const char* why);

    storage::Engine& engine_;
    catalog::Catalog& catalog_;
    oplog::Log& log_;
    const Options options_;
    std::atomic<State> state_{State::startup};
    std::atomic<uint64_t> election_ts_{0};
    mutable std::mutex mutex_;
    std::shared_ptr<const Config> config_;  // guarded by it
    std::string why_removed_;               // likewise
};

}  // namespace replica
