// command/streams/stream_request.h - what the stage $changeStream asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "command/streams/resume_token.h"

namespace command {

// Throws base::Error of that code with the label that says that no token helps the client.
[[noreturn]] void fail_for_good(int code, std::string_view text);

struct StreamRequest {
    enum class Scope : uint8_t { collection, database, cluster };

    Scope scope = Scope::collection;
    std::string db;
    std::string collection;  // of that scope
    bool looks_up = false;   // an update shows the document as it is when it is read
    std::optional<ResumeToken> after;
    std::optional<uint64_t> start_at;  // `ts` of the first entry

    // "db.coll"
    std::string ns() const { return db + "." + collection; }
};

// Reads the value of the stage. `collection` empty: of the whole database. Throws base::Error: what
// today's servers refuse, and by name what this one does not do.
StreamRequest read_stream_request(const bson::Element& spec, std::string_view db,
                                  std::string_view collection);
// Checks the stages of the pipeline behind it. Throws base::Error 20 for one that would not give
// events one by one.
void check_stream_stages(bson::Doc stages);

}  // namespace command
