// command/streams/change_events.h - the events that an entry of the log is for a change stream.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "command/streams/resume_token.h"
#include "command/streams/stream_request.h"
#include "oplog/entry.h"

namespace command {

// One event. Its views point into the entry.
struct ChangeEvent {
    bson::Doc change;  // the entry, or that one of the changes of a transaction
    std::string_view operation;
    std::string_view db;
    std::string_view collection;
    std::string_view to_db = {};  // of a rename
    std::string_view to_collection = {};
    ResumeToken token = {};
    bool ends_stream = false;
};

class ChangeEvents {
  public:
    // Gives the document that {_id: ...} names in a collection; false: there is none.
    using LookUp = std::function<bool(std::string_view ns, bson::Doc key, bson::Buffer& out)>;

    explicit ChangeEvents(const StreamRequest& request) : request_(request) {}

    // Whether it may have events; cheap.
    bool may_concern(const oplog::EntryFields& entry) const;
    // Adds the events of an entry that the request asks for, in their order.
    void add(const oplog::EntryFields& entry, std::vector<ChangeEvent>& found) const;
    // Writes one of them. An update is given its document by `look_up`.
    static void write(const ChangeEvent& event, const oplog::EntryFields& entry,
                      const LookUp* look_up, bson::Buffer& out);

  private:
    bool concerns(const ChangeEvent& event) const;
    bool ends_with(const ChangeEvent& event) const;

    const StreamRequest& request_;
};

}  // namespace command
