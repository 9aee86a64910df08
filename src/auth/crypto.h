// auth/crypto.h - OpenSSL's primitives as this room needs them: digests, HMAC, PBKDF2, random
// bytes, comparison in constant time, base64.
//
// Inside auth/, coordinator/ and monitoring/, and for tests, only. Bytes travel as std::string.
// Each function throws base::Error 1 where OpenSSL refuses, which leaves no half-made secret
// behind.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace auth {

enum class Digest { md5, sha1, sha256 };

// Returns the size in bytes.
size_t size_of(Digest digest);
std::string hash(Digest digest, std::string_view data);
std::string hmac(Digest digest, std::string_view key, std::string_view data);
// Returns a key as long as the digest. It takes milliseconds: `iterations` times two hashes.
std::string pbkdf2(Digest digest, std::string_view password, std::string_view salt, int iterations);
std::string random_bytes(size_t count);
// The time tells nothing but the lengths.
bool equal(std::string_view a, std::string_view b);
std::string exclusive_or(std::string_view a, std::string_view b);  // of equal lengths
std::string hex(std::string_view bytes);

std::string to_base64(std::string_view bytes);
// Returns nothing unless it is base64 from beginning to end, with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace auth
