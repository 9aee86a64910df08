#include "replica/config.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "oplog/entry.h"

namespace replica {

namespace {

constexpr int64_t kDefaultPort = 27017;
constexpr int64_t kPortMax = 65535;
constexpr int kMembersMax = 50;
constexpr int kVotesMax = 7;
constexpr double kPriorityMax = 1000;
constexpr int64_t kElectionTimeoutMin = 500;
constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

template <typename... Args>
[[noreturn]] void invalid(fmt::format_string<Args...> format, Args&&... args) {
    base::fail(base::kInvalidReplicaSetConfig, "{}",
               fmt::format(format, std::forward<Args>(args)...));
}

int64_t whole(const bson::Element& e, int64_t low, int64_t high) {
    if (!e.is_number() || e.to_double() != static_cast<double>(e.to_int64()))
        invalid("{} has to be a whole number", e.name());
    if (e.to_int64() < low || e.to_int64() > high)
        invalid("{} is {}, but has to be from {} to {}", e.name(), e.to_int64(), low, high);
    return e.to_int64();
}

bool boolean(const bson::Element& e) {
    if (e.type() != bson::Type::boolean && !e.is_number())
        invalid("{} has to be true or false", e.name());
    return e.truthy();
}

std::string_view text(const bson::Element& e) {
    if (!e.is_string() || e.as_string().empty()) invalid("{} has to be a text", e.name());
    return e.as_string();
}

bson::Doc document(const bson::Element& e) {
    if (!e.is_object()) invalid("{} has to be a document", e.name());
    return e.as_doc();
}

// A whole number that is kept. Only the first one has an effect, and with elections the third.
struct Number {
    std::string_view name;
    int64_t low;
    int64_t usual;
};
constexpr Number kNumbers[] = {
    {"heartbeatIntervalMillis", 1, 2000},      {"heartbeatTimeoutSecs", 1, 10},
    {"electionTimeoutMillis", 1, 10000},       {"catchUpTimeoutMillis", -1, -1},
    {"catchUpTakeoverDelayMillis", -1, 30000},
};

void check_names(bson::Doc given, std::span<const std::string_view> known, const char* where) {
    for (const bson::Element& e : given) {
        if (std::ranges::find(known, e.name()) == known.end())
            invalid("Unexpected field {} in {}", e.name(), where);
        if (given[e.name()].raw() != e.raw()) invalid("{} has the field {} twice", where, e.name());
    }
}

// Refuses a field that is there and says anything but `wanted`.
void refuse_unless(const bson::Element& e, bool wanted, const char* why) {
    if (e && boolean(e) != wanted) invalid("{}: {} is not supported: {}", e.name(), !wanted, why);
}

bson::Object parse_tags(const bson::Element& e) {
    if (!e) return {};
    for (const bson::Element& tag : document(e))
        if (!tag.is_string()) invalid("the tag {} has to be a text", tag.name());
    return bson::Object(e.as_doc());
}

// Writes the stored form of it.
MemberConfig parse_member(bson::Doc given, bool elects, bson::Builder& out) {
    constexpr std::string_view kFields[] = {
        "_id",      "host", "arbiterOnly", "buildIndexes", "hidden",
        "priority", "tags", "votes",       "slaveDelay",   "secondaryDelaySecs",
    };
    check_names(given, kFields, "the configuration of a member");
    if (!given.has("_id") || !given.has("host")) invalid("a member needs _id and host");
    MemberConfig member;
    member.id = static_cast<int32_t>(whole(given["_id"], 0, oplog::kMemberIdMax));
    member.host = with_port(text(given["host"]));
    member.tags = parse_tags(given["tags"]);
    refuse_unless(given["arbiterOnly"], false,
                  elects
                      ? "no arbiters: etcd votes for none and needs none; run an etcd in a third "
                        "place"
                      : "there are no elections");
    refuse_unless(given["buildIndexes"], true, "each member has all indexes");
    if (const bson::Element priority = given["priority"]) {
        if (!priority.is_number() || !(priority.to_double() >= 0) ||
            priority.to_double() > kPriorityMax)
            invalid("priority has to be a number from 0 to {}", kPriorityMax);
        member.priority = priority.to_double();
    }
    if (given.has("votes")) member.has_vote = whole(given["votes"], 0, 1) == 1;
    member.wants_vote = member.has_vote;
    if (given.has("hidden")) member.is_hidden = boolean(given["hidden"]);
    if (member.priority > 0 && !member.has_vote)
        invalid("{} has a priority above 0 and so needs a vote", member.host);
    if (member.priority > 0 && member.is_hidden)
        invalid("{} has a priority above 0 and so cannot be hidden", member.host);
    for (const char* delay : {"slaveDelay", "secondaryDelaySecs"})
        if (given.has(delay) && whole(given[delay], 0, kInt32Max) != 0)
            invalid("{} is not supported: each member follows as soon as it can", delay);
    out.append("_id", member.id)
        .append("host", member.host)
        .append("arbiterOnly", false)
        .append("buildIndexes", true)
        .append("hidden", member.is_hidden)
        .append("priority", member.priority)
        .append("tags", member.tags)
        .append("slaveDelay", int64_t{0})
        .append("votes", int32_t{member.has_vote});
    return member;
}

// Returns the index of the member that takes the writes; with elections that is decided elsewhere.
size_t index_of_primary(const std::vector<MemberConfig>& members, bool elects) {
    const auto is_electable = [](const MemberConfig& member) { return member.priority > 0; };
    const auto first = std::ranges::find_if(members, is_electable);
    if (first == members.end()) invalid("one member needs a priority above 0: it takes the writes");
    if (elects) return Config::kNone;
    const auto second = std::find_if(first + 1, members.end(), is_electable);
    if (second != members.end())
        invalid(
            "{} and {} both have a priority above 0 (1 where none is given): then members elect, "
            "which needs an etcd. Start each member with --coordinator http://HOST:2379, or give "
            "all but one priority: 0: then nothing takes over by itself",
            first->host, second->host);
    return static_cast<size_t>(first - members.begin());
}

void parse_members(const bson::Element& e, bool elects, Config& config, bson::Builder& out) {
    if (!e.is_array() || e.as_doc().empty()) invalid("members has to be a list of members");
    if (e.as_doc().field_count() > kMembersMax)
        invalid("a replica set has at most {} members", kMembersMax);
    bson::Builder list = out.sub_array("members");
    for (const bson::Element& given : e.as_doc()) {
        bson::Builder stored =
            list.sub_object(bson::IndexName(static_cast<uint32_t>(config.members.size())).view());
        MemberConfig member = parse_member(document(given), elects, stored);
        for (const MemberConfig& other : config.members) {
            if (other.id == member.id) invalid("two members have the _id {}", member.id);
            if (other.host == member.host) invalid("two members have the host {}", member.host);
        }
        config.members.push_back(std::move(member));
    }
    if (config.votes() > kVotesMax) invalid("at most {} members have a vote", kVotesMax);
    config.primary_index = index_of_primary(config.members, elects);
}

bson::Object parse_modes(const bson::Element& e) {
    if (!e) return {};
    for (const bson::Element& mode : document(e)) {
        if (mode.name() == "majority") invalid("getLastErrorModes cannot give majority a meaning");
        for (const bson::Element& tag : document(mode))
            whole(tag, 1, kInt32Max);
    }
    return bson::Object(e.as_doc());
}

// The write concern of writes that name none, as it is stored.
bson::Object parse_defaults(const bson::Element& e, const Config& config) {
    if (!e) return bson::make("w", 1, "wtimeout", 0);
    constexpr std::string_view kFields[] = {"w", "wtimeout", "j", "fsync"};
    const bson::Doc given = document(e);
    check_names(given, kFields, "getLastErrorDefaults");
    if (const bson::Element w = given["w"]; w.is_string()) {
        if (w.as_string() != "majority" && !config.modes.doc().has(w.as_string()))
            invalid("getLastErrorDefaults: getLastErrorModes has no {}", w.as_string());
    } else if (w) {
        whole(w, 1, kMembersMax);
    }
    if (const bson::Element limit = given["wtimeout"]) whole(limit, 0, kInt32Max);
    for (const char* flag : {"j", "fsync"})
        if (const bson::Element value = given[flag]) boolean(value);
    if (given["j"].truthy() && given["fsync"].truthy())
        invalid("getLastErrorDefaults: j and fsync cannot be used together");
    return bson::Object(given);
}

bool asks_for_more_than_usual(bson::Doc defaults) {
    const bson::Element w = defaults["w"];
    return w.is_string() || w.to_int64() > 1 || defaults["j"].truthy() ||
           defaults["fsync"].truthy();
}

void parse_settings(const bson::Element& e, Config& config, bson::Builder& out) {
    const bson::Doc given = e ? document(e) : bson::Doc();
    std::vector<std::string_view> known = {"chainingAllowed", "getLastErrorModes",
                                           "getLastErrorDefaults", "replicaSetId"};
    for (const Number& number : kNumbers)
        known.push_back(number.name);
    check_names(given, known, "the settings");
    const bson::Element chaining = given["chainingAllowed"];
    bson::Builder settings = out.sub_object("settings");
    settings.append("chainingAllowed", chaining ? boolean(chaining) : true);
    for (const Number& number : kNumbers) {
        const bson::Element value = given[number.name];
        settings.append(
            number.name,
            static_cast<int32_t>(value ? whole(value, number.low, kInt32Max) : number.usual));
    }
    const bson::Element interval = given["heartbeatIntervalMillis"];
    config.heartbeat_interval_ms = interval ? interval.to_int64() : kNumbers[0].usual;
    const bson::Element timeout = given["electionTimeoutMillis"];
    config.election_timeout_ms = timeout ? timeout.to_int64() : kNumbers[2].usual;
    config.modes = parse_modes(given["getLastErrorModes"]);
    const bson::Object defaults = parse_defaults(given["getLastErrorDefaults"], config);
    if (asks_for_more_than_usual(defaults)) config.default_concern = defaults;
    const bson::Element id = given["replicaSetId"];
    if (id && id.type() != bson::Type::object_id) invalid("replicaSetId has to be an ObjectId");
    if (id) config.set_id = id.as_object_id();
    settings.append("getLastErrorModes", config.modes)
        .append("getLastErrorDefaults", defaults)
        .append("replicaSetId", config.set_id);
}

}  // namespace

std::string with_port(std::string_view host) {
    const size_t bracket = host.find(']');
    const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
    const std::string_view name = host.substr(0, colon);
    if (name.empty()) invalid("the host '{}' has no name", host);
    if (colon == std::string_view::npos) return fmt::format("{}:{}", host, kDefaultPort);
    const std::string_view port = host.substr(colon + 1);
    int64_t number = 0;
    for (const char digit : port) {
        if (digit < '0' || digit > '9' || number > kPortMax) invalid("'{}' is no port", port);
        number = number * 10 + (digit - '0');
    }
    if (number < 1 || number > kPortMax) invalid("'{}' is no port", port);
    return fmt::format("{}:{}", name, number);
}

Config Config::parse(bson::Doc given, const Expected& expected) {
    constexpr std::string_view kFields[] = {
        "_id",     "version",  "term",      "protocolVersion", "writeConcernMajorityJournalDefault",
        "members", "settings", "configsvr",
    };
    check_names(given, kFields, "the configuration of a replica set");
    Config config;
    config.set_name = text(given["_id"]);
    if (config.set_name != expected.set_name)
        invalid("the configuration is that of the set {}, and this server was started for {}",
                config.set_name, expected.set_name);
    if (const bson::Element version = given["version"])
        config.version = static_cast<int32_t>(whole(version, 1, kInt32Max));
    if (const bson::Element protocol = given["protocolVersion"])
        if (whole(protocol, 0, 1) == 0)
            invalid("protocolVersion: 0 is not supported: entries carry the term of protocol 1");
    if (const bson::Element term = given["term"])
        if (!term.is_number()) invalid("term has to be a number");
    refuse_unless(given["configsvr"], false, "there is no sharding");
    if (const bson::Element waits = given["writeConcernMajorityJournalDefault"])
        config.majority_waits_for_journal = boolean(waits);
    config.set_id = expected.set_id;

    bson::Builder out;
    out.append("_id", config.set_name)
        .append("version", config.version)
        .append("term", expected.term)
        .append("protocolVersion", int64_t{1})
        .append("writeConcernMajorityJournalDefault", config.majority_waits_for_journal);
    parse_members(given["members"], expected.elects, config, out);
    parse_settings(given["settings"], config, out);
    if (expected.elects && config.election_timeout_ms < kElectionTimeoutMin)
        invalid("electionTimeoutMillis is {}, but has to be at least {}",
                config.election_timeout_ms, kElectionTimeoutMin);
    config.document = out.object();
    return config;
}

int Config::votes() const {
    return static_cast<int>(std::ranges::count_if(members, &MemberConfig::has_vote));
}

int64_t Config::values_of_tag(std::string_view tag) const {
    std::set<std::string_view> values;
    for (const MemberConfig& member : members)
        if (const bson::Element value = member.tags[tag]) values.insert(value.as_string());
    return static_cast<int64_t>(values.size());
}

Config Config::with_version(int32_t other) const {
    Config changed = *this;
    bson::Builder out;
    for (const bson::Element& e : document.doc()) {
        if (e.name() == "version")
            out.append("version", other);
        else
            out.append(e);
    }
    changed.version = other;
    changed.document = out.object();
    return changed;
}

bson::Object Config::handed_to(size_t member) const {
    DCHECK(member != primary_index && !members[member].is_hidden);
    const auto append_member = [](bson::Doc stored, const MemberConfig& role, bson::Builder& out) {
        for (const bson::Element& e : stored) {
            if (e.name() == "priority")
                out.append("priority", role.priority);
            else if (e.name() == "votes")
                out.append("votes", int32_t{role.has_vote});
            else
                out.append(e);
        }
    };
    const Config next = with_version(version + 1);
    bson::Builder out;
    for (const bson::Element& e : next.document.doc()) {
        if (e.name() != "members") {
            out.append(e);
            continue;
        }
        bson::Builder list = out.sub_array("members");
        size_t at = 0;
        for (const bson::Element& each : e.as_doc()) {
            const size_t role = at == member ? primary_index : at == primary_index ? member : at;
            bson::Builder one = list.sub_object(each.name());
            append_member(each.as_doc(), members[role], one);
            ++at;
        }
    }
    return out.object();
}

bson::Object Config::of_one_member(std::string_view set_name, std::string_view host) {
    bson::Builder out;
    out.append("_id", set_name).append("version", int32_t{1});
    {
        bson::Builder list = out.sub_array("members");
        list.append("0", bson::make("_id", 0, "host", host));
    }
    return out.object();
}

}  // namespace replica
