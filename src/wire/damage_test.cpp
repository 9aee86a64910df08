// Damaged messages: decoded or refused, and nothing outside of their bytes is read.
#include <gtest/gtest.h>

#include <functional>

#include "base/testing/damage.h"
#include "base/testing/effort.h"
#include "wire/testing/messages.h"

namespace wire {
namespace {

using test::Bytes;
using test::Request;

struct Target {
    const char* name;
    Bytes message;
    std::function<void(std::span<const uint8_t>)> decode;
};

std::vector<Target> targets() {
    const bson::Object a = bson::make("_id", 1, "text", "some text", "sub", bson::make("x", 1.5));
    const bson::Object b = bson::make("q", bson::make("a", 1), "u", bson::make("$inc", a));
    Request sequences(Opcode::msg, 7);
    const bson::Object body = bson::make("insert", "c", "$db", "test");
    const auto documents_size = static_cast<int32_t>(4 + 10 + 2 * a.size());
    sequences.i32(0).byte(0).doc(body);
    sequences.byte(1).i32(documents_size).cstring("documents").doc(a).doc(a);
    return {
        {"query", test::query(1, "test.c", a), [](auto m) { decode_query(m); }},
        {"command", test::query(1, "test.$cmd", b), [](auto m) { decode_query(m); }},
        {"get_more", Request(Opcode::get_more, 2).i32(0).cstring("test.c").i32(5).i64(99).done(),
         [](auto m) { decode_get_more(m); }},
        {"insert", Request(Opcode::insert, 3).i32(0).cstring("test.c").doc(a).doc(b).done(),
         [](auto m) {
             for (const bson::Doc doc : decode_insert(m).documents)
                 EXPECT_GE(doc.size(), 5);
         }},
        {"update", Request(Opcode::update, 4).i32(0).cstring("test.c").i32(1).doc(a).doc(b).done(),
         [](auto m) { decode_update(m); }},
        {"remove", Request(Opcode::remove, 5).i32(0).cstring("test.c").i32(1).doc(a).done(),
         [](auto m) { decode_delete(m); }},
        {"kill_cursors", Request(Opcode::kill_cursors, 6).i32(0).i32(2).i64(1).i64(2).done(),
         [](auto m) {
             const KillCursorsMessage message = decode_kill_cursors(m);
             for (int32_t i = 0; i < message.count; ++i)
                 message.id(i);
         }},
        {"msg", test::msg(8, b), [](auto m) { decode_msg(m); }},
        {"msg_with_checksum", test::msg(9, b, 1), [](auto m) { decode_msg(m); }},
        {"msg_with_sequence", sequences.done(),
         [](auto m) {
             const MsgMessage message = decode_msg(m);
             if (const DocSequence* documents = message.sequence("documents")) documents->count();
         }},
    };
}

TEST(DamagedMessages, AreDecodedOrRefused) {
    std::mt19937 random(48);
    for (const Target& target : targets()) {
        int decoded = 0, refused = 0;
        for (int i = base::test_effort(20000); i > 0; --i) {
            Bytes bytes = target.message;
            // A part of the messages is cut; the header's length agrees with what is there, as the
            // connection has made sure.
            if (random() % 4 == 0) bytes.resize(16 + random() % (bytes.size() - 15));
            base::damage(std::span(bytes).subspan(16), random);
            const auto size = static_cast<int32_t>(bytes.size());
            std::memcpy(bytes.data(), &size, sizeof size);
            bytes.shrink_to_fit();
            try {
                target.decode(bytes);
                ++decoded;
            } catch (const DecodeError& e) {
                EXPECT_STRNE(e.what(), "");
                ++refused;
            }
        }
        EXPECT_GT(refused, 0) << target.name;
        EXPECT_GT(decoded + refused, 0) << target.name;
    }
}

}  // namespace
}  // namespace wire
