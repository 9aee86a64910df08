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

void append_concern_error(int code, const char* text, bool timed_out, bson::Builder& out) {
    bson::Builder error = out.sub_object("writeConcernError");
    error.append("code", code)
        .append("codeName", base::code_name(code))
        .append("errmsg", std::string_view(text));
    if (timed_out) error.append("errInfo", bson::make("wtimeout", true));
}

}  // namespace command
