// The system refuses sockets, a place in epoll, threads. The connection that a refusal is about may
// end; the others go on, nothing is left behind, and once the system gives again, so does the
// server.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/testing/muted.h"
#include "sched/testing/failing_memory.h"
#include "wire/listener.h"
#include "wire/testing/client.h"

namespace {

// How many of the next calls fail.
std::atomic<int> g_epoll_refusals{0};
std::atomic<int> g_accept_refusals{0};
std::atomic<int> g_accept_error{0};
std::atomic<int> g_thread_refusals{0};
std::atomic<int> g_eventfd_refusals{0};
std::atomic<int> g_pipe_refusals{0};
std::atomic<int> g_epoll_create_refusals{0};

// The loops' threads: the handler has been called there. The nth allocation that they make from
// now on fails; 0: none.
thread_local bool t_serves = false;
std::atomic<int> g_fails_in{0};

bool memory_is_given(size_t) {
    return !t_serves || g_fails_in.load() == 0 || g_fails_in.fetch_sub(1) != 1;
}

bool refuses(std::atomic<int>& refusals) {
    int left = refusals.load();
    while (left > 0)
        if (refusals.compare_exchange_weak(left, left - 1)) return true;
    return false;
}

// The function of this name that stands behind ours: a sanitizer's, which knows what the call means
// for threads, else the C library's.
template <typename Function>
Function* next(const char* name, Function*) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// They stand before those of the C library.
extern "C" int epoll_ctl(int epoll, int what, int fd, epoll_event* event) noexcept {
    static const auto real = next("epoll_ctl", &epoll_ctl);
    if (what == EPOLL_CTL_ADD && refuses(g_epoll_refusals)) {
        errno = ENOSPC;
        return -1;
    }
    return real(epoll, what, fd, event);
}

extern "C" int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
    static const auto real = next("accept4", &accept4);
    if (refuses(g_accept_refusals)) {
        errno = g_accept_error.load();
        return -1;
    }
    return real(fd, address, size, flags);
}

extern "C" int eventfd(unsigned start, int flags) noexcept {
    static const auto real = next("eventfd", &eventfd);
    if (refuses(g_eventfd_refusals)) {
        errno = EMFILE;
        return -1;
    }
    return real(start, flags);
}

extern "C" int pipe(int fds[2]) noexcept {
    static const auto real = next("pipe", &pipe);
    if (refuses(g_pipe_refusals)) {
        errno = EMFILE;
        return -1;
    }
    return real(fds);
}

extern "C" int epoll_create1(int flags) noexcept {
    static const auto real = next("epoll_create1", &epoll_create1);
    if (refuses(g_epoll_create_refusals)) {
        errno = EMFILE;
        return -1;
    }
    return real(flags);
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
    static const auto real = next("pthread_create", &pthread_create);
    return refuses(g_thread_refusals) ? EAGAIN : real(thread, attributes, run, argument);
}

namespace wire {
namespace {

using bson::make;
using test::Client;

// Answers every query; "block" waits until the test lets it go.
class BlockingHandler : public Handler {
  public:
    class BlockingSession : public Session {
      public:
        explicit BlockingSession(BlockingHandler& handler) : handler_(handler) {}
        Step serve(std::span<const uint8_t> message, bson::Buffer& reply) override {
            t_serves = true;
            const QueryMessage query = decode_query(message);
            if (query.query.has("fail")) throw std::bad_alloc();
            if (query.query.has("block")) {
                ++handler_.blocked;
                handler_.blocked.notify_all();
                handler_.released.wait(false);
            }
            ReplyWriter writer(reply, query.header.request_id);
            {
                bson::Builder doc = writer.document();
                doc.append("ok", 1.0).append("bytes",
                                             std::string(query.query["answer"].to_int64(), 'x'));
            }
            writer.finish(ReplyWriter::kAwaitCapable, 0, 0);
            return {};
        }
        Step resume(bson::Buffer&) override { return {}; }

      private:
        BlockingHandler& handler_;
    };

    std::unique_ptr<Session> open(const ConnectionInfo&, Waker&) override {
        t_serves = true;
        if (failures > 0 && failures-- > 0) throw std::bad_alloc();
        return std::make_unique<BlockingSession>(*this);
    }
    void release() {
        released.store(true);
        released.notify_all();
    }

    std::atomic<int> failures{0};
    std::atomic<int> blocked{0};
    std::atomic<bool> released{false};
};

class FaultsTest : public testing::Test {
  protected:
    FaultsTest() {
        options_.port = 0;
        options_.unix_socket = false;
        options_.loops = 2;
        options_.max_connections = 20;
        listener_ = std::make_unique<Listener>(handler_, options_);
        listener_->bind();
        listener_->start();
    }
    ~FaultsTest() override {
        handler_.release();
        listener_.reset();
    }

    bool answers(Client& client) {
        client.send(test::query(1, "t.c", make("x", 1)));
        return client.receive_message().size() > 36;
    }
    static size_t open_descriptors() {
        size_t count = 0;
        for ([[maybe_unused]] const auto& entry :
             std::filesystem::directory_iterator("/proc/self/fd"))
            ++count;
        return count;
    }
    template <typename Condition>
    static void eventually(Condition condition) {
        while (!condition())
            std::this_thread::yield();
    }
    // Connects as many clients as may connect, so none is counted that is not there.
    void expect_all_slots_free() {
        eventually([this] { return listener_->stats().connections_open == 0; });
        std::vector<std::unique_ptr<Client>> clients;
        for (int i = 0; i < options_.max_connections; ++i) {
            clients.push_back(std::make_unique<Client>(listener_->port()));
            EXPECT_TRUE(answers(*clients.back())) << i;
        }
    }
    // Connections each of which meets one refusal end, and cost neither a descriptor nor a slot.
    void expect_refused_leave_nothing(std::atomic<int>& refusals) {
        {
            Client before(listener_->port());
            EXPECT_TRUE(answers(before));
            const size_t descriptors = open_descriptors();
            for (int i = 0; i < 50; ++i) {
                refusals = 1;
                Client refused(listener_->port());
                EXPECT_TRUE(refused.closed_by_server()) << i;
            }
            EXPECT_TRUE(answers(before));
            eventually([&] { return open_descriptors() == descriptors; });
        }
        expect_all_slots_free();
    }

    const base::MutedLog muted_;
    BlockingHandler handler_;
    Listener::Options options_;
    std::unique_ptr<Listener> listener_;
};

TEST_F(FaultsTest, ASocketThatEpollRefusesIsClosed) {
    expect_refused_leave_nothing(g_epoll_refusals);
}

TEST_F(FaultsTest, ASessionThatCannotBeMadeEndsItsConnection) {
    expect_refused_leave_nothing(handler_.failures);
}

TEST_F(FaultsTest, ARequestThatFailsEndsItsConnection) {
    Client before(listener_->port());
    EXPECT_TRUE(answers(before));
    for (int i = 0; i < 50; ++i) {
        Client client(listener_->port());
        client.send(test::query(1, "t.c", make("fail", 1)));
        EXPECT_TRUE(client.closed_by_server()) << i;
    }
    EXPECT_TRUE(answers(before));
}

// Each allocation of the serving threads fails once, while clients come, ask for little and for
// much, and go: each gets its reply, or sees the end of its connection.
TEST_F(FaultsTest, WithoutMemoryConnectionsEndAndNoneHangs) {
    {
        Client first(listener_->port());
        EXPECT_TRUE(answers(first));
    }
    sched::test::set_system(memory_is_given);
    const std::string large(3 << 20, 'x');
    int ended = 0;
    for (int nth = 1; nth < 400; ++nth) {
        g_fails_in = nth;
        Client client(listener_->port());
        try {
            for (const bson::Object& query :
                 {make("x", 1), make("answer", 10 << 20), make("x", large), make("x", 2)}) {
                client.send(test::query(1, "t.c", query));
                if (client.receive_message().size() <= 36) throw std::runtime_error("ended");
            }
        } catch (const std::exception&) {
            ++ended;
        }
        if (g_fails_in.exchange(0) > 0) break;
    }
    sched::test::set_system(nullptr);
    EXPECT_GT(ended, 0);
    expect_all_slots_free();
}

TEST_F(FaultsTest, WhateverAcceptSaysTheServerListensOn) {
    for (const int error :
         {EMFILE, ENFILE, ENOBUFS, ENOMEM, EPROTO, EPERM, ENETDOWN, EINTR, ECONNABORTED}) {
        g_accept_error = error;
        g_accept_refusals = 3;
        Client client(listener_->port());
        EXPECT_TRUE(answers(client)) << error;
        g_accept_refusals = 0;
    }
    expect_all_slots_free();
}

TEST_F(FaultsTest, WithoutFurtherThreadsBlockedOnesEndAndOthersAreServed) {
    Client before(listener_->port());
    EXPECT_TRUE(answers(before));
    g_thread_refusals = 1'000'000;
    std::vector<std::unique_ptr<Client>> blocked;
    for (int i = 0; i < 10; ++i) {
        blocked.push_back(std::make_unique<Client>(listener_->port()));
        blocked.back()->send(test::query(1, "t.c", make("block", 1)));
    }
    // Both loops have their threads blocked, and no other takes over.
    for (int n = handler_.blocked.load(); n < 1; n = handler_.blocked.load())
        handler_.blocked.wait(n);
    handler_.release();
    for (const auto& client : blocked)
        EXPECT_GT(client->receive_message().size(), 36U);
    g_thread_refusals = 0;
    EXPECT_TRUE(answers(before));
}

TEST_F(FaultsTest, ALoopWithoutAnEventDescriptorTakesAPipe) {
    const size_t descriptors = open_descriptors();
    {
        g_eventfd_refusals = 1'000;
        Listener other(handler_, options_);
        other.bind();
        other.start();
        EXPECT_LT(g_eventfd_refusals.exchange(0), 1'000);
        Client client(other.port());
        for (int i = 0; i < 100; ++i)
            EXPECT_TRUE(answers(client));
    }
    eventually([&] { return open_descriptors() == descriptors; });
}

TEST_F(FaultsTest, WithoutDescriptorsForItsLoopsThereIsNoListenerAndNothingIsLeft) {
    const size_t descriptors = open_descriptors();
    g_eventfd_refusals = g_pipe_refusals = 1;
    EXPECT_THROW(Listener(handler_, options_), std::runtime_error);
    EXPECT_EQ(g_pipe_refusals.exchange(0), 0);
    g_eventfd_refusals = 0;
    g_epoll_create_refusals = 1;
    EXPECT_THROW(Listener(handler_, options_), std::runtime_error);
    EXPECT_EQ(g_epoll_create_refusals.exchange(0), 0);
    EXPECT_EQ(open_descriptors(), descriptors);
}

TEST_F(FaultsTest, AStartWithoutThreadsIsAnError) {
    Listener other(handler_, options_);
    other.bind();
    g_thread_refusals = 1;
    EXPECT_THROW(other.start(), std::system_error);
    g_thread_refusals = 0;
}

}  // namespace
}  // namespace wire
