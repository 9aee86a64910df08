// Tests streams that begin with a handshake. Connections by TLS are tested with clients, in
// tests/access/.
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
        ::close(::mkstemp(path_.data()));
        write(1);
    }
    ~CertificateFile() { ::unlink(path_.c_str()); }
    const std::string& path() const { return path_; }

    void write(int64_t serial) const {
        std::FILE* const file = std::fopen(path_.c_str(), "w");
        EVP_PKEY* const key = EVP_EC_gen("P-256");
        X509* const certificate = X509_new();
        X509_set_version(certificate, 2);
        ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), serial);
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

  private:
    std::string path_ = testing::TempDir() + "tls-test-XXXXXX";
};

// A server's stream, and the socket at the other end.
class ServerEnd {
  public:
    ServerEnd() {
        TlsOptions options;
        options.mode = TlsMode::required;
        options.certificate_key_file = file_.path();
        context_ = std::make_unique<TlsContext>(options);
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_), 0);
        server = context_->open(sockets_[0]);
    }
    ~ServerEnd() {
        server.reset();
        for (const int fd : sockets_)
            ::close(fd);
    }

    int server_socket() const { return sockets_[0]; }
    int client_socket() const { return sockets_[1]; }
    void send(std::string_view bytes) const {
        EXPECT_EQ(::write(sockets_[1], bytes.data(), bytes.size()), std::ssize(bytes));
    }
    void close_client() const { ::shutdown(sockets_[1], SHUT_RDWR); }

  private:
    CertificateFile file_;
    std::unique_ptr<TlsContext> context_;
    int sockets_[2] = {-1, -1};

  public:
    std::unique_ptr<TlsStream> server;
};

// With a client of OpenSSL that has shaken hands.
class Pair : public ServerEnd {
  public:
    Pair() {
        client = SSL_new(client_context_);
        SSL_set_fd(client, client_socket());
        std::thread other([this] { EXPECT_EQ(SSL_connect(client), 1); });
        while (server->shake_hands() == TlsStream::Result::wants_read) {
        }
        other.join();
    }
    ~Pair() {
        SSL_free(client);
        SSL_CTX_free(client_context_);
    }

  private:
    SSL_CTX* client_context_ = SSL_CTX_new(TLS_client_method());

  public:
    SSL* client = nullptr;
};

TlsStream::Result read_from(TlsStream& stream) {
    char bytes[10];
    size_t n = 0;
    return stream.read(bytes, sizeof bytes, &n);
}

using namespace std::string_view_literals;
constexpr std::string_view kHelloOf512Bytes = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"sv;

TEST(Tls, AClientThatLeavesHasNotFailed) {
    for (const bool says_goodbye : {false, true}) {
        Pair pair;
        if (says_goodbye) {
            EXPECT_EQ(SSL_shutdown(pair.client), 0);
        }
        pair.close_client();
        EXPECT_EQ(read_from(*pair.server), TlsStream::Result::closed);
        EXPECT_EQ(pair.server->why(), "");
    }
    for (const size_t sent : {size_t{0}, size_t{3}, kHelloOf512Bytes.size()}) {
        const ServerEnd end;
        end.send(kHelloOf512Bytes.substr(0, sent));
        end.close_client();
        EXPECT_EQ(end.server->shake_hands(), TlsStream::Result::closed);
        EXPECT_EQ(end.server->why(), "") << sent;
    }
}

TEST(Tls, AHandshakeThatFailsSaysWhy) {
    for (const auto sent : {"GET / HTTP/1.0\r\n\r\n"sv, "\x30\x00\x00\x00 no handshake"sv,
                            "\x16\x03\x01\x00\x04\x05\x00\x00\x00"sv}) {
        const ServerEnd end;
        end.send(sent);
        EXPECT_EQ(end.server->shake_hands(), TlsStream::Result::closed);
        EXPECT_NE(end.server->why(), "");
    }
}

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
    ASSERT_EQ(SSL_write(pair.client, "word", 4), 4);
    ASSERT_EQ(read_from(*pair.server), TlsStream::Result::done);
    EXPECT_FALSE(pair.server->holds_half());
    ASSERT_EQ(::fcntl(pair.server_socket(), F_SETFL, O_NONBLOCK), 0);
    // The whole head of the record comes last: by then only the library's state tells.
    for (const auto part : {"\x17"sv, "\x03\x03\x40"sv, "\x00"sv}) {
        pair.send(part);
        EXPECT_EQ(read_from(*pair.server), TlsStream::Result::wants_read);
        EXPECT_TRUE(pair.server->holds_half());
    }
    pair.send(std::string(1000, 'x'));
    EXPECT_EQ(read_from(*pair.server), TlsStream::Result::wants_read);
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

TEST(Tls, FilesAreReadAnewOrKept) {
    CertificateFile file;
    TlsOptions options;
    options.mode = TlsMode::required;
    options.certificate_key_file = file.path();
    TlsFiles files(
        [](const TlsOptions& of) {
            std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
            if (SSL_CTX_use_certificate_chain_file(context.get(),
                                                   of.certificate_key_file.c_str()) != 1)
                base::fail(base::kBadValue, "no certificate");
            return context;
        },
        options);
    const std::shared_ptr<SSL_CTX> first = files.get();
    const auto serial = [&files] {
        return ASN1_INTEGER_get(
            X509_get0_serialNumber(SSL_CTX_get0_certificate(files.get().get())));
    };
    EXPECT_EQ(serial(), 1);
    file.write(2);
    EXPECT_EQ(files.get(), first);
    files.read_anew();
    EXPECT_EQ(serial(), 2);
    ASSERT_EQ(::truncate(file.path().c_str(), 0), 0);
    EXPECT_THROW(files.read_anew(), base::Error);
    EXPECT_EQ(serial(), 2);
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
