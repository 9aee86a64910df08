// election/actions.h - what a member's part in elections (election.h) asks of its surroundings, and
// what members tell each other. An action is done before the next event is given, where it does not
// say otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "election/keys.h"
#include "election/types.h"

namespace election {

// What each member tells each other one, again and again.
struct Heartbeat {
    std::string gen;
    int64_t term = 0;
    bool is_primary = false;
    int64_t sealed = 0;  // the last term that it follows no longer
    Position durable;
    int64_t config = 0;  // the version
    double priority = 0;
};

enum class Question {
    dry,       // would you seal?
    seal,      // seal: a majority would
    resigned,  // seal: the primary has
};

struct Ask {  // answered by agreed(), or never
    MemberId member;
    Question question;
    std::string gen;
    int64_t term;
    bool operator==(const Ask&) const = default;
};
struct Reply {  // to asked() with that token
    uint64_t token;
    bool is_agreed;
    std::string reason;  // why not
    bool operator==(const Reply&) const = default;
};
struct Transact {  // answered by transacted(), once
    uint64_t number;
    Transaction transaction;
};
// Ends to follow and to report; everything that has been applied goes into the journal, and that
// this term is known. Then stopped() is called, perhaps much later.
struct Stop {
    int64_t known_term;
    std::string gen;
};
// The configuration goes into the journal.
struct KeepConfig {
    Config config;
};
// So many starts of the directory, and whether its data counts for nothing, go into the journal.
struct KeepSelf {
    int64_t starts;
    bool is_blank;
};
struct Follow {
    MemberId primary;
    int64_t term;
};
// Writes the first entry of the term, and then calls began(). `is_renewed`: it has been the primary
// of the term before up to now, so all that waits or is open goes on.
struct BecomePrimary {
    int64_t term;
    bool is_renewed;
};
// No write begins any more, those under way fail, those that wait end. After this, whom to
// follow is not known.
struct BecomeSecondary {
    std::string why;
};
// That member has sealed the term as this one has, has later entries, and cannot be the primary:
// its log, which gets no more, is to be read. moved() tells of it.
struct CatchUp {
    MemberId member;
};
// Asks for one member's known() of that round.
struct AskKnown {
    MemberId member;
    uint64_t round;
};
// The heir is to ask for an election at once, by step_up().
struct TellHeir {
    MemberId member;
};
// What became of reconfigure() or rebuild(); empty: it is done.
struct Outcome {
    std::string refusal;
};

using Action = std::variant<Ask, Reply, Transact, Stop, KeepConfig, KeepSelf, Follow, BecomePrimary,
                            BecomeSecondary, CatchUp, AskKnown, TellHeir, Outcome>;

}  // namespace election
