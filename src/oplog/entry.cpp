#include "oplog/entry.h"

#include <algorithm>
#include <cstring>

#include "base/dcheck.h"
#include "base/error.h"
#include "catalog/uuid.h"

namespace oplog {

namespace {

constexpr int32_t kVersion = 2;

}  // namespace

namespace {

// Returns that of a collection which the entry makes; none: it has none, or makes none.
bson::Element uuid_of_new(const Entry& entry) {
    if (entry.op != 'c' || entry.o.first().name() != "create") return {};
    const bson::Element uuid = entry.o[catalog::kUuidOption];
    return catalog::is_uuid_option(uuid) ? uuid : bson::Element();
}

}  // namespace

bson::Doc write_entry(const Entry& entry, Form form, bson::Buffer& out) {
    DCHECK(out.size() == 0);
    bson::Builder b(out);
    b.append_timestamp("ts", entry.ts);
    if (form == Form::replica_set)
        b.append("t", entry.term).append("h", entry.hash).append("v", kVersion);
    b.append("op", std::string_view(&entry.op, 1)).append("ns", entry.ns);
    const bson::Element uuid = uuid_of_new(entry);
    if (uuid) b.append_as("ui", uuid);
    if (entry.op == 'd') b.append("b", true);
    if (entry.o2 != nullptr) b.append("o2", *entry.o2);
    if (uuid)
        b.append("o", catalog::without_uuid(entry.o));
    else
        b.append("o", entry.o);
    if (form == Form::replica_set) b.append_date("wall", entry.wall_ms);
    if (entry.turn != nullptr) {
        b.append_all(entry.turn->fields()).append("stmtId", entry.statement);
        DCHECK(b.size() < static_cast<size_t>(entry.o.size() + kEntryBytes + kStatementBytes) +
                              entry.ns.size() +
                              static_cast<size_t>(entry.o2 == nullptr ? 0 : entry.o2->size()));
    }
    return b.doc();
}

// Both stand at the same place in each entry: behind the length, `ts`, then `t`, each with a byte
// for its type and the zero behind its name.
void set_place(bson::Buffer& entry, Form form, uint64_t ts, int64_t hash) {
    constexpr size_t kTs = 4 + 1 + 3, kTerm = kTs + 8 + 1 + 2, kHash = kTerm + 8 + 1 + 2;
    std::memcpy(entry.data() + kTs, &ts, sizeof ts);
    if (form == Form::replica_set) std::memcpy(entry.data() + kHash, &hash, sizeof hash);
    DCHECK(bson::Doc(entry.data())["ts"].as_timestamp() == ts);
    DCHECK(form == Form::master || bson::Doc(entry.data())["h"].as_int64() == hash);
}

EntryFields::EntryFields(bson::Doc all) : entry(all) {
    const auto text = [](const bson::Element& e) {
        return e.is_string() ? e.as_string() : std::string_view();
    };
    for (const uint8_t* p = all.data() + 4; *p != 0;) {
        const bson::Element e(p);
        const std::string_view name = e.name();
        if (name == "o")
            o = e;
        else if (name == "t")
            position.term = e.to_int64();
        else if (name == "ts")
            position.ts = e.type() == bson::Type::timestamp ? e.as_timestamp() : 0;
        else if (name == "op")
            op = text(e);
        else if (name == "ns")
            ns = text(e);
        else if (name == "o2")
            o2 = e;
        else if (name == "ui")
            uuid = e;
        else if (name == "wall")
            wall = e;
        else if (name == "lsid")
            lsid = e;
        else if (name == "txnNumber")
            txn_number = e;
        p += e.size();
    }
}

void append_position(bson::Builder& out, const char* name, Position position) {
    bson::Builder b = out.sub_object(name);
    b.append_timestamp("ts", position.ts).append("t", position.term);
}

Position read_position(const bson::Element& e) {
    const bson::Element ts = e.is_object() ? e.as_doc()["ts"] : bson::Element();
    if (ts.type() != bson::Type::timestamp)
        base::fail(base::kTypeMismatch, "{} has to be the place of an entry", e.name());
    return {e.as_doc()["t"].to_int64(), ts.as_timestamp()};
}

bool comes_directly_after(int64_t hash, bson::Doc entry) {
    const int64_t of_lowest_id = next_hash(hash, entry["ts"].as_timestamp(), 0);
    const uint64_t id =
        static_cast<uint64_t>(entry["h"].to_int64()) - static_cast<uint64_t>(of_lowest_id);
    return id <= static_cast<uint64_t>(kMemberIdMax);
}

std::optional<StatementId> statement_of(bson::Doc entry) {
    const bson::Element session = entry["lsid"];
    if (!session.is_object()) return std::nullopt;
    StatementId found;
    const auto read = [&session](const char* field, std::span<uint8_t> out) {
        const bson::Element e = session.as_doc()[field];
        if (e.type() != bson::Type::binary || e.binary_data().size() != out.size()) return false;
        std::ranges::copy(e.binary_data(), out.begin());
        return true;
    };
    const bson::Element statement = entry["stmtId"];
    const bson::Element number = entry["txnNumber"];
    if (!number.is_number() || !statement.is_number() || !read("id", found.session.id) ||
        !read("uid", found.session.user))
        return std::nullopt;
    found.txn_number = number.to_int64();
    found.statement = static_cast<int32_t>(statement.to_int64());
    return found;
}

}  // namespace oplog
