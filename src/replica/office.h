// replica/office.h - what elections (elections.h) do to a member: whom it follows, that it becomes
// the primary or is it no more, and what is kept on the disk of that.
#pragma once

#include <cstdint>
#include <string>

#include "election/types.h"
#include "replica/member.h"

namespace replica {

// What a directory knows of elections beside the configuration: the one document of
// local.replset.election.
struct ElectionMemory {
    int32_t id = -1;  // of the member that it is the directory of; -1: there is no document
    int64_t starts = 0;
    bool is_blank = true;
    int64_t term = 0;  // a term that it knows, and the life of the coordinator's data of that
    std::string gen;
    std::vector<int32_t> voters;  // of the configuration
};

// One thread at a time may use it, in no lock.
class Office {
  public:
    explicit Office(Member& member) : member_(member) {}

    // The process has started: counts it, and finds out whether the data counts for nothing, since
    // the directory is not this member's, or is empty.
    ElectionMemory begin();
    void keep_self(int64_t starts, bool is_blank);
    void keep_config(const election::Config& config);
    // It follows none any more, and once this returns applies no entry; all that it has is in the
    // journal, and that the term is known. Returns the last entry.
    oplog::Position stop(int64_t known_term, const std::string& gen);
    void follow(election::MemberId primary, int64_t term);
    // Returns the first entry of the term. Throws base::Error 14031 where there is no room for it.
    oplog::Position lead(int64_t term, bool is_renewed);
    void resign(const std::string& why);
    // Begins the log and the configuration of a new set, of which it is the first voter.
    void found(Config config);
    // What the coordinator keeps of a configuration, with these voters.
    static election::Config to_kept(const Config& config);

  private:
    ElectionMemory read_memory();
    void write_memory(const ElectionMemory& memory);
    void set_primary(election::MemberId id, int64_t term);

    Member& member_;
    // Whom it follows, also while it has no configuration to do so.
    election::MemberId primary_ = election::kNoMember;
    int64_t term_ = 0;
};

}  // namespace replica
