#include "replica/remote_sync_source.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "catalog/names.h"
#include "oplog/entry.h"
#include "oplog/log.h"

namespace replica {

namespace {

using namespace std::chrono_literals;

constexpr auto kConnectLimit = 5s;
constexpr auto kAnswerLimit = 60s;  // of a primary that is busy
constexpr int kDocumentsMany = 1'000'000;
constexpr auto kAwait = 1s;  // for new entries, until the configuration is looked at

bson::Object find_in(std::string_view ns) {
    return bson::make("find", catalog::split(ns).collection);
}

}  // namespace

RemoteSyncSource::RemoteSyncSource(std::string_view host, const Member& member,
                                   const peer::Interrupt& interrupt, const peer::Identity& identity)
    : member_(member),
      data_(host, interrupt, kConnectLimit, identity),
      log_(host, interrupt, kConnectLimit, identity) {
    is_journaling_ = data_.run("admin", bson::make("serverStatus", 1), kAnswerLimit).has("dur");
}

bson::Object RemoteSyncSource::end_of_log(int direction) {
    bson::Builder command;
    command.append_all(find_in(oplog::kSetLog));
    command.append("sort", bson::make("$natural", direction)).append("limit", 1);
    command.append("singleBatch", true);
    // While documents are visited the other connection holds them.
    const peer::Cursor cursor(is_visiting_ ? log_ : data_, "local", command.doc(), kAnswerLimit);
    const bson::Element first = cursor.batch().first();
    return first ? bson::Object(first.as_doc()) : bson::Object();
}

void RemoteSyncSource::read_log(uint64_t from) {
    from_ = from;
    DCHECK(!is_visiting_);
    entries_.reset();
    bson::Builder range;
    range.append_timestamp("$gte", from);
    bson::Builder command;
    command.append_all(find_in(oplog::kSetLog));
    command.append("filter", bson::make("ts", range.object()))
        .append("tailable", true)
        .append("awaitData", true)
        .append("oplogReplay", true);
    entries_.emplace(log_, "local", command.doc(), kAnswerLimit);
    is_first_batch_ = true;
}

// The primary may lose what it has not committed: then this member would have entries that the
// primary has not, and could follow it no longer. Later batches are sent when they are committed.
void RemoteSyncSource::await_commit() {
    if (!is_journaling_) return;
    data_.run("admin", bson::make("getLastError", 1, "j", true), kAnswerLimit);
}

bson::Doc RemoteSyncSource::next_entries() {
    DCHECK(entries_.has_value());
    if (std::exchange(is_first_batch_, false)) {
        if (!entries_->batch().empty()) await_commit();
        return entries_->batch();
    }
    if (!entries_->is_open())
        base::fail(base::kCursorNotFound, "the cursor on the log of {} has ended", host());
    bson::Builder more;
    more.append("durable", true);
    oplog::append_position(more, "committed", member_.progress().committed());
    entries_->fetch(kAwait, more.doc());
    // A member of an earlier version does not say it.
    if (const bson::Element said = entries_->reply()["committed"])
        committed_ = oplog::read_position(said);
    return entries_->batch();
}

int64_t RemoteSyncSource::term_led() {
    const bson::Doc status = data_.run("admin", bson::make("replSetGetStatus", 1), kAnswerLimit);
    const bool leads = status["myState"].to_int64() == static_cast<int>(State::primary);
    return leads ? status["term"].to_int64() : 0;
}

int32_t RemoteSyncSource::rollbacks() {
    return data_.run("admin", bson::make("replSetGetRBID", 1), kAnswerLimit)["rbid"].to_int32();
}

void RemoteSyncSource::report(const Reached& reached) {
    log_.tell("admin", member_.report(reached), kAnswerLimit);
}

std::vector<std::string> RemoteSyncSource::databases() {
    std::vector<std::string> names;
    const bson::Doc answer = data_.run("admin", bson::make("listDatabases", 1), kAnswerLimit);
    for (const bson::Element& each : answer["databases"].as_doc())
        names.emplace_back(each.as_doc()["name"].as_string());
    return names;
}

void RemoteSyncSource::read(std::string_view ns,
                            const std::function<void(bson::Doc batch)>& visit) {
    bson::Builder command;
    command.append_all(find_in(ns));
    // The batch is as large as an answer may be: what one request reads does not change during it.
    command.append("batchSize", kDocumentsMany);
    peer::Cursor cursor(data_, catalog::split(ns).db, command.doc(), kAnswerLimit);
    for (;;) {
        is_visiting_ = true;
        visit(cursor.batch());
        is_visiting_ = false;
        if (!cursor.is_open()) return;
        cursor.fetch();
    }
}

bson::Object RemoteSyncSource::find(std::string_view ns, bson::Doc which) {
    bson::Builder exactly;
    for (const bson::Element& e : which) {
        // $eq takes the value as it is, also a document that looks like an operator.
        bson::Builder equal = exactly.sub_object(e.name());
        equal.append_as("$eq", e);
    }
    bson::Builder command;
    command.append_all(find_in(ns));
    command.append("filter", exactly.object()).append("limit", 1).append("singleBatch", true);
    const peer::Cursor cursor(data_, catalog::split(ns).db, command.doc(), kAnswerLimit);
    const bson::Element first = cursor.batch().first();
    return first ? bson::Object(first.as_doc()) : bson::Object();
}

}  // namespace replica
