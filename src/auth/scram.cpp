#include "auth/scram.h"

#include <idn-free.h>
#include <stringprep.h>

#include <algorithm>
#include <memory>

#include "auth/crypto.h"
#include "base/error.h"

namespace auth {

namespace {

constexpr size_t kNonceBytes = 24;
// The first message of a login stays in memory, several times, until there is a second one, and a
// client that is not logged in may delay that. The longest name of a user, escaped, has room in it.
constexpr size_t kFirstBytesMax = 2048;
// The library that prepares a password goes over all of it again and again.
constexpr size_t kPasswordBytesMax = 4096;

Digest digest_of(Mechanism mechanism) {
    return mechanism == Mechanism::sha1 ? Digest::sha1 : Digest::sha256;
}

// RFC 4013, as for stored strings: what Unicode 3.2 does not know yet is refused, as clients do.
std::string prepared(const std::string& password) {
    if (password.find('\0') != std::string::npos)
        base::fail(base::kBadValue, "a password must not contain NUL");
    char* out = nullptr;
    const int result =
        stringprep_profile(password.c_str(), &out, "SASLprep", STRINGPREP_NO_UNASSIGNED);
    const std::unique_ptr<char, void (*)(void*)> owner(out, idn_free);
    if (result != STRINGPREP_OK)
        base::fail(base::kBadValue, "the password cannot be used with SCRAM-SHA-256: {}",
                   stringprep_strerror(static_cast<Stringprep_rc>(result)));
    return out;
}

// "=2C" and "=3D" in a name stand for what separates the attributes.
std::optional<std::string> unescaped(std::string_view name) {
    std::string out;
    for (size_t i = 0; i < name.size(); ++i) {
        if (name[i] != '=') {
            out += name[i];
            continue;
        }
        const std::string_view code = name.substr(i, 3);
        if (code != "=2C" && code != "=3D") return std::nullopt;
        out += code == "=2C" ? ',' : '=';
        i += 2;
    }
    return out;
}

// "x=value" at the start of `rest`, which then begins behind the comma.
std::optional<std::string_view> take(char attribute, std::string_view& rest) {
    if (rest.size() < 2 || rest[0] != attribute || rest[1] != '=') return std::nullopt;
    const size_t comma = rest.find(',');
    const std::string_view value =
        rest.substr(2, comma == std::string_view::npos ? comma : comma - 2);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    return value;
}

bool is_nonce(std::string_view text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f && c != ','; });
}

}  // namespace

std::string_view name_of(Mechanism mechanism) {
    return mechanism == Mechanism::sha1 ? "SCRAM-SHA-1" : "SCRAM-SHA-256";
}

std::optional<Mechanism> find_mechanism(std::string_view name) {
    for (const Mechanism mechanism : kMechanisms) {
        if (name == name_of(mechanism)) return mechanism;
    }
    return std::nullopt;
}

std::string secret_of(Mechanism mechanism, std::string_view user, const Password& password) {
    if (password.text.size() > kPasswordBytesMax)
        base::fail(base::kBadValue, "a password must not be longer than {} bytes",
                   kPasswordBytesMax);
    if (mechanism == Mechanism::sha1) {
        if (password.is_digested) return password.text;
        return hex(hash(Digest::md5, fmt::format("{}:mongo:{}", user, password.text)));
    }
    if (password.is_digested)
        base::fail(base::kBadValue,
                   "SCRAM-SHA-256 needs the password itself: leave digestPassword out, or true");
    return prepared(password.text);
}

Credential make_credential(Mechanism mechanism, std::string_view secret, std::string salt,
                           int iterations) {
    const Digest digest = digest_of(mechanism);
    const std::string salted = pbkdf2(digest, secret, salt, iterations);
    Credential out;
    out.iterations = iterations;
    out.salt = std::move(salt);
    out.stored_key = hash(digest, hmac(digest, salted, "Client Key"));
    out.server_key = hmac(digest, salted, "Server Key");
    return out;
}

Credential make_credential(Mechanism mechanism, std::string_view user, const Password& password) {
    return make_credential(mechanism, secret_of(mechanism, user, password),
                           random_bytes(salt_size(mechanism)), default_iterations(mechanism));
}

Credential dummy_credential(Mechanism mechanism, std::string_view secret,
                            std::string_view user_id) {
    const Digest digest = digest_of(mechanism);
    Credential out;
    out.iterations = default_iterations(mechanism);
    out.salt = hmac(Digest::sha256, secret, fmt::format("{} {}", name_of(mechanism), user_id));
    out.salt.resize(salt_size(mechanism));
    out.stored_key = hmac(digest, secret, user_id);
    out.server_key = out.stored_key;
    return out;
}

std::string ScramServer::random_nonce() {
    return to_base64(random_bytes(kNonceBytes));
}

std::optional<std::string> ScramServer::start(std::string_view client_first) {
    if (client_first.size() > kFirstBytesMax) return fail("the first message is too long");
    // "n,," or "y,,": no channel binding. A name to act as is allowed if it is the same one.
    if (client_first.size() < 3 || (client_first[0] != 'n' && client_first[0] != 'y') ||
        client_first[1] != ',')
        return fail("the first message has another header than 'n,,'");
    std::string_view rest = client_first.substr(2);
    std::optional<std::string> acts_as;
    if (!rest.starts_with(',')) {
        const auto given = take('a', rest);
        if (!given) return fail("the first message has no comma behind its header");
        acts_as = unescaped(*given);
        if (!acts_as) return fail("a name is not escaped as it has to be");
    } else {
        rest.remove_prefix(1);
    }
    binding_ = to_base64(client_first.substr(0, client_first.size() - rest.size()));
    first_bare_ = rest;
    const auto name = take('n', rest);
    if (!name || name->empty()) return fail("the first message names no user");
    const auto nonce = take('r', rest);
    if (!nonce || !is_nonce(*nonce)) return fail("the first message has no nonce");
    auto user = unescaped(*name);
    if (!user) return fail("a name is not escaped as it has to be");
    if (acts_as && *acts_as != *user) return fail("acting as another user is not supported");
    nonce_.insert(0, *nonce);
    return user;
}

std::string ScramServer::answer(Credential credential, bool is_real) {
    credential_ = std::move(credential);
    is_real_ = is_real;
    server_first_ =
        fmt::format("r={},s={},i={}", nonce_, to_base64(credential_.salt), credential_.iterations);
    return server_first_;
}

std::optional<std::string> ScramServer::finish(std::string_view client_final) {
    std::string_view rest = client_final;
    const auto binding = take('c', rest);
    const auto nonce = take('r', rest);
    if (!binding || !nonce) return fail("the last message lacks header or nonce");
    if (*binding != binding_) return fail("the last message repeats another header");
    if (!equal(*nonce, nonce_)) return fail("the last message has another nonce");
    // Extensions may stand before the proof, which comes last.
    const size_t proof_at = client_final.rfind(",p=");
    if (proof_at == std::string_view::npos) return fail("the last message has no proof");
    const auto proof = from_base64(client_final.substr(proof_at + 3));
    const Digest digest = digest_of(mechanism_);
    if (!proof || proof->size() != size_of(digest)) return fail("the proof is none");

    const std::string message =
        fmt::format("{},{},{}", first_bare_, server_first_, client_final.substr(0, proof_at));
    const std::string signature = hmac(digest, credential_.stored_key, message);
    const std::string client_key = exclusive_or(*proof, signature);
    const bool proven = equal(hash(digest, client_key), credential_.stored_key);
    if (!proven || !is_real_) return fail("the proof is wrong");
    return "v=" + to_base64(hmac(digest, credential_.server_key, message));
}

}  // namespace auth
