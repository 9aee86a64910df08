// Connection's steps of TLS: which of the two a client speaks, its handshake, encrypted bytes.
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"
#include "wire/client_connection.h"

namespace wire {

namespace asio = boost::asio;
using boost::system::error_code;

void Connection::choose() {
    const bool all_is_there = socket_.client_has_ended();
    const ClientSocket::Beginning beginning = socket_.peek();
    if (beginning == ClientSocket::Beginning::part) {
        // Then the socket stays readable, whatever is asked of it.
        if (all_is_there) return end();
        // The rest makes the socket readable again.
        receiving_ = true;
        table_.receiving().goes_on(*this, 0);
        socket_.set_low_mark(kTlsPeekBytes);
        return wait_until_ready(ClientSocket::kRead, [this] { choose(); });
    }
    socket_.set_low_mark(1);
    if (beginning == ClientSocket::Beginning::handshake) return start_tls();
    received();
    serve_buffered();
}

void Connection::start_tls() {
    socket_.start_tls(*tls_offered_);
    serve_buffered();
}

void Connection::shake_hands() {
    tls_offered_->compute([self = self()] {
        const TlsStream::Result result = self->socket_.shake_hands();
        asio::post(self->loop_.io(),
                   [self, result] { self->guarded([&] { self->after_handshake_step(result); }); });
    });
}

void Connection::after_handshake_step(TlsStream::Result result) {
    if (ending_.load() || evicted_.load()) return end();
    switch (result) {
        case TlsStream::Result::done:
            return serve_buffered();
        case TlsStream::Result::wants_read:
            return wait_until_ready(ClientSocket::kRead, [this] { shake_hands(); });
        case TlsStream::Result::wants_write:
            return wait_until_ready(ClientSocket::kWrite, [this] { shake_hands(); });
        case TlsStream::Result::closed:
            return end_by_tls();
    }
}

void Connection::end_by_tls() {
    const std::string& why = socket_.tls()->why();
    if (!why.empty()) base::log::info("{}: TLS failed: {}", info_.remote, why);
    end();
}

bool Connection::fetch_encrypted(size_t wanted) {
    if (socket_.shaking_hands()) {
        shake_hands();
        return false;
    }
    const asio::mutable_buffer space = input_.free_space();
    size_t n = 0;
    switch (socket_.tls()->read(space.data(), space.size(), &n)) {
        case TlsStream::Result::done:
            loop_.counters().bytes_in.fetch_add(static_cast<int64_t>(n), std::memory_order_relaxed);
            input_.received(n);
            return true;
        case TlsStream::Result::wants_read:
            if (has_begun() && !std::exchange(receiving_, true))
                table_.receiving().goes_on(*this, bytes_for(wanted));
            wait_until_ready(ClientSocket::kRead, [this] { serve_buffered(); });
            return false;
        case TlsStream::Result::wants_write:
            wait_until_ready(ClientSocket::kWrite, [this] { serve_buffered(); });
            return false;
        case TlsStream::Result::closed:
            break;
    }
    end_by_tls();
    return false;
}

void Connection::send_rest_encrypted(size_t sent) {
    ClientSocket::Wait ready = ClientSocket::kWrite;
    sent += send_now(kept_reply_.data() + sent, kept_reply_.size() - sent, &ready);
    if (sent == kept_reply_.size()) return on_sent({}, 0);
    socket_.async_wait(ready, [self = self(), sent](error_code error) {
        self->guarded([&] {
            if (error) return self->on_sent(error, 0);
            self->send_rest_encrypted(sent);
        });
    });
}

}  // namespace wire
