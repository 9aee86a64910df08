// monitoring/visit.h - one connection of the port (monitoring/port.h): its requests, one after the
// other.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "monitoring/inner_client.h"
#include "monitoring/port.h"

namespace monitoring {

class Visit : public std::enable_shared_from_this<Visit> {
  public:
    using Tcp = boost::asio::ip::tcp;
    using Clock = std::chrono::steady_clock;
    using Ended = std::function<void(const Visit&)>;

    // `tls`: null: none is spoken. `ended` is called once, last of all. The others outlive it.
    Visit(Tcp::socket socket, std::shared_ptr<ssl_ctx_st> tls, wire::Handler& handler,
          const PortOptions& options, Ended ended);
    ~Visit() { end(); }
    void begin();
    // Closes the connection.
    void end();
    // When the last request, or the connection, came.
    Clock::time_point last_heard() const { return last_heard_; }

  private:
    using Error = boost::system::error_code;
    using Request = boost::beast::http::request_parser<boost::beast::http::empty_body>;
    using Response = boost::beast::http::response<boost::beast::http::string_body>;
    using Status = boost::beast::http::status;

    boost::beast::tcp_stream& socket() { return stream_.next_layer(); }
    // Calls `use` with the stream that requests come by.
    template <typename Use>
    void with_stream(Use use);
    void begin_tls();
    void await_request();
    void read_request();
    void serve();
    void make_client();
    void log_in();
    void ask();
    void answer_status(bson::Doc status);
    void answer(Status status, std::string text, const char* type = "text/plain");
    void send();

    boost::asio::ssl::context context_;
    boost::asio::ssl::stream<boost::beast::tcp_stream> stream_;
    const bool speaks_tls_;
    bool is_encrypted_ = false;
    wire::Handler& handler_;
    const PortOptions& options_;
    Ended ended_;
    wire::ConnectionInfo info_;
    boost::asio::steady_timer timer_;  // of answers that are held back
    boost::beast::flat_buffer buffer_;
    std::optional<Request> request_;
    Response response_;
    std::string credentials_;  // by which client_ has logged in
    std::unique_ptr<InnerClient> client_;
    Clock::time_point last_heard_ = Clock::now();
};

}  // namespace monitoring
