// election/commit_point.h - up to which entry a majority has the log of the present primary, as
// that primary hears it.
#pragma once

#include <cstdint>
#include <map>

#include "election/types.h"

namespace election {

class CommitPoint {
  public:
    // This member is the primary of the term; nothing that was reported before counts.
    void begin(int64_t term);
    // The term's first entry, which is in the log.
    void note(Position first) { first_ = first; }
    // Up to where the journals have the log: of this member, and of another one by a report that it
    // has made while it followed the primary of `term`, under that version of the configuration.
    // What is reported of another term, or under an older configuration than this member has, is
    // no position.
    void own_durable(Position position) { own_ = position; }
    void reported(MemberId member, int64_t term, int64_t config_version, Position durable,
                  const Config& config);
    // The last entry of the term that a majority has, and all before it; nothing before the term's
    // first entry is there. It never goes back, whatever the configuration becomes.
    Position advance(MemberId self, const Config& config);
    Position get() const { return committed_; }
    // Whether the next configuration may follow this one: a majority of its voters knows it, and
    // has what was acknowledged under those before, and the term's first entry.
    bool is_settled(MemberId self, const Config& config) const;

  private:
    Position reached(MemberId self, const Config& config) const;

    struct Report {
        Position durable;
        int64_t config_version = 0;
    };
    int64_t term_ = 0;
    Position first_;
    Position own_;
    Position committed_;
    std::map<MemberId, Report> reports_;
};

}  // namespace election
