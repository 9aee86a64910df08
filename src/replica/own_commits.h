// replica/own_commits.h - up to which entry of the log this server's own journal has all.
#pragma once

#include <functional>
#include <memory>

#include "oplog/entry.h"
#include "storage/durability.h"

namespace replica {

// Any thread may call its methods. The waits that it has begun may outlive it.
class OwnCommits {
  public:
    // `reached` is called when it has more, by the thread that commits; it must be short.
    OwnCommits(storage::Durability& durability, std::function<void(oplog::Position)> reached);
    ~OwnCommits();
    OwnCommits(const OwnCommits&) = delete;
    OwnCommits& operator=(const OwnCommits&) = delete;

    // No lock. The journal is to have the entry of that position, whose lock has been given up:
    // `at_once`, or by the next commit that a waiter is given.
    void want(oplog::Position position, bool at_once);
    oplog::Position durable() const;
    bool has_journal() const { return durability_.journaling(); }

  private:
    struct State;
    struct PositionWaiter;

    storage::Durability& durability_;
    const std::shared_ptr<State> state_;
};

}  // namespace replica
