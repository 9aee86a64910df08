// Fuzz target: a connection, and what a client sends on it. The input is a stream of messages; its
// last two bytes say in which pieces it arrives.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/error.h"
#include "target.h"
#include "wire/connection.h"
#include "wire/event_loop.h"
#include "wire/loop_threads.h"
#include "wire/message.h"

namespace {

constexpr int kSecondsMax = 4;  // for an answer; less than libFuzzer's own limit

// Reads every message as the server does, and answers those that can be read.
class Decoding final : public wire::Handler {
  public:
    class DecodingSession final : public wire::Session {
      public:
        wire::Step serve(std::span<const uint8_t> message, bson::Buffer& reply) override {
            const wire::Header header = wire::read_header(message.data());
            fuzz::expect(header.length == static_cast<int32_t>(message.size()),
                         "a session gets whole messages");
            try {
                decode(header.opcode, message);
            } catch (const wire::DecodeError& error) {
                if (error.reaction() == wire::DecodeError::Reaction::close)
                    return {wire::Step::Kind::close};
            }
            wire::ReplyWriter writer(reply, header.request_id);
            writer.finish(0, 0, 0);
            // Some exchanges take several steps.
            more_ = header.request_id % 4;
            return {more_ > 0 ? wire::Step::Kind::more : wire::Step::Kind::reply};
        }
        wire::Step resume(bson::Buffer& reply) override {
            wire::ReplyWriter writer(reply, 0);
            writer.finish(0, 0, 0);
            return {--more_ > 0 ? wire::Step::Kind::more : wire::Step::Kind::reply};
        }

      private:
        static void decode(wire::Opcode opcode, std::span<const uint8_t> message) {
            switch (opcode) {
                case wire::Opcode::query:
                    wire::decode_query(message);
                    return;
                case wire::Opcode::get_more:
                    wire::decode_get_more(message);
                    return;
                case wire::Opcode::insert:
                    wire::decode_insert(message);
                    return;
                case wire::Opcode::msg:
                    wire::decode_msg(message);
                    return;
                default:
                    wire::peek_ns(message);
            }
        }
        int more_ = 0;
    };
    std::unique_ptr<wire::Session> open(const wire::ConnectionInfo&, wire::Waker&) override {
        return std::make_unique<DecodingSession>();
    }
};

// A server for all inputs; it is never stopped, like the process.
struct Server {
    Server() { threads.start({&loop}); }
    wire::EventLoop loop;
    wire::LoopThreads threads;
    wire::ConnectionTable table{1000};
    Decoding handler;
};
Server& server() {
    static Server& one = *new Server;
    return one;
}

// Sends the stream piece by piece, reading in between, and waits until the server has closed.
void talk(int fd, std::span<const uint8_t> stream, size_t piece) {
    bool sending = true;
    for (;;) {
        if (sending && stream.empty()) {
            ::shutdown(fd, SHUT_WR);
            sending = false;
        }
        pollfd p{fd, static_cast<short>(POLLIN | (sending ? POLLOUT : 0)), 0};
        if (::poll(&p, 1, kSecondsMax * 1000) == 0)
            fuzz::broken("a connection whose client has gone is closed");
        if ((p.revents & POLLOUT) != 0 && sending) {
            const ssize_t n = ::send(fd, stream.data(), std::min(piece, stream.size()),
                                     MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n >= 0) {
                stream = stream.subspan(static_cast<size_t>(n));
            } else if (errno != EAGAIN) {
                sending = false;  // closed already; what it said is still to be read
            }
        }
        if ((p.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
            uint8_t answers[4096];
            if (::recv(fd, answers, sizeof answers, 0) <= 0) return;
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return fuzz::kNoInput;
    // At least so that an input takes no more than some hundred pieces.
    const size_t piece = std::max<size_t>(1 + (data[size - 1] | data[size - 2] << 8), size / 256);
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        fuzz::broken("there are sockets");
    wire::ConnectionInfo info;
    info.number = server().table.admit();
    fuzz::expect(info.number != 0, "connections that have ended leave the table");
    wire::start_connection(server().loop, server().table, server().handler, pair[1], AF_UNIX,
                           std::move(info), nullptr);
    talk(pair[0], {data, size - 2}, piece);
    ::close(pair[0]);
    return fuzz::kTaken;
}
