#include "auth/scram_client.h"

#include <gtest/gtest.h>

#include "auth/crypto.h"
#include "base/error.h"
#include "base/testing/failure.h"

namespace auth {
namespace {

using base::failure;

// A login of `client` at a server that knows `password` of the user; what the server says last.
std::optional<std::string> log_in(ScramClient& client, Mechanism mechanism, const std::string& user,
                                  const std::string& password) {
    ScramServer server(mechanism);
    EXPECT_EQ(server.start(client.first()), user);
    const std::string first =
        server.answer(make_credential(mechanism, user, Password{password}), true);
    return server.finish(client.final(first));
}

TEST(ScramClient, LogsInWhereThePasswordIsTheSame) {
    for (const Mechanism mechanism : kMechanisms) {
        for (const char* user : {"__system", "a,b=c", "=2C"}) {
            ScramClient client(mechanism, user, "secret");
            const auto last = log_in(client, mechanism, user, "secret");
            ASSERT_TRUE(last) << user;
            client.check(*last);
        }
        ScramClient wrong(mechanism, "u", "secret");
        EXPECT_FALSE(log_in(wrong, mechanism, "u", "Secret"));
    }
}

TEST(ScramClient, TrustsNoServerThatDoesNotKnowThePassword) {
    ScramClient client(Mechanism::sha256, "u", "secret");
    const auto last = log_in(client, Mechanism::sha256, "u", "secret");
    ASSERT_TRUE(last);
    std::string other = *last;
    other[5] = other[5] == 'A' ? 'B' : 'A';
    for (const std::string& said : {other, std::string(), std::string("v="), std::string("e=no"),
                                    "v=" + to_base64(random_bytes(32))})
        EXPECT_EQ(failure([&] { client.check(said); }), base::kAuthenticationFailed) << said;
}

TEST(ScramClient, RefusesWhatIsNoAnswer) {
    ScramClient client(Mechanism::sha256, "u", "secret");
    const std::string first = client.first();
    const std::string nonce = first.substr(first.find("r=") + 2);
    const std::string salt = to_base64(std::string(28, 's'));
    for (const std::string& said :
         {std::string(), std::string("r="), "r=" + nonce, "r=" + nonce + "x,s=" + salt,
          "r=" + nonce + ",s=" + salt + ",i=15000",        // nothing of the server's
          "r=x" + nonce + "y,s=" + salt + ",i=15000",      // another one
          "r=" + nonce + "y,s=%,i=15000",                  // no base64
          "r=" + nonce + "y,s=,i=15000",                   //
          "r=" + nonce + "y,s=" + salt + ",i=4095",        // too weak
          "r=" + nonce + "y,s=" + salt + ",i=1000000000",  // takes for ever
          "r=" + nonce + "y,s=" + salt + ",i=15000x", "m=x,r=" + nonce + "y,s=" + salt})
        EXPECT_EQ(failure([&] { client.final(said); }), base::kAuthenticationFailed) << said;
    EXPECT_EQ(failure([&] { client.final("r=" + nonce + "y,s=" + salt + ",i=4096"); }), 0);
}

}  // namespace
}  // namespace auth
