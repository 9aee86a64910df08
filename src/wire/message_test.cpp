#include "wire/message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>

#include "base/crc32c.h"
#include "wire/testing/messages.h"

namespace wire {
namespace {

using bson::make;
using bson::Object;
using test::Bytes;
using test::Request;
using Reaction = DecodeError::Reaction;

// Returns the code of decoding: -1 for "fine"; the reaction goes to *reaction.
template <typename Decode>
int code_of(Decode decode, const Bytes& bytes, Reaction* reaction) {
    // A copy whose end is the end of an allocation, so that the sanitizer sees a read behind it.
    const std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), copy.get());
    try {
        decode(std::span<const uint8_t>(copy.get(), bytes.size()));
    } catch (const DecodeError& error) {
        *reaction = error.reaction();
        return error.code();
    }
    return -1;
}

template <typename Decode>
void expect_fault(Decode decode, const Bytes& bytes, Reaction reaction, int code) {
    Reaction seen{};
    EXPECT_EQ(code_of(decode, bytes, &seen), code);
    EXPECT_EQ(static_cast<int>(seen), static_cast<int>(reaction));
}

Bytes garbage_document() {
    return {12, 0, 0, 0, 0x33, 'a', 0, 0, 0, 0, 0, 0};
}

// A conversation's ping as an old driver sends it, byte for byte.
TEST(Message, DecodesAQueryFromBytes) {
    const Bytes bytes = {
        54,   0,    0,    0,   0x65, 0,   0,   0,    0,   0,   0,   0,   0xd4, 0x07, 0, 0, 4, 0,
        0,    0,    'a',  'd', 'm',  'i', 'n', '.',  '$', 'c', 'm', 'd', 0,    0,    0, 0, 0, 0xff,
        0xff, 0xff, 0xff, 15,  0,    0,   0,   0x10, 'p', 'i', 'n', 'g', 0,    1,    0, 0, 0, 0};
    const QueryMessage q = decode_query(bytes);
    EXPECT_EQ(q.header.length, 54);
    EXPECT_EQ(q.header.request_id, 0x65);
    EXPECT_EQ(q.header.response_to, 0);
    EXPECT_EQ(q.header.opcode, Opcode::query);
    EXPECT_EQ(q.flags, kSlaveOk);
    EXPECT_EQ(q.ns, "admin.$cmd");
    EXPECT_EQ(q.skip, 0);
    EXPECT_EQ(q.to_return, -1);
    EXPECT_EQ(q.query["ping"].as_int32(), 1);
    EXPECT_FALSE(q.has_fields);
    EXPECT_TRUE(q.fields.empty());
    EXPECT_EQ(q.query.data(), bytes.data() + 39);  // a view, not a copy
}

TEST(Message, OpcodeIsTheLowSixteenBits) {
    Bytes bytes = test::query(1, "a.b", make("x", 1));
    bytes[14] = 1;
    bytes[15] = 0x80;
    EXPECT_EQ(read_header(bytes.data()).opcode, Opcode::query);
}

TEST(Message, DecodesFieldsOfAQuery) {
    const Bytes bytes = Request(Opcode::query, 7)
                            .i32(kTailable | kAwaitData)
                            .cstring("db.c")
                            .i32(3)
                            .i32(20)
                            .doc(make("a", 1))
                            .doc(make("b", 1))
                            .raw("xyz", 3)  // what follows the fields is not read
                            .done();
    const QueryMessage q = decode_query(bytes);
    EXPECT_EQ(q.flags, kTailable | kAwaitData);
    EXPECT_EQ(q.skip, 3);
    EXPECT_EQ(q.to_return, 20);
    ASSERT_TRUE(q.has_fields);
    EXPECT_EQ(q.fields["b"].as_int32(), 1);
}

TEST(Message, DamagedQueriesClose) {
    const Bytes good = test::query(1, "db.c", make("a", 1));
    for (size_t n = kHeaderBytes; n < good.size(); ++n) {
        Bytes cut(good.begin(), good.begin() + static_cast<long>(n));
        Reaction reaction{};
        EXPECT_GT(code_of(decode_query, cut, &reaction), 0) << n;
        EXPECT_EQ(reaction, Reaction::close) << n;
    }
    const Bytes bad = garbage_document();
    expect_fault(decode_query,
                 Request(Opcode::query, 1)
                     .i32(0)
                     .cstring("d.c")
                     .i32(0)
                     .i32(0)
                     .raw(bad.data(), bad.size())
                     .done(),
                 Reaction::close, 10307);
    expect_fault(decode_query,
                 Request(Opcode::query, 1)
                     .i32(0)
                     .cstring("d.c")
                     .i32(0)
                     .i32(0)
                     .doc(Object())
                     .raw("xyz", 3)
                     .done(),
                 Reaction::close, 10304);
}

Object nested(int depth) {
    Object inner;
    for (int i = 1; i < depth; ++i)
        inner = make("a", inner);
    return inner;
}

TEST(Message, NestingBeyondTheLimitIsAnswered) {
    const Object deep = nested(bson::kDepthMax + 1);
    expect_fault(decode_query, test::query(1, "d.c", deep), Reaction::query_failure, 15);
    expect_fault(decode_msg, test::msg(1, deep), Reaction::msg_refused, 15);
    expect_fault(decode_insert, Request(Opcode::insert, 1).i32(0).cstring("d.c").doc(deep).done(),
                 Reaction::last_error, 15);
    const Bytes allowed = test::query(1, "d.c", nested(bson::kDepthMax));
    EXPECT_NO_THROW(decode_query(allowed));
}

TEST(Message, DecodesGetMore) {
    const Bytes bytes =
        Request(Opcode::get_more, 9).i32(0).cstring("db.c").i32(5).i64(0x123456789abc).done();
    const GetMoreMessage m = decode_get_more(bytes);
    EXPECT_EQ(m.ns, "db.c");
    EXPECT_EQ(m.to_return, 5);
    EXPECT_EQ(m.cursor_id, 0x123456789abc);
    for (size_t n = kHeaderBytes; n < bytes.size(); ++n) {
        Bytes cut(bytes.begin(), bytes.begin() + static_cast<long>(n));
        Reaction reaction{};
        EXPECT_GT(code_of(decode_get_more, cut, &reaction), 0) << n;
        EXPECT_EQ(reaction, Reaction::close) << n;
    }
    const std::string longest = "d." + std::string(125, 'x');
    EXPECT_NO_THROW(
        decode_get_more(Request(Opcode::get_more, 9).i32(0).cstring(longest).i32(5).i64(1).done()));
    expect_fault(decode_get_more,
                 Request(Opcode::get_more, 9).i32(0).cstring(longest + "x").i32(5).i64(1).done(),
                 Reaction::close, 16258);
}

TEST(Message, DecodesInsert) {
    const Bytes bytes = Request(Opcode::insert, 2)
                            .i32(InsertMessage::kContinueOnError)
                            .cstring("db.c")
                            .doc(make("_id", 1))
                            .doc(make("_id", 2, "a", "x"))
                            .done();
    const InsertMessage m = decode_insert(bytes);
    EXPECT_EQ(m.flags, InsertMessage::kContinueOnError);
    EXPECT_EQ(m.ns, "db.c");
    EXPECT_EQ(m.documents.count(), 2u);
    int32_t expected = 1;
    for (const bson::Doc doc : m.documents)
        EXPECT_EQ(doc["_id"].as_int32(), expected++);
}

TEST(Message, DamagedWritesAreRecorded) {
    expect_fault(decode_insert, Request(Opcode::insert, 2).i32(0).cstring("db.c").done(),
                 Reaction::last_error, 10304);
    expect_fault(
        decode_insert,
        Request(Opcode::insert, 2).i32(0).cstring("db.c").doc(Object()).raw("xyz", 3).done(),
        Reaction::last_error, 10304);
    const Bytes bad = garbage_document();
    expect_fault(decode_insert,
                 Request(Opcode::insert, 2)
                     .i32(0)
                     .cstring("db.c")
                     .doc(make("_id", 1))
                     .raw(bad.data(), bad.size())
                     .done(),
                 Reaction::last_error, 10307);
    expect_fault(decode_delete, Request(Opcode::remove, 2).i32(0).cstring("db.c").i32(0).done(),
                 Reaction::last_error, 10304);
    expect_fault(decode_delete, Request(Opcode::remove, 2).i32(0).cstring("db.c").done(),
                 Reaction::last_error, 18634);
    expect_fault(decode_update,
                 Request(Opcode::update, 2).i32(0).cstring("db.c").i32(0).doc(make("a", 1)).done(),
                 Reaction::last_error, 10304);
}

TEST(Message, DocumentsHaveASizeLimit) {
    const Object big = make("s", std::string(bson::kInternalBytesMax, 'x'));
    expect_fault(decode_insert, Request(Opcode::insert, 2).i32(0).cstring("db.c").doc(big).done(),
                 Reaction::last_error, 10334);
    // { s: <string> } has 12 bytes around the characters.
    const Object fits = make("s", std::string(bson::kInternalBytesMax - 13, 'x'));
    ASSERT_EQ(fits.doc().size(), bson::kInternalBytesMax);
    const Bytes bytes = Request(Opcode::insert, 2).i32(0).cstring("db.c").doc(fits).done();
    EXPECT_NO_THROW(decode_insert(bytes));
}

TEST(Message, DecodesUpdateAndDelete) {
    const Bytes update = Request(Opcode::update, 3)
                             .i32(0)
                             .cstring("db.c")
                             .i32(UpdateMessage::kUpsert | UpdateMessage::kMulti)
                             .doc(make("a", 1))
                             .doc(make("b", 2))
                             .raw("xyz", 3)
                             .done();
    const UpdateMessage u = decode_update(update);
    EXPECT_EQ(u.flags, 3);
    EXPECT_EQ(u.selector["a"].as_int32(), 1);
    EXPECT_EQ(u.update["b"].as_int32(), 2);
    const Bytes remove = Request(Opcode::remove, 3)
                             .i32(77)
                             .cstring("db.c")
                             .i32(DeleteMessage::kSingle)
                             .doc(make("a", 1))
                             .done();
    const DeleteMessage d = decode_delete(remove);
    EXPECT_EQ(d.flags, DeleteMessage::kSingle);
    EXPECT_EQ(d.ns, "db.c");
    EXPECT_EQ(d.selector["a"].as_int32(), 1);
}

TEST(Message, DecodesKillCursors) {
    const Bytes bytes = Request(Opcode::kill_cursors, 4).i32(0).i32(2).i64(5).i64(-6).done();
    const KillCursorsMessage m = decode_kill_cursors(bytes);
    ASSERT_EQ(m.count, 2);
    EXPECT_EQ(m.id(0), 5);
    EXPECT_EQ(m.id(1), -6);
    const auto with = [](int32_t n) { return Request(Opcode::kill_cursors, 4).i32(0).i32(n); };
    expect_fault(decode_kill_cursors, with(0).done(), Reaction::ignore, 13659);
    expect_fault(decode_kill_cursors, with(-1).done(), Reaction::ignore, 13004);
    expect_fault(decode_kill_cursors, with(30000).done(), Reaction::ignore, 13004);
    expect_fault(decode_kill_cursors, with(1).done(), Reaction::ignore, 13658);
    expect_fault(decode_kill_cursors, with(1).i64(1).i64(2).done(), Reaction::ignore, 13658);
    expect_fault(decode_kill_cursors, Request(Opcode::kill_cursors, 4).i32(0).done(),
                 Reaction::ignore, 18634);
}

Bytes sequence(std::string_view name, std::initializer_list<Object> docs) {
    Bytes body(name.begin(), name.end());
    body.push_back(0);
    for (const Object& doc : docs)
        body.insert(body.end(), doc.doc().bytes().begin(), doc.doc().bytes().end());
    const auto size = static_cast<uint32_t>(body.size() + 4);
    Bytes out = {1, static_cast<uint8_t>(size), static_cast<uint8_t>(size >> 8), 0, 0};
    out.insert(out.end(), body.begin(), body.end());
    return out;
}

TEST(Message, DecodesMsgWithASequenceBeforeTheBody) {
    const Bytes docs = sequence("documents", {make("_id", 1), make("_id", 2)});
    const Bytes bytes =
        Request(Opcode::msg, 5)
            .i32(MsgMessage::kMoreToCome | 1 << 20)  // optional bits may be anything
            .raw(docs.data(), docs.size())
            .byte(0)
            .doc(make("insert", "c", "$db", "test"))
            .done();
    const MsgMessage m = decode_msg(bytes);
    EXPECT_TRUE(m.more_to_come());
    EXPECT_TRUE(peek_more_to_come(bytes));
    EXPECT_EQ(m.db, "test");
    EXPECT_EQ(m.body.first().name(), "insert");
    ASSERT_NE(m.sequence("documents"), nullptr);
    EXPECT_EQ(m.sequence("documents")->count(), 2u);
    EXPECT_EQ(m.sequence("updates"), nullptr);
}

TEST(Message, EmptySequenceIsKept) {
    const Bytes docs = sequence("documents", {});
    const Bytes bytes = Request(Opcode::msg, 5)
                            .i32(0)
                            .byte(0)
                            .doc(make("insert", "c", "$db", "test"))
                            .raw(docs.data(), docs.size())
                            .done();
    const MsgMessage m = decode_msg(bytes);
    ASSERT_NE(m.sequence("documents"), nullptr);
    EXPECT_TRUE(m.sequence("documents")->empty());
}

// Its frame is valid, so the next request can be read.
TEST(Message, MsgWithABadDocumentIsRefused) {
    const auto with = [](const Bytes& doc) {
        return Request(Opcode::msg, 5).i32(0).byte(0).raw(doc.data(), doc.size()).done();
    };
    expect_fault(decode_msg, with(garbage_document()), Reaction::msg_refused, 10307);
}

TEST(Message, DamagedMsgIsAnsweredThenClosed) {
    const Object body = make("ping", 1, "$db", "test");
    const auto start = [&](int32_t flags) { return Request(Opcode::msg, 5).i32(flags); };
    const auto expect = [](const Bytes& bytes, int code) {
        expect_fault(decode_msg, bytes, Reaction::msg_error, code);
    };
    expect(start(4).byte(0).doc(body).done(), 40429);
    expect(start(0).done(), 40587);
    expect(start(0).byte(0).doc(body).byte(0).doc(body).done(), 40430);
    expect(start(0).byte(2).doc(body).done(), 40432);
    expect(start(0).byte(0).doc(make("ping", 1)).done(), 40571);
    expect(start(0).byte(0).doc(make("ping", 1, "$db", 7)).done(), 40571);
    const Bytes docs = sequence("documents", {make("_id", 1)});
    expect(start(0)
               .byte(0)
               .doc(body)
               .raw(docs.data(), docs.size())
               .raw(docs.data(), docs.size())
               .done(),
           40431);
    expect(start(0)
               .byte(0)
               .doc(make("insert", "c", "$db", "t", "documents", 1))
               .raw(docs.data(), docs.size())
               .done(),
           40433);
    for (size_t cut = 1; cut < docs.size(); ++cut) {
        Reaction reaction{};
        const Bytes bytes = start(0).byte(0).doc(body).raw(docs.data(), cut).done();
        EXPECT_GT(code_of(decode_msg, bytes, &reaction), 0) << cut;
        EXPECT_EQ(reaction, Reaction::msg_error);
    }
    Bytes many;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        const Bytes one = sequence(name, {});
        many.insert(many.end(), one.begin(), one.end());
    }
    expect(start(0).byte(0).doc(body).raw(many.data(), many.size()).done(), 17);
}

TEST(Message, ChecksumIsVerified) {
    Bytes bytes = Request(Opcode::msg, 5)
                      .i32(MsgMessage::kChecksumPresent)
                      .byte(0)
                      .doc(make("ping", 1, "$db", "test"))
                      .i32(0)
                      .done();
    const uint32_t crc = base::crc32c(bytes.data(), bytes.size() - 4);
    std::memcpy(bytes.data() + bytes.size() - 4, &crc, sizeof crc);
    EXPECT_EQ(decode_msg(bytes).db, "test");
    bytes.back() ^= 1;
    expect_fault(decode_msg, bytes, Reaction::msg_error, 17);
    expect_fault(decode_msg,
                 Request(Opcode::msg, 5).i32(MsgMessage::kChecksumPresent).byte(0).done(),
                 Reaction::msg_error, 17);
}

TEST(Message, PeekNs) {
    EXPECT_EQ(peek_ns(test::query(1, "db.c", Object())), "db.c");
    EXPECT_EQ(peek_ns(Request(Opcode::insert, 1).i32(0).raw("abc", 3).done()), "");
    EXPECT_EQ(peek_ns(Request(Opcode::insert, 1).done()), "");
    EXPECT_FALSE(peek_more_to_come(Request(Opcode::msg, 1).done()));
}

TEST(Message, WritesAReplyByteForByte) {
    bson::Buffer out;
    out.append("before", 6);
    ReplyWriter reply(out, 0x65);
    {
        bson::Builder doc = reply.document();
        doc.append("ok", 1.0);
    }
    reply.append(make("a", 1).doc());
    EXPECT_EQ(reply.count(), 2);
    reply.finish(ReplyWriter::kAwaitCapable, 77, 3);
    const uint8_t* p = out.data() + 6;
    ASSERT_EQ(out.size(), 6u + 36 + 17 + 12);
    const Header header = read_header(p);
    EXPECT_EQ(header.length, 36 + 17 + 12);
    EXPECT_EQ(header.request_id, reply.request_id());
    EXPECT_EQ(header.response_to, 0x65);
    EXPECT_EQ(header.opcode, Opcode::reply);
    const Bytes expected = {8,    0,    0, 0,  77, 0, 0, 0,  0,   0,   0, 0, 3, 0, 0, 0, 2,
                            0,    0,    0, 17, 0,  0, 0, 1,  'o', 'k', 0, 0, 0, 0, 0, 0, 0,
                            0xf0, 0x3f, 0, 12, 0,  0, 0, 16, 'a', 0,   1, 0, 0, 0, 0};
    EXPECT_EQ(Bytes(p + 16, p + header.length), expected);
}

TEST(Message, WritesAMsgByteForByte) {
    bson::Buffer out;
    MsgWriter reply(out, 9);
    {
        bson::Builder body = reply.body();
        body.append("ok", 1.0);
    }
    reply.finish();
    const Header header = read_header(out.data());
    EXPECT_EQ(header.length, 16 + 5 + 17);
    EXPECT_EQ(header.response_to, 9);
    EXPECT_EQ(header.opcode, Opcode::msg);
    const Bytes expected = {0,   0, 0, 0, 0, 17, 0, 0, 0,    1,    'o',
                            'k', 0, 0, 0, 0, 0,  0, 0, 0xf0, 0x3f, 0};
    EXPECT_EQ(Bytes(out.data() + 16, out.data() + out.size()), expected);
    EXPECT_LT(header.request_id, next_request_id());
}

// Random damage either throws or leaves something that can be read in full.
TEST(Message, MutatedMessagesAreRefusedOrSafeToRead) {
    std::mt19937 random(27017);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    const Bytes docs = sequence("documents", {make("_id", 1), make("a", "text", "b", true)});
    const Object body = make("insert", "c", "$db", "test", "n", 7, "s", make("x", 1));
    const std::vector<Bytes> seeds = {
        test::query(1, "db.c", body),
        Request(Opcode::get_more, 1).i32(0).cstring("db.c").i32(0).i64(1).done(),
        Request(Opcode::insert, 1).i32(0).cstring("db.c").doc(body).doc(body).done(),
        Request(Opcode::update, 1).i32(0).cstring("db.c").i32(0).doc(body).doc(body).done(),
        Request(Opcode::remove, 1).i32(0).cstring("db.c").i32(0).doc(body).done(),
        Request(Opcode::kill_cursors, 1).i32(0).i32(2).i64(1).i64(2).done(),
        Request(Opcode::msg, 1).i32(0).byte(0).doc(body).raw(docs.data(), docs.size()).done(),
    };
    size_t seen = 0;
    const auto walk = [&](bson::Doc doc) {
        for (const bson::Element& e : doc)
            seen += e.size() + e.name().size();
    };
    const std::vector<std::function<void(std::span<const uint8_t>)>> decoders = {
        [&](auto m) { walk(decode_query(m).query); },
        [&](auto m) { seen += decode_get_more(m).ns.size(); },
        [&](auto m) {
            for (bson::Doc doc : decode_insert(m).documents)
                walk(doc);
        },
        [&](auto m) { walk(decode_update(m).update); },
        [&](auto m) { walk(decode_delete(m).selector); },
        [&](auto m) {
            const KillCursorsMessage kill = decode_kill_cursors(m);
            for (int32_t i = 0; i < kill.count; ++i)
                seen += static_cast<size_t>(kill.id(i) & 1);
        },
        [&](auto m) {
            const MsgMessage msg = decode_msg(m);
            walk(msg.body);
            for (size_t i = 0; i < msg.sequence_count; ++i) {
                for (bson::Doc doc : msg.sequences[i].documents)
                    walk(doc);
            }
        },
    };
    int refused = 0;
    int accepted = 0;
    for (int round = 0; round < 60000; ++round) {
        Bytes bytes = seeds[below(seeds.size())];
        for (size_t i = below(3); i > 0; --i)
            bytes[kHeaderBytes + below(bytes.size() - kHeaderBytes)] =
                below(2) == 0 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(below(20));
        if (below(3) == 0) bytes.resize(kHeaderBytes + below(bytes.size() - kHeaderBytes + 1));
        Reaction reaction{};
        (void)peek_ns(bytes);
        (void)peek_more_to_come(bytes);
        (code_of(decoders[below(decoders.size())], bytes, &reaction) < 0 ? accepted : refused)++;
    }
    EXPECT_GT(accepted, 1000);
    EXPECT_GT(refused, 1000);
    EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace wire
