// oplog/entry.h - one entry of the log of a master, as servers of 2.6 write and read it:
//
//   {ts: Timestamp, op: "i", ns: "db.coll", o: document}               a document came
//   {ts, op: "i", ns: "db.system.indexes", o: definition}              an index came
//   {ts, op: "u", ns, o2: {_id}, o: document or {$set, $unset}}        a document changed
//   {ts, op: "d", ns, b: true, o: {_id}}                               a document went
//   {ts, op: "c", ns: "db.$cmd", o: command}                           the rest
//   {ts, op: "n", ns: "", o: {}}                                       nothing: the log begins
//
// `ts` rises from entry to entry: seconds since 1970 << 32 | a number that begins with 1 in each.
#pragma once

#include <cstdint>
#include <string_view>

#include "bson/builder.h"

namespace oplog {

// What an entry needs beside its documents and the name.
constexpr int32_t kEntryBytes = 100;

struct Entry {
    uint64_t ts = 0;
    char op = 'n';
    std::string_view ns;
    bson::Doc o;
    const bson::Doc* o2 = nullptr;  // of an update: which document
};

// Writes it at the end of an empty buffer.
bson::Doc write_entry(const Entry& entry, bson::Buffer& out);

// What comes after `last`, at a time in seconds since 1970; a clock that goes back changes nothing.
constexpr uint64_t next_ts(uint64_t last, int64_t now_seconds) {
    const uint64_t first_of_now = static_cast<uint64_t>(now_seconds) << 32 | 1;
    return last < first_of_now ? first_of_now : last + 1;
}

}  // namespace oplog
