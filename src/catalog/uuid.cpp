#include "catalog/uuid.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/thread_scratch.h"

namespace catalog {

namespace {

// Sets the two bytes that say what a UUID is made of (RFC 4122).
Uuid of_version(Uuid bytes, uint8_t version) {
    bytes[6] = static_cast<uint8_t>(version << 4 | (bytes[6] & 0x0f));
    bytes[8] = static_cast<uint8_t>(0x80 | (bytes[8] & 0x3f));
    return bytes;
}

Uuid uuid_of_name(std::string_view ns) {
    std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(ns.data(), ns.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1)
        base::fail(base::kInternalError, "OpenSSL has no SHA-1 for the UUID of {}", ns);
    Uuid out{};
    DCHECK(size >= out.size());
    std::copy_n(digest.begin(), out.size(), out.begin());
    return of_version(out, 5);
}

}  // namespace

Uuid random_uuid() {
    struct Source : std::random_device {};
    Source& source = base::thread_scratch<Source>();
    Uuid out{};
    for (size_t at = 0; at < out.size(); at += sizeof(uint32_t)) {
        const uint32_t word = source();
        std::memcpy(out.data() + at, &word, sizeof word);
    }
    return of_version(out, 4);
}

Uuid uuid_of(std::string_view ns, bson::Doc options) {
    const bson::Element stored = options[kUuidOption];
    if (!is_uuid_option(stored)) return uuid_of_name(ns);
    Uuid out{};
    std::ranges::copy(stored.binary_data(), out.begin());
    return out;
}

void append_uuid(bson::Builder& out, std::string_view field, const Uuid& uuid) {
    out.append_binary(field, kUuidSubtype, uuid);
}

bool is_uuid_option(const bson::Element& option) {
    return option.type() == bson::Type::binary && option.name() == kUuidOption &&
           option.binary_subtype() == kUuidSubtype &&
           option.binary_data().size() == std::tuple_size_v<Uuid>;
}

bson::Object without_uuid(bson::Doc options) {
    bson::Builder out;
    for (const bson::Element& e : options)
        if (e.name() != kUuidOption) out.append(e);
    return out.object();
}

}  // namespace catalog
