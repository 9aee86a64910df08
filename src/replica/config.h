// replica/config.h - the configuration of a replica set: the one document of local.system.replset,
// in the form of today's servers. Without elections (elections.h) exactly one member has a priority
// above 0, and takes the writes. A configuration that would need more is refused, by the name of
// the field that asks for it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"

namespace replica {

constexpr std::string_view kConfigs = "local.system.replset";

struct MemberConfig {
    int32_t id = 0;
    std::string host;  // "name:port"
    double priority = 1;
    bool has_vote = true;
    bool wants_vote = true;  // with elections: it gets one once its copy is complete
    bool is_hidden = false;  // clients do not hear of it
    bson::Object tags;
};

struct Config {
    std::string set_name;
    int32_t version = 1;
    bson::ObjectId set_id{};  // replicaSetId
    std::vector<MemberConfig> members;
    size_t own_index = 0;      // which of them this server is: replica::Member finds that out
    size_t primary_index = 0;  // which of them takes the writes; kNone: none that is known
    int64_t term = 0;          // with elections: of that primary
    // Names that a write concern may give: {name: {tag: of how many values there must be members}}.
    bson::Object modes;
    // The default write concern, for writes that name none; empty: there is none.
    bson::Object default_concern;
    bool majority_waits_for_journal = true;
    int64_t heartbeat_interval_ms = 0;
    int64_t election_timeout_ms = 0;
    bson::Object document;  // as it is stored: all fields, with what was not given

    const MemberConfig& own() const { return members[own_index]; }
    static constexpr size_t kNone = std::numeric_limits<size_t>::max();
    bool has_primary() const { return primary_index != kNone; }
    // REQUIRES: has_primary().
    const MemberConfig& primary() const { return members[primary_index]; }
    bool is_of_primary() const { return own_index == primary_index; }
    int votes() const;
    // Returns how many members with a vote are a majority of them.
    int majority() const { return votes() / 2 + 1; }
    // Returns how many different values of a tag the members have.
    int64_t values_of_tag(std::string_view tag) const;

    // The name that the set must have, and the id that it keeps.
    struct Expected {
        std::string_view set_name;
        bson::ObjectId set_id{};  // where the document gives none
        int64_t term = 1;         // that is noted in the result
        bool elects = false;      // members elect the primary: it is not known yet
    };
    // Throws base::Error 93 for what is no configuration, or none that this server can serve.
    static Config parse(bson::Doc given, const Expected& expected);
    // The same with another version.
    Config with_version(int32_t other) const;
    // The document of the next version, in which that member is the primary: it and the present one
    // have exchanged their priorities, and their votes. REQUIRES: it is another one, not hidden.
    bson::Object handed_to(size_t member) const;
    // The one of a set that is initiated without: this server, by that name.
    static bson::Object of_one_member(std::string_view set_name, std::string_view host);
};

// Returns "name:27017" for "name". Throws base::Error 93 unless the port is one.
std::string with_port(std::string_view host);

}  // namespace replica
