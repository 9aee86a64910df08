#include "command/commands/write_history.h"

#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/context/locks.h"
#include "command/cursor/query_cursors.h"
#include "oplog/log.h"
#include "query/plan/executor.h"

namespace command {

namespace {

constexpr int kAnotherWrite = 40638;

[[noreturn]] void fail_another(char op) {
    base::fail(kAnotherWrite,
               "the write is not compatible with the one that was sent by its txnNumber before, "
               "which has an entry of kind '{}' in the log",
               op);
}

bson::Object id_of(bson::Doc doc) {
    bson::Builder id;
    id.append_as("", doc["_id"]);
    return id.object();
}

}  // namespace

bool is_done(oplog::Retries::Turn* turn, int32_t statement, char op) {
    DCHECK(statement >= 0 && (op == 'i' || op == 'd'));
    if (turn == nullptr) return false;
    const oplog::Done* const done = turn->answered(statement);
    if (done != nullptr && done->op != op) fail_another(done->op);
    return done != nullptr;
}

void WriteHistory::fail_gone() {
    base::fail(base::kIncompleteTransactionHistory,
               "the write has been done, but its entry is not in {} any more, which would tell "
               "what came of it",
               oplog::kSetLog);
}

// Calls `visit` with the entries of the turn, by statement, until it wants no more.
template <typename Visit>
void WriteHistory::each_entry(uint64_t from, Visit&& visit) {
    bson::Builder filter;
    filter.sub_object("ts").append_timestamp("$gte", from);
    const bson::Object wanted = filter.object();
    query::FindQuery query;
    query::FindQuery::Parts parts;
    parts.filter = wanted;
    query.canonicalise(parts);
    query.oplog_replay = true;
    CollectionLock lock(client_, oplog::kSetLog, storage::Access::read);
    const auto executor =
        query::make_executor(lock.collection(), std::move(query), execution_options(), &lock);
    query::Row row;
    while (executor->next(&row)) {
        const std::optional<oplog::StatementId> id = oplog::statement_of(row.doc);
        if (id && id->session == turn_->session() && id->txn_number == turn_->txn_number() &&
            !visit(id->statement, row.doc))
            return;
        executor->maybe_yield();
    }
}

// Reads the _ids that every statement has upserted: the client sends all of them again.
void WriteHistory::read_upserts() {
    size_t wanted = 0;
    uint64_t from = std::numeric_limits<uint64_t>::max();
    for (const oplog::Done& done : turn_->all_done()) {
        if (done.op != 'i') continue;
        DCHECK(done.first <= done.last);
        wanted += static_cast<size_t>(done.last - done.first) + 1;
        from = std::min(from, done.ts);
    }
    DCHECK(wanted != 0);
    each_entry(from, [&](int32_t statement, bson::Doc entry) {
        if (entry["op"].as_string() == "i")
            upserted_.emplace(statement, id_of(entry["o"].as_doc()));
        return upserted_.size() < wanted;
    });
    DCHECK(upserted_.size() <= wanted);
}

std::optional<UpdateOutcome> WriteHistory::update(int32_t statement) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::none);
    const oplog::Done* const done = turn_ == nullptr ? nullptr : turn_->answered(statement);
    if (done == nullptr) return std::nullopt;
    UpdateOutcome outcome;
    if (done->op == 'u') {
        outcome.matched = outcome.modified = 1;
        return outcome;
    }
    if (done->op != 'i') fail_another(done->op);
    if (!has_read_) read_upserts();
    has_read_ = true;
    const auto found = upserted_.find(statement);
    if (found == upserted_.end()) fail_gone();
    outcome.upserted = found->second;
    return outcome;
}

std::optional<WriteHistory::Found> WriteHistory::find_and_modify() {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::none);
    const oplog::Done* const done = turn_ == nullptr ? nullptr : turn_->answered(0);
    if (done == nullptr) return std::nullopt;
    Found found;
    bool has_first = false;
    bool has_change = false;
    each_entry(done->ts, [&](int32_t, bson::Doc entry) {
        has_first |= entry["ts"].as_timestamp() == done->ts;
        const bson::Doc o = entry["o"].as_doc();
        if (entry["op"].as_string() == "n") {
            found.shown = bson::Object(o);
            found.has_shown = true;
            return true;
        }
        has_change = true;
        if (done->op == 'i') found.upserted = id_of(o);
        return false;
    });
    if (!has_first || !has_change) fail_gone();
    found.op = done->op;
    return found;
}

}  // namespace command
