// auth/scram_client.h - the client's half of a login by SCRAM-SHA-1 or SCRAM-SHA-256: how members
// of a replica set log in to each other. The server's half and its terms: auth/scram.h.
#pragma once

#include <string>
#include <string_view>

#include "auth/scram.h"

namespace auth {

// The client's half of one login. Calls come in this order: first, final, check. The last two throw
// base::Error 18 for what a server that knows the password does not say, 2 where there is no such
// password.
class ScramClient {
  public:
    ScramClient(Mechanism mechanism, std::string user, std::string password)
        : mechanism_(mechanism), user_(std::move(user)), password_(std::move(password)) {}

    // Returns client-first.
    std::string first();
    // Returns client-final, for that server-first. It is slow: it makes as many hashes as the
    // server asks for.
    std::string final(std::string_view server_first);
    // Whether server-final shows that the server knows the password too.
    void check(std::string_view server_final) const;

  private:
    const Mechanism mechanism_;
    const std::string user_;
    const std::string password_;
    std::string nonce_;       // the client's
    std::string first_bare_;  // client-first without its header
    std::string proof_of_server_;
};

}  // namespace auth
