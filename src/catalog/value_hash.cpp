#include "catalog/value_hash.h"

#include <openssl/evp.h>

#include <limits>
#include <new>

#include "sched/tick.h"

namespace catalog {

namespace {

using bson::Doc;
using bson::Element;
using bson::Type;

// Fetched once: looking the algorithm up costs more than hashing a number with it.
const EVP_MD* md5() {
    static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "MD5", nullptr);
    return algorithm;
}

class Md5 {
  public:
    Md5() : context_(EVP_MD_CTX_new()) {
        if (context_ == nullptr || EVP_DigestInit_ex(context_, md5(), nullptr) != 1)
            throw std::bad_alloc();
    }
    ~Md5() { EVP_MD_CTX_free(context_); }
    Md5(const Md5&) = delete;
    Md5& operator=(const Md5&) = delete;

    void add(const void* bytes, size_t size) { EVP_DigestUpdate(context_, bytes, size); }
    template <typename T>
    void add_value(const T& value) {
        add(&value, sizeof value);
    }
    // The first 8 bytes, little-endian.
    int64_t finish() {
        uint8_t digest[EVP_MAX_MD_SIZE];
        EVP_DigestFinal_ex(context_, digest, nullptr);
        return bson::load<int64_t>(digest);
    }

  private:
    EVP_MD_CTX* context_;
};

void hash_fields(Md5& md5, Doc doc);

// Returns the number as int64: truncated, NaN 0, clamped, but 2^63 itself became the smallest one,
// and so it is stored.
int64_t whole_part(const Element& number) {
    const bool edge =
        number.type() == Type::number_double && number.as_double() == 9223372036854775808.0;
    return edge ? std::numeric_limits<int64_t>::min() : number.to_int64();
}

void hash_one(Md5& md5, const Element& e, bool with_name) {
    sched::tick();
    md5.add_value<int32_t>(e.missing() ? bson::canonical_class(Type::null) : e.canonical());
    if (with_name) md5.add(e.name().data(), e.name().size() + 1);
    switch (e.type()) {
        case Type::eoo:
            return;
        case Type::number_double:
        case Type::int32:
        case Type::int64:
            md5.add_value(whole_part(e));
            return;
        case Type::object:
        case Type::array:
            hash_fields(md5, e.as_doc());
            return;
        case Type::code_with_scope:
            md5.add(e.code_text().data(), e.code_text().size() + 1);
            hash_fields(md5, e.code_scope());
            return;
        default:
            sched::tick_bytes(e.value_size(), sched::PerTick::converted);
            md5.add(e.value(), e.value_size());
    }
}

void hash_fields(Md5& md5, Doc doc) {
    for (const Element& e : doc)
        hash_one(md5, e, true);
    md5.add_value<int32_t>(0);
}

}  // namespace

int64_t hash_value(const Element& value, int32_t seed) {
    Md5 md5;
    md5.add_value(seed);
    hash_one(md5, value, false);
    return md5.finish();
}

int32_t hash_seed(const Element& seed) {
    if (seed.type() != Type::number_double) return static_cast<int32_t>(seed.to_int64());
    const double d = seed.as_double();
    const bool fits = d > -2147483649.0 && d < 2147483648.0;
    return fits ? static_cast<int32_t>(d) : std::numeric_limits<int32_t>::min();
}

}  // namespace catalog
