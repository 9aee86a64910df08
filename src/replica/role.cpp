#include "replica/role.h"

#include "base/dcheck.h"

namespace replica {

namespace {

bool is_following(State state) {
    return state == State::secondary || state == State::recovering || state == State::startup2;
}

bool may_follow(State from, State next) {
    switch (from) {
        case State::startup:
        case State::removed:
        case State::primary:
            return next == State::removed || next == State::secondary || next == State::startup2 ||
                   (next == State::primary && from != State::primary);
        case State::secondary:
        case State::recovering:
        case State::startup2:
            return is_following(next) || next == State::primary || next == State::removed;
        case State::unknown:
        case State::down:
            break;
    }
    return false;  // those are states of other members
}

}  // namespace

std::string_view name_of(State state) {
    switch (state) {
        case State::startup:
            return "STARTUP";
        case State::primary:
            return "PRIMARY";
        case State::secondary:
            return "SECONDARY";
        case State::recovering:
            return "RECOVERING";
        case State::startup2:
            return "STARTUP2";
        case State::unknown:
            return "UNKNOWN";
        case State::down:
            return "(not reachable/healthy)";
        case State::removed:
            break;
    }
    return "REMOVED";
}

bool Role::follows() const {
    return is_following(state());
}

bool Role::enter(State next) {
    const State before = state_.exchange(next, std::memory_order_acq_rel);
    DCHECK(before == next || may_follow(before, next));
    return before != next;
}

}  // namespace replica
