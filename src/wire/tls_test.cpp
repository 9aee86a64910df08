// What begins with a handshake. Connections by TLS are tested with clients, in tests/access/.
#include "wire/tls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <thread>

#include "base/error.h"

namespace wire {
namespace {

// A file with a key and a certificate that it has signed itself.
class CertificateFile {
  public:
    CertificateFile() {
        std::FILE* const file = ::fdopen(::mkstemp(path_.data()), "w");
        EVP_PKEY* const key = EVP_EC_gen("P-256");
        X509* const certificate = X509_new();
        X509_set_version(certificate, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
        X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
        X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
        X509_set_pubkey(certificate, key);
        X509_sign(certificate, key, EVP_sha256());
        PEM_write_X509(file, certificate);
        PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
        X509_free(certificate);
        EVP_PKEY_free(key);
        std::fclose(file);
    }
    ~CertificateFile() { ::unlink(path_.c_str()); }
    const std::string& path() const { return path_; }

  private:
    std::string path_ = testing::TempDir() + "tls-test-XXXXXX";
};

// A server's stream, and a client of OpenSSL at the other end that it has shaken hands with.
class Pair {
  public:
    Pair() {
        TlsOptions options;
        options.mode = TlsMode::required;
        options.certificate_key_file = file_.path();
        context_ = std::make_unique<TlsContext>(options);
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_), 0);
        server = context_->open(sockets_[0]);
        client = SSL_new(client_context_);
        SSL_set_fd(client, sockets_[1]);
        std::thread other([this] { EXPECT_EQ(SSL_connect(client), 1); });
        while (server->shake_hands() == TlsStream::Result::wants_read) {
        }
        other.join();
    }
    ~Pair() {
        SSL_free(client);
        SSL_CTX_free(client_context_);
        server.reset();
        for (const int fd : sockets_)
            ::close(fd);
    }

    int server_socket() const { return sockets_[0]; }

  private:
    CertificateFile file_;
    std::unique_ptr<TlsContext> context_;
    SSL_CTX* client_context_ = SSL_CTX_new(TLS_client_method());
    int sockets_[2] = {-1, -1};

  public:
    std::unique_ptr<TlsStream> server;
    SSL* client = nullptr;
};

TEST(Tls, WhatCarriesNothingDoesNotKeepTheReader) {
    Pair pair;
    ASSERT_EQ(SSL_version(pair.client), TLS1_3_VERSION);
    constexpr int kUpdates = 150;
    for (int i = 0; i < kUpdates; ++i) {
        ASSERT_EQ(SSL_key_update(pair.client, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        ASSERT_EQ(SSL_do_handshake(pair.client), 1);
    }
    ASSERT_EQ(SSL_write(pair.client, "word", 4), 4);
    char bytes[10];
    size_t n = 0;
    int turns = 1;
    TlsStream::Result result{};
    while ((result = pair.server->read(bytes, sizeof bytes, &n)) == TlsStream::Result::wants_read)
        ++turns;
    ASSERT_EQ(result, TlsStream::Result::done) << pair.server->why();
    EXPECT_EQ(std::string(bytes, n), "word");
    EXPECT_GT(turns, 3) << "others had no turn";
}

TEST(Tls, HalfARecordIsReported) {
    Pair pair;
    const auto reads = [&pair] {
        char bytes[10];
        size_t n = 0;
        return pair.server->read(bytes, sizeof bytes, &n);
    };
    ASSERT_EQ(SSL_write(pair.client, "word", 4), 4);
    ASSERT_EQ(reads(), TlsStream::Result::done);
    EXPECT_FALSE(pair.server->holds_half());
    ASSERT_EQ(::fcntl(pair.server_socket(), F_SETFL, O_NONBLOCK), 0);
    const int socket = SSL_get_fd(pair.client);
    // All of its head comes last: by then only the library's state tells.
    using namespace std::string_view_literals;
    for (const auto part : {"\x17"sv, "\x03\x03\x40"sv, "\x00"sv}) {
        ASSERT_EQ(::write(socket, part.data(), part.size()), static_cast<ssize_t>(part.size()));
        EXPECT_EQ(reads(), TlsStream::Result::wants_read);
        EXPECT_TRUE(pair.server->holds_half());
    }
    const std::string body(1000, 'x');
    ASSERT_EQ(::write(socket, body.data(), body.size()), std::ssize(body));
    EXPECT_EQ(reads(), TlsStream::Result::wants_read);
    EXPECT_TRUE(pair.server->holds_half());
}

TEST(Tls, AHandshakeIsDistinguishedFromAMessage) {
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
