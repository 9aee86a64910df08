// command/counters.h - what serverStatus and top count. All updates are cheap and from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

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
};

// Time and number of operations per collection, by kind.
class Top {
  public:
    enum class Kind { queries, getmore, insert, update, remove, commands };
    void record(std::string_view ns, Kind kind, bool write_locked, int64_t micros);
    void forget(std::string_view ns);
    // {note, "db.coll": {total, readLock, ...}}.
    void append_to(bson::Builder& out) const;

  private:
    struct Usage {
        int64_t time = 0;
        int64_t count = 0;
        void add(int64_t micros) {
            time += micros;
            ++count;
        }
    };
    struct Entry {
        Usage total, read_lock, write_lock;
        std::array<Usage, 6> kinds;
    };
    mutable std::mutex mutex_;
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace command
