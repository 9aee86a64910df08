// auth/testing/scram_client.h - the client's half of a login by SCRAM, for tests.
#pragma once

#include <fmt/format.h>

#include <string>

#include "auth/crypto.h"
#include "auth/scram.h"

namespace auth {

class ScramClient {
  public:
    ScramClient(Mechanism mechanism, std::string user, std::string password)
        : mechanism_(mechanism), user_(std::move(user)), password_(std::move(password)) {}

    std::string first() {
        first_bare_ = fmt::format("n={},r={}", user_, to_base64(random_bytes(18)));
        return "n,," + first_bare_;
    }
    std::string final(const std::string& server_first) const {
        const size_t salt_at = server_first.find(",s=");
        const size_t count_at = server_first.find(",i=");
        const std::string nonce = server_first.substr(2, salt_at - 2);
        const std::string salt = server_first.substr(salt_at + 3, count_at - salt_at - 3);
        const int iterations = std::stoi(server_first.substr(count_at + 3));
        const Digest digest = mechanism_ == Mechanism::sha1 ? Digest::sha1 : Digest::sha256;
        const std::string salted = pbkdf2(digest, secret_of(mechanism_, user_, {password_}),
                                          *from_base64(salt), iterations);
        const std::string key = hmac(digest, salted, "Client Key");
        const std::string bare = fmt::format("c=biws,r={}", nonce);
        const std::string signature = hmac(
            digest, hash(digest, key), fmt::format("{},{},{}", first_bare_, server_first, bare));
        return fmt::format("{},p={}", bare, to_base64(exclusive_or(key, signature)));
    }

  private:
    const Mechanism mechanism_;
    const std::string user_;
    const std::string password_;
    std::string first_bare_;
};

}  // namespace auth
