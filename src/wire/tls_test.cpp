// What begins with a handshake. Connections by TLS are tested with clients, in tests/access/.
#include "wire/tls.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace wire {
namespace {

TEST(Tls, AHandshakeIsToldFromAMessage) {
    const unsigned char hello[] = {22, 3, 1, 2, 0, 1};
    EXPECT_TRUE(is_handshake(hello, sizeof hello));
    EXPECT_FALSE(is_handshake(hello, sizeof hello - 1));
    // Messages whose length begins with the same byte.
    const unsigned char short_one[] = {22, 0, 0, 0, 1, 0};
    const unsigned char of_278[] = {22, 1, 0, 0, 1, 1};
    const unsigned char of_790[] = {22, 3, 0, 0, 1, 1};
    const unsigned char alert[] = {21, 3, 1, 0, 2, 1};
    EXPECT_FALSE(is_handshake(short_one, sizeof short_one));
    EXPECT_FALSE(is_handshake(of_278, sizeof of_278));
    EXPECT_FALSE(is_handshake(of_790, sizeof of_790));
    EXPECT_FALSE(is_handshake(alert, sizeof alert));
}

TEST(Tls, AFileThatCannotBeUsedIsNamed) {
    TlsOptions options;
    options.mode = TlsMode::required;
    options.certificate_key_file = "/no/such/file.pem";
    try {
        const TlsContext context(options);
        FAIL() << "was used";
    } catch (const base::Error& error) {
        EXPECT_NE(std::string(error.what()).find("/no/such/file.pem"), std::string::npos)
            << error.what();
    }
}

}  // namespace
}  // namespace wire
