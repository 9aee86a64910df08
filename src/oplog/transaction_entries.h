// oplog/transaction_entries.h - what a transaction over several requests (storage/transaction.h)
// changes, as entries without a place. Its commit writes them as one entry:
//
//   {ts, t, h, v, op: "c", ns: "admin.$cmd", o: {applyOps: [{op, ns, o, o2, b}, ...]}, wall,
//    lsid, txnNumber, stmtId: 0}
//
// Who applies it applies all of them, or none.
#pragma once

#include <cstdint>
#include <string_view>

#include "bson/builder.h"
#include "oplog/entry.h"

namespace oplog {

class TransactionEntries {
  public:
    // One document of any size may be in them; what is around them in the log has the rest.
    static constexpr int64_t kBytesMax = bson::kInternalBytesMax - 1024;

    TransactionEntries() = default;
    TransactionEntries(const TransactionEntries&) = delete;
    TransactionEntries& operator=(const TransactionEntries&) = delete;

    // Before a change whose entry has so many bytes beside its fields' names: makes room for it, so
    // that add() takes no memory. Throws base::Error 257 if all entries together would have more
    // than kBytesMax.
    void prepare(int64_t entry_bytes);
    void add(char op, std::string_view ns, bson::Doc o, const bson::Doc* o2);
    bool empty() const { return count_ == 0; }
    int64_t count() const { return count_; }
    int64_t bytes() const { return static_cast<int64_t>(entries_.size()); }
    // {applyOps: [...]}
    bson::Object command() const;

  private:
    bson::Buffer entries_;  // one after the other
    int64_t count_ = 0;
};

// Whether an entry of a log is one of a transaction, or of an applyOps that was one, and its
// changes are of documents alone.
bool is_unit(const EntryFields& entry);

// Calls `visit` with the fields of the entry, or of each change where it is a unit.
template <typename Visit>
void for_each_change(const EntryFields& entry, const Visit& visit) {
    if (!is_unit(entry)) return visit(entry);
    for (const bson::Element& each : entry.o.as_doc().first().as_doc())
        visit(EntryFields(each.as_doc()));
}

}  // namespace oplog
