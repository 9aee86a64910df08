#include "wire/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <string_view>
#include <utility>

#include "base/dcheck.h"
#include "base/log.h"
#include "wire/client_connection.h"
#include "wire/loop_threads.h"

namespace wire {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// A thread's reply buffer is given back when a reply made it larger.
constexpr size_t kKeptReplyBytes = 1024 * 1024;
// The buffer that a connection keeps for replies that have to wait is given back beyond this.
constexpr size_t kIdleReplyBytes = 16 * 1024;
// The memory that a handshake is counted as. The library takes some 30 KB for it, but 130 KB at
// once if the client announces a hello of that size. Small ones may have half of the memory
// (wire/receiving.h): counted so, even those fit into the whole.
constexpr int64_t kHandshakeBytes = Receiving::kSmallBytes;
// How many pipelined messages of one client are served before other clients.
constexpr int kPipelinedPerPass = 32;
// A large message that has to wait for memory retries after this.
constexpr std::chrono::milliseconds kPause{10};
// The pause of a wait whose client has sent more: its end makes the socket no more readable.
constexpr std::chrono::seconds kWatchPause{1};

constexpr int32_t kHttpGet = 542393671;  // "GET " as a length
constexpr int32_t kEndianProbe = -1;
constexpr int32_t kEndianAnswer = 0x10203040;
// These are no length of a message.
static_assert(kHttpGet > kMessageBytesMax && kEndianProbe < kHeaderBytes);
static_assert(kIdleReplyBytes <= kKeptReplyBytes);

constexpr std::string_view kHttpNotice =
    "HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\n"
    "This port speaks the binary protocol of database drivers, not HTTP.\r\n";

thread_local bson::Buffer t_reply;

}  // namespace

Connection::Connection(EventLoop& loop, ConnectionTable& table, Handler& handler,
                       ClientSocket socket, ConnectionInfo info, const TlsContext* tls)
    : loop_(loop),
      table_(table),
      socket_(std::move(socket)),
      info_(std::move(info)),
      tls_offered_(tls),
      context_(fmt::format("conn{}", info_.number)) {
    session_ = handler.open(info_, *this);
}

void Connection::start() {
    guarded([this] {
        if (tls_offered_ == nullptr) return serve_buffered();
        if (ending_.load()) return end();
        if (tls_offered_->mode() == TlsMode::required) return start_tls();
        // The first bytes of the client tell.
        wait_until_ready(ClientSocket::kRead, [this] { choose(); });
    });
}

void Connection::end_soon() {
    ending_.store(true);
    loop_.wake(*this);
}

void Connection::evict() {
    evicted_.store(true);
    loop_.wake(*this);
}

void Connection::on_wake() {
    if (state_.exchange(kWoken) == kSuspended) {
        state_.store(kActive);
        loop_.drop_deadline(*this);
        guarded([this] {
            // It may have ended there, for want of memory.
            if (!ended_ && exchange(true)) serve_buffered();
        });
    } else if (((ending_.load() || evicted_.load()) && reading_) || (evicted_.load() && unsent_)) {
        socket_.cancel();  // pending operations complete and end the connection
    }
}

void Connection::serve_buffered() {
    for (int served = 0; !ended_; ++served) {
        const size_t missing = next_message();
        if (ended_) return;
        if (missing != 0 && !fetch(missing)) return;
        if (served == kPipelinedPerPass) return serve_later();
        if (missing != 0) continue;
        if (std::exchange(receiving_, false)) {
            table_.receiving().complete(*this);
            served_ = true;
        }
        state_.store(kActive);
        if (!exchange(false)) return;
    }
}

void Connection::serve_later() {
    asio::post(loop_.io(), [self = self()] { self->guarded([&] { self->serve_buffered(); }); });
}

void Connection::resume_later() {
    asio::post(loop_.io(), [self = self()] {
        self->guarded([&] {
            if (self->exchange(true)) self->serve_buffered();
        });
    });
}

inline size_t Connection::next_message() {
    for (;;) {
        if (input_.size() < kHeaderBytes) return kHeaderBytes;
        const Header header = read_header(input_.data());
        if (header.length == kEndianProbe) {
            input_.consume(kHeaderBytes);
            send_now(&kEndianAnswer, sizeof kEndianAnswer);
            continue;
        }
        if (!acceptable(header)) {
            end();
            return 0;
        }
        first_ = false;
        message_bytes_ = static_cast<size_t>(header.length);
        return input_.size() >= message_bytes_ ? 0 : message_bytes_;
    }
}

inline bool Connection::acceptable(const Header& header) {
    if (header.length == kHttpGet) {
        send_now(kHttpNotice.data(), kHttpNotice.size());
        return false;
    }
    if (header.length < kHeaderBytes || header.length > kMessageBytesMax) {
        base::log::info("recv(): message len {} is invalid. Min {} Max: {}", header.length,
                        kHeaderBytes, kMessageBytesMax);
        return false;
    }
    if (header.length > session_->message_bytes_max()) {
        base::log::info("closing: message of {} bytes from {}, more than the limit of {}",
                        header.length, info_.remote, session_->message_bytes_max());
        return false;
    }
    if (first_ && header.response_to != 0 && header.response_to != -1) {
        base::log::info(
            "{} may be trying to use TLS, which this port does not speak; see --tlsMode",
            info_.remote);
        return false;
    }
    return true;
}

inline bool Connection::fetch(size_t wanted) {
    if (ending_.load() || evicted_.load()) {
        end();
        return false;
    }
    if (!has_begun()) {
        received();  // idle
    } else if (!receive_more(wanted)) {
        return false;
    }
    input_.reserve(wanted);
    if (socket_.tls() != nullptr) return fetch_encrypted(wanted);
    read();
    return false;
}

int64_t Connection::bytes_for(size_t wanted) const {
    if (socket_.shaking_hands()) return kHandshakeBytes;
    const auto capacity = static_cast<int64_t>(input_.capacity_for(wanted));
    return socket_.holds_half() ? capacity + TlsStream::kRecordBytes : capacity;
}

bool Connection::receive_more(size_t wanted) {
    receiving_ = true;
    if (table_.receiving().may_go_on(*this, bytes_for(wanted))) return true;
    if (pause_ == nullptr) pause_ = std::make_unique<asio::steady_timer>(loop_.io());
    pause_->expires_after(kPause);
    pause_->async_wait(
        [self = self()](error_code) { self->guarded([&] { self->serve_buffered(); }); });
    return false;
}

void Connection::received() {
    if (!receiving_ && !served_) return;
    receiving_ = served_ = false;
    table_.receiving().over(*this);
}

inline void Connection::read() {
    DCHECK(!reading_ && !ended_);
    reading_ = true;
    socket_.async_read(input_.free_space(), [self = self()](error_code error, size_t n) {
        self->reading_ = false;
        self->guarded([&] { self->on_read(error, n); });
    });
}

inline void Connection::on_read(error_code error, size_t n) {
    if (error) return end();
    loop_.counters().bytes_in.fetch_add(static_cast<int64_t>(n), std::memory_order_relaxed);
    input_.received(n);
    serve_buffered();
}

inline bool Connection::exchange(bool resume) {
    DCHECK(!ended_ && state_.load() != kSuspended);
    for (;; resume = true) {
        bson::Buffer& reply = t_reply;
        reply.clear();
        if (kept_reply_.size() != 0) {
            reply.swap(kept_reply_);
            if (kept_reply_.capacity() > kIdleReplyBytes) kept_reply_ = bson::Buffer();
        }
        if (!resume) loop_.note_request(this);
        LoopThreads::begin_call();
        const Step step = take_step(resume, reply);
        const bool on_loop = LoopThreads::settle();
        if (step.kind == Step::Kind::more) return send_part(reply, on_loop);
        if (step.kind != Step::Kind::suspend) return end_exchange(step, reply, on_loop);
        if (reply.size() != 0) reply.swap(kept_reply_);
        if (step.watch_client) watch_client(on_loop);
        if (suspend(step.deadline)) return false;
    }
}

inline Step Connection::take_step(bool resume, bson::Buffer& reply) {
    try {
        if (resume) return session_->resume(reply);
        DCHECK(message_bytes_ >= kHeaderBytes && message_bytes_ <= kMessageBytesMax);
        DCHECK(message_bytes_ <= input_.size());
        return session_->serve({input_.data(), message_bytes_}, reply);
    } catch (const std::exception& error) {
        base::log::error("connection closed, its request failed: {}", error.what());
        reply.clear();
        return {Step::Kind::close};
    }
}

void Connection::watch_client(bool on_loop) {
    if (!on_loop) {
        asio::post(loop_.io(),
                   [self = self()] { self->guarded([&] { self->watch_client(true); }); });
        return;
    }
    if (ended_) return;
    watch_on_ = true;
    if (std::exchange(watched_, true)) return;
    // Input may also be the next request.
    socket_.async_wait(ClientSocket::kRead, [self = self()](error_code error) {
        self->watched_ = false;
        if (!error) self->guarded([&] { self->look_at_client(); });
    });
}

void Connection::look_at_client() {
    if (ended_) return;
    int expected = kSuspended;
    if (!socket_.client_has_ended() || !state_.compare_exchange_strong(expected, kActive))
        return look_again();
    loop_.drop_deadline(*this);
    end();
}

void Connection::look_again() {
    watched_ = true;
    watch_on_ = false;
    if (look_ == nullptr)
        look_ = std::make_unique<asio::steady_timer>(loop_.io(), kWatchPause);
    else
        look_->expires_after(kWatchPause);
    look_->async_wait([self = self()](error_code) {
        self->watched_ = false;
        if (self->watch_on_ || self->state_.load() == kSuspended)
            self->guarded([&] { self->look_at_client(); });
    });
}

inline bool Connection::suspend(std::chrono::steady_clock::time_point deadline) {
    const bool timed = deadline != std::chrono::steady_clock::time_point::max();
    if (timed) loop_.set_deadline(*this, deadline);
    int expected = kActive;
    if (state_.compare_exchange_strong(expected, kSuspended)) return true;
    state_.store(kActive);
    if (timed) loop_.drop_deadline(*this);
    return false;
}

inline bool Connection::end_exchange(const Step& step, bson::Buffer& reply, bool on_loop) {
    loop_.counters().requests.fetch_add(1, std::memory_order_relaxed);
    input_.consume(message_bytes_);
    close_after_ = step.kind == Step::Kind::close || ending_.load();
    return send(reply, on_loop);
}

bool Connection::send_part(bson::Buffer& reply, bool on_loop) {
    unfinished_ = true;
    close_after_ = ending_.load();
    return send(reply, on_loop);
}

inline bool Connection::send(bson::Buffer& reply, bool on_loop) {
    const size_t sent = send_now(reply.data(), reply.size());
    if (sent != reply.size()) return send_rest(reply, sent);
    if (reply.capacity() > kKeptReplyBytes) reply = bson::Buffer();
    return go_on(on_loop);
}

inline bool Connection::go_on(bool on_loop) {
    if (close_after_) {
        end();
        return false;
    }
    if (std::exchange(unfinished_, false)) {
        resume_later();
        return false;
    }
    if (on_loop) return true;
    serve_later();
    return false;
}

size_t Connection::send_now(const void* data, size_t n, ClientSocket::Wait* ready) {
    ClientSocket::Wait unused;
    const std::optional<size_t> sent = socket_.send(data, n, ready ? ready : &unused);
    if (!sent) close_after_ = true;
    return sent.value_or(n);
}

bool Connection::send_rest(bson::Buffer& reply, size_t sent) {
    DCHECK(sent < reply.size() && kept_reply_.size() == 0);
    kept_reply_.swap(reply);
    asio::post(loop_.io(),
               [self = self(), sent] { self->guarded([&] { self->send_rest_on_loop(sent); }); });
    return false;
}

void Connection::send_rest_on_loop(size_t sent) {
    DCHECK(!unsent_ && sent < kept_reply_.size());
    unsent_ = true;
    table_.sending().goes_on(waiting_reply_, static_cast<int64_t>(kept_reply_.capacity()));
    if (socket_.tls() != nullptr) return send_rest_encrypted(sent);
    socket_.async_write(asio::buffer(kept_reply_.data() + sent, kept_reply_.size() - sent),
                        [self = self()](error_code error, size_t n) {
                            self->guarded([&] { self->on_sent(error, n); });
                        });
}

void Connection::reply_sent() {
    if (std::exchange(unsent_, false)) table_.sending().over(waiting_reply_);
}

void Connection::on_sent(error_code error, size_t n) {
    DCHECK(unsent_ || ended_);
    loop_.counters().bytes_out.fetch_add(static_cast<int64_t>(n), std::memory_order_relaxed);
    kept_reply_ = bson::Buffer();
    if (evicted_.load() && !ending_.load())
        base::log::info("closing {}: client does not read its reply, buffer limit reached",
                        info_.remote);
    reply_sent();
    if (error) close_after_ = true;
    if (go_on(true)) serve_buffered();
}

void Connection::end() {
    if (ended_) return;
    ended_ = true;
    if (evicted_.load() && receiving_)
        base::log::info("closing {}: request or handshake not complete in time", info_.remote);
    received();
    reply_sent();
    loop_.drop_deadline(*this);  // of a wait that could not begin
    LoopThreads::begin_call();
    session_.reset();
    LoopThreads::settle();
    socket_.close();
    table_.remove(info_.number);
    if (!base::log::quiet()) {
        base::log::info("end connection {} ({} connections now open)", info_.remote, table_.open());
    }
}

void start_connection(EventLoop& loop, ConnectionTable& table, Handler& handler, int fd, int family,
                      ConnectionInfo info, const TlsContext* tls) {
    DCHECK(info.number > 0);
    const int64_t number = info.number;
    std::shared_ptr<Connection> connection;
    try {
        ClientSocket socket(loop, fd, family);
        connection = std::make_shared<Connection>(loop, table, handler, std::move(socket),
                                                  std::move(info), tls);
        table.add(number, connection);
    } catch (...) {
        table.dismiss();
        throw;
    }
    try {
        asio::post(loop.io(), [connection] { connection->start(); });
    } catch (...) {
        table.remove(number);
        throw;
    }
}

}  // namespace wire
