#include "command/write/write_concern.h"

#include "base/error.h"
#include "replica/member.h"

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

WriteConcern WriteConcern::of_set(const replica::Member& member) {
    const std::shared_ptr<const replica::Config> config = member.config();
    return config == nullptr ? WriteConcern() : parse(config->default_concern);
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

}  // namespace command
