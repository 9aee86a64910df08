// Fuzz target: documents as ordered keys: their bytes have the order of values and give the
// documents back. Input that is no document is taken for the bytes of a key.
#include <algorithm>

#include "bson/compare.h"
#include "mutator.h"
#include "storage/keys/key_encoding.h"
#include "target.h"

std::span<const char* const> fuzz::words() {
    return {};
}

namespace {

constexpr size_t kFieldsMax = 32;

bson::Object as_key(bson::Doc doc) {
    bson::Builder key;
    size_t fields = 0;
    for (const bson::Element& value : doc) {
        if (fields++ == kFieldsMax) break;
        key.append_as("", value);
    }
    return key.object();
}

// From 2^53 on the order of values is not.
bool has_exact_order(bson::Doc doc) {
    for (const bson::Element& e : doc) {
        if (bson::is_large_number(e)) return false;
        if ((e.is_object() || e.is_array()) && !has_exact_order(e.as_doc())) return false;
        if (e.type() == bson::Type::code_with_scope && !has_exact_order(e.code_scope()))
            return false;
    }
    return true;
}

struct Encoded {
    std::vector<uint8_t> key, types;
};
Encoded encoded(bson::Doc doc, uint32_t descending) {
    bson::Buffer key, types;
    keys::encode(doc, descending, key, types);
    return {{key.data(), key.data() + key.size()}, {types.data(), types.data() + types.size()}};
}

int sign(int n) {
    return (n > 0) - (n < 0);
}

void take_bytes(const uint8_t* data, size_t size) {
    const size_t types = std::min<size_t>(data[0], size - 1);
    const std::vector<uint8_t> tail(data + 1, data + 1 + types);
    const std::vector<uint8_t> key(data + 1 + types, data + size);
    bson::Buffer out;
    fuzz::as_operation([&] {
        keys::decode(key, tail, types % 4, out);
        fuzz::expect_document({out.data(), out.size()}, "what is decoded is valid");
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return fuzz::kNoInput;
    std::vector<bson::Object> docs;
    for (const bson::Object& doc : fuzz::documents(data, size))
        docs.push_back(as_key(doc));
    if (docs.empty()) {
        take_bytes(data, size);
        return fuzz::kTaken;
    }
    for (size_t i = 0; i < docs.size(); ++i) {
        const uint32_t descending = i % 2 == 0 ? 0 : 0x55555555;
        const Encoded one = encoded(docs[i], descending);
        bson::Buffer out;
        keys::decode(one.key, one.types, descending, out);
        fuzz::expect_document({out.data(), out.size()}, "a key is read back as a valid document");
        const Encoded again = encoded(bson::Doc(out.data()), descending);
        fuzz::expect(again.key == one.key && again.types == one.types, "that gives the same key");
        for (const bson::Object& other : docs) {
            const Encoded two = encoded(other, descending);
            const int order = one.key < two.key ? -1 : (two.key < one.key ? 1 : 0);
            if (has_exact_order(docs[i]) || has_exact_order(other))
                fuzz::expect(order == sign(bson::compare_keys(docs[i], other, descending)),
                             "keys have the order of their values");
        }
    }
    return fuzz::kTaken;
}
