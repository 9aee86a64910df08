// command/report/member_report.h - what hello and serverStatus say of a member of a replica set.
#pragma once

#include "bson/builder.h"
#include "oplog/entry.h"
#include "replica/member.h"

namespace command {

// setName, hosts, primary ..., with `primary_field` as isMaster and hello call it.
void append_role(const replica::Member& member, const char* primary_field, bson::Builder& out);

// The time of a `ts`, in milliseconds since 1970.
constexpr int64_t ms_of(uint64_t ts) {
    return static_cast<int64_t>(ts >> 32) * 1000;
}

}  // namespace command
