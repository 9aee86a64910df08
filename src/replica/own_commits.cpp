#include "replica/own_commits.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace replica {

struct OwnCommits::State {
    mutable std::mutex mutex;
    // Guarded by it, all that follow.
    std::function<void(oplog::Position)> reached;  // null: the owner is gone
    oplog::Position durable;
    oplog::Position awaited;  // by a waiter that is registered, or about to be
    bool in_haste = false;    // as what is awaited

    void has(oplog::Position position) {
        const std::lock_guard guard(mutex);
        if (position <= durable) return;
        durable = position;
        if (awaited <= durable) in_haste = false;
        if (reached) reached(position);
    }
};

struct OwnCommits::PositionWaiter : storage::CommitWaiter {
    std::shared_ptr<State> state;
    oplog::Position position;
};

OwnCommits::OwnCommits(storage::Durability& durability,
                       std::function<void(oplog::Position)> reached)
    : durability_(durability), state_(std::make_shared<State>()) {
    state_->reached = std::move(reached);
}

OwnCommits::~OwnCommits() {
    const std::lock_guard guard(state_->mutex);
    state_->reached = nullptr;
}

oplog::Position OwnCommits::durable() const {
    const std::lock_guard guard(state_->mutex);
    return state_->durable;
}

void OwnCommits::want(oplog::Position position, bool at_once) {
    {
        const std::lock_guard guard(state_->mutex);
        if (position <= state_->durable) return;
        state_->in_haste |= at_once;
        const bool is_awaited = position <= state_->awaited;
        state_->awaited = std::max(state_->awaited, position);
        // If the thread that asked for it has not registered its waiter yet, it sees `in_haste`
        // when it does.
        if (is_awaited && !at_once) return;
        if (is_awaited) return durability_.hurry();
    }
    auto waiter = std::make_unique<PositionWaiter>();
    waiter->state = state_;
    waiter->position = position;
    waiter->done = [](storage::CommitWaiter* base) {
        const std::unique_ptr<PositionWaiter> done(static_cast<PositionWaiter*>(base));
        done->state->has(done->position);
    };
    if (durability_.await_commit(waiter.get())) return state_->has(position);
    static_cast<void>(waiter.release());  // its own, until it is done
    const std::lock_guard guard(state_->mutex);
    if (state_->in_haste) durability_.hurry();
}

}  // namespace replica
