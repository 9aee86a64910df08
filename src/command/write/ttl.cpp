#include "command/write/ttl.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "command/context/operation_context.h"
#include "command/write/write_ops.h"
#include "sched/interruption.h"

namespace command {

namespace {

struct Expiry {
    std::string ns;
    std::string field;
    int64_t seconds = 0;
    bson::Object filter;  // of a partial index: the others stay
};

// Whether it is an index on one field, that holds values (not hashes), with a number of seconds
// from 0 on: what is none was taken for 0, and with one below 0 documents would go before their
// time, by which everything would go at once.
bool is_ttl(const catalog::Index& index) {
    const bson::Element seconds = index.spec["expireAfterSeconds"];
    return index.ready && index.store != nullptr && !index.generator->hashed() &&
           seconds.is_number() && seconds.to_double() >= 0 && index.key_pattern.field_count() == 1;
}

bson::Object filter_of(const catalog::Index& index) {
    const query::Matcher* filter = index.generator->filter();
    return filter == nullptr ? bson::Object() : bson::Object(filter->filter());
}

// Returns the filter of the documents that expire.
bson::Object condition_of(const Expiry& expiry, int64_t before) {
    bson::Builder condition;
    condition.append_date("$lt", before);
    bson::Object old = bson::make(expiry.field, condition.object());
    if (expiry.filter.empty()) return old;
    bson::Builder out;
    {
        bson::Builder both = out.sub_array("$and");
        both.append("0", old).append("1", expiry.filter);
    }
    return out.object();
}

void collect(OperationContexts& contexts, const std::string& name, std::vector<Expiry>& found) {
    const storage::DatabaseLock lock(contexts.locks(), name, false);
    catalog::Database* db = contexts.catalog().database(name);
    if (db == nullptr) return;
    for (const std::string& ns : db->all_namespaces()) {
        for (const auto& index : db->collection(ns)->indexes()) {
            if (is_ttl(*index))
                found.push_back({ns, std::string(index->key_pattern.first().name()),
                                 index->spec["expireAfterSeconds"].to_int64(), filter_of(*index)});
        }
    }
}

std::vector<Expiry> collect(OperationContexts& contexts) {
    std::vector<Expiry> found;
    for (const std::string& name : contexts.catalog().database_names()) {
        try {
            collect(contexts, name, found);
        } catch (const base::Error& error) {
            // A damaged one must not keep the documents of others for ever.
            if (sched::is_interruption(error)) throw;
            base::log::error("TTL deletion on database {} failed: {}", name, error.what());
        }
    }
    return found;
}

}  // namespace

int64_t delete_expired(OperationContexts& contexts) {
    contexts.metrics().ttl_passes.fetch_add(1, std::memory_order_relaxed);
    int64_t removed = 0;
    BackgroundOperation work(contexts, "TTLMonitor");
    for (const Expiry& expiry : collect(contexts)) {
        DCHECK(expiry.seconds >= 0);
        // No date is as old as what has no milliseconds; wrapped around, every date would be.
        int64_t ms = 0;
        int64_t before = 0;
        if (__builtin_mul_overflow(expiry.seconds, int64_t{1000}, &ms) ||
            __builtin_sub_overflow(base::ms_since_1970(), ms, &before))
            continue;
        const bson::Object filter = condition_of(expiry, before);
        work.next("remove", expiry.ns, filter);
        try {
            removed += delete_documents(work, expiry.ns, filter, {}, false);
        } catch (const std::exception& e) {
            base::log::error("TTL deletion on {} failed: {}", expiry.ns, e.what());
        }
    }
    contexts.metrics().ttl_deleted.fetch_add(removed, std::memory_order_relaxed);
    return removed;
}

}  // namespace command
