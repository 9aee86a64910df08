// wire/testing/messages.h - requests as a client writes them, for the tests of this room.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "wire/message.h"

namespace wire::test {

using Bytes = std::vector<uint8_t>;

// Appends fields in wire order, then patches the length in.
class Request {
  public:
    Request(Opcode opcode, int32_t request_id) {
        i32(0).i32(request_id).i32(0).i32(static_cast<int32_t>(opcode));
    }
    Request& i32(int32_t v) { return raw(&v, sizeof v); }
    Request& i64(int64_t v) { return raw(&v, sizeof v); }
    Request& byte(uint8_t v) { return raw(&v, 1); }
    Request& cstring(std::string_view text) { return raw(text.data(), text.size()).byte(0); }
    Request& doc(const bson::Object& doc) {
        return raw(doc.doc().data(), static_cast<size_t>(doc.doc().size()));
    }
    Request& raw(const void* p, size_t n) {
        const auto* bytes = static_cast<const uint8_t*>(p);
        bytes_.insert(bytes_.end(), bytes, bytes + n);
        return *this;
    }
    Bytes done() {
        const auto size = static_cast<int32_t>(bytes_.size());
        std::memcpy(bytes_.data(), &size, sizeof size);
        return bytes_;
    }

  private:
    Bytes bytes_;
};

inline Bytes query(int32_t id, std::string_view ns, const bson::Object& query) {
    return Request(Opcode::query, id).i32(0).cstring(ns).i32(0).i32(-1).doc(query).done();
}

inline Bytes msg(int32_t id, const bson::Object& body, uint32_t flags = 0) {
    return Request(Opcode::msg, id).i32(static_cast<int32_t>(flags)).byte(0).doc(body).done();
}

}  // namespace wire::test
