// auth/scram.h - logging in by SCRAM-SHA-1 and SCRAM-SHA-256 (RFC 5802, RFC 7677; wire spec 6.4):
// what is stored instead of a password, and the server's half of the conversation.
//
// The room auth/ holds authentication and what it is about: passwords, users, roles. It knows
// documents, and neither commands nor where users are stored; command/access/users.h and
// authorization.h use it.
//
// The server never sees a password at a login: the client proves that it could derive the stored
// key. A login therefore costs the server a few hashes; only making a Credential is expensive
// (PBKDF2, some 10 ms), and is done where no other request waits for it.
//
// An unknown user gets the same answers as a known one with a wrong password: a salt that looks
// like any other and stays the same, derived from the name and a secret of this process.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace auth {

enum class Mechanism { sha1, sha256 };
constexpr Mechanism kMechanisms[] = {Mechanism::sha1, Mechanism::sha256};

std::string_view name_of(Mechanism mechanism);
std::optional<Mechanism> find_mechanism(std::string_view name);

// The values that stand for a password in the stored document, in bytes (not base64).
struct Credential {
    int iterations = 0;
    std::string salt;
    std::string stored_key;
    std::string server_key;
    bool operator==(const Credential&) const = default;
};

// The number of hashes of PBKDF2, and the bytes of a salt, in credentials made here.
constexpr int default_iterations(Mechanism mechanism) {
    return mechanism == Mechanism::sha1 ? 10'000 : 15'000;
}
constexpr int kLeastIterations = 4096;  // of stored ones; RFC 5802
constexpr size_t salt_size(Mechanism mechanism) {
    return mechanism == Mechanism::sha1 ? 16 : 28;
}

// A password as its user typed it, or what a client made of it: MD5 in hexadecimal of
// "user:mongo:password", which is what SCRAM-SHA-1 hashes.
struct Password {
    std::string text;
    bool is_digested = false;
};
// Returns the text that SCRAM hashes: the digest for SCRAM-SHA-1, the password in its SASLprep form
// (RFC 4013) for SCRAM-SHA-256. Throws base::Error 2 where there is none: control characters in a
// password, bytes that are no UTF-8, a digested password for SCRAM-SHA-256, more than 4096 bytes.
std::string secret_of(Mechanism mechanism, std::string_view user, const Password& password);

// Takes long: as many hashes as `iterations`.
Credential make_credential(Mechanism mechanism, std::string_view secret, std::string salt,
                           int iterations);
// Makes one with a random salt.
Credential make_credential(Mechanism mechanism, std::string_view user, const Password& password);
// A credential without a known password, for users that do not exist. `secret` is this process's.
Credential dummy_credential(Mechanism mechanism, std::string_view secret, std::string_view user_id);

// The server's half of one login. Calls come in this order: start, answer, finish; any that returns
// nothing ends it, and why is in failure().
class ScramServer {
  public:
    // `nonce` is what the server adds to the client's.
    explicit ScramServer(Mechanism mechanism, std::string nonce = random_nonce())
        : mechanism_(mechanism), nonce_(std::move(nonce)) {}

    // Reads client-first. The user's name, whose credential answer() wants.
    std::optional<std::string> start(std::string_view client_first);
    // Returns server-first. `is_real`: false for a dummy, with which no proof is right.
    std::string answer(Credential credential, bool is_real);
    // Reads client-final, and returns server-final if the proof is right. No part of it is compared
    // in a time that depends on how much of it is right.
    std::optional<std::string> finish(std::string_view client_final);

    Mechanism mechanism() const { return mechanism_; }
    // The credential that answer() was given.
    const Credential& credential() const { return credential_; }
    std::string_view failure() const { return failure_; }

  private:
    static std::string random_nonce();
    std::nullopt_t fail(const char* why) {
        failure_ = why;
        return std::nullopt;
    }

    const Mechanism mechanism_;
    Credential credential_;
    bool is_real_ = false;
    std::string nonce_;       // the server's; from start() on the client's before it
    std::string binding_;     // base64 of the header that client-final has to repeat
    std::string first_bare_;  // client-first without that header
    std::string server_first_;
    const char* failure_ = "";
};

}  // namespace auth
