#include "wire/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstring>
#include <optional>
#include <thread>

#include "base/dcheck.h"
#include "base/error.h"

namespace wire {

namespace {

// The reason that OpenSSL gave last; forgets all it has noted for this thread.
std::string reason() {
    unsigned long first = ERR_get_error();
    const unsigned long code = first;
    while (first != 0)
        first = ERR_get_error();
    if (code == 0) return "no reason given";
    if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
    const char* text = ERR_reason_error_string(code);
    return text != nullptr ? text : std::to_string(code);
}

[[noreturn]] void fail(const char* what, const std::string& file) {
    base::fail(base::kBadValue, "TLS: cannot use {} '{}': {}", what, file, reason());
}

int give_password(char* out, int size, int, void* context) {
    const auto& password = *static_cast<const std::string*>(context);
    if (password.size() > static_cast<size_t>(size)) return -1;
    return static_cast<int>(password.copy(out, password.size()));
}

void use_certificate(SSL_CTX* context, const TlsOptions& options) {
    const std::string& file = options.certificate_key_file;
    std::string password = options.password;
    SSL_CTX_set_default_passwd_cb(context, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, &password);
    if (SSL_CTX_use_certificate_chain_file(context, file.c_str()) != 1)
        fail("the certificate in", file);
    if (SSL_CTX_use_PrivateKey_file(context, file.c_str(), SSL_FILETYPE_PEM) != 1)
        fail("the private key in", file);
    if (SSL_CTX_check_private_key(context) != 1) fail("certificate and key together in", file);
    SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
}

// The limit of the certificates that a client may send, its own and those that lead to a known
// authority: a few of some kilobytes. They are read before any is examined, for milliseconds of the
// threads that shake hands with the others, too, and a connection keeps them, ten times as large,
// until it ends.
constexpr long kCertificateBytesMax = 16 * 1024;

// Called for each flaw of a chain, and each certificate without one; 1: go on.
int accept_authorities_without_list(int good, X509_STORE_CTX* chain) {
    const bool of_client = X509_STORE_CTX_get_error_depth(chain) == 0;
    const bool no_list = X509_STORE_CTX_get_error(chain) == X509_V_ERR_UNABLE_TO_GET_CRL;
    if (good != 1 && no_list && !of_client) {
        X509_STORE_CTX_set_error(chain, X509_V_OK);
        return 1;
    }
    return good;
}

// Sets what both sides of a connection have in common.
void speak_only(SSL_CTX* context, const TlsOptions& options) {
    SSL_CTX_set_min_proto_version(context, options.tls_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION);
    SSL_CTX_set_max_proto_version(context, options.tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
    // The other side may close its socket without a word of TLS: messages say how long they are, so
    // that none can be cut short unnoticed.
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    // A write is repeated from where its bytes are then; idle connections keep no buffers.
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
}

void trust_authorities(SSL_CTX* context, const TlsOptions& options) {
    const std::string& file = options.ca_file;
    if (SSL_CTX_load_verify_locations(context, file.c_str(), nullptr) != 1)
        fail("the authorities in", file);
    SSL_CTX_set_max_cert_list(context, kCertificateBytesMax);
    if (options.crl_file.empty()) return;
    X509_STORE* const store = SSL_CTX_get_cert_store(context);
    X509_LOOKUP* const lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    if (lookup == nullptr ||
        X509_load_crl_file(lookup, options.crl_file.c_str(), X509_FILETYPE_PEM) < 1)
        fail("the revoked certificates in", options.crl_file);
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    X509_STORE_set_verify_cb(store, accept_authorities_without_list);
}

void ask_for_certificates(SSL_CTX* context, const TlsOptions& options) {
    trust_authorities(context, options);
    SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(options.ca_file.c_str()));
    SSL_CTX_set_verify(
        context,
        SSL_VERIFY_PEER | (options.without_certificate ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT),
        nullptr);
}

std::shared_ptr<SSL_CTX> empty(const SSL_METHOD* method, const TlsOptions& options) {
    std::shared_ptr<SSL_CTX> context(SSL_CTX_new(method), SSL_CTX_free);
    if (context == nullptr) base::fail(base::kInternalError, "TLS: {}", reason());
    speak_only(context.get(), options);
    return context;
}

std::shared_ptr<SSL_CTX> of_server(const TlsOptions& options) {
    std::shared_ptr<SSL_CTX> context = empty(TLS_server_method(), options);
    // Clients keep their sessions themselves, in tickets; the server keeps none.
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    static constexpr unsigned char kSessionName[] = "mongod";
    SSL_CTX_set_session_id_context(context.get(), kSessionName, sizeof kSessionName - 1);
    use_certificate(context.get(), options);
    if (!options.ca_file.empty()) ask_for_certificates(context.get(), options);
    return context;
}

std::shared_ptr<SSL_CTX> of_client(const TlsOptions& options) {
    std::shared_ptr<SSL_CTX> context = empty(TLS_client_method(), options);
    use_certificate(context.get(), options);
    trust_authorities(context.get(), options);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    return context;
}

// The limit of what one call may take from the socket: a few records. Most carry what the call is
// for; a client may also send without end what TLS keeps to itself (new keys, alerts), and the
// library would go on as long as there is more.
constexpr int kReadsPerCall = 64;

// Asked by OpenSSL before it reads from the socket, and notified afterwards; `parg` is a
// TlsStream's reads_left_.
long count_reads(BIO* bio, int operation, const char*, size_t, int, long, int returned, size_t*) {
    if (operation != BIO_CB_READ) return returned;
    int& left = *reinterpret_cast<int*>(BIO_get_callback_arg(bio));
    if (left-- > 0) return returned;
    BIO_set_retry_read(bio);
    return -1;
}

// Some of the processors, so that connections that have shaken hands get theirs.
size_t handshake_threads() {
    return std::max(1U, std::thread::hardware_concurrency() / 4);
}

}  // namespace

struct TlsContext::Threads {
    std::optional<boost::asio::thread_pool> pool{std::in_place, handshake_threads()};
};

TlsFiles::TlsFiles(Make make, const TlsOptions& options)
    : make_(make), options_(options), context_(make(options)) {}

std::shared_ptr<SSL_CTX> TlsFiles::get() const {
    const std::lock_guard lock(mutex_);
    return context_;
}

void TlsFiles::read_anew() {
    std::shared_ptr<SSL_CTX> fresh = make_(options_);
    const std::lock_guard lock(mutex_);
    context_.swap(fresh);
}

TlsContext::TlsContext(const TlsOptions& options)
    : mode_(options.mode), files_(of_server, options), threads_(std::make_unique<Threads>()) {}

TlsContext::~TlsContext() = default;

std::unique_ptr<TlsStream> TlsContext::open(int fd) const {
    DCHECK(mode_ != TlsMode::disabled && fd >= 0);
    SSL* const ssl = SSL_new(files_.get().get());
    if (ssl == nullptr || SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        base::fail(base::kInternalError, "TLS: {}", reason());
    }
    SSL_set_accept_state(ssl);
    return std::make_unique<TlsStream>(ssl);
}

void TlsContext::compute(std::function<void()> work) const {
    boost::asio::post(*threads_->pool, std::move(work));
}

void TlsContext::stop_computing() const {
    if (!threads_->pool) return;
    threads_->pool->stop();
    threads_->pool->join();
    threads_->pool.reset();
}

TlsClient::TlsClient(const TlsOptions& options) : files_(of_client, options) {
    DCHECK(!options.ca_file.empty());
}

std::unique_ptr<TlsStream> TlsClient::open(int fd, const std::string& name) const {
    SSL* const ssl = SSL_new(files_.get().get());
    X509_VERIFY_PARAM* const wanted = ssl != nullptr ? SSL_get0_param(ssl) : nullptr;
    const bool is_ready = ssl != nullptr && SSL_set_fd(ssl, fd) == 1 &&
                          // A numeric address, or else a name.
                          (X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1 ||
                           (SSL_set1_host(ssl, name.c_str()) == 1 &&
                            SSL_set_tlsext_host_name(ssl, name.c_str()) == 1));
    if (!is_ready) {
        SSL_free(ssl);
        base::fail(base::kInternalError, "TLS: {}", reason());
    }
    SSL_set_connect_state(ssl);
    return std::make_unique<TlsStream>(ssl);
}

TlsStream::TlsStream(ssl_st* ssl) : ssl_(ssl) {
    BIO* const socket = SSL_get_rbio(ssl);
    BIO_set_callback_arg(socket, reinterpret_cast<char*>(&reads_left_));
    BIO_set_callback_ex(socket, count_reads);
}

TlsStream::~TlsStream() {
    SSL_free(ssl_);
}

TlsStream::Result TlsStream::result_of(int returned) {
    switch (SSL_get_error(ssl_, returned)) {
        case SSL_ERROR_WANT_READ:
            return Result::wants_read;
        case SSL_ERROR_WANT_WRITE:
            return Result::wants_write;
        case SSL_ERROR_ZERO_RETURN:
            return Result::closed;
        case SSL_ERROR_SSL:
            broken_ = true;
            why_ = reason();
            if (const long verdict = SSL_get_verify_result(ssl_); verdict != X509_V_OK)
                why_ += fmt::format(" ({})", X509_verify_cert_error_string(verdict));
            return Result::closed;
        default:
            // The socket has ended.
            broken_ = true;
            ERR_clear_error();
            return Result::closed;
    }
}

bool TlsStream::shaking_hands() const {
    return !broken_ && SSL_is_init_finished(ssl_) == 0;
}

bool TlsStream::holds_half() const {
    // Its head, or something behind that; the library tells them in two ways.
    return !broken_ &&
           (SSL_has_pending(ssl_) != 0 || std::string_view(SSL_rstate_string(ssl_)) == "RB");
}

TlsStream::Result TlsStream::shake_hands() {
    ERR_clear_error();
    reads_left_ = kReadsPerCall;
    const int returned = SSL_do_handshake(ssl_);
    return returned == 1 ? Result::done : result_of(returned);
}

TlsStream::Result TlsStream::read(void* data, size_t size, size_t* n) {
    DCHECK(size != 0);
    ERR_clear_error();
    reads_left_ = kReadsPerCall;
    const int returned = SSL_read_ex(ssl_, data, size, n);
    DCHECK(returned != 1 || (*n > 0 && *n <= size));
    return returned == 1 ? Result::done : result_of(returned);
}

TlsStream::Result TlsStream::write(const void* data, size_t size, size_t* n) {
    DCHECK(size != 0);
    ERR_clear_error();
    const int returned = SSL_write_ex(ssl_, data, size, n);
    DCHECK(returned != 1 || (*n > 0 && *n <= size));
    return returned == 1 ? Result::done : result_of(returned);
}

void TlsStream::end() {
    if (broken_ || SSL_in_init(ssl_) != 0) return;
    ERR_clear_error();
    SSL_shutdown(ssl_);
    ERR_clear_error();
}

bool is_handshake(const unsigned char* bytes, size_t size) {
    constexpr unsigned char kHandshake = 22;
    constexpr unsigned char kClientHello = 1;
    static_assert(kTlsPeekBytes == 6);  // the last one that is looked at
    return size >= kTlsPeekBytes && bytes[0] == kHandshake && bytes[1] == 3 && bytes[2] >= 1 &&
           bytes[2] <= 4 && bytes[5] == kClientHello;
}

}  // namespace wire
