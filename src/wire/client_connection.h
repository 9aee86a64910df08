// wire/client_connection.h - one client: reads messages, has its session serve them one after the
// other, sends the replies.
//
// Inside wire/ only. A connection belongs to one loop for life. It is always in exactly one place:
// reading (an asynchronous read is under way), serving (some thread is in its session), sending
// (an asynchronous write is under way), suspended (nothing is under way; wake() goes on), or ended.
// A message is taken from the buffer when its exchange has ended, so what the session sees stays
// valid while it is suspended.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "base/dcheck.h"
#include "base/log.h"
#include "bson/builder.h"
#include "wire/client_socket.h"
#include "wire/connection.h"
#include "wire/input_buffer.h"
#include "wire/message.h"
#include "wire/tls.h"

namespace wire {

class Connection final : public Wakeable,
                         public Waker,
                         public Receiving::Receiver,
                         public ConnectionTable::Entry {
  public:
    Connection(EventLoop& loop, ConnectionTable& table, Handler& handler, ClientSocket socket,
               ConnectionInfo info, const TlsContext* tls);
    void start();
    void end_soon() override;
    void wake() override { loop_.wake(*this); }
    void evict() override;
    void evict_reply() override { evict(); }
    void on_wake() override;

  private:
    // kActive: not suspended. kWoken: woken since the exchange began (or while there was none).
    enum State : int { kActive, kSuspended, kWoken };

    // Runs work outside the session's steps; a failure, for want of memory, ends this connection
    // and no other.
    template <typename Work>
    void guarded(Work&& work) {
        base::log::set_context(context_);
        try {
            work();
        } catch (const std::exception& error) {
            base::log::error("connection closed: {}", error.what());
            end();
        }
    }

    std::shared_ptr<Connection> self() {
        return std::static_pointer_cast<Connection>(shared_from_this());
    }
    // Serves what is there, then reads on. Runs on the loop.
    void serve_buffered();
    void serve_later();
    void resume_later();
    // 0 when a whole message of message_bytes_ is there, else how many bytes it needs in all, as
    // far as known. Ends the connection at what is no message.
    size_t next_message();
    bool acceptable(const Header& header);
    // More of a message of `wanted` bytes. False: it is on its way, and its arrival goes on.
    bool fetch(size_t wanted);
    // Whether part of a message is there, of a handshake or of a record of TLS.
    bool has_begun() const {
        return input_.size() != 0 || socket_.shaking_hands() || socket_.holds_half();
    }
    // Returns how many bytes it holds when it has room for `wanted` bytes.
    int64_t bytes_for(size_t wanted) const;
    // It has begun. False: the rest has to wait, and gets its room only then.
    bool receive_more(size_t wanted);
    // Nothing is half-way any more, or being served.
    void received();
    void read();
    void on_read(boost::system::error_code error, size_t n);

    // Defined in connection_tls.cpp.
    void choose();
    void start_tls();
    // The next step of the handshake is computed beside the loop.
    void shake_hands();
    void after_handshake_step(TlsStream::Result result);
    void end_by_tls();

    // Calls next() on the loop when the socket is ready; ends the connection if that fails.
    template <typename Next>
    void wait_until_ready(ClientSocket::Wait what, Next&& next) {
        DCHECK(!reading_ && !ended_);
        reading_ = true;
        socket_.async_wait(what, [self = self(), next](boost::system::error_code error) {
            self->reading_ = false;
            self->guarded([&] { error ? self->end() : next(); });
        });
    }

    // Does what fetch does, by TLS.
    bool fetch_encrypted(size_t wanted);
    // The rest of kept_reply_, from `sent` on.
    void send_rest_encrypted(size_t sent);

    // Runs the session until the exchange is over or waits. Returns true if it is over and this
    // thread may go on with the next message. When it returns false, another thread may already be
    // using the connection.
    bool exchange(bool resume);
    Step take_step(bool resume, bson::Buffer& reply);
    // Ends the connection if its client goes away during a wait.
    void watch_client(bool on_loop);
    void look_at_client();
    // A little later, if it still waits by then.
    void look_again();
    // False if it has been woken already. Otherwise another thread may be using the connection by
    // the time this returns.
    bool suspend(std::chrono::steady_clock::time_point deadline);

    bool end_exchange(const Step& step, bson::Buffer& reply, bool on_loop);
    // The session goes on with its answer when the socket has taken this much of it.
    bool send_part(bson::Buffer& reply, bool on_loop);
    bool send(bson::Buffer& reply, bool on_loop);
    // After the reply has left.
    bool go_on(bool on_loop);
    // Sends as much as the socket takes at once, and returns how much that was; everything if the
    // client reads no more.
    size_t send_now(const void* data, size_t n, ClientSocket::Wait* ready = nullptr);

    // Beside the loop it may be that another thread runs: the rest is sent on it.
    bool send_rest(bson::Buffer& reply, size_t sent);
    void send_rest_on_loop(size_t sent);
    // Nothing waits for the client to take it any more.
    void reply_sent();
    void on_sent(boost::system::error_code error, size_t n);
    void end();

    // The connection in the book of replies: while one waits to leave, its request is still being
    // served, and the connection stands in the book of messages, too.
    class WaitingReply final : public Receiving::Receiver {
      public:
        explicit WaitingReply(Connection& connection) : connection_(connection) {}
        void evict() override { connection_.evict(); }

      private:
        Connection& connection_;
    };

    EventLoop& loop_;
    ConnectionTable& table_;
    ClientSocket socket_;
    ConnectionInfo info_;
    const TlsContext* const tls_offered_;  // null: plain, whatever comes
    std::string context_;                  // of its log lines
    std::unique_ptr<Session> session_;
    InputBuffer input_;
    bson::Buffer kept_reply_;  // written before a suspension, or being sent
    size_t message_bytes_ = 0;
    std::atomic<int> state_{kActive};
    std::atomic<bool> ending_{false};
    std::atomic<bool> evicted_{false};  // what arrives, or waits to leave, is given up
    std::unique_ptr<boost::asio::steady_timer> pause_;  // null: it never had to wait for memory
    std::unique_ptr<boost::asio::steady_timer> look_;   // null: no client sent more during a wait
    bool receiving_ = false;  // known to table_.receiving(), as incomplete
    bool served_ = false;     // the same, as complete
    WaitingReply waiting_reply_{*this};
    bool unsent_ = false;    // it is known to table_.sending(); on the loop
    bool watched_ = false;   // its client's end will be noticed
    bool watch_on_ = false;  // asked for since the last look; as watched_, on the loop
    bool first_ = true;
    bool reading_ = false;  // only examined on the loop
    bool close_after_ = false;
    bool unfinished_ = false;  // the session has more to say to the message
    bool ended_ = false;
};

}  // namespace wire
