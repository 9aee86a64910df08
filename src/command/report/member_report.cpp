#include "command/report/member_report.h"

#include "base/dcheck.h"

namespace command {

namespace {

// Appends the members that can be the primary, or those that cannot. Clients do not hear of hidden
// ones.
void append_hosts(const replica::Config& config, const char* name, bool electable,
                  bson::Builder& out) {
    bson::Builder list = out.sub_array(name);
    for (const replica::MemberConfig& member : config.members)
        if (!member.is_hidden && (member.priority > 0) == electable) list.push(member.host);
}

}  // namespace

void append_role(const replica::Member& member, const char* primary_field, bson::Builder& out) {
    const std::shared_ptr<const replica::Config> config = member.config();
    if (config == nullptr) {
        out.append(primary_field, false)
            .append("secondary", false)
            .append("info", "Does not have a valid replica set config")
            .append("isreplicaset", true);
        return;
    }
    const replica::MemberConfig& own = config->own();
    DCHECK(!own.is_hidden || own.priority == 0);
    out.append("setName", config->set_name)
        .append("setVersion", config->version)
        .append(primary_field, member.role().takes_writes())
        .append("secondary", member.role().state() == replica::State::secondary);
    append_hosts(*config, "hosts", true, out);
    if (config->members.size() > 1) append_hosts(*config, "passives", false, out);
    if (const std::string primary = member.primary_host(); !primary.empty())
        out.append("primary", primary);
    out.append("me", own.host);
    if (own.priority == 0) out.append("passive", true);
    if (own.is_hidden) out.append("hidden", true);
    if (!own.tags.empty()) out.append("tags", own.tags);
    if (member.role().takes_writes()) out.append("electionId", member.election_id());
    const oplog::Position last = member.last();
    bson::Builder write = out.sub_object("lastWrite");
    oplog::append_position(write, "opTime", last);
    write.append_date("lastWriteDate", ms_of(last.ts));
}

}  // namespace command
