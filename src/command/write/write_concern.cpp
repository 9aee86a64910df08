#include "command/write/write_concern.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "replica/config.h"

namespace command {

WriteConcern WriteConcern::parse(bson::Doc options) {
    WriteConcern concern;
    concern.journal = options["j"].truthy();
    concern.fsync = options["fsync"].truthy();
    if (concern.journal && concern.fsync)
        base::fail(base::kFailedToParse, "fsync and j options cannot be used together");
    const bson::Element w = options["w"];
    if (w.is_number()) {
        concern.w = w.to_int32();
    } else if (w.is_string()) {
        concern.mode = w.as_string();
    } else if (w && w.type() != bson::Type::null && w.type() != bson::Type::undefined) {
        base::fail(base::kFailedToParse, "w has to be a number or a string");
    }
    concern.wtimeout_ms = options["wtimeout"].to_int64();
    return concern;
}

void WriteConcern::check(bool journaling, bool in_set) const {
    if (journal && !journaling)
        base::fail(base::kBadValue,
                   "cannot use 'j' option when a host does not have journaling enabled");
    if (in_set) return;
    if (mode.empty() && w > 1)
        base::fail(base::kBadValue, "cannot use 'w' > 1 when a host is not replicated");
    if (!mode.empty() && mode != "majority")
        base::fail(base::kBadValue,
                   "cannot use non-majority 'w' mode {} when a host is not a member of a replica "
                   "set",
                   mode);
}

std::optional<base::Error> WriteConcern::refusal_by(const replica::Config& config) const {
    if (asks_for_one_member()) return {};
    const auto members = static_cast<int64_t>(config.members.size());
    const base::Error too_few(base::kUnsatisfiableWriteConcern, "Not enough data-bearing nodes");
    const base::Error not_yet(
        base::kUnsatisfiableWriteConcern,
        "the write is done here, but waiting for other members is not supported yet: give w: 1");
    if (mode.empty()) return w > members ? too_few : not_yet;
    if (mode == "majority") {
        if (config.majority() == 1) return {};
        return base::Error(
            base::kUnsatisfiableWriteConcern,
            "the write is done here, but waiting for other members is not supported yet: give w: "
            "1, or configure all members but the primary with votes: 0, which makes the primary "
            "the majority");
    }
    const bson::Element tags = config.modes[mode];
    if (tags.missing())
        return base::Error(
            base::kUnknownReplWriteConcern,
            fmt::format("No write concern mode named '{}' found in replica set configuration",
                        mode));
    std::optional<base::Error> refusal;
    for (const bson::Element& tag : tags.as_doc()) {
        std::set<std::string_view> values;
        for (const replica::MemberConfig& member : config.members)
            if (const bson::Element value = member.tags[tag.name()])
                values.insert(value.as_string());
        if (tag.to_int64() > static_cast<int64_t>(values.size())) return too_few;
        if (tag.to_int64() > (config.primary().tags[tag.name()] ? 1 : 0)) refusal = not_yet;
    }
    return refusal;
}

}  // namespace command
