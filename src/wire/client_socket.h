// wire/client_socket.h - the socket of one connection, and the TLS on it if there is any.
//
// Inside wire/ only. Calls do what can be done at once: one that cannot go on says for what the
// socket has to be ready. Waiting for that is the connection's, on its loop. Used by one thread at
// a time.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "wire/event_loop.h"
#include "wire/tls.h"

namespace wire {

class ClientSocket {
  public:
    using Wait = boost::asio::socket_base::wait_type;
    static constexpr Wait kRead = boost::asio::socket_base::wait_read;
    static constexpr Wait kWrite = boost::asio::socket_base::wait_write;

    // Takes over a connected socket, which it closes if this throws.
    ClientSocket(EventLoop& loop, int fd, int family);

    // The first bytes of a client, as far as they have arrived.
    enum class Beginning { handshake, part, other };
    Beginning peek();
    void start_tls(const TlsContext& context) { tls_ = context.open(socket_.native_handle()); }
    // The stream by TLS; null: plain.
    TlsStream* tls() const { return tls_.get(); }
    bool shaking_hands() const { return tls_ != nullptr && tls_->shaking_hands(); }
    // Does the next step of the handshake. A step that fails for want of memory ends as a refused
    // one.
    TlsStream::Result shake_hands() noexcept;
    bool holds_half() const { return tls_ != nullptr && tls_->holds_half(); }

    // Sends as much as the socket takes at once, and returns how much that was; nothing if the
    // client is gone and reads no more. With TLS *ready is what it has to be ready for if it took
    // less.
    std::optional<size_t> send(const void* data, size_t size, Wait* ready);
    // Whether the client sends nothing more; what it has sent may not have been read yet.
    bool client_has_ended();
    // Makes the socket count as readable when so many bytes have arrived.
    void set_low_mark(size_t bytes);

    // `done(error)`, and `done(error, size)`, as boost::asio calls them. Without TLS.
    template <typename Done>
    void async_wait(Wait what, Done&& done) {
        socket_.async_wait(what, std::forward<Done>(done));
    }
    template <typename Done>
    void async_read(boost::asio::mutable_buffer space, Done&& done) {
        socket_.async_read_some(space, std::forward<Done>(done));
    }
    template <typename Done>
    void async_write(boost::asio::const_buffer data, Done&& done) {
        boost::asio::async_write(socket_, data, std::forward<Done>(done));
    }
    // Ends the operations that are under way with an error.
    void cancel();

    void close();

  private:
    std::optional<size_t> send_plain(const void* data, size_t size);
    std::optional<size_t> send_encrypted(const void* data, size_t size, Wait* ready);

    boost::asio::generic::stream_protocol::socket socket_;
    EventLoop::Counters& counters_;
    std::unique_ptr<TlsStream> tls_;
};

}  // namespace wire
