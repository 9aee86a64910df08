#include "command/observe/counters.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/utf8.h"

namespace command {

void OpCounters::append_to(bson::Builder& out) const {
    out.append_number("insert", insert.load())
        .append_number("query", query.load())
        .append_number("update", update.load())
        .append_number("delete", remove.load())
        .append_number("getmore", getmore.load())
        .append_number("command", command.load());
}

std::shared_ptr<Top::Entry> Top::entry(std::string_view ns) {
    if (ns.size() > kNameBytesMax) return others_;
    const std::lock_guard guard(mutex_);
    auto found = entries_.find(ns);
    if (found == entries_.end() && entries_.size() >= kEntriesMax) return others_;
    if (found == entries_.end()) found = entries_.emplace(ns, std::make_shared<Entry>(ns)).first;
    DCHECK(entries_.size() <= kEntriesMax);
    return found->second;
}

void Top::forget(std::string_view ns) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(ns);
    if (found == entries_.end()) return;
    found->second->forgotten_.store(true, std::memory_order_relaxed);
    of_forgotten_.add(*found->second);
    entries_.erase(found);
}

void Top::append_to(bson::Builder& out) const {
    constexpr const char* kNames[] = {"queries", "getmore", "insert",
                                      "update",  "remove",  "commands"};
    const auto append = [](bson::Builder& entry, const char* name, const Sum& sum) {
        bson::Builder sub = entry.sub_object(name);
        sub.append("time", sum.time).append("count", sum.count);
    };
    const std::lock_guard guard(mutex_);
    out.append("note", "all times in microseconds");
    for (const auto& [ns, usage] : entries_) {
        std::array<Sum, 6> kinds;
        std::ranges::transform(usage->kinds_, kinds.begin(),
                               [](const Usage& kind) { return Sum(kind); });
        Sum total;
        for (const Sum& kind : kinds)
            total += kind;
        const Sum written(usage->write_locked_);
        Sum read;
        read.time = std::max<int64_t>(total.time - written.time, 0);
        read.count = std::max<int64_t>(total.count - written.count, 0);
        bson::Builder entry = out.sub_object(base::as_utf8(ns));
        append(entry, "total", total);
        append(entry, "readLock", read);
        append(entry, "writeLock", written);
        for (size_t i = 0; i < kinds.size(); ++i)
            append(entry, kNames[i], kinds[i]);
    }
}

void Top::Latencies::add(const Entry& entry) {
    const auto of = [&](Kind kind) { return Sum(entry.kinds_[static_cast<size_t>(kind)]); };
    for (const Kind kind : {Kind::queries, Kind::getmore})
        reads += of(kind);
    for (const Kind kind : {Kind::insert, Kind::update, Kind::remove})
        writes += of(kind);
    commands += of(Kind::commands);
}

void Top::Latencies::append_to(bson::Builder& out) const {
    const auto append = [&out](const char* name, const Sum& sum) {
        bson::Builder sub = out.sub_object(name);
        sub.append("latency", sum.time).append("ops", sum.count);
    };
    append("reads", reads);
    append("writes", writes);
    append("commands", commands);
}

void Top::append_latency(std::string_view ns, bson::Builder& out) const {
    Latencies latencies;
    {
        const std::lock_guard guard(mutex_);
        if (const auto found = entries_.find(ns); found != entries_.end())
            latencies.add(*found->second);
    }
    latencies.append_to(out);
}

void Top::append_latencies(bson::Builder& out) const {
    Latencies all;
    {
        const std::lock_guard guard(mutex_);
        all = of_forgotten_;
        for (const auto& [ns, entry] : entries_)
            all.add(*entry);
    }
    all.add(*others_);
    all.append_to(out);
}

}  // namespace command
