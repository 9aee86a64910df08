#include "oplog/entry.h"

#include "base/dcheck.h"

namespace oplog {

namespace {

constexpr int32_t kVersion = 2;

}  // namespace

bson::Doc write_entry(const Entry& entry, Form form, bson::Buffer& out) {
    DCHECK(out.size() == 0);
    bson::Builder b(out);
    b.append_timestamp("ts", entry.ts);
    if (form == Form::replica_set)
        b.append("t", entry.term).append("h", entry.hash).append("v", kVersion);
    b.append("op", std::string_view(&entry.op, 1)).append("ns", entry.ns);
    if (entry.op == 'd') b.append("b", true);
    if (entry.o2 != nullptr) b.append("o2", *entry.o2);
    b.append("o", entry.o);
    return b.doc();
}

}  // namespace oplog
