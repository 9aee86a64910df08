#include "auth/scram_client.h"

#include <fmt/format.h>

#include <charconv>

#include "auth/crypto.h"
#include "base/error.h"

namespace auth {

namespace {

constexpr size_t kNonceBytes = 24;
// A server that asks for more wants this client to be busy.
constexpr int kIterationsMax = 1'000'000;

[[noreturn]] void fail(const char* why) {
    base::fail(base::kAuthenticationFailed, "the answer to a login is none: {}", why);
}

// "x=value" at the start of `rest`, which then begins behind the comma.
std::string_view take(char attribute, std::string_view& rest) {
    if (rest.size() < 2 || rest[0] != attribute || rest[1] != '=') fail("an attribute is missing");
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view value = rest.substr(2, comma - 2);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    return value;
}

std::string escaped(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c == ',')
            out += "=2C";
        else if (c == '=')
            out += "=3D";
        else
            out += c;
    }
    return out;
}

int iterations_of(std::string_view text) {
    int count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size() || count < kLeastIterations ||
        count > kIterationsMax)
        fail("the number of iterations");
    return count;
}

}  // namespace

std::string ScramClient::first() {
    nonce_ = to_base64(random_bytes(kNonceBytes));
    first_bare_ = fmt::format("n={},r={}", escaped(user_), nonce_);
    return "n,," + first_bare_;
}

std::string ScramClient::final(std::string_view server_first) {
    std::string_view rest = server_first;
    const std::string_view nonce = take('r', rest);
    if (nonce.size() <= nonce_.size() || !nonce.starts_with(nonce_)) fail("its nonce");
    const std::optional<std::string> salt = from_base64(take('s', rest));
    if (!salt || salt->empty()) fail("its salt");
    const int iterations = iterations_of(take('i', rest));

    const Digest digest = mechanism_ == Mechanism::sha1 ? Digest::sha1 : Digest::sha256;
    const std::string salted =
        pbkdf2(digest, secret_of(mechanism_, user_, {password_}), *salt, iterations);
    const std::string key = hmac(digest, salted, "Client Key");
    const std::string bare = fmt::format("c=biws,r={}", nonce);
    const std::string signed_text = fmt::format("{},{},{}", first_bare_, server_first, bare);
    proof_of_server_ = hmac(digest, hmac(digest, salted, "Server Key"), signed_text);
    const std::string signature = hmac(digest, hash(digest, key), signed_text);
    return fmt::format("{},p={}", bare, to_base64(exclusive_or(key, signature)));
}

void ScramClient::check(std::string_view server_final) const {
    std::string_view rest = server_final;
    const std::optional<std::string> proof = from_base64(take('v', rest));
    if (!proof || !equal(*proof, proof_of_server_)) fail("its proof");
}

}  // namespace auth
