// wire/message.h - the messages of the protocol as bytes: what a request says, and how a reply is
// written (wire spec 1).
//
// Decoding copies nothing: every view points into the received bytes and lives as long as they do.
// A decode_*() function checks the whole body, documents included, before it returns; what it
// returns may be read in place. It throws DecodeError, which also says what the client gets.
// Writers build a reply where it is sent from, so a document is written once.
//
// Names of databases and collections are not judged here (except that a getMore of a name no
// collection can have closes the connection): peek_ns() lets the caller judge them first, as the
// old server did.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/builder.h"
#include "bson/view.h"

namespace wire {

constexpr int32_t kHeaderBytes = 16;
constexpr int32_t kMessageBytesMax = 48'000'000;

enum class Opcode : int32_t {
    reply = 1,
    update = 2001,
    insert = 2002,
    query = 2004,
    get_more = 2005,
    remove = 2006,
    kill_cursors = 2007,
    compressed = 2012,
    msg = 2013,
};

struct Header {
    int32_t length = 0;  // whole message, header included
    int32_t request_id = 0;
    int32_t response_to = 0;
    Opcode opcode{};  // the low 16 bits of the field: the old server examined no more
};
// `bytes` has at least kHeaderBytes bytes. Nothing is checked.
Header read_header(const uint8_t* bytes);

// The server's reaction to a message that cannot be decoded. OP_QUERY and OP_GET_MORE close the
// connection without a reply (as 2.6 does, whatever the fault), except nesting beyond the limit,
// which is answered.
class DecodeError : public base::Error {
  public:
    enum class Reaction {
        close,          // no reply; close
        query_failure,  // OP_REPLY with QueryFailure, { $err, code }; connection kept
        last_error,     // no reply; recorded for getLastError; connection kept
        ignore,         // no reply, not recorded (OP_KILL_CURSORS); log it
        msg_error,      // OP_MSG { ok: 0, errmsg, code }, then close
        msg_refused,    // OP_MSG { ok: 0, errmsg, code }; connection kept
    };
    DecodeError(Reaction reaction, int code, const std::string& text)
        : base::Error(code, text), reaction_(reaction) {}
    Reaction reaction() const { return reaction_; }

  private:
    Reaction reaction_;
};

// Documents one after the other; forward range of bson::Doc.
class DocSequence {
  public:
    DocSequence() = default;
    DocSequence(const uint8_t* begin, const uint8_t* end) : begin_(begin), end_(end) {}

    class iterator {
      public:
        using value_type = bson::Doc;
        using difference_type = std::ptrdiff_t;
        explicit iterator(const uint8_t* at) : at_(at) {}
        bson::Doc operator*() const { return bson::Doc(at_); }
        iterator& operator++() {
            at_ += bson::Doc(at_).size();
            return *this;
        }
        bool operator==(const iterator& other) const { return at_ == other.at_; }

      private:
        const uint8_t* at_;
    };
    // There must be one.
    bson::Doc first() const {
        DCHECK(!empty());
        return *begin();
    }
    iterator begin() const { return iterator(begin_); }
    iterator end() const { return iterator(end_); }
    bool empty() const { return begin_ == end_; }
    size_t bytes() const { return static_cast<size_t>(end_ - begin_); }
    size_t count() const;  // walks

  private:
    const uint8_t* begin_ = nullptr;
    const uint8_t* end_ = nullptr;
};

// Flags of OP_QUERY.
enum QueryFlag : int32_t {
    kTailable = 1 << 1,
    kSlaveOk = 1 << 2,
    kOplogReplay = 1 << 3,
    kNoCursorTimeout = 1 << 4,
    kAwaitData = 1 << 5,
    kExhaust = 1 << 6,
    kPartial = 1 << 7,
};

struct QueryMessage {
    Header header;
    int32_t flags = 0;
    std::string_view ns;
    int32_t skip = 0;
    int32_t to_return = 0;
    bson::Doc query;
    bool has_fields = false;
    bson::Doc fields;  // {} if absent
};

struct GetMoreMessage {
    Header header;
    std::string_view ns;
    int32_t to_return = 0;
    int64_t cursor_id = 0;
};

struct InsertMessage {
    static constexpr int32_t kContinueOnError = 1;
    Header header;
    int32_t flags = 0;
    std::string_view ns;
    DocSequence documents;  // at least one
};

struct UpdateMessage {
    static constexpr int32_t kUpsert = 1;
    static constexpr int32_t kMulti = 2;
    Header header;
    std::string_view ns;
    int32_t flags = 0;
    bson::Doc selector;
    bson::Doc update;
};

struct DeleteMessage {
    static constexpr int32_t kSingle = 1;
    Header header;
    std::string_view ns;
    int32_t flags = 0;
    bson::Doc selector;
};

struct KillCursorsMessage {
    static constexpr int32_t kWarnCount = 2000;     // more are done, with a warning in the log
    static constexpr int32_t kRefuseCount = 30000;  // so many are refused
    static_assert(kWarnCount < kRefuseCount);
    Header header;
    int32_t count = 0;
    const uint8_t* ids = nullptr;  // count x int64, unaligned
    int64_t id(int32_t i) const {
        DCHECK(i >= 0 && i < count);
        return bson::load<int64_t>(ids + size_t{8} * i);
    }
};

// OP_MSG (wire spec 1.4).
struct MsgMessage {
    static constexpr uint32_t kChecksumPresent = 1u << 0;
    static constexpr uint32_t kMoreToCome = 1u << 1;
    static constexpr uint32_t kExhaustAllowed = 1u << 16;
    struct Sequence {
        std::string_view name;
        DocSequence documents;
    };

    Header header;
    uint32_t flags = 0;
    bson::Doc body;
    std::string_view db;  // $db of the body
    std::array<Sequence, 4> sequences;
    size_t sequence_count = 0;

    bool more_to_come() const { return (flags & kMoreToCome) != 0; }
    // The client takes further replies, which it has not asked for.
    bool exhaust_allowed() const { return (flags & kExhaustAllowed) != 0; }
    // The documents moved out of the body under `name`; null if there are none.
    const DocSequence* sequence(std::string_view name) const;
};

// `message` is one whole message, header included, as Session::serve gets it.
QueryMessage decode_query(std::span<const uint8_t> message);
GetMoreMessage decode_get_more(std::span<const uint8_t> message);
InsertMessage decode_insert(std::span<const uint8_t> message);
UpdateMessage decode_update(std::span<const uint8_t> message);
DeleteMessage decode_delete(std::span<const uint8_t> message);
KillCursorsMessage decode_kill_cursors(std::span<const uint8_t> message);
MsgMessage decode_msg(std::span<const uint8_t> message);

// The name behind the first int32 of a body, where all old opcodes but OP_KILL_CURSORS have it;
// empty where it is missing or not terminated. Also for unknown opcodes, which the old server
// ignored when this name was no namespace, and closed the connection otherwise.
std::string_view peek_ns(std::span<const uint8_t> message);
// Whether an OP_MSG must not be answered, as far as that is known of a damaged one.
bool peek_more_to_come(std::span<const uint8_t> message);

// The server's own, increasing.
int32_t next_request_id();

// Writes one OP_REPLY at the end of a buffer: documents are appended between construction and
// finish().
class ReplyWriter {
  public:
    enum Flag : int32_t {
        kCursorNotFound = 1,
        kQueryFailure = 2,
        kAwaitCapable = 8,  // set on every successful reply
    };
    // The place of the first document in the message.
    static constexpr size_t kFirstAt = kHeaderBytes + 20;
    ReplyWriter(bson::Buffer& out, int32_t response_to);

    // Opens the next document; finish it before anything else is written.
    [[nodiscard]] bson::Builder document() {
        ++count_;
        return bson::Builder(out_);
    }
    void append(bson::Doc doc) {
        ++count_;
        out_.append(doc.data(), static_cast<size_t>(doc.size()));
    }
    // Counts a document that the caller appends to the buffer itself.
    void next_document() { ++count_; }
    int32_t count() const { return count_; }
    // Bytes of this message so far.
    size_t size() const { return out_.size() - start_; }
    int32_t request_id() const { return request_id_; }
    // `starting_from`: documents this cursor has returned before.
    void finish(int32_t flags, int64_t cursor_id, int32_t starting_from);

  private:
    bson::Buffer& out_;
    size_t start_;
    int32_t request_id_;
    int32_t count_ = 0;
};

// The fixed part of an OP_REPLY that this server wrote.
struct ReplyHead {
    Header header;
    int32_t flags = 0;
    int64_t cursor_id = 0;
};
ReplyHead read_reply_head(const uint8_t* message);

// Appends a whole OP_GET_MORE.
void write_get_more(bson::Buffer& out, int32_t request_id, std::string_view ns, int32_t to_return,
                    int64_t cursor_id);

// Writes one OP_MSG with a single body section at the end of a buffer.
class MsgWriter {
  public:
    // The place of the body in the message: behind the flags and the kind of the section.
    static constexpr size_t kBodyAt = kHeaderBytes + sizeof(uint32_t) + 1;
    MsgWriter(bson::Buffer& out, int32_t response_to, uint32_t flags = 0);

    // Opens the body, exactly once.
    [[nodiscard]] bson::Builder body() { return bson::Builder(out_); }
    int32_t request_id() const { return request_id_; }
    // `flags`: of MsgMessage, in place of those that the writer began with; 0: these.
    void finish(uint32_t flags = 0);

  private:
    bson::Buffer& out_;
    size_t start_;
    int32_t request_id_;
};

}  // namespace wire
