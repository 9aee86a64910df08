#include "oplog/transaction_entries.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "catalog/names.h"

namespace oplog {

namespace {

// An entry takes at most so much beside its documents and its name, with its number in the array.
constexpr int64_t kFieldBytes = 64;
constexpr int64_t kKeyBytes = 8;  // of an entry, in front of it in the list
constexpr std::string_view kApplyOps = "applyOps";

}  // namespace

void TransactionEntries::prepare(int64_t entry_bytes) {
    const int64_t more = entry_bytes + kFieldBytes;
    const int64_t all = bytes() + count_ * kKeyBytes + more;
    if (all > kBytesMax)
        base::fail(base::kTransactionTooLarge,
                   "the changes of one transaction may have {} bytes together; with this one they "
                   "would have {}",
                   kBytesMax, all);
    const size_t needed = entries_.size() + static_cast<size_t>(more);
    if (needed > entries_.capacity()) entries_.reserve(std::max(needed, 2 * entries_.capacity()));
}

void TransactionEntries::add(char op, std::string_view ns, bson::Doc o, const bson::Doc* o2) {
    bson::Builder entry(entries_);
    entry.append("op", std::string_view(&op, 1)).append("ns", ns);
    if (op == 'd') entry.append("b", true);
    if (o2 != nullptr) entry.append("o2", *o2);
    entry.append("o", o);
    ++count_;
}

bson::Object TransactionEntries::command() const {
    bson::Buffer buffer(entries_.size() + static_cast<size_t>(count_ * kKeyBytes + kFieldBytes));
    bson::Builder command(buffer);
    {
        bson::Builder list = command.sub_array(kApplyOps);
        const uint8_t* at = entries_.data();
        for (int64_t i = 0; i < count_; ++i) {
            const bson::Doc entry(at);
            list.push(entry);
            at += entry.size();
        }
        DCHECK(count_ == 0 || at == entries_.data() + entries_.size());
    }
    command.finish();
    return bson::Object(bson::Doc(buffer.data()));
}

bool is_unit(const EntryFields& entry) {
    if (entry.op != "c" || !entry.o.is_object()) return false;
    const bson::Element list = entry.o.as_doc().first();
    if (list.name() != kApplyOps || !list.is_array()) return false;
    for (const bson::Element& each : list.as_doc()) {
        if (!each.is_object()) return false;
        const EntryFields change(each.as_doc());
        const bool is_of_document = (change.op == "i" || change.op == "u" || change.op == "d") &&
                                    !change.ns.empty() && change.o.is_object();
        if (!is_of_document || catalog::is_catalogue(catalog::split(change.ns).collection))
            return false;
    }
    return true;
}

}  // namespace oplog
