#include "command/request/members_awaited.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/request/invocation.h"
#include "dialect/requests.h"
#include "replica/member.h"

namespace command {

bool asks_for_members(const Invocation& invocation, const WriteConcern& concern) {
    if (concern.asks_for_one_member()) return false;
    const replica::Member* const member = invocation.service.context().member;
    if (member == nullptr || invocation.db == "local") return false;
    const std::shared_ptr<const replica::Config> config = member->config();
    return config != nullptr && !concern.need().is_met_by_primary(*config);
}

MembersAwaited members_of(const Invocation& invocation, const WriteConcern& concern,
                          MembersAwaited::Of of, oplog::Position position) {
    DCHECK(!concern.asks_for_one_member() && invocation.service.context().member != nullptr);
    MembersAwaited awaited{.of = of,
                           .position = position,
                           .need = concern.need(),
                           .limit_ms = concern.wtimeout_ms,
                           .is_numbered = invocation.txn_number.has_value()};
    const replica::Member& member = *invocation.service.context().member;
    if (member.elections() != nullptr) {
        // An election loses no entry of this term that is in the journals of a majority.
        awaited.need.durable |= awaited.need.mode == "majority";
        awaited.position = std::max(awaited.position, member.first_of_term());
    }
    const std::shared_ptr<const replica::Config> config = member.needed_config();
    const std::optional<base::Error> refusal = awaited.need.refusal_by(*config);
    if (!refusal) return awaited;
    const bool waits = !invocation.dialect().has(dialect::kTooManyMembersFail) &&
                       concern.wtimeout_ms > 0 &&
                       refusal->code() == base::kUnsatisfiableWriteConcern;
    if (!waits) throw *refusal;
    return awaited;
}

void check_read_level(const Invocation& invocation) {
    const replica::Member* const member = invocation.service.context().member;
    DCHECK(member != nullptr && invocation.read_level != ReadLevel::local);
    const bool is_linearizable = invocation.read_level == ReadLevel::linearizable;
    const std::string_view level = is_linearizable ? "linearizable" : "majority";
    constexpr std::string_view kReads[] = {"aggregate", "count", "distinct", "explain", "find"};
    if (std::ranges::find(kReads, invocation.name) == std::end(kReads))
        base::fail(base::kInvalidOptions, "Command {} does not support readConcern level '{}'",
                   invocation.name, level);
    if (!member->has_journal())
        base::fail(base::kReadConcernMajorityNotEnabled,
                   "readConcern level '{}' needs a journal: start this member without --nojournal",
                   level);
    if (is_linearizable && !member->role().takes_writes())
        base::fail(base::kNotWritablePrimary,
                   "readConcern level 'linearizable' is for the primary, which this member is not");
}

MembersAwaited members_of_read(const Invocation& invocation, int64_t cursor) {
    replica::Member& member = *invocation.service.context().member;
    const bool is_noted =
        invocation.read_level == ReadLevel::linearizable && member.needed_config()->majority() > 1;
    WriteConcern majority{.mode = "majority", .journal = true};
    MembersAwaited awaited = members_of(invocation, majority, MembersAwaited::Of::read,
                                        is_noted ? member.note_read() : member.last_settled());
    awaited.cursor = cursor;
    awaited.rollbacks = invocation.rollbacks;
    return awaited;
}

void append_concern_error(int code, const char* text, bool timed_out, bson::Builder& out) {
    bson::Builder error = out.sub_object("writeConcernError");
    error.append("code", code)
        .append("codeName", base::code_name(code))
        .append("errmsg", std::string_view(text));
    if (timed_out) error.append("errInfo", bson::make("wtimeout", true));
}

}  // namespace command
