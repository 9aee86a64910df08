// The end of a schedule: what members do where nothing fails any more.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "election/testing/schedule_state.h"

namespace election::schedule {

// A primary comes where all is well, and another one after its death.
void Schedule::check_settles() {
    constexpr int kRounds = 400;
    is_coordinator_up_ = true;
    for (MemberId id = 0; id < std::ssize(nodes_); ++id)
        if (nodes_[id].election == nullptr) start(id);
    for (const bool is_killed : {false, true}) {
        if (is_killed) {
            // One that never stands may have what the only other one must take entries back for.
            if (std::ranges::any_of(nodes_[0].disk.config.voters,
                                    [](const Voter& voter) { return voter.priority == 0; }))
                return;
            const auto id = static_cast<MemberId>(serving() - nodes_.data());
            nodes_[id].election.reset();
            nodes_[id].leads.reset();
        }
        for (int i = 0; i < kRounds && failure_.empty(); ++i) {
            for (MemberId id = 0; id < std::ssize(nodes_); ++id)
                be_well(id);
            if (serving() != nullptr) break;
        }
        if (!failure_.empty()) return;
        if (serving() == nullptr)
            return fail(
                fmt::format("there is no primary{}:{}", is_killed ? " after one" : "", describe()));
    }
}

// The member lives for 50 ms in which nothing fails.
void Schedule::be_well(MemberId id) {
    Node& node = nodes_[id];
    for (MemberId other = 0; other < std::ssize(nodes_) && node.election != nullptr; ++other) {
        if (nodes_[other].election == nullptr)
            node.election->refused(other, node.clock_ms);
        else if (other != id)
            send(other, ToHeartbeat{id, node.election->heartbeat(), -1});
    }
    if (node.election != nullptr) {
        node.speed = 1;
        node.clock_ms += 50;
        node.election->note_time(node.clock_ms);
        write(id);
        pull(id);
        catch_up(id);
        node.durable = node.disk.log.size();
        moved(id);
        if (std::exchange(node.is_stopping, false)) node.election->stopped(node.clock_ms);
        report(id);
        do_actions(id);
    }
    while (!net_.empty() || !requests_.empty()) {
        if (!net_.empty()) {
            const Message message = net_.front();
            net_.pop_front();
            give(message);
        } else {
            const Request request = requests_.front();
            requests_.pop_front();
            send(
                request.from,
                ToAnswer{request.transact.number, coordinator_.apply(request.transact.transaction)},
                request.process);
        }
    }
}

// The primary whose first entry is on a majority, while all others have complete data.
const Node* Schedule::serving() const {
    const Node* found = nullptr;
    for (const Node& node : nodes_) {
        if (node.election != nullptr && node.election->is_blank()) return nullptr;
        if (node.leads && node.election->committed().term == *node.leads) found = &node;
    }
    return found;
}

std::string Schedule::describe() const {
    std::string text;
    for (const Node& node : nodes_)
        text += node.election == nullptr
                    ? " down;"
                    : fmt::format(" phase {} term {} blank {} last {}.{} seals {};",
                                  static_cast<int>(node.election->phase()),
                                  node.election->term().number, node.election->is_blank(),
                                  last(node, node.disk.log.size()).term, node.disk.log.size(),
                                  node.election->heartbeat().sealed);
    return text;
}

}  // namespace election::schedule
