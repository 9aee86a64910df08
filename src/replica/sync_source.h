// replica/sync_source.h - the primary, as a member that follows it reads it. It may be the primary
// no more, and what its directory has an older copy.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "oplog/entry.h"

namespace replica {
struct Reached;
}

namespace replica {

// Each call throws base::Error where it cannot be read, also at the end of this server. One thread
// makes them.
class SyncSource {
  public:
    virtual ~SyncSource() = default;
    virtual const std::string& host() const = 0;  // "name:port"

    // The entry of its log that was inserted first, and the one that was inserted last; empty: it
    // has none.
    virtual bson::Object oldest_entry() = 0;
    virtual bson::Object newest_entry() = 0;
    // Begins to read the log, with the first entry whose `ts` is not below this one.
    virtual void read_log(uint64_t from) = 0;
    // The next ones, an array, valid until the next call; all of them are durable there. Empty:
    // there was none for a while.
    virtual bson::Doc next_entries() = 0;

    // The term whose primary it is at the time of the call; 0: it is none.
    virtual int64_t term_led() = 0;
    // How often it has taken entries back. What was read at two times is of one history where that
    // has not changed.
    virtual int32_t rollbacks() = 0;

    // What it said with these of which entries no election loses; zeros: nothing.
    virtual oplog::Position committed() const = 0;

    // Tells it what this member has, which writes there may wait for. No answer is waited for.
    virtual void report(const Reached& reached) = 0;

    virtual std::vector<std::string> databases() = 0;
    // Reads the documents of a collection in their natural order and passes them on by arrays, at
    // least one. `visit` may ask for the newest entry.
    virtual void read(std::string_view ns, const std::function<void(bson::Doc batch)>& visit) = 0;
    // The first document that has the fields of `which`; empty: there is none.
    virtual bson::Object find(std::string_view ns, bson::Doc which) = 0;
};

}  // namespace replica
