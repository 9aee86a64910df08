// election/testing/schedule.h - random schedules of members (election.h) and a coordinator that
// answers late, loses answers, is away and loses its data. Messages come in any order, late, twice
// or never; members are killed and lose disks. Each member has a clock of its own that goes as it
// likes, so what holds here does not hold by time.
//
// Checked at each acknowledgement and at each election: no entry that a majority acknowledged is
// missing in a primary of a later term, and a term has one primary; at each time that the
// coordinator hears of the set again: no configuration that a majority knew is lost. Where the
// voters stay the same: once all is well there is a primary, and another one after its death.
#pragma once

#include <cstdint>
#include <string>

namespace election {

enum class Aim {
    still,        // the same voters
    reconfigure,  // voters come and go
    churn,        // six members, many changes
    loss,         // disks are lost, and put back from copies
    late,         // messages much later
    rebuild,      // the coordinator's data is lost, and many changes
    all,
};

struct Counts {
    int64_t elections = 0;
    int64_t renewals = 0;
    int64_t acknowledged = 0;
    int64_t configurations = 0;
    int64_t rebuilds = 0;
    int64_t copies = 0;  // of a member's data that was complete
    Counts& operator+=(const Counts& other);
};

// Returns what went wrong; empty: nothing.
std::string run_schedule(uint64_t seed, int steps, Aim aim, Counts* counts);

}  // namespace election
