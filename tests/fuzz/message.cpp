// Fuzz target: every decoder of the protocol, on one message. The first byte chooses the decoder,
// the rest is the message behind its length and opcode.
#include "wire/message.h"

#include <array>
#include <cstring>

#include "target.h"

namespace {

using wire::Opcode;

constexpr std::array kOpcodes = {Opcode::query,        Opcode::get_more, Opcode::insert,
                                 Opcode::update,       Opcode::remove,   Opcode::msg,
                                 Opcode::kill_cursors, Opcode::reply,    Opcode::compressed};

void look_at(bson::Doc doc) {
    fuzz::expect_document(doc.bytes(), "a decoded document is valid");
}
void look_at(const wire::DocSequence& sequence) {
    size_t bytes = 0;
    for (const bson::Doc doc : sequence) {
        look_at(doc);
        bytes += doc.bytes().size();
    }
    fuzz::expect(bytes == sequence.bytes(), "documents fill their sequence");
}

void decode(Opcode opcode, std::span<const uint8_t> message) {
    wire::peek_ns(message);
    wire::peek_more_to_come(message);
    switch (opcode) {
        case Opcode::query: {
            const wire::QueryMessage query = wire::decode_query(message);
            look_at(query.query);
            look_at(query.fields);
            return;
        }
        case Opcode::get_more:
            wire::decode_get_more(message);
            return;
        case Opcode::insert:
            return look_at(wire::decode_insert(message).documents);
        case Opcode::update: {
            const wire::UpdateMessage update = wire::decode_update(message);
            look_at(update.selector);
            look_at(update.update);
            return;
        }
        case Opcode::remove:
            return look_at(wire::decode_delete(message).selector);
        case Opcode::msg: {
            const wire::MsgMessage msg = wire::decode_msg(message);
            look_at(msg.body);
            for (size_t i = 0; i < msg.sequence_count; ++i)
                look_at(msg.sequences[i].documents);
            return;
        }
        case Opcode::kill_cursors: {
            const wire::KillCursorsMessage kill = wire::decode_kill_cursors(message);
            int64_t sum = 0;
            for (int32_t i = 0; i < kill.count; ++i)
                sum ^= kill.id(i);
            [[maybe_unused]] static volatile int64_t read_all;
            read_all = sum;
            return;
        }
        default:
            return;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return fuzz::kNoInput;
    const Opcode opcode = kOpcodes[data[0] % kOpcodes.size()];
    std::vector<uint8_t> message(wire::kHeaderBytes + size - 1);
    if (size > 1) std::memcpy(message.data() + wire::kHeaderBytes, data + 1, size - 1);
    const auto length = static_cast<int32_t>(message.size());
    const auto code = static_cast<int32_t>(opcode);
    std::memcpy(message.data(), &length, sizeof length);
    std::memcpy(message.data() + 12, &code, sizeof code);
    fuzz::as_operation([&] { decode(opcode, message); });
    return fuzz::kTaken;
}
