// The port as a program that reads it sees it, over a handler that knows one answer.
#include "monitoring/port.h"

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "bson/json.h"
#include "wire/message.h"

namespace monitoring {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

constexpr const char* kStatus = R"({"connections": {"current": 3}, "ok": 1.0})";
constexpr const char* kFailure = R"({"ok": 0.0, "errmsg": "no", "code": 1})";

class OneAnswer final : public wire::Handler {
  public:
    std::string answer = kStatus;

    std::unique_ptr<wire::Session> open(const wire::ConnectionInfo&, wire::Waker&) override {
        return std::make_unique<Answering>(*this);
    }

  private:
    class Answering final : public wire::Session {
      public:
        explicit Answering(const OneAnswer& of) : of_(of) {}
        wire::Step serve(std::span<const uint8_t>, bson::Buffer& reply) override {
            wire::MsgWriter writer(reply, 0);
            writer.body().append_all(bson::from_json(of_.answer));
            writer.finish();
            return {};
        }
        wire::Step resume(bson::Buffer&) override { return {}; }

      private:
        const OneAnswer& of_;
    };
};

class Program {
  public:
    explicit Program(const Port& port) : socket_(io_) {
        socket_.connect({asio::ip::make_address("127.0.0.1"), static_cast<uint16_t>(port.port())});
    }
    void send(const std::string& text) { asio::write(socket_, asio::buffer(text)); }
    // The status line and the headers; the body, whose length they have, is read too.
    std::string receive() {
        std::string text;
        const size_t head = asio::read_until(socket_, asio::dynamic_buffer(text), "\r\n\r\n");
        const size_t at = text.find("Content-Length: ");
        const size_t length = std::stoul(text.substr(at + 16));
        if (text.size() < head + length)
            asio::read(socket_, asio::dynamic_buffer(text),
                       asio::transfer_exactly(head + length - text.size()));
        return text;
    }
    std::string get(const std::string& request) {
        send(request + "\r\nHost: here\r\n\r\n");
        return receive();
    }
    bool is_closed() {
        char byte = 0;
        boost::system::error_code error;
        socket_.read_some(asio::buffer(&byte, 1), error);
        return error.failed();
    }

  private:
    asio::io_context io_;
    Tcp::socket socket_;
};

PortOptions options() {
    PortOptions options;
    options.addresses = {"127.0.0.1"};
    options.data_directory = "/";
    return options;
}

class MetricsPortTest : public testing::Test {
  protected:
    MetricsPortTest() { port_.start(); }
    OneAnswer handler_;
    Port port_{handler_, options()};
};

TEST_F(MetricsPortTest, AConnectionIsServedAgainAndAgain) {
    Program program(port_);
    for (int i = 0; i < 3; ++i) {
        const std::string answer = program.get("GET /metrics HTTP/1.1");
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
        EXPECT_NE(answer.find("Content-Type: application/openmetrics-text; version=1.0.0"),
                  std::string::npos);
        EXPECT_NE(answer.find("\nmongodb_connections_current 3\n"), std::string::npos);
        EXPECT_TRUE(answer.ends_with("# EOF\n"));
    }
    EXPECT_TRUE(program.get("GET /metrics?x=1 HTTP/1.0").starts_with("HTTP/1.1 200 "));
    EXPECT_TRUE(program.is_closed()) << "as HTTP 1.0 has it";
}

TEST_F(MetricsPortTest, NothingElseIsServed) {
    for (const char* path : {"/", "/metrics/", "/metric", "/../metrics", "*"})
        EXPECT_TRUE(Program(port_)
                        .get(std::string("GET ") + path + " HTTP/1.1")
                        .starts_with("HTTP/1.1 404 "))
            << path;
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "SOMETHING"}) {
        const std::string answer = Program(port_).get(std::string(method) + " /metrics HTTP/1.1");
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 ")) << answer;
        EXPECT_NE(answer.find("Allow: GET"), std::string::npos);
    }
    EXPECT_TRUE(Program(port_)
                    .get("GET /metrics HTTP/1.1\r\nContent-Length: 1000000")
                    .starts_with("HTTP/1.1 413 "));
}

TEST_F(MetricsPortTest, WhatIsTooLargeOrNoHttpIsRefused) {
    Program large(port_);
    EXPECT_TRUE(large.get("GET /metrics HTTP/1.1\r\nX: " + std::string(9000, 'x'))
                    .starts_with("HTTP/1.1 431 "));
    EXPECT_TRUE(large.is_closed());
    Program other(port_);
    other.send("\x3a\x01\x02\x03 what is this\r\n\r\n");
    EXPECT_TRUE(other.receive().starts_with("HTTP/1.1 400 "));
    EXPECT_TRUE(other.is_closed());
}

TEST_F(MetricsPortTest, AFailureIsNoMetrics) {
    handler_.answer = kFailure;
    const std::string answer = Program(port_).get("GET /metrics HTTP/1.1");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
    handler_.answer = R"({"ok": 0.0, "errmsg": "not authorized", "code": 13})";
    EXPECT_TRUE(Program(port_).get("GET /metrics HTTP/1.1").starts_with("HTTP/1.1 403 "));
}

TEST_F(MetricsPortTest, TheOneThatWasSilentForLongestGivesWay) {
    Program silent(port_);
    std::vector<std::unique_ptr<Program>> others;
    for (size_t i = 0; i < Port::kConnectionsMax; ++i) {
        others.push_back(std::make_unique<Program>(port_));
        EXPECT_TRUE(others.back()->get("GET /metrics HTTP/1.1").starts_with("HTTP/1.1 200 "));
    }
    EXPECT_TRUE(silent.is_closed());
    for (const auto& other : others)
        EXPECT_TRUE(other->get("GET /metrics HTTP/1.1").starts_with("HTTP/1.1 200 "));
}

TEST_F(MetricsPortTest, ALoginIsAskedFor) {
    PortOptions wanted = options();
    wanted.asks_for_login = true;
    Port port(handler_, wanted);
    port.start();
    for (const char* more : {"", "\r\nAuthorization: Bearer abc", "\r\nAuthorization: Basic ?",
                             "\r\nAuthorization: Basic bm9jb2xvbg=="}) {
        const std::string answer = Program(port).get(std::string("GET /metrics HTTP/1.1") + more);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
        EXPECT_NE(answer.find("WWW-Authenticate: Basic "), std::string::npos);
    }
}

TEST_F(MetricsPortTest, ATakenPortIsNamed) {
    PortOptions again = options();
    again.port = port_.port();
    try {
        const Port second(handler_, again);
        FAIL() << "two listen on one port";
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), base::kExitNetError);
        EXPECT_NE(std::string(error.what()).find("127.0.0.1"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace monitoring
