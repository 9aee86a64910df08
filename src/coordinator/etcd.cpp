#include "coordinator/etcd.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/json.h"

namespace coordinator {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using Time = std::chrono::steady_clock::time_point;

namespace {

// A set's data is a few kilobytes.
constexpr uint64_t kAnswerBytesMax = 1 << 20;
constexpr std::chrono::milliseconds kPause{100};
constexpr size_t kQuotedMax = 200;  // of what an etcd says

[[noreturn]] void unreachable(const std::string& why) {
    base::fail(base::kHostUnreachable, "{}", why);
}

// What an etcd says of a failure: {"error": text, "code": number, ...}.
std::string failure_in(const std::string& body, unsigned status) {
    std::string text;
    try {
        const bson::Object object = bson::from_json(body);
        if (const bson::Element e = object.doc()["error"]; e.is_string()) text = e.as_string();
    } catch (const base::Error&) {
        text = body.substr(0, body.find_first_of("\r\n"));  // a proxy's, perhaps
    }
    return fmt::format("HTTP {}{}{}", status, text.empty() ? "" : ": ", text.substr(0, kQuotedMax));
}

}  // namespace

struct Etcd::Tls {
    asio::ssl::context context{asio::ssl::context::tls_client};
};

// A kept connection to one server. It is of no use after an exception.
class Etcd::Line {
  public:
    Line(const Endpoint& endpoint, asio::ssl::context& context, Time until)
        : endpoint_(endpoint), stream_(io_, context) {
        error_code error;
        Tcp::resolver resolver(io_);
        const auto addresses = resolver.resolve(endpoint.host, endpoint.port, error);
        if (error) unreachable(error.message());
        await(until, "no connection", [&](auto done) {
            asio::async_connect(stream_.next_layer(), addresses,
                                [done](error_code e, const Tcp::endpoint&) { done(e); });
        });
        stream_.next_layer().set_option(Tcp::no_delay(true), error);
        if (endpoint.is_encrypted) shake_hands(until);
    }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    const Endpoint& endpoint() const { return endpoint_; }

    // Returns the status; the body into *answer.
    unsigned exchange(const std::string& path, const std::string& body, const std::string& token,
                      Time until, std::string* answer) {
        http::request<http::string_body> request{http::verb::post, path, 11};
        request.set(http::field::host, endpoint_.host + ":" + endpoint_.port);
        request.set(http::field::content_type, "application/json");
        if (!token.empty()) request.set(http::field::authorization, token);
        request.body() = body;
        request.prepare_payload();
        http::response_parser<http::string_body> parser;
        parser.body_limit(kAnswerBytesMax);
        if (endpoint_.is_encrypted)
            exchange(stream_, request, parser, until);
        else
            exchange(stream_.next_layer(), request, parser, until);
        *answer = std::move(parser.get().body());
        is_kept_ = parser.get().keep_alive();
        return parser.get().result_int();
    }
    bool is_kept() const { return is_kept_; }

  private:
    // Runs what `start` begins; it gets what is to be called at the end.
    template <typename Start>
    void await(Time until, const char* what, Start start) {
        bool is_done = false;
        error_code result;
        start([&](error_code error) {
            is_done = true;
            result = error;
        });
        io_.restart();
        io_.run_until(until);
        if (!is_done) {
            error_code ignored;
            stream_.next_layer().close(ignored);
            io_.restart();
            io_.run();  // ends by that
            unreachable(fmt::format("{} in time", what));
        }
        if (result) unreachable(fmt::format("{}: {}", what, result.message()));
    }

    void shake_hands(Time until) {
        if (SSL_set_tlsext_host_name(stream_.native_handle(), endpoint_.host.c_str()) != 1)
            unreachable("its name is none for TLS");
        stream_.set_verify_callback(asio::ssl::host_name_verification(endpoint_.host));
        await(until, "no TLS connection",
              [&](auto done) { stream_.async_handshake(asio::ssl::stream_base::client, done); });
    }

    template <typename Stream, typename Request, typename Parser>
    void exchange(Stream& stream, const Request& request, Parser& parser, Time until) {
        await(until, "the request is not taken", [&](auto done) {
            http::async_write(stream, request, [done](error_code e, size_t) { done(e); });
        });
        await(until, "no answer", [&](auto done) {
            http::async_read_header(stream, buffer_, parser,
                                    [done](error_code e, size_t) { done(e); });
        });
        // Beast 1.74 lets a length that is given pass.
        if (parser.content_length().value_or(0) > kAnswerBytesMax)
            unreachable("no answer: body limit exceeded");
        await(until, "no answer", [&](auto done) {
            http::async_read(stream, buffer_, parser, [done](error_code e, size_t) { done(e); });
        });
    }

    const Endpoint endpoint_;
    asio::io_context io_;
    asio::ssl::stream<Tcp::socket> stream_;
    boost::beast::flat_buffer buffer_{kAnswerBytesMax + (64 << 10)};
    bool is_kept_ = true;
};

std::vector<Endpoint> parse_endpoints(std::string_view urls) {
    std::vector<Endpoint> endpoints;
    const auto invalid = [](std::string_view url) {
        base::fail(base::kBadValue,
                   "'{}' is no address of an etcd: it has to be http://HOST:PORT or "
                   "https://HOST:PORT, several with a comma between them",
                   url);
    };
    while (!urls.empty()) {
        const size_t comma = urls.find(',');
        const std::string_view url = urls.substr(0, comma);
        urls.remove_prefix(comma == std::string_view::npos ? urls.size() : comma + 1);
        Endpoint endpoint;
        endpoint.url = url;
        std::string_view rest = url;
        if (rest.starts_with("https://"))
            endpoint.is_encrypted = true;
        else if (!rest.starts_with("http://"))
            invalid(url);
        rest.remove_prefix(endpoint.is_encrypted ? 8 : 7);
        if (rest.ends_with('/')) rest.remove_suffix(1);
        const size_t colon = rest.rfind(':');
        if (colon == std::string_view::npos) invalid(url);
        std::string_view host = rest.substr(0, colon);
        if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
        endpoint.host = host;
        endpoint.port = rest.substr(colon + 1);
        const bool is_port = !endpoint.port.empty() && endpoint.port.size() <= 5 &&
                             endpoint.port.find_first_not_of("0123456789") == std::string::npos &&
                             std::stoi(endpoint.port) >= 1 && std::stoi(endpoint.port) <= 65535;
        if (host.empty() || !is_port || host.find_first_of("/?#@ ") != std::string_view::npos)
            invalid(url);
        endpoints.push_back(std::move(endpoint));
    }
    if (endpoints.empty()) invalid("");
    return endpoints;
}

Etcd::Etcd(EtcdOptions options) : options_(std::move(options)), tls_(std::make_unique<Tls>()) {
    DCHECK(!options_.endpoints.empty());
    error_code error;
    for (const std::string* file : {&options_.ca_file, &options_.certificate_key_file})
        if (!file->empty() && ::access(file->c_str(), R_OK) != 0)
            base::fail(base::kBadValue, "error opening file {}: {}", *file, std::strerror(errno));
    const auto check = [&error](const std::string& file) {
        if (error)
            base::fail(base::kBadValue, "{} cannot be used for the coordinator: {}", file,
                       error.message());
    };
    tls_->context.set_verify_mode(asio::ssl::verify_peer);
    if (options_.ca_file.empty())
        tls_->context.set_default_verify_paths(error);
    else
        tls_->context.load_verify_file(options_.ca_file, error);
    check(options_.ca_file);
    const std::string& own = options_.certificate_key_file;
    if (own.empty()) return;
    tls_->context.use_certificate_chain_file(own, error);
    check(own);
    tls_->context.use_private_key_file(own, asio::ssl::context::pem, error);
    check(own);
}

Etcd::~Etcd() = default;

std::string Etcd::ask(const Endpoint& endpoint, const std::string& path, const std::string& body,
                      Time until) {
    std::string answer;
    const bool is_new = line_ == nullptr || line_->endpoint().url != endpoint.url;
    if (is_new) line_ = std::make_unique<Line>(endpoint, tls_->context, until);
    unsigned status = 0;
    try {
        status = line_->exchange(path, body, token_, until, &answer);
    } catch (const base::Error&) {
        line_.reset();
        // The server may have ended a connection that was idle.
        if (is_new || std::chrono::steady_clock::now() >= until) throw;
        line_ = std::make_unique<Line>(endpoint, tls_->context, until);
        status = line_->exchange(path, body, token_, until, &answer);
    }
    if (!line_->is_kept()) line_.reset();
    if (status == 400 || status == 401 || status == 403)
        base::fail(base::kAuthenticationFailed, "{}", failure_in(answer, status));
    if (status != 200) base::fail(base::kProtocolError, "{}", failure_in(answer, status));
    return answer;
}

void Etcd::log_in(const Endpoint& endpoint, Time until) {
    token_.clear();
    const std::string answer =
        ask(endpoint, "/v3/auth/authenticate",
            bson::to_json(bson::make("name", options_.user, "password", options_.password)), until);
    const bson::Object object = bson::from_json(answer);
    const bson::Element token = object.doc()["token"];
    if (!token.is_string() || token.as_string().empty())
        base::fail(base::kAuthenticationFailed, "it gives no token for the user {}", options_.user);
    if (token.as_string().find_first_of("\r\n") != std::string_view::npos)
        base::fail(base::kProtocolError, "its token is none");
    token_ = token.as_string();
}

// A token ends with time, and is of one server or of all, as etcd is set up.
std::string Etcd::ask_as_user(const Endpoint& endpoint, const std::string& body, Time until) {
    if (options_.user.empty()) return ask(endpoint, "/v3/kv/txn", body, until);
    const bool is_fresh = token_.empty();
    if (is_fresh) log_in(endpoint, until);
    try {
        return ask(endpoint, "/v3/kv/txn", body, until);
    } catch (const base::Error& error) {
        if (error.code() != base::kAuthenticationFailed || is_fresh) throw;
    }
    log_in(endpoint, until);
    return ask(endpoint, "/v3/kv/txn", body, until);
}

// Whether there is more time. All servers have failed: one that has just lost its leader, or is
// started, answers a moment later.
bool Etcd::pause(Time end) const {
    const Time next = std::chrono::steady_clock::now() + kPause;
    if (next < end) std::this_thread::sleep_until(next);
    return next < end;
}

std::optional<election::Answer> Etcd::run(const election::Transaction& transaction,
                                          std::string* why) {
    const std::string body = to_request(transaction);
    const Time end = std::chrono::steady_clock::now() + options_.limit;
    const size_t first = last_good_;
    std::vector<std::string> reasons(options_.endpoints.size());
    do {
        bool is_refused = true;  // by each: this user has no right to it
        for (size_t i = 0; i < reasons.size(); ++i) {
            const size_t at = (first + i) % reasons.size();
            const Endpoint& endpoint = options_.endpoints[at];
            const Time until =
                std::min(end, std::chrono::steady_clock::now() + options_.limit_each);
            try {
                election::Answer answer = from_answer(ask_as_user(endpoint, body, until));
                last_good_ = at;
                return answer;
            } catch (const std::exception& error) {  // also Boost's
                line_.reset();
                token_.clear();
                reasons[at] = fmt::format("{}: {}", endpoint.url, error.what());
                const auto* const own = dynamic_cast<const base::Error*>(&error);
                is_refused &= own != nullptr && own->code() == base::kAuthenticationFailed;
            }
        }
        if (is_refused) break;
    } while (pause(end));
    *why = fmt::format("{}", fmt::join(reasons, "; "));
    return {};
}

}  // namespace coordinator
