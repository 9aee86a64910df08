#include "command/commands/member_report.h"

namespace command {

void append_position(bson::Builder& out, const char* name, oplog::Position position) {
    bson::Builder b = out.sub_object(name);
    b.append_timestamp("ts", position.ts).append("t", position.term);
}

void append_role(const replica::Member& member, const char* primary_field, bson::Builder& out) {
    const std::shared_ptr<const replica::Config> config = member.config();
    if (config == nullptr) {
        out.append(primary_field, false)
            .append("secondary", false)
            .append("info", "Does not have a valid replica set config")
            .append("isreplicaset", true);
        return;
    }
    out.append("setName", config->set_name)
        .append("setVersion", config->version)
        .append(primary_field, true)
        .append("secondary", false);
    {
        bson::Builder hosts = out.sub_array("hosts");
        hosts.push(config->host);
    }
    out.append("primary", config->host).append("me", config->host);
    if (!config->tags.empty()) out.append("tags", config->tags);
    out.append("electionId", member.election_id());
    const oplog::Position last = member.last();
    bson::Builder write = out.sub_object("lastWrite");
    append_position(write, "opTime", last);
    write.append_date("lastWriteDate", ms_of(last.ts));
}

}  // namespace command
