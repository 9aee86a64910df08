// replica/config.h - the configuration of a replica set: the one document of local.system.replset,
// in the form of today's servers. A set has one member here; what of a configuration would need
// more is refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bson/builder.h"

namespace replica {

constexpr std::string_view kConfigs = "local.system.replset";

struct Config {
    std::string set_name;
    int32_t version = 1;
    bson::ObjectId set_id{};  // replicaSetId
    int32_t member_id = 0;
    std::string host;  // of the member, "name:port"
    bson::Object tags;
    // Names that a write concern may give: {name: {tag: of how many values there must be members}}.
    bson::Object modes;
    bool majority_waits_for_journal = true;
    bson::Object document;  // as it is stored: all fields, with what was not given

    // What a set's name, and the id that it keeps, have to be.
    struct Expected {
        std::string_view set_name;
        bson::ObjectId set_id{};  // where the document gives none
        int64_t term = 1;         // that is noted in the result
    };
    // Throws base::Error 93 for what is no configuration, or none that this server can serve.
    static Config parse(bson::Doc given, const Expected& expected);
    // The same with another version.
    Config with_version(int32_t other) const;
    // The one of a set that is initiated without: this server, by that name.
    static bson::Object of_one_member(std::string_view set_name, std::string_view host);
};

// "name:27017" for "name". Throws base::Error 93 unless the port is one.
std::string with_port(std::string_view host);

}  // namespace replica
