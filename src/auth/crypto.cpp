#include "auth/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>

#include "base/error.h"

namespace auth {

namespace {

const EVP_MD* algorithm(Digest digest) {
    switch (digest) {
        case Digest::md5:
            return EVP_md5();
        case Digest::sha1:
            return EVP_sha1();
        case Digest::sha256:
            break;
    }
    return EVP_sha256();
}

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

void check(bool worked, const char* what) {
    if (!worked) base::fail(base::kInternalError, "OpenSSL refuses {}", what);
}

bool is_base64_letter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

}  // namespace

size_t size_of(Digest digest) {
    return static_cast<size_t>(EVP_MD_get_size(algorithm(digest)));
}

std::string hash(Digest digest, std::string_view data) {
    std::string out(size_of(digest), '\0');
    check(EVP_Digest(data.data(), data.size(), bytes_of(out), nullptr, algorithm(digest),
                     nullptr) == 1,
          "a digest");
    return out;
}

std::string hmac(Digest digest, std::string_view key, std::string_view data) {
    std::string out(size_of(digest), '\0');
    unsigned size = 0;
    check(HMAC(algorithm(digest), key.data(), static_cast<int>(key.size()), bytes_of(data),
               data.size(), bytes_of(out), &size) != nullptr,
          "an HMAC");
    return out;
}

std::string pbkdf2(Digest digest, std::string_view password, std::string_view salt,
                   int iterations) {
    std::string out(size_of(digest), '\0');
    check(PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), bytes_of(salt),
                            static_cast<int>(salt.size()), iterations, algorithm(digest),
                            static_cast<int>(out.size()), bytes_of(out)) == 1,
          "PBKDF2");
    return out;
}

std::string random_bytes(size_t count) {
    std::string out(count, '\0');
    check(RAND_bytes(bytes_of(out), static_cast<int>(count)) == 1, "random bytes");
    return out;
}

bool equal(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string exclusive_or(std::string_view a, std::string_view b) {
    std::string out(a);
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<char>(out[i] ^ b[i]);
    return out;
}

std::string hex(std::string_view bytes) {
    std::string out;
    for (const char c : bytes)
        out += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return out;
}

std::string to_base64(std::string_view bytes) {
    std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with the NUL that OpenSSL writes
    const int size =
        EVP_EncodeBlock(bytes_of(out), bytes_of(bytes), static_cast<int>(bytes.size()));
    out.resize(static_cast<size_t>(size));
    return out;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::string_view letters = text;
    while (text.size() - letters.size() < 2 && letters.ends_with('='))
        letters.remove_suffix(1);
    if (!std::ranges::all_of(letters, is_base64_letter)) return std::nullopt;
    std::string out(text.size() / 4 * 3, '\0');
    const int size = EVP_DecodeBlock(bytes_of(out), bytes_of(text), static_cast<int>(text.size()));
    if (size < 0) return std::nullopt;
    out.resize(static_cast<size_t>(size) - (text.size() - letters.size()));
    return out;
}

}  // namespace auth
