#include "oplog/replay.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <system_error>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/types.h"
#include "bson/validate.h"
#include "oplog/log.h"
#include "query/value/date_text.h"

namespace oplog {

namespace {

constexpr int32_t kEntryBytesMin = 5;
constexpr int32_t kEntryBytesMax = 64 << 20;  // above what any server writes

bson::Object last_entry(catalog::Catalog& catalog) {
    const storage::DatabaseLock lock(catalog.engine().locks(), "local", false);
    catalog::Collection* const log = catalog.collection(kSetLog);
    if (log != nullptr) {
        const auto cursor = log->records().cursor(storage::Direction::backward);
        if (const auto record = cursor->next()) return bson::Object(record->doc);
    }
    base::fail(base::kIllegalOperation,
               "there is no {}, or nothing in it: only the copy of a set's member has an end from "
               "which a log goes on",
               kSetLog);
}

int64_t wall_of(bson::Doc entry) {
    constexpr int64_t kMillis = 1000;
    const bson::Element wall = entry["wall"];
    return wall.type() == bson::Type::date
               ? wall.as_date()
               : static_cast<int64_t>(entry["ts"].as_timestamp() >> 32) * kMillis;
}

bool is_behind(bson::Doc entry, const ReplayEnd& end) {
    return entry["ts"].as_timestamp() > end.ts || wall_of(entry) > end.wall_ms;
}

bool is_at(bson::Doc entry, const ReplayEnd& end) {
    return entry["ts"].as_timestamp() == end.ts || wall_of(entry) == end.wall_ms;
}

}  // namespace

ReplayEnd read_replay_end(const std::string& text) {
    uint32_t seconds = 0;
    uint32_t increment = 0;
    const char* const last = text.data() + text.size();
    const auto [colon, error] = std::from_chars(text.data(), last, seconds);
    if (error == std::errc() && colon != last && *colon == ':') {
        const auto [end, failed] = std::from_chars(colon + 1, last, increment);
        if (failed == std::errc() && end == last)
            return {.ts = uint64_t{seconds} << 32 | increment};
    }
    return {.wall_ms = query::parse_date(text, nullptr)};
}

std::string text_of(uint64_t ts) {
    return fmt::format("{}:{}", ts >> 32, ts & 0xffffffff);
}

void Replay::find_begin() {
    const bson::Object own = last_entry(catalog_);
    const uint64_t wanted = position_of(own).ts;
    if (is_behind(own, end_))
        base::fail(base::kIllegalOperation,
                   "the copy ends with {}, behind the time that is wanted: take an earlier one",
                   text_of(wanted));
    std::optional<bson::Doc> entry = next();
    if (!entry)
        base::fail(base::kIllegalOperation, "the log has no entry; the end of the copy is {}",
                   text_of(wanted));
    if (last_.ts > wanted)
        base::fail(base::kIllegalOperation,
                   "the log does not reach back to the end of the copy, {}: it begins with {}",
                   text_of(wanted), text_of(last_.ts));
    while (entry && last_.ts < wanted)
        entry = next();
    if (!entry)
        base::fail(base::kIllegalOperation, "the log ends with {}, before the end of the copy, {}",
                   text_of(last_.ts), text_of(wanted));
    if (last_ != position_of(own) || (*entry)["h"].to_int64() != own["h"].to_int64())
        base::fail(base::kIllegalOperation,
                   "the log does not have the entry at the end of the copy, {}: it is of another "
                   "set, or the histories have parted",
                   text_of(wanted));
    is_at_end_ = is_at(own, end_);
}

void Replay::play(const std::function<void()>& before_each) {
    DCHECK(last_.ts != 0);
    for (;;) {
        const Position before = last_;
        const std::optional<bson::Doc> entry = next();
        if (!entry) break;
        if (is_behind(*entry, end_)) {
            last_ = before;
            return;
        }
        before_each();
        try {
            applier_.apply(*entry, Manner::exact);
        } catch (const base::Error& error) {
            throw base::Error(error.code(), fmt::format("the entry {} cannot be applied: {}",
                                                        text_of(last_.ts), error.what()));
        }
        ++applied_;
        is_at_end_ = is_at(*entry, end_);
    }
    if (!is_at_end_ && end_ != ReplayEnd())
        base::fail(
            base::kIllegalOperation,
            "the log ends with {}, before the time that is wanted; an idle primary writes an "
            "entry each ten seconds",
            text_of(last_.ts));
}

// Returns the next entry, valid until the next call; nothing at the end of the file.
std::optional<bson::Doc> Replay::next() {
    int32_t bytes = 0;
    entry_.resize(sizeof(bytes));
    entries_.read(reinterpret_cast<char*>(entry_.data()), sizeof(bytes));
    if (entries_.gcount() == 0 && entries_.eof()) return std::nullopt;
    if (entries_.gcount() == sizeof(bytes)) std::memcpy(&bytes, entry_.data(), sizeof(bytes));
    if (bytes < kEntryBytesMin || bytes > kEntryBytesMax)
        base::fail(base::kBadValue, "behind {} the file has no entry of a log", text_of(last_.ts));
    entry_.resize(static_cast<size_t>(bytes));
    entries_.read(reinterpret_cast<char*>(entry_.data()) + sizeof(bytes),
                  bytes - static_cast<int32_t>(sizeof(bytes)));
    if (entries_.gcount() != bytes - static_cast<int32_t>(sizeof(bytes)))
        base::fail(base::kBadValue, "the file ends within the entry behind {}", text_of(last_.ts));
    const std::string fault = bson::validate(entry_.data(), entry_.size());
    const bson::Doc entry(entry_.data());
    if (!fault.empty() || entry["ts"].type() != bson::Type::timestamp)
        base::fail(base::kBadValue, "the entry behind {} is damaged: {}", text_of(last_.ts),
                   fault.empty() ? "it has no ts" : fault);
    const Position position = position_of(entry);
    if (position <= last_)
        base::fail(base::kIllegalOperation, "the log is out of order: {} stands behind {}",
                   text_of(position.ts), text_of(last_.ts));
    last_ = position;
    return entry;
}

}  // namespace oplog
