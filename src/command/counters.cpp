#include "command/counters.h"

namespace command {

void OpCounters::append_to(bson::Builder& out) const {
    out.append("insert", static_cast<int32_t>(insert.load()))
        .append("query", static_cast<int32_t>(query.load()))
        .append("update", static_cast<int32_t>(update.load()))
        .append("delete", static_cast<int32_t>(remove.load()))
        .append("getmore", static_cast<int32_t>(getmore.load()))
        .append("command", static_cast<int32_t>(command.load()));
}

void Top::record(std::string_view ns, Kind kind, bool write_locked, int64_t micros) {
    const std::lock_guard guard(mutex_);
    auto found = entries_.find(ns);
    if (found == entries_.end()) found = entries_.emplace(ns, Entry()).first;
    Entry& entry = found->second;
    entry.total.add(micros);
    (write_locked ? entry.write_lock : entry.read_lock).add(micros);
    entry.kinds[static_cast<size_t>(kind)].add(micros);
}

void Top::forget(std::string_view ns) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(ns);
    if (found != entries_.end()) entries_.erase(found);
}

void Top::append_to(bson::Builder& out) const {
    constexpr const char* kNames[] = {"queries", "getmore", "insert",
                                      "update",  "remove",  "commands"};
    const auto append = [](bson::Builder& entry, const char* name, const Usage& usage) {
        bson::Builder sub = entry.sub_object(name);
        sub.append("time", usage.time).append("count", usage.count);
    };
    const std::lock_guard guard(mutex_);
    out.append("note", "all times in microseconds");
    for (const auto& [ns, usage] : entries_) {
        bson::Builder entry = out.sub_object(ns);
        append(entry, "total", usage.total);
        append(entry, "readLock", usage.read_lock);
        append(entry, "writeLock", usage.write_lock);
        for (size_t i = 0; i < usage.kinds.size(); ++i)
            append(entry, kNames[i], usage.kinds[i]);
    }
}

}  // namespace command
