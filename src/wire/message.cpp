#include "wire/message.h"

#include <atomic>
#include <cstring>

#include "base/crc32c.h"
#include "bson/validate.h"

namespace wire {

namespace {

using Reaction = DecodeError::Reaction;

constexpr size_t kNamespaceBytesMax = 127;

static_assert(kHeaderBytes == 4 * sizeof(int32_t));
static_assert(kMessageBytesMax > bson::kInternalBytesMax);
// The length of whatever is written fits its field.
static_assert(bson::Buffer::kBytesMax <= INT32_MAX);

// Codes of the old server for messages it cannot read.
enum DecodeCode : int {
    kRemainingDataTooSmall = 10304,
    kBadObject = 10307,
    kBadObjectSize = 10334,
    kNegativeCursorCount = 13004,
    kCursorsSizeMismatch = 13658,
    kNoCursors = 13659,
    kNumberTooShort = 18634,
    kMissingDb = 40571,
};

// Reads a body from front to back; every step checks that the bytes are there.
class Reader {
  public:
    // The reactions to a message that is no such message, to one with a document that cannot be
    // used, and to one that is nested too deeply.
    struct Reactions {
        Reaction broken, bad_document, too_deep;
    };

    Reader(std::span<const uint8_t> message, Reactions reactions)
        : at_(message.data() + kHeaderBytes),
          end_(message.data() + message.size()),
          reactions_(reactions) {
        DCHECK(message.size() >= kHeaderBytes);
    }

    [[noreturn]] void fail(int code, const std::string& text) const {
        throw DecodeError(reactions_.broken, code, text);
    }

    template <typename T>
    T number() {
        if (left() < sizeof(T)) fail(kNumberTooShort, "Not enough data to read a number");
        const T value = bson::load<T>(at_);
        at_ += sizeof(T);
        return value;
    }

    std::string_view cstring() {
        const void* nul = std::memchr(at_, 0, left());
        if (nul == nullptr) fail(kRemainingDataTooSmall, "Remaining data too small for a name");
        const auto* stop = static_cast<const uint8_t*>(nul);
        const std::string_view text(reinterpret_cast<const char*>(at_),
                                    static_cast<size_t>(stop - at_));
        at_ = stop + 1;
        return text;
    }

    bson::Doc document() {
        if (left() < 5) fail(kRemainingDataTooSmall, "Remaining data too small for BSON object");
        const auto size = bson::load<int32_t>(at_);
        if (size > bson::kInternalBytesMax && static_cast<size_t>(size) <= left()) {
            throw DecodeError(
                reactions_.bad_document, kBadObjectSize,
                fmt::format("BSONObj size: {} (0x{:X}) is invalid. Size must be between 0 and {}",
                            size, size, bson::kInternalBytesMax));
        }
        bson::Defect defect{};
        const std::string fault = bson::validate(at_, left(), &defect);
        if (defect == bson::Defect::too_deep) {
            throw DecodeError(
                reactions_.too_deep, base::kOverflow,
                fmt::format("BSON document is nested deeper than {} levels", bson::kDepthMax));
        }
        if (defect != bson::Defect::none)
            throw DecodeError(reactions_.bad_document, kBadObject,
                              "bad object in message: " + fault);
        DCHECK(size >= 5 && static_cast<size_t>(size) <= left());
        const bson::Doc doc(at_);
        at_ += size;
        return doc;
    }

    // Reads every document up to the end of what this reader may read.
    DocSequence documents() {
        const uint8_t* begin = at_;
        while (left() > 0)
            document();
        return {begin, at_};
    }

    // A reader for the next n bytes, which this one then skips.
    Reader sub(size_t n) {
        if (n > left()) fail(kRemainingDataTooSmall, "Remaining data too small for a section");
        Reader inner = *this;
        inner.end_ = at_ + n;
        at_ += n;
        return inner;
    }

    const uint8_t* bytes() const { return at_; }
    size_t left() const { return static_cast<size_t>(end_ - at_); }
    void drop_last(size_t n) {
        DCHECK(n <= left());
        end_ -= n;
    }

  private:
    const uint8_t* at_;
    const uint8_t* end_;
    Reactions reactions_;
};

Reader write_reader(std::span<const uint8_t> message) {
    return {message, {Reaction::last_error, Reaction::last_error, Reaction::last_error}};
}
Reader read_reader(std::span<const uint8_t> message) {
    return {message, {Reaction::close, Reaction::close, Reaction::query_failure}};
}

void take_checksum(std::span<const uint8_t> message, Reader& in) {
    constexpr size_t kBytes = sizeof(uint32_t);
    if (in.left() < kBytes) in.fail(base::kProtocolError, "OP_MSG has no room for its checksum");
    const size_t covered = message.size() - kBytes;
    if (bson::load<uint32_t>(message.data() + covered) != base::crc32c(message.data(), covered))
        in.fail(base::kProtocolError, "OP_MSG does not match its checksum");
    in.drop_last(kBytes);
}

void take_sequence(Reader& in, MsgMessage& out) {
    const auto size = in.number<int32_t>();
    if (size < 4) in.fail(kRemainingDataTooSmall, "OP_MSG section has an impossible size");
    Reader section = in.sub(static_cast<size_t>(size) - 4);
    MsgMessage::Sequence sequence;
    sequence.name = section.cstring();
    sequence.documents = section.documents();
    if (out.sequence(sequence.name) != nullptr)
        in.fail(40431, fmt::format("OP_MSG has two sections named '{}'", sequence.name));
    if (out.sequence_count == out.sequences.size())
        in.fail(base::kProtocolError, "OP_MSG has too many sections");
    out.sequences[out.sequence_count++] = sequence;
    DCHECK(section.left() == 0);
}

}  // namespace

Header read_header(const uint8_t* bytes) {
    Header header;
    header.length = bson::load<int32_t>(bytes);
    header.request_id = bson::load<int32_t>(bytes + 4);
    header.response_to = bson::load<int32_t>(bytes + 8);
    header.opcode = static_cast<Opcode>(bson::load<uint16_t>(bytes + 12));
    return header;
}

size_t DocSequence::count() const {
    size_t n = 0;
    for (auto it = begin(); it != end(); ++it)
        ++n;
    return n;
}

const DocSequence* MsgMessage::sequence(std::string_view name) const {
    for (size_t i = 0; i < sequence_count; ++i) {
        if (sequences[i].name == name) return &sequences[i].documents;
    }
    return nullptr;
}

QueryMessage decode_query(std::span<const uint8_t> message) {
    Reader in = read_reader(message);
    QueryMessage out;
    out.header = read_header(message.data());
    out.flags = in.number<int32_t>();
    out.ns = in.cstring();
    out.skip = in.number<int32_t>();
    out.to_return = in.number<int32_t>();
    out.query = in.document();
    out.has_fields = in.left() > 0;
    if (out.has_fields) out.fields = in.document();
    return out;
}

GetMoreMessage decode_get_more(std::span<const uint8_t> message) {
    Reader in = read_reader(message);
    GetMoreMessage out;
    out.header = read_header(message.data());
    in.number<int32_t>();
    out.ns = in.cstring();
    if (out.ns.size() > kNamespaceBytesMax) in.fail(16258, fmt::format("Invalid ns [{}]", out.ns));
    out.to_return = in.number<int32_t>();
    out.cursor_id = in.number<int64_t>();
    return out;
}

InsertMessage decode_insert(std::span<const uint8_t> message) {
    Reader in = write_reader(message);
    InsertMessage out;
    out.header = read_header(message.data());
    out.flags = in.number<int32_t>();
    out.ns = in.cstring();
    const uint8_t* begin = in.bytes();
    do
        in.document();
    while (in.left() > 0);
    out.documents = {begin, in.bytes()};
    DCHECK(!out.documents.empty());
    return out;
}

UpdateMessage decode_update(std::span<const uint8_t> message) {
    Reader in = write_reader(message);
    UpdateMessage out;
    out.header = read_header(message.data());
    in.number<int32_t>();
    out.ns = in.cstring();
    out.flags = in.number<int32_t>();
    out.selector = in.document();
    out.update = in.document();
    return out;
}

DeleteMessage decode_delete(std::span<const uint8_t> message) {
    Reader in = write_reader(message);
    DeleteMessage out;
    out.header = read_header(message.data());
    in.number<int32_t>();
    out.ns = in.cstring();
    out.flags = in.number<int32_t>();
    out.selector = in.document();
    return out;
}

KillCursorsMessage decode_kill_cursors(std::span<const uint8_t> message) {
    Reader in(message, {Reaction::ignore, Reaction::ignore, Reaction::ignore});
    KillCursorsMessage out;
    out.header = read_header(message.data());
    in.number<int32_t>();
    out.count = in.number<int32_t>();
    if (out.count == 0) in.fail(kNoCursors, "killCursors names no cursor");
    if (out.count < 0) in.fail(kNegativeCursorCount, "killCursors with a negative count");
    if (out.count >= KillCursorsMessage::kRefuseCount)
        in.fail(kNegativeCursorCount,
                fmt::format("killCursors of too many cursors: {}", out.count));
    if (in.left() != size_t{8} * static_cast<size_t>(out.count)) {
        in.fail(kCursorsSizeMismatch,
                fmt::format("killCursors of {} cursors has {} bytes of ids", out.count, in.left()));
    }
    out.ids = in.bytes();
    DCHECK(out.count > 0 && out.count < KillCursorsMessage::kRefuseCount);
    return out;
}

MsgMessage decode_msg(std::span<const uint8_t> message) {
    Reader in(message, {Reaction::msg_error, Reaction::msg_refused, Reaction::msg_refused});
    MsgMessage out;
    out.header = read_header(message.data());
    out.flags = in.number<uint32_t>();
    constexpr uint32_t kRequired = 0xffff;
    constexpr uint32_t kKnown = MsgMessage::kChecksumPresent | MsgMessage::kMoreToCome;
    if ((out.flags & kRequired & ~kKnown) != 0)
        in.fail(40429, fmt::format("OP_MSG has unknown flags 0x{:x}", out.flags));
    if ((out.flags & MsgMessage::kChecksumPresent) != 0) take_checksum(message, in);

    bool has_body = false;
    while (in.left() > 0) {
        const auto kind = in.number<uint8_t>();
        if (kind == 0) {
            if (has_body) in.fail(40430, "OP_MSG has two body sections");
            out.body = in.document();
            has_body = true;
        } else if (kind == 1) {
            take_sequence(in, out);
        } else {
            in.fail(40432, fmt::format("OP_MSG has a section of unknown kind {}", kind));
        }
    }
    if (!has_body) in.fail(40587, "OP_MSG has no body section");
    for (size_t i = 0; i < out.sequence_count; ++i) {
        if (out.body.has(out.sequences[i].name)) {
            in.fail(40433, fmt::format("OP_MSG has '{}' both in its body and as a section",
                                       out.sequences[i].name));
        }
    }
    const bson::Element db = out.body["$db"];
    if (!db.is_string()) in.fail(kMissingDb, "OP_MSG requests require a $db argument");
    out.db = db.as_string();
    return out;
}

std::string_view peek_ns(std::span<const uint8_t> message) {
    constexpr size_t kAt = kHeaderBytes + sizeof(int32_t);
    if (message.size() <= kAt) return {};
    const uint8_t* begin = message.data() + kAt;
    const void* nul = std::memchr(begin, 0, message.size() - kAt);
    if (nul == nullptr) return {};
    return {reinterpret_cast<const char*>(begin),
            static_cast<size_t>(static_cast<const uint8_t*>(nul) - begin)};
}

bool peek_more_to_come(std::span<const uint8_t> message) {
    if (message.size() < kHeaderBytes + sizeof(uint32_t)) return false;
    return (bson::load<uint32_t>(message.data() + kHeaderBytes) & MsgMessage::kMoreToCome) != 0;
}

int32_t next_request_id() {
    static std::atomic<uint32_t> next{1};
    return static_cast<int32_t>(next.fetch_add(1, std::memory_order_relaxed));
}

namespace {

// Appends a header whose length is stored by finish().
size_t begin_message(bson::Buffer& out, int32_t request_id, int32_t response_to, Opcode opcode) {
    const size_t start = out.size();
    const int32_t words[4] = {0, request_id, response_to, static_cast<int32_t>(opcode)};
    out.append(words, sizeof words);
    return start;
}

void end_message(bson::Buffer& out, size_t start) {
    DCHECK(start + kHeaderBytes <= out.size());
    DCHECK(bson::load<int32_t>(out.data() + start) == 0);  // only once
    out.store<int32_t>(start, static_cast<int32_t>(out.size() - start));
}

// Offsets in an OP_REPLY (wire spec 1.3).
constexpr size_t kReplyFlags = kHeaderBytes;
constexpr size_t kReplyCursor = kReplyFlags + 4;
constexpr size_t kReplyFrom = kReplyCursor + 8;
constexpr size_t kReplyCount = kReplyFrom + 4;
constexpr size_t kReplyDocuments = kReplyCount + 4;
static_assert(kReplyDocuments == 36);

}  // namespace

ReplyWriter::ReplyWriter(bson::Buffer& out, int32_t response_to)
    : out_(out), request_id_(next_request_id()) {
    start_ = begin_message(out, request_id_, response_to, Opcode::reply);
    out.extend(kReplyDocuments - kHeaderBytes);
}

void ReplyWriter::finish(int32_t flags, int64_t cursor_id, int32_t starting_from) {
    DCHECK(size() >= kReplyDocuments && count_ >= 0);
    out_.store(start_ + kReplyFlags, flags);
    out_.store(start_ + kReplyCursor, cursor_id);
    out_.store(start_ + kReplyFrom, starting_from);
    out_.store(start_ + kReplyCount, count_);
    end_message(out_, start_);
}

ReplyHead read_reply_head(const uint8_t* message) {
    DCHECK(read_header(message).opcode == Opcode::reply);
    return {read_header(message), bson::load<int32_t>(message + kReplyFlags),
            bson::load<int64_t>(message + kReplyCursor)};
}

void write_get_more(bson::Buffer& out, int32_t request_id, std::string_view ns, int32_t to_return,
                    int64_t cursor_id) {
    DCHECK(!ns.empty() && ns.find('\0') == std::string_view::npos);
    const size_t start = begin_message(out, request_id, 0, Opcode::get_more);
    out.append_value<int32_t>(0);
    out.append(ns.data(), ns.size());
    out.append_byte(0);
    out.append_value(to_return);
    out.append_value(cursor_id);
    end_message(out, start);
}

MsgWriter::MsgWriter(bson::Buffer& out, int32_t response_to, uint32_t flags)
    : out_(out), request_id_(next_request_id()) {
    start_ = begin_message(out, request_id_, response_to, Opcode::msg);
    out.append_value(flags);
    out.append_byte(0);  // kind: body
}

void MsgWriter::finish(uint32_t flags) {
    DCHECK(out_.size() > start_ + kBodyAt);
    if (flags != 0) out_.store<uint32_t>(start_ + kHeaderBytes, flags);
    end_message(out_, start_);
}

}  // namespace wire
