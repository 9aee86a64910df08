// command/streams/resume_token.h - the place of an event in a change stream, which a client gives
// back to go on behind it: {_data: "82..."}.
//
// Its hexadecimal digits are, in this order: 82, the `ts` of the entry, its term, the number of the
// event among those of the entry, and the kind. The number has four digits; the entry of a
// transaction may tell of more events: from FFFF on eight digits follow these four. Programs order
// tokens by their text, and some read the time behind the 82.
#pragma once

#include <cstdint>

#include "bson/builder.h"
#include "bson/view.h"
#include "oplog/entry.h"

namespace command {

struct ResumeToken {
    enum class Kind : uint8_t {
        event = 0,
        invalidate = 1,  // an event after which the stream ends
        scanned = 2,     // behind all events of the entry
    };

    oplog::Position position;
    uint32_t number = 0;
    Kind kind = Kind::scanned;
    bool operator==(const ResumeToken&) const = default;

    // Behind all entries up to that time, whether there is one of it or not.
    static ResumeToken behind_time(uint64_t ts) { return {.position = {.term = 0, .ts = ts}}; }
    bool is_time() const { return position.term == 0; }

    // Throws base::Error 14, 40649, 260 for what no stream of this server has given.
    static ResumeToken parse(const bson::Element& given);
    static ResumeToken parse(bson::Doc given);
    void append_to(bson::Builder& out, std::string_view field) const;
    bson::Object object() const;
    // Whether that event of the same entry comes behind this.
    bool is_before(uint32_t other) const { return kind != Kind::scanned && number < other; }

  private:
    class Text;
};

}  // namespace command
