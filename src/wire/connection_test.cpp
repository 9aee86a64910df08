// Connections over real sockets, with a handler that does on demand what a server does.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "base/log.h"
#include "base/process_memory.h"
#include "wire/listener.h"
#include "wire/testing/client.h"
#include "wire/testing/test_handler.h"

namespace wire {
namespace {

using bson::make;
using bson::Object;
using test::Bytes;
using test::Client;
using test::TestHandler;
using namespace std::chrono_literals;

// The sanitizers keep freed memory, so what a process has says nothing there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryTells = false;
#else
constexpr bool kMemoryTells = true;
#endif

class ConnectionTest : public testing::Test {
  protected:
    ConnectionTest() {
        base::log::set_sink([this](base::log::Severity, std::string_view line) {
            const std::lock_guard guard(log_mutex_);
            log_.emplace_back(line);
        });
        options_.port = 0;
        options_.unix_socket = false;
    }
    ~ConnectionTest() override {
        handler_.barrier.open();
        listener_.reset();
        base::log::set_sink({});
    }

    Listener& start() {
        listener_ = std::make_unique<Listener>(handler_, options_);
        listener_->bind();
        listener_->start();
        return *listener_;
    }
    int port() const { return listener_->port(); }

    static void ask(Client& client, int32_t id, const Object& what) {
        client.send(test::query(id, "t.c", what));
    }
    // The document of the next reply; checks whose reply it is.
    static Object answer(Client& client, int32_t id) {
        const Bytes bytes = client.receive_message();
        if (bytes.size() < 36) {
            ADD_FAILURE() << "no reply to " << id;
            return {};
        }
        const Header header = read_header(bytes.data());
        EXPECT_EQ(header.response_to, id);
        EXPECT_EQ(header.opcode, Opcode::reply);
        const Object doc{bson::Doc(bytes.data() + 36)};
        EXPECT_EQ(doc.doc()["id"].as_int32(), id);
        return doc;
    }
    static Object round_trip(Client& client, int32_t id, const Object& what) {
        ask(client, id, what);
        return answer(client, id);
    }
    bool logged(std::string_view text) {
        const std::lock_guard guard(log_mutex_);
        return std::any_of(log_.begin(), log_.end(), [text](const std::string& line) {
            return line.find(text) != std::string::npos;
        });
    }
    // Waits until the server has noticed what the client did.
    template <typename Condition>
    static void eventually(Condition condition) {
        while (!condition())
            std::this_thread::yield();
    }

    TestHandler handler_;
    Listener::Options options_;
    std::unique_ptr<Listener> listener_;
    std::mutex log_mutex_;
    std::vector<std::string> log_;
};

TEST_F(ConnectionTest, AnswersOverTcp) {
    start();
    {
        Client client(port());
        for (int32_t id = 1; id <= 3; ++id)
            round_trip(client, id, make("size", 1));
        EXPECT_TRUE(handler_.infos.at(0).local_client);
        EXPECT_EQ(handler_.infos.at(0).remote.rfind("127.0.0.1:", 0), 0u);
        EXPECT_EQ(handler_.infos.at(0).local, fmt::format("127.0.0.1:{}", port()));
        EXPECT_EQ(listener_->stats().connections_open, 1);
        EXPECT_EQ(listener_->stats().requests, 3);
    }
    eventually([&] { return listener_->stats().connections_open == 0; });
    EXPECT_EQ(listener_->stats().connections_ever, 1);
    eventually([&] { return logged("end connection 127.0.0.1:"); });
    EXPECT_TRUE(logged("[initandlisten] connection accepted from 127.0.0.1:"));
    EXPECT_TRUE(logged("#1 (1 connection"));
    EXPECT_TRUE(logged("[conn1] end connection"));
    EXPECT_EQ(handler_.sessions, 0);
}

TEST_F(ConnectionTest, AUnixSocketOfAnotherServerStays) {
    options_.unix_socket = true;
    options_.unix_socket_prefix = testing::TempDir();
    start();
    const std::string path = listener_->unix_socket_path();
    // Its name was removed, and another file took it.
    const std::string aside = path + ".aside";
    ASSERT_EQ(::rename(path.c_str(), aside.c_str()), 0);
    std::ofstream(path) << "another";
    listener_.reset();
    EXPECT_TRUE(std::filesystem::exists(path));
    std::filesystem::remove(path);
    std::filesystem::remove(aside);
}

TEST_F(ConnectionTest, AnswersOverAUnixSocket) {
    options_.unix_socket = true;
    options_.unix_socket_prefix = testing::TempDir();
    start();
    const std::string path = listener_->unix_socket_path();
    EXPECT_EQ(path, fmt::format("{}/mongodb-{}.sock", testing::TempDir(), port()));
    {
        Client client(path);
        round_trip(client, 5, make("size", 1));
        EXPECT_EQ(handler_.infos.at(0).remote, "anonymous unix socket");
    }
    EXPECT_TRUE(listener_->stop(60s));
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_F(ConnectionTest, MessagesMayComeInPieces) {
    start();
    Client client(port());
    const Bytes bytes = test::query(7, "t.c", make("size", 1));
    for (const uint8_t byte : bytes)
        client.send(&byte, 1);
    EXPECT_EQ(answer(client, 7).doc()["size"].as_int32(), static_cast<int32_t>(bytes.size()));
}

TEST_F(ConnectionTest, PipelinedRequestsAreAnsweredInOrder) {
    start();
    Client client(port());
    Bytes all;
    constexpr int32_t kCount = 500;
    for (int32_t id = 1; id <= kCount; ++id) {
        const Bytes one = test::query(
            id, "t.c", id % 3 == 0 ? make("eager", 1) : make("size", std::string(id % 97, 'x')));
        all.insert(all.end(), one.begin(), one.end());
    }
    std::thread sender([&] { client.send(all); });
    for (int32_t id = 1; id <= kCount; ++id)
        answer(client, id);
    sender.join();
}

TEST_F(ConnectionTest, RequestsWithoutReplyKeepTheirPlace) {
    start();
    Client client(port());
    Bytes all = test::query(1, "t.c", make("none", 1));
    const Bytes next = test::query(2, "t.c", make("size", 1));
    all.insert(all.end(), next.begin(), next.end());
    client.send(all);
    answer(client, 2);
}

TEST_F(ConnectionTest, LargeMessagesAndReplies) {
    start();
    Client client(port());
    const std::string megabytes(16'000'000, 'x');  // NOLINT(bugprone-string-constructor)
    const Object reply = round_trip(client, 1, make("size", megabytes));
    EXPECT_GT(reply.doc()["size"].as_int32(), 16'000'000);
    // More than the socket takes at once: the client starts to read late.
    ask(client, 2, make("big", 12'000'000));
    ask(client, 3, make("size", 1));
    EXPECT_EQ(answer(client, 2).doc()["x"].as_string().size(), 12'000'000u);
    answer(client, 3);
}

// Each request is large, and its reply waits to leave: the request's memory is given back all the
// same, so that the next ones are not held back.
TEST_F(ConnectionTest, LargeRequestsWithLargeRepliesGiveTheirMemoryBack) {
    constexpr int64_t kLimit = int64_t{1} << 20;
    options_.receive.bytes = kLimit;
    start();
    Client client(port());
    const std::string half(kLimit / 2, 'x');
    for (int32_t id = 1; id <= 8; ++id) {
        ask(client, id, make("big", 12'000'000, "half", half));
        EXPECT_EQ(answer(client, id).doc()["x"].as_string().size(), 12'000'000u);
    }
    // With another one beside it, it would have to wait for what is served.
    Client other(port());
    for (int32_t id = 1; id <= 2; ++id) {
        round_trip(client, id, make("size", half));
        round_trip(other, id, make("size", half));
    }
}

TEST_F(ConnectionTest, ALongReplyIsSentInPartsAndOthersAreServedInBetween) {
    start();
    Client client(port());
    // Each part is more than the socket takes at once, and the client starts to read late.
    ask(client, 1, bson::make("more", 5, "big", 4'000'000));
    ask(client, 2, make("size", 1));
    Client other(port());
    round_trip(other, 1, make("size", 1));
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(answer(client, 1).doc()["resumes"].as_int32(), i);
    answer(client, 2);
}

TEST_F(ConnectionTest, ALongAnswerEndsWithItsClient) {
    start();
    {
        Client client(port());
        ask(client, 1, bson::make("more", 1'000'000'000, "big", 1'000'000));
        answer(client, 1);
    }
    eventually([&] { return handler_.sessions == 0; });
}

TEST_F(ConnectionTest, SuspendedConnectionsAreWokenInOnePass) {
    start();
    constexpr int kClients = 50;
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.push_back(std::make_unique<Client>(port()));
        ask(*clients.back(), 100 + i, make("suspend", 1));
    }
    handler_.wait_for_waiters(kClients);
    EXPECT_FALSE(clients.front()->has_input(0));
    // No thread is held: other clients are served.
    Client other(port());
    round_trip(other, 1, make("size", 1));
    handler_.wake_all(kClients);
    for (int i = 0; i < kClients; ++i)
        EXPECT_EQ(answer(*clients[i], 100 + i).doc()["resumes"].as_int32(), 1);
}

TEST_F(ConnectionTest, WakesThatRaceWithTheSuspensionAreNotLost) {
    start();
    std::atomic<bool> done{false};
    std::thread waker([&] {
        while (!done)
            handler_.wake_all(0);
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            Client client(port());
            for (int32_t id = 1; id <= 500; ++id)
                round_trip(client, id, make("suspend", 1));
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    done = true;
    waker.join();
}

TEST_F(ConnectionTest, DeadlinesEndSuspensions) {
    start();
    Client slow(port());
    Client quick(port());
    ask(slow, 1, make("nap", 40));
    ask(quick, 2, make("nap", 1));
    answer(quick, 2);
    answer(slow, 1);
    round_trip(slow, 3, make("size", 1));
}

TEST_F(ConnectionTest, ABlockedOperationGivesTheLoopAway) {
    options_.loops = 1;
    start();
    Client blocked(port());
    ask(blocked, 1, make("block", 1));
    ask(blocked, 2, make("size", 1));  // waits behind the blocked one
    handler_.barrier.wait_for(1);
    Client other(port());
    for (int32_t id = 10; id < 20; ++id)
        round_trip(other, id, make("size", 1));
    EXPECT_FALSE(blocked.has_input(0));
    handler_.barrier.open();
    answer(blocked, 1);
    answer(blocked, 2);
    for (int32_t id = 30; id < 40; ++id)
        round_trip(blocked, id, make("block", 1));
}

TEST_F(ConnectionTest, ManyMayBlockAtOnce) {
    options_.loops = 2;
    start();
    constexpr int kClients = 20;
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.push_back(std::make_unique<Client>(port()));
        ask(*clients.back(), i + 1, make("block", 1));
    }
    handler_.barrier.wait_for(kClients);
    Client other(port());
    round_trip(other, 99, make("size", 1));
    handler_.barrier.open();
    for (int i = 0; i < kClients; ++i)
        answer(*clients[i], i + 1);
    for (int32_t id = 200; id < 400; ++id)
        round_trip(*clients[id % kClients], id, make("block", 1));
}

TEST_F(ConnectionTest, ImpossibleLengthsClose) {
    start();
    for (const int32_t length : {0, 1, 15, -2, -100, 48'000'001, 0x10000000}) {
        Client client(port());
        Bytes bytes = test::query(1, "t.c", make("size", 1));
        std::memcpy(bytes.data(), &length, sizeof length);
        client.send(bytes);
        EXPECT_TRUE(client.closed_by_server()) << length;
    }
    EXPECT_TRUE(logged("message len 48000001 is invalid. Min 16 Max: 48000000"));
}

TEST_F(ConnectionTest, HttpRequestsGetANotice) {
    start();
    Client client(port());
    const std::string request = "GET / HTTP/1.0\r\n\r\n";
    client.send(request.data(), request.size());
    const Bytes reply = client.receive(1000);
    const std::string text(reply.begin(), reply.end());
    EXPECT_EQ(text.rfind("HTTP/1.0 200 OK\r\n", 0), 0u);
    EXPECT_NE(text.find("\r\n\r\n"), std::string::npos);
}

TEST_F(ConnectionTest, EndianProbesAreAnswered) {
    start();
    Client client(port());
    const Bytes probes(32, 0xff);
    client.send(probes);
    EXPECT_EQ(client.receive(8), (Bytes{0x40, 0x30, 0x20, 0x10, 0x40, 0x30, 0x20, 0x10}));
    round_trip(client, 4, make("size", 1));
}

TEST_F(ConnectionTest, TheFirstMessageIsNoReply) {
    start();
    Bytes bytes = test::query(1, "t.c", make("size", 1));
    for (const int32_t response_to : {1, 0x7fffffff, -2}) {
        std::memcpy(bytes.data() + 8, &response_to, sizeof response_to);
        Client client(port());
        client.send(bytes);
        EXPECT_TRUE(client.closed_by_server()) << response_to;
    }
    Client client(port());
    const int32_t minus_one = -1;
    std::memcpy(bytes.data() + 8, &minus_one, sizeof minus_one);
    client.send(bytes);
    answer(client, 1);
    const int32_t any = 66051;
    std::memcpy(bytes.data() + 8, &any, sizeof any);
    client.send(bytes);
    answer(client, 1);
}

TEST_F(ConnectionTest, ConnectionsAboveTheLimitAreClosed) {
    options_.max_connections = 2;
    start();
    auto first = std::make_unique<Client>(port());
    Client second(port());
    round_trip(*first, 1, make("size", 1));
    round_trip(second, 2, make("size", 1));
    Client third(port());
    EXPECT_TRUE(third.closed_by_server());
    EXPECT_TRUE(logged("connection refused because too many open connections: 2"));
    EXPECT_EQ(listener_->stats().connections_available, 0);
    first.reset();
    eventually([&] { return listener_->stats().connections_open == 1; });
    Client fourth(port());
    round_trip(fourth, 4, make("size", 1));
}

TEST_F(ConnectionTest, SessionsEndConnections) {
    start();
    Client polite(port());
    round_trip(polite, 1, make("close", 1));
    EXPECT_TRUE(polite.closed_by_server());
    Client failing(port());
    ask(failing, 2, make("fail", 1));
    EXPECT_TRUE(failing.closed_by_server());
    EXPECT_TRUE(logged("ERROR: connection closed, its request failed: on request"));
    Client other(port());
    round_trip(other, 3, make("size", 1));
}

TEST_F(ConnectionTest, ClientsMayVanishWhileTheyWait) {
    start();
    {
        Client client(port());
        ask(client, 1, make("suspend", 1));
        handler_.wait_for_waiters(1);
    }
    {
        Client half(port());
        const Bytes bytes = test::query(1, "t.c", make("size", 1));
        half.send(bytes.data(), 20);
    }
    handler_.wake_all(1);
    eventually([&] { return listener_->stats().connections_open == 0; });
    EXPECT_EQ(handler_.sessions, 0);
}

TEST_F(ConnectionTest, RandomBytesDoNoHarm) {
    start();
    std::mt19937 random(99);
    for (int round = 0; round < 200; ++round) {
        Client client(port());
        Bytes bytes = test::query(1, "t.c", make("size", 1));
        for (int i = 0; i < 4; ++i)
            bytes[16 + random() % (bytes.size() - 16)] = static_cast<uint8_t>(random());
        Bytes noise(random() % 200);
        std::generate(noise.begin(), noise.end(), [&] { return static_cast<uint8_t>(random()); });
        bytes.insert(bytes.end(), noise.begin(), noise.end());
        client.send(bytes);
        client.end_of_input();
        while (!client.receive(4096).empty()) {
        }
    }
    Client client(port());
    round_trip(client, 1, make("size", 1));
}

TEST_F(ConnectionTest, AThousandIdleConnectionsAreCheap) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < 2200) GTEST_SKIP() << "needs 2200 descriptors";
    start();
    const auto resident_kb = [] {
        return static_cast<int64_t>(base::process_memory().resident / 1024);
    };
    constexpr int kClients = 1000;
    const int64_t before = resident_kb();
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.push_back(std::make_unique<Client>(port()));
        // Each has been busy once, with more than it keeps.
        round_trip(*clients.back(), i, make("big", 20'000, "x", std::string(20'000, 'y')));
    }
    const int64_t each = (resident_kb() - before) / kClients;
    RecordProperty("kilobytes_per_connection", static_cast<int>(each));
    EXPECT_TRUE(!kMemoryTells || each < 50) << each;
    EXPECT_EQ(listener_->stats().connections_open, kClients);
    for (int i = 0; i < kClients; ++i)
        round_trip(*clients[i], i, make("size", 1));
}

TEST_F(ConnectionTest, StopEndsIdleConnectionsAndWaitsForBusyOnes) {
    start();
    Client idle(port());
    round_trip(idle, 1, make("size", 1));
    Client busy(port());
    ask(busy, 2, make("block", 1));
    handler_.barrier.wait_for(1);
    EXPECT_FALSE(listener_->stop(1ms));
    EXPECT_TRUE(idle.closed_by_server());
    eventually([&] {  // the port is closed
        try {
            const Client late(port());
            return false;
        } catch (const std::runtime_error&) {
            return true;
        }
    });
    handler_.barrier.open();
    answer(busy, 2);
    EXPECT_TRUE(busy.closed_by_server());
    EXPECT_TRUE(listener_->stop(60s));
    EXPECT_EQ(handler_.sessions, 0);
}

TEST_F(ConnectionTest, StopWaitsForSuspendedConnections) {
    start();
    Client client(port());
    ask(client, 1, make("suspend", 1));
    handler_.wait_for_waiters(1);
    EXPECT_FALSE(listener_->stop(1ms));
    handler_.wake_all(1);
    EXPECT_TRUE(listener_->stop(60s));
    // The early resume of the stop did not end the exchange, the wake did.
    EXPECT_GE(answer(client, 1).doc()["resumes"].as_int32(), 1);
}

TEST_F(ConnectionTest, ABusyPortIsAnError) {
    start();
    Listener::Options options = options_;
    options.port = port();
    Listener second(handler_, options);
    try {
        second.bind();
        ADD_FAILURE() << "bound a port twice";
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), base::kExitNetError);
        EXPECT_NE(std::string(error.what()).find("Address already in use"), std::string::npos);
    }
}

TEST_F(ConnectionTest, UnknownAddressesAreErrors) {
    options_.addresses = {"256.1.1.1"};
    EXPECT_THROW(start(), base::Error);
    options_.addresses = {"::1"};
    EXPECT_THROW(start(), base::Error);  // without ipv6
}

}  // namespace
}  // namespace wire
