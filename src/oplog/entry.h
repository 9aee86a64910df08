// oplog/entry.h - one entry of a log of writes, as servers of 2.6 write and read it:
//
//   {ts: Timestamp, op: "i", ns: "db.coll", o: document}               a document came
//   {ts, op: "i", ns: "db.system.indexes", o: definition}              an index came
//   {ts, op: "u", ns, o2: {_id}, o: document or {$set, $unset}}        a document changed; $push
//                                                 with $each: [] and $slice has cut an array
//   {ts, op: "d", ns, b: true, o: {_id}}                               a document went
//   {ts, op: "c", ns: "db.$cmd", o: command}                           the rest; the drop of a
//                                                 database has o2: {collections: [name, ...]}
//   {ts, op: "n", ns: "", o: {}}                                       nothing: the log begins
//
// The command that makes a collection with a UUID has it as `ui` beside it, where servers of today
// have it.
//
// `ts` rises from entry to entry: seconds since 1970 << 32 | a number that begins with 1 in each.
// In the log of a replica set three fields follow it: `t`, the term of the primary that wrote the
// entry, which readers of 2.6 pass over; `h`, which tells two histories apart; and `v`, which is 2.
// A fourth is the last field but for those of a statement: `wall`, the clock of that primary.
//
// If the client may send the write again, three more stand at the end, as later servers have them:
// `lsid` and `txnNumber`, its session and the number that the write has there, and `stmtId`, which
// one of its statements it is (oplog/retries.h). An `n` with these, whose `o` is what findAndModify
// has shown, stands before the entry of the change:
//
//   {ts, t, h, v, op: "n", ns: "db.coll", o: shown, lsid: {id, uid}, txnNumber, stmtId}
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "bson/builder.h"
#include "oplog/retries.h"

namespace oplog {

// The bytes that an entry needs beside its documents and the name, and those that the fields of a
// statement add.
constexpr int32_t kEntryBytes = 100;
constexpr int32_t kStatementBytes = 120;

enum class Form : uint8_t { master, replica_set };

// The place of an entry in the history of a set. The entry of a later term is the later one,
// whatever the clocks of the two primaries said.
struct Position {
    int64_t term = 0;
    uint64_t ts = 0;  // 0: there is no entry
    auto operator<=>(const Position&) const = default;
};

struct Entry {
    uint64_t ts = 0;
    char op = 'n';
    std::string_view ns;
    bson::Doc o;
    const bson::Doc* o2 = nullptr;  // of an update: which document
    int64_t term = 0;               // of a set's log, as what follows
    int64_t hash = 0;
    int64_t wall_ms = 0;                  // since 1970
    const Retries::Turn* turn = nullptr;  // null: of no statement
    int32_t statement = 0;
};

// Writes it at the end of an empty buffer.
bson::Doc write_entry(const Entry& entry, Form form, bson::Buffer& out);

// Puts another place into an entry that write_entry() has written: its `ts` and, in a set's log,
// its `h`.
void set_place(bson::Buffer& entry, Form form, uint64_t ts, int64_t hash);

// Returns the statement that an entry belongs to; nothing: it belongs to none.
std::optional<StatementId> statement_of(bson::Doc entry);

// Returns the position of an entry that has a `ts`.
inline Position position_of(bson::Doc entry) {
    return {entry["t"].to_int64(), entry["ts"].as_timestamp()};
}

// The fields of an entry, found in one walk; one that is not there is missing, as text empty. They
// point into the entry.
struct EntryFields {
    EntryFields() = default;
    explicit EntryFields(bson::Doc entry);

    bson::Doc entry;
    Position position;
    std::string_view op, ns;
    bson::Element o, o2, uuid, wall, lsid, txn_number;
};

// How members tell each other of one: {ts, t}. Reading throws base::Error 14 for anything else.
void append_position(bson::Builder& out, const char* name, Position position);
Position read_position(const bson::Element& e);

// Returns the `ts` that comes after `last`, at a time in seconds since 1970; a clock that goes back
// changes nothing.
constexpr uint64_t next_ts(uint64_t last, int64_t now_seconds) {
    const uint64_t first_of_now = static_cast<uint64_t>(now_seconds) << 32 | 1;
    return last < first_of_now ? first_of_now : last + 1;
}

// `h` of the entry that a member writes after one with `last`.
constexpr int64_t next_hash(int64_t last, uint64_t ts, int32_t member) {
    const uint64_t sum = static_cast<uint64_t>(last) * 131 + ts;
    return static_cast<int64_t>(sum * 17 + static_cast<uint64_t>(member));
}

// The `_id` of members goes from 0 to this.
constexpr int32_t kMemberIdMax = 255;

// Whether a member of the set has written the entry directly after one with that `h`.
bool comes_directly_after(int64_t hash, bson::Doc entry);

}  // namespace oplog
