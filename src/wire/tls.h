// wire/tls.h - TLS for the connections of a listener, and for those that this server makes to
// others of its kind; by OpenSSL.
//
// A TlsContext holds what a listener's streams share: the server's certificate, whom it trusts,
// what it speaks (TLS 1.2 and 1.3); a TlsClient the same for the others. A TlsStream encrypts one
// connection. It works on the connection's own non-blocking socket and waits for nothing: a call
// that cannot go on says for what the socket has to be ready, and is repeated then, a write with
// the same bytes. The handshake comes first. One thread uses it at a time.
//
// A handshake signs with the server's private key: half a millisecond of processor time with RSA of
// 2048 bits, more with larger keys, which others on an event loop would have to wait for. Threads
// of the context therefore compute it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct ssl_st;
struct ssl_ctx_st;

namespace wire {

enum class TlsMode {
    disabled,
    allowed,   // clients decide, on the same port
    required,  // a client that begins no handshake is disconnected
};

struct TlsOptions {
    TlsMode mode = TlsMode::disabled;
    std::string certificate_key_file;  // PEM: the certificate, what signs it, the private key
    std::string password;              // of an encrypted key
    std::string ca_file;   // PEM: who signs clients' certificates; empty: none is asked for
    std::string crl_file;  // PEM: certificates that are revoked; needs ca_file
    // Lets a client leave its certificate out, with ca_file. One that it shows must be good.
    bool without_certificate = false;
    bool tls_1_2 = true;
    bool tls_1_3 = true;
};

class TlsStream {
  public:
    // About how many bytes the library takes for reading a record.
    static constexpr int64_t kRecordBytes = 17 * 1024;

    enum class Result { done, wants_read, wants_write, closed };

    explicit TlsStream(ssl_st* ssl);
    ~TlsStream();
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    bool shaking_hands() const;
    // Whether the beginning of a record has arrived, and not the rest, after the handshake. It lies
    // in a buffer of kRecordBytes.
    bool holds_half() const;
    // The next step of the handshake.
    Result shake_hands();
    // Reads at least one byte when done; *n of them. wants_read may also come if there is more:
    // others are served first. `closed`: the client has gone, or is not to be trusted; see why().
    Result read(void* data, size_t size, size_t* n);
    Result write(const void* data, size_t size, size_t* n);
    // Says goodbye, if that needs no waiting.
    void end();
    // Returns what went wrong; empty if the other side just left.
    const std::string& why() const { return why_; }

  private:
    Result result_of(int returned);

    ssl_st* ssl_;
    int reads_left_ = 0;  // from the socket, in the call under way
    bool broken_ = false;
    std::string why_;
};

// What streams of one side share: made of files whole, and replaced whole. Streams that are open
// keep theirs.
class TlsFiles {
  public:
    using Make = std::shared_ptr<ssl_ctx_st> (*)(const TlsOptions&);
    // Throws base::Error that names the file which cannot be used, and why.
    TlsFiles(Make make, const TlsOptions& options);

    std::shared_ptr<ssl_ctx_st> get() const;
    // Throws as the constructor does, and then changes nothing.
    void read_anew();

  private:
    const Make make_;
    const TlsOptions options_;
    mutable std::mutex mutex_;
    std::shared_ptr<ssl_ctx_st> context_;
};

class TlsContext {
  public:
    // Throws base::Error as TlsFiles does.
    explicit TlsContext(const TlsOptions& options);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    TlsMode mode() const { return mode_; }
    // Reads the files anew, for the streams that follow; from any thread. Throws as TlsFiles does.
    void read_anew() { files_.read_anew(); }
    // What streams that begin now are made of.
    std::shared_ptr<ssl_ctx_st> files() const { return files_.get(); }
    // Makes the stream of a connected socket, which stays the caller's.
    std::unique_ptr<TlsStream> open(int fd) const;
    // Has a thread run `work`, soon.
    void compute(std::function<void()> work) const;
    // Waits for what is being run; what has not begun is dropped, and nothing is to follow.
    void stop_computing() const;

  private:
    struct Threads;
    const TlsMode mode_;
    TlsFiles files_;
    const std::unique_ptr<Threads> threads_;
};

// Shows the certificate that clients are shown, and asks the other server for one that an authority
// of `ca_file` has signed for its name.
class TlsClient {
  public:
    // Throws base::Error as TlsContext does. REQUIRES: options.ca_file is not empty.
    explicit TlsClient(const TlsOptions& options);
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    // As TlsContext does.
    void read_anew() { files_.read_anew(); }
    // Makes the stream of a connected socket, which stays the caller's. `name`: of the other
    // server's machine, or its numeric address, for which its certificate has to be.
    std::unique_ptr<TlsStream> open(int fd, const std::string& name) const;

  private:
    TlsFiles files_;
};

// Whether a connection begins with a handshake, as far as the first kTlsPeekBytes bytes tell. A
// plain message that looked the same would be its first one, and longer than 64 KB.
constexpr size_t kTlsPeekBytes = 6;
bool is_handshake(const unsigned char* bytes, size_t size);

}  // namespace wire
