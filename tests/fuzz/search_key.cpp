// Fuzz target: documents as index keys: what is stored is read back as it was, and the order of
// stored keys is that of values.
#include <algorithm>
#include <cmath>

#include "bson/compare.h"
#include "bson/validate.h"
#include "mutator.h"
#include "storage/mmapv1/btree/key_v1.h"
#include "target.h"

std::span<const char* const> fuzz::words() {
    return {};
}

namespace {

constexpr size_t kFieldsMax = 32;

// The values of a document without their names.
bson::Object as_key(bson::Doc doc) {
    bson::Builder key;
    size_t fields = 0;
    for (const bson::Element& value : doc) {
        if (fields++ == kFieldsMax) break;
        key.append_as("", value);
    }
    return key.object();
}

int sign(int n) {
    return (n > 0) - (n < 0);
}

// Beyond 2^53 the order of values is none (bson/compare.h), nor is it among dates and timestamps
// (mmapv1 spec 6.6 rule 5).
bool has_order(bson::Doc doc) {
    constexpr double kExact = 9007199254740992.0;
    for (const bson::Element& e : doc) {
        if (e.type() == bson::Type::timestamp || e.type() == bson::Type::decimal128) return false;
        if (e.is_number() && !(std::abs(e.to_double()) < kExact)) return false;
        if ((e.is_object() || e.is_array()) && !has_order(e.as_doc())) return false;
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::vector<bson::Object> keys;
    for (const bson::Object& doc : fuzz::documents(data, size))
        keys.push_back(as_key(doc));
    if (keys.empty()) return fuzz::kNoInput;
    // Keys that are stored, as bytes of their very size.
    std::vector<std::vector<uint8_t>> stored;
    std::vector<bson::Object> given;
    for (const bson::Object& key : keys) {
        const mmapv1::SearchKey search(key);
        if (search.too_long() || key.doc().empty()) continue;
        stored.emplace_back(search.encoded(), search.encoded() + search.size());
        given.push_back(key);
        const std::vector<uint8_t>& bytes = stored.back();
        fuzz::expect(mmapv1::checked_key_size(bytes.data(), bytes.size()) == bytes.size(),
                     "a key that is stored is well formed");
        const mmapv1::KeyView view(bytes.data());
        fuzz::expect(view.size() == bytes.size(), "and has its size");
        uint8_t buffer[mmapv1::kDecodedKeyBytesMax];
        const bson::Doc decoded = view.decode(buffer);
        fuzz::expect_document(decoded.bytes(), "a key is read back as a valid document");
        fuzz::expect(std::ranges::equal(decoded.bytes(), key.bytes()), "and as it was given");
        fuzz::expect(mmapv1::compare(search, view, 0) == 0, "a key is found");
    }
    for (size_t i = 0; i < given.size(); ++i) {
        for (size_t j = 0; j < given.size(); ++j) {
            const uint32_t descending = i % 2 == 0 ? 0 : 0x55555555;
            const mmapv1::KeyView a(stored[i].data()), b(stored[j].data());
            const int order = sign(mmapv1::compare(a, b, descending));
            fuzz::expect(order == -sign(mmapv1::compare(b, a, descending)),
                         "the order of two keys is one");
            fuzz::expect(order == sign(mmapv1::compare(mmapv1::SearchKey(given[i]), b, descending)),
                         "a key to be searched has the order of a stored one");
            if (has_order(given[i]) && has_order(given[j])) {
                fuzz::expect(order == sign(bson::compare_keys(given[i], given[j], descending)),
                             "keys have the order of their values");
            }
        }
    }
    return fuzz::kTaken;
}
