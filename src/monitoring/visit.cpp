#include "monitoring/visit.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "auth/crypto.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "monitoring/open_metrics.h"

namespace monitoring {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr std::chrono::seconds kTimeMax{10};  // of a handshake, a request, an answer
// Between two requests: longer than programs wait as a rule.
constexpr std::chrono::seconds kSilenceMax{150};
constexpr uint32_t kHeaderBytesMax = 8 * 1024;
constexpr size_t kBufferBytes = 16 * 1024;
constexpr std::string_view kPath = "/metrics";
constexpr std::string_view kBasic = "Basic ";

asio::ssl::context context_of(const std::shared_ptr<ssl_ctx_st>& tls) {
    if (tls == nullptr) return asio::ssl::context(asio::ssl::context::tls_server);
    SSL_CTX_up_ref(tls.get());  // what is made of it gives one up
    return asio::ssl::context(tls.get());
}

std::string text_of(const Visit::Tcp::endpoint& endpoint) {
    return fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
}

std::optional<Disk> disk_of(const std::string& directory) {
    std::error_code error;
    const auto space = std::filesystem::space(directory, error);
    if (error) return std::nullopt;
    return Disk{space.capacity, space.capacity - space.free};
}

// Splits "Basic base64(name:password)".
std::optional<std::pair<std::string, std::string>> name_and_password(std::string_view header) {
    if (!header.starts_with(kBasic)) return std::nullopt;
    const auto text = auth::from_base64(header.substr(kBasic.size()));
    const size_t colon = text ? text->find(':') : std::string::npos;
    if (colon == std::string::npos || text->find('\0') != std::string::npos) return std::nullopt;
    return std::pair(text->substr(0, colon), text->substr(colon + 1));
}

// Whether something else came; not, that there is no more.
bool is_no_http(const boost::system::error_code& error) {
    return error.category() == http::make_error_code(http::error::bad_version).category() &&
           error != http::error::end_of_stream && error != http::error::partial_message;
}

std::string_view view(beast::string_view text) {
    return {text.data(), text.size()};
}

}  // namespace

Visit::Visit(Tcp::socket socket, std::shared_ptr<ssl_ctx_st> tls, wire::Handler& handler,
             const PortOptions& options, Ended ended)
    : context_(context_of(tls)),
      stream_(beast::tcp_stream(std::move(socket)), context_),
      speaks_tls_(tls != nullptr),
      handler_(handler),
      options_(options),
      ended_(std::move(ended)),
      timer_(stream_.get_executor()),
      buffer_(kBufferBytes) {
    Error error;
    const auto remote = this->socket().socket().remote_endpoint(error);
    info_.remote = error ? "a client that has gone" : text_of(remote);
    info_.local_client = !error && remote.address().is_loopback();
    const auto local = this->socket().socket().local_endpoint(error);
    if (!error) info_.local = text_of(local);
}

// Each operation that is under way holds the visit.
void Visit::begin() {
    if (!speaks_tls_) return await_request();
    socket().expires_after(kTimeMax);
    if (options_.tls_required) return begin_tls();
    beast::async_detect_ssl(socket(), buffer_,
                            [self = shared_from_this()](Error error, bool is_handshake) {
                                if (error) return self->end();
                                if (is_handshake) return self->begin_tls();
                                self->read_request();
                            });
}

void Visit::begin_tls() {
    stream_.async_handshake(asio::ssl::stream_base::server, buffer_.data(),
                            [self = shared_from_this()](Error error, size_t used) {
                                if (error) {
                                    base::log::info("TLS handshake with {} failed: {}",
                                                    self->info_.remote, error.message());
                                    return self->end();
                                }
                                self->buffer_.consume(used);
                                self->is_encrypted_ = true;
                                self->await_request();
                            });
}

template <typename Use>
void Visit::with_stream(Use use) {
    if (is_encrypted_)
        use(stream_);
    else
        use(socket());
}

// For the first one there is less time than for those that follow.
void Visit::await_request() {
    if (buffer_.size() != 0) return read_request();
    socket().expires_after(request_ ? kSilenceMax : kTimeMax);
    with_stream([this](auto& stream) {
        stream.async_read_some(buffer_.prepare(kBufferBytes / 2),
                               [self = shared_from_this()](Error error, size_t size) {
                                   if (error) return self->end();
                                   self->buffer_.commit(size);
                                   self->read_request();
                               });
    });
}

void Visit::read_request() {
    last_heard_ = Clock::now();
    socket().expires_after(kTimeMax);
    request_.emplace();
    request_->header_limit(kHeaderBytesMax);
    with_stream([this](auto& stream) {
        http::async_read_header(
            stream, buffer_, *request_, [self = shared_from_this()](Error error, size_t) {
                if (!error) return self->serve();
                if (error == http::error::header_limit || error == http::error::buffer_overflow)
                    return self->answer(Status::request_header_fields_too_large,
                                        "the request is too large\n");
                if (is_no_http(error))
                    return self->answer(Status::bad_request, "that is no HTTP\n");
                self->end();
            });
    });
}

void Visit::serve() {
    const Request::value_type& request = request_->get();
    const std::string_view target = view(request.target());
    if (target.substr(0, target.find('?')) != kPath)
        return answer(Status::not_found, "there is /metrics here, and nothing else\n");
    if (request.method() != http::verb::get)
        return answer(Status::method_not_allowed, "/metrics can only be read: GET\n");
    if (request_->chunked() || request_->content_length().value_or(0) != 0)
        return answer(Status::payload_too_large, "a request has no body here\n");
    // The command may wait for locks and for its turn; the connection does not.
    socket().expires_never();
    if (options_.asks_for_login) return log_in();
    if (client_ == nullptr) make_client();
    ask();
}

void Visit::make_client() {
    client_ = std::make_unique<InnerClient>(
        handler_, info_, [this](Clock::time_point at, std::function<void()> then) {
            timer_.expires_at(at);
            timer_.async_wait([self = shared_from_this(), then = std::move(then)](Error error) {
                if (!error && self->client_ != nullptr) then();
            });
        });
}

void Visit::log_in() {
    const std::string header(view(request_->get()[http::field::authorization]));
    if (client_ != nullptr && header == credentials_) return ask();
    client_ = nullptr;
    credentials_.clear();
    const auto given = name_and_password(header);
    if (!given) return answer(Status::unauthorized, "log in as a user of admin\n");
    make_client();
    client_->log_in(given->first, given->second, [this, header](bool is_good) {
        if (is_good) {
            credentials_ = header;
            return ask();
        }
        answer(Status::unauthorized, "the login failed\n");
    });
}

void Visit::ask() {
    client_->run(bson::make("serverStatus", 1, "recordStats", 0, "locks", 0),
                 [this](bson::Doc status) { answer_status(status); });
}

void Visit::answer_status(bson::Doc status) {
    if (status["ok"].to_double() == 1)
        return answer(Status::ok, open_metrics(status, disk_of(options_.data_directory)),
                      kContentType);
    const bson::Element text = status["errmsg"];
    const bool may_not = status["code"].to_int64() == base::kUnauthorized;
    answer(may_not ? Status::forbidden : Status::service_unavailable,
           fmt::format("serverStatus: {}\n", text.is_string() ? text.as_string() : "no answer"));
}

void Visit::answer(Status status, std::string text, const char* type) {
    const bool is_read = request_->is_header_done();
    response_ = Response(status, 11);
    response_.set(http::field::content_type, type);
    if (status == Status::unauthorized)
        response_.set(http::field::www_authenticate, "Basic realm=\"mongod\"");
    if (status == Status::method_not_allowed) response_.set(http::field::allow, "GET");
    response_.body() = std::move(text);
    // A body that came, or follows, has not been read.
    response_.keep_alive(is_read && status != Status::payload_too_large &&
                         status != Status::method_not_allowed && status != Status::not_found &&
                         request_->get().keep_alive());
    response_.prepare_payload();
    send();
}

void Visit::send() {
    socket().expires_after(kTimeMax);
    with_stream([this](auto& stream) {
        http::async_write(stream, response_, [self = shared_from_this()](Error error, size_t) {
            if (error || !self->response_.keep_alive()) return self->end();
            self->response_ = {};
            self->await_request();
        });
    });
}

void Visit::end() {
    if (!ended_) return;
    Error ignored;
    socket().socket().shutdown(Tcp::socket::shutdown_both, ignored);
    socket().close();
    timer_.cancel();
    std::exchange(ended_, {})(*this);
}

}  // namespace monitoring
