// command/observe/counters.h - what serverStatus and top count. Any thread may update them, at
// little cost.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/dcheck.h"
#include "bson/builder.h"

namespace command {

struct OpCounters {
    std::atomic<int64_t> insert{0}, query{0}, update{0}, remove{0}, getmore{0}, command{0};
    void append_to(bson::Builder& out) const;
};

struct Asserts {
    std::atomic<int64_t> regular{0}, warning{0}, msg{0}, user{0}, rollovers{0};
};

struct Metrics {
    std::atomic<int64_t> deleted{0}, inserted{0}, returned{0}, updated{0};
    std::atomic<int64_t> fastmod{0}, idhack{0}, scan_and_order{0};
    std::atomic<int64_t> scanned{0}, scanned_objects{0};
    std::atomic<int64_t> moves{0};
    std::atomic<int64_t> ttl_deleted{0}, ttl_passes{0};
    // Waits of writes for members of the set, those among them that ended by their time.
    std::atomic<int64_t> write_waits{0}, write_waits_ms{0}, write_timeouts{0};
};

// Time and number of operations per collection, by kind. Every request touches only the counters of
// a Usage; the mutex guards only the finding of entries, which sessions remember.
class Top {
  public:
    enum class Kind { queries, getmore, insert, update, remove, commands };

    struct Usage {
        std::atomic<int64_t> time{0};  // microseconds
        std::atomic<int64_t> count{0};
        void add(int64_t micros) {
            time.fetch_add(micros, std::memory_order_relaxed);
            count.fetch_add(1, std::memory_order_relaxed);
        }
    };

    // Metrics read at one time; several threads may be adding to them.
    struct Sum {
        int64_t time = 0;  // microseconds
        int64_t count = 0;

        Sum() = default;
        explicit Sum(const Usage& usage)
            : time(usage.time.load(std::memory_order_relaxed)),
              count(usage.count.load(std::memory_order_relaxed)) {}
        Sum& operator+=(const Sum& other) {
            time += other.time;
            count += other.count;
            return *this;
        }
    };

    // The metrics of one collection. Shared with the sessions that remember it: what is added to
    // one that was forgotten is not reported.
    class Entry {
      public:
        explicit Entry(std::string_view ns) : ns_(ns) {}
        const std::string& ns() const { return ns_; }
        void record(Kind kind, bool write_locked, int64_t micros) {
            DCHECK(static_cast<size_t>(kind) < kinds_.size());
            DCHECK(micros >= 0);
            kinds_[static_cast<size_t>(kind)].add(micros);
            if (write_locked) write_locked_.add(micros);
        }

      private:
        friend class Top;
        const std::string ns_;
        std::atomic<bool> forgotten_{false};
        std::array<Usage, 6> kinds_;
        Usage write_locked_;  // those of kinds_ that held a write lock
    };

    // The entry that one session counts for, so that it need not look for it again. It has no lock:
    // one thread uses it.
    class Recent {
      public:
        Entry& find(Top& top, std::string_view ns) {
            auto& known = entries_[std::hash<std::string_view>()(ns) % entries_.size()];
            if (known == nullptr || known->forgotten_.load(std::memory_order_relaxed) ||
                known->ns() != ns)
                known = top.entry(ns);
            DCHECK(known->ns() == ns || known == top.others_);
            return *known;
        }

      private:
        std::array<std::shared_ptr<Entry>, 4> entries_;  // by the name's hash
    };

    // Beyond kEntriesMax collections, which may not even be there, new ones share an entry that is
    // not shown; so do those whose names are too long for any collection.
    static constexpr size_t kEntriesMax = 50'000;
    static constexpr size_t kNameBytesMax = 128;
    std::shared_ptr<Entry> entry(std::string_view ns);
    void forget(std::string_view ns);
    // {note, "db.coll": {total, readLock, ...}}.
    void append_to(bson::Builder& out) const;
    // latencyStats of $collStats: {reads: {latency, ops}, writes, commands}.
    void append_latency(std::string_view ns, bson::Builder& out) const;
    // opLatencies of serverStatus: the same of all collections, those that are gone included.
    void append_latencies(bson::Builder& out) const;

  private:
    struct Latencies {
        Sum reads, writes, commands;
        void add(const Entry& entry);
        void append_to(bson::Builder& out) const;
    };

    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries_;  // guarded by mutex_
    const std::shared_ptr<Entry> others_ = std::make_shared<Entry>("");
    Latencies of_forgotten_;  // guarded by mutex_
};

}  // namespace command
