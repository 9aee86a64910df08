#include "wire/client_socket.h"

#include <poll.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <exception>

#include "base/dcheck.h"

namespace wire {

namespace asio = boost::asio;
using boost::system::error_code;

ClientSocket::ClientSocket(EventLoop& loop, int fd, int family)
    : socket_(loop.io()), counters_(loop.counters()) {
    DCHECK(fd >= 0);
    error_code error;
    socket_.assign(asio::generic::stream_protocol(family, 0), fd, error);
    if (error) {
        ::close(fd);
        throw boost::system::system_error(error, "the event loop does not take its socket");
    }
    socket_.non_blocking(true, error);
}

ClientSocket::Beginning ClientSocket::peek() {
    unsigned char first[kTlsPeekBytes];
    error_code error;
    const size_t n = socket_.receive(asio::buffer(first), asio::socket_base::message_peek, error);
    if (error) return Beginning::other;
    if (n != 0 && n < kTlsPeekBytes) return Beginning::part;
    return is_handshake(first, n) ? Beginning::handshake : Beginning::other;
}

TlsStream::Result ClientSocket::shake_hands() noexcept {
    try {
        return tls_->shake_hands();
    } catch (const std::exception&) {
        return TlsStream::Result::closed;
    }
}

std::optional<size_t> ClientSocket::send(const void* data, size_t size, Wait* ready) {
    const std::optional<size_t> sent =
        tls_ != nullptr ? send_encrypted(data, size, ready) : send_plain(data, size);
    if (sent) counters_.bytes_out.fetch_add(static_cast<int64_t>(*sent), std::memory_order_relaxed);
    return sent;
}

std::optional<size_t> ClientSocket::send_plain(const void* data, size_t size) {
    size_t sent = 0;
    while (sent != size) {
        error_code error;
        sent += socket_.send(asio::buffer(static_cast<const uint8_t*>(data) + sent, size - sent), 0,
                             error);
        if (error == asio::error::would_block) break;
        if (error) return std::nullopt;
    }
    return sent;
}

std::optional<size_t> ClientSocket::send_encrypted(const void* data, size_t size, Wait* ready) {
    size_t sent = 0;
    while (sent != size) {
        size_t n = 0;
        const TlsStream::Result result =
            tls_->write(static_cast<const uint8_t*>(data) + sent, size - sent, &n);
        if (result == TlsStream::Result::closed) return std::nullopt;
        if (result != TlsStream::Result::done) {
            *ready = result == TlsStream::Result::wants_read ? kRead : kWrite;
            break;
        }
        sent += n;
        DCHECK(n != 0 && sent <= size);
    }
    return sent;
}

bool ClientSocket::client_has_ended() {
    pollfd socket{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&socket, 1, 0) > 0;
}

void ClientSocket::set_low_mark(size_t bytes) {
    error_code ignored;
    socket_.set_option(asio::socket_base::receive_low_watermark(static_cast<int>(bytes)), ignored);
}

void ClientSocket::cancel() {
    error_code ignored;
    socket_.cancel(ignored);
}

void ClientSocket::close() {
    if (tls_) tls_->end();
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_both, ignored);
    socket_.close(ignored);
}

}  // namespace wire
