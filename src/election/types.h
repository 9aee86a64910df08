// election/types.h - what members and the coordinator know of an election: positions, terms,
// configurations.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace election {

using MemberId = int32_t;
constexpr MemberId kNoMember = -1;

// The place of an entry in the history of a set, compared as a pair.
struct Position {
    int64_t term = 0;
    uint64_t ts = 0;
    auto operator<=>(const Position&) const = default;
};

// Who the primary is, as the coordinator has it. `gen` is of one life of the coordinator's data;
// `start` is of the process that the primary is: after a restart its name there means nothing.
struct Term {
    std::string gen;
    int64_t number = 0;
    MemberId primary = kNoMember;
    std::string start;
    int64_t config = 0;  // the version of the configuration
    bool operator==(const Term&) const = default;
};

struct Voter {
    MemberId id = 0;
    double priority = 1;
    bool operator==(const Voter&) const = default;
};

// What elections need of a configuration, and its document, which only others read.
struct Config {
    int64_t version = 0;
    std::vector<Voter> voters;
    std::string document;
    bool operator==(const Config&) const = default;

    const Voter* voter(MemberId id) const {
        const auto found = std::ranges::find(voters, id, &Voter::id);
        return found == voters.end() ? nullptr : &*found;
    }
    bool has_vote(MemberId id) const { return voter(id) != nullptr; }
    size_t majority() const { return voters.size() / 2 + 1; }
};

// A process of a member: `starts` counts those of its directory, which so is known for an old copy.
struct Start {
    std::string id;
    int64_t starts = 0;
    bool operator==(const Start&) const = default;
};

}  // namespace election
