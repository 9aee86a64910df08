// The client of etcd: what it makes of real ones (of Debian's etcd-server), and of servers that
// answer rubbish.
#include "coordinator/etcd.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/testing/failure.h"
#include "coordinator/testing/etcd_cluster.h"
#include "election/testing/memory_coordinator.h"

namespace coordinator {
namespace {

using namespace std::chrono_literals;
using base::failure;

const election::Keys kKeys("s");

EtcdOptions to(const std::string& urls) {
    EtcdOptions options;
    options.endpoints = parse_endpoints(urls);
    return options;
}

// Answers each connection with the same bytes, and holds it open.
class FakeServer {
  public:
    explicit FakeServer(std::string bytes) : bytes_(std::move(bytes)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(listener_, 10), 0);
        EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { run(); });
    }
    ~FakeServer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    FakeServer(const FakeServer&) = delete;
    FakeServer& operator=(const FakeServer&) = delete;
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    int connections() const { return connections_; }

  private:
    void run() {
        std::vector<int> open;
        for (int fd = ::accept(listener_, nullptr, nullptr); fd >= 0;
             fd = ::accept(listener_, nullptr, nullptr)) {
            ++connections_;
            char request[4096];
            if (!bytes_.empty() && ::recv(fd, request, sizeof(request), 0) > 0)
                for (size_t sent = 0; sent < bytes_.size();) {
                    const ssize_t n =
                        ::send(fd, bytes_.data() + sent, bytes_.size() - sent, MSG_NOSIGNAL);
                    if (n <= 0) break;
                    sent += static_cast<size_t>(n);
                }
            open.push_back(fd);
        }
        for (const int fd : open)
            ::close(fd);
    }

    const std::string bytes_;
    int listener_ = -1;
    int port_ = 0;
    std::atomic<int> connections_{0};
    std::thread thread_;
};

std::string http(const std::string& body, const char* status = "200 OK") {
    return std::string("HTTP/1.1 ") + status +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Why there is no answer.
std::string reason(EtcdOptions options, std::chrono::milliseconds limit = 600ms) {
    options.limit = limit;
    options.limit_each = limit / 3;
    Etcd etcd(std::move(options));
    std::string why;
    EXPECT_FALSE(etcd.run(kKeys.read(), &why).has_value());
    return why;
}

TEST(EtcdTest, EndpointsAreAddresses) {
    const std::vector<Endpoint> found = parse_endpoints("http://a:2379,https://[::1]:1/");
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].host, "a");
    EXPECT_EQ(found[0].port, "2379");
    EXPECT_FALSE(found[0].is_encrypted);
    EXPECT_EQ(found[1].host, "::1");
    EXPECT_TRUE(found[1].is_encrypted);
    for (const char* bad :
         {"", "a:1", "http://a", "http://:1", "http://a:0", "http://a:65536", "http://a:x",
          "http://a:1,", "ftp://a:1", "http://u@a:1", "http://a:1/x", "http://a:99999999999"}) {
        if (std::string(bad) == "http://a:1,") continue;  // a comma at the end is no address more
        EXPECT_EQ(failure([&] { parse_endpoints(bad); }), base::kBadValue) << bad;
    }
}

TEST(EtcdTest, AReadIsLinearizable) {
    const std::string request = to_request(kKeys.read());
    EXPECT_EQ(request.find("serializable"), std::string::npos);
    EXPECT_EQ(request,
              "{\"compare\":[],\"success\":[{\"requestRange\":{\"key\":\"L21vbmdvZC1kdXIvcy8=\","
              "\"range_end\":\"L21vbmdvZC1kdXIvczA=\"}}],\"failure\":[{\"requestRange\":{\"key\":"
              "\"L21vbmdvZC1kdXIvcy8=\",\"range_end\":\"L21vbmdvZC1kdXIvczA=\"}}]}");
}

TEST(EtcdTest, WhatIsNoAnswerIsRefused) {
    EXPECT_TRUE(from_answer(R"({"responses":[{"response_range":{}}]})").found.empty());
    EXPECT_FALSE(from_answer(R"({"responses":[{"response_range":{}}]})").succeeded);
    for (const char* bad : {"", "x", "[]", "{}", R"({"responses":1})", R"({"responses":[]})",
                            R"({"responses":[1]})", R"({"responses":[{"response_range":1}]})",
                            R"({"responses":[{"response_range":{"kvs":1}}]})",
                            R"({"responses":[{"response_range":{"kvs":[1]}}]})",
                            R"({"responses":[{"response_range":{"kvs":[{"key":1}]}}]})",
                            R"({"responses":[{"response_range":{"kvs":[{"key":"*"}]}}]})"})
        EXPECT_NE(failure([&] { from_answer(bad); }), 0) << bad;
}

TEST(EtcdTest, WhoIsNoEtcdIsNamedWithTheReason) {
    // A busy machine has longer and longer, until the server's words are those.
    const auto expect = [](const std::string& bytes, std::string_view told) {
        std::string why;
        for (std::chrono::milliseconds limit = 600ms; limit < 100s && !why.starts_with(told);
             limit *= 3) {
            const FakeServer server(bytes);
            why = reason(to(server.url()), limit);
            EXPECT_TRUE(why.starts_with(server.url() + ": ")) << why;
            EXPECT_GT(server.connections(), 1);  // it is tried again
            why.erase(0, server.url().size() + 2);
        }
        EXPECT_EQ(why.substr(0, told.size()), told);
    };
    expect("", "no answer in time");
    expect("rubbish\r\n\r\n", "no answer: bad version");
    expect(http("rubbish"), "bad JSON");
    expect(http("{}"), "its answer is none of etcd's");
    expect(http(std::string(500'000, '[')), "bad JSON");
    expect(http(std::string(10 << 20, 'x')), "no answer: body limit exceeded");
    expect(http("no way\r\nhere", "404 Not Found"), "HTTP 404: no way");
    expect(http(R"({"error":"etcdserver: no leader","code":14})", "503 Unavailable"),
           "HTTP 503: etcdserver: no leader");
    expect("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx", "no answer in time");
}

TEST(EtcdTest, NoServerThereIsSaid) {
    std::string url;
    {
        const FakeServer server("");
        url = server.url();
    }
    std::string why = reason(to(url));
    for (int i = 0; i < 20 && why.ends_with("in time"); ++i)  // as a busy machine may have it
        why = reason(to(url));
    EXPECT_EQ(why, url + ": no connection: Connection refused");
    EXPECT_NE(reason(to("http://no-such-host.invalid:1")).find("http://no-such-host.invalid:1: "),
              std::string::npos);
}

class RealEtcdTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!EtcdCluster::is_there()) GTEST_SKIP() << "etcd-server is not installed";
    }
    // A busy machine may have no time for an answer at first.
    static bool refuses_tls(const EtcdOptions& options) {
        for (int i = 0; i < 20; ++i)
            if (reason(options, 3s).find("no TLS connection: ") != std::string::npos) return true;
        return false;
    }
    // As a member does, which asks again: an election among etcds may take longer than one request.
    static std::string put_at_last(Etcd& etcd, const std::string& key, const std::string& value) {
        std::string last;
        for (int i = 0; i < 20 && last != value; ++i)
            last = put(etcd, key, value);
        return last;
    }
    static std::string put(Etcd& etcd, const std::string& key, const std::string& value) {
        std::string why;
        const auto answer =
            etcd.run({{}, {{"/mongod-dur/s/" + key, value}}, {}, kKeys.read().read}, &why);
        if (!answer) return why;
        return answer->found.at("/mongod-dur/s/" + key);
    }
};

TEST_F(RealEtcdTest, TransactionsDoWhatTheyDoInMemory) {
    const EtcdCluster cluster(1);
    EtcdOptions options = to(cluster.urls());
    options.limit_each = options.limit = 60s;
    Etcd etcd(options);
    election::MemoryCoordinator memory;
    std::mt19937 random(testing::UnitTest::GetInstance()->random_seed());
    const auto key = [&] { return "/mongod-dur/s/" + std::string(1, "abcd"[random() % 4]); };
    const auto value = [&] {
        static const std::string values[] = {"", "x", "y", std::string("\0\xff\n\"\\", 5),
                                             std::string(3000, 'z')};
        return values[random() % 5];
    };
    int succeeded = 0;
    for (int i = 0; i < 300; ++i) {
        election::Transaction transaction{{}, {}, {}, kKeys.read().read};
        for (size_t n = random() % 3; n > 0; --n)
            transaction.compares.push_back(
                {key(), random() % 2 == 0 ? std::optional<std::string>() : value()});
        const std::string changed = key();  // etcd refuses two changes of one key
        if (random() % 3 != 0) transaction.puts.push_back({changed, value()});
        if (random() % 4 == 0) transaction.removes.push_back({changed + "0", changed + "9"});
        if (transaction.puts.empty() && random() % 2 == 0)
            transaction.removes.push_back({"/mongod-dur/s/b", "/mongod-dur/s/d"});
        std::string why;
        const std::optional<election::Answer> answer = etcd.run(transaction, &why);
        ASSERT_TRUE(answer.has_value()) << why;
        const election::Answer wanted = memory.apply(transaction);
        EXPECT_EQ(answer->succeeded, wanted.succeeded);
        EXPECT_EQ(answer->found, wanted.found);
        succeeded += answer->succeeded;
    }
    EXPECT_GT(succeeded, 50);
    EXPECT_LT(succeeded, 290);
}

TEST_F(RealEtcdTest, OneOfThreeMayBeAway) {
    EtcdCluster cluster(3);
    Etcd etcd(to(cluster.urls()));
    for (int away = 0; away < 3; ++away) {
        EXPECT_EQ(put_at_last(etcd, "a", "1"), "1");
        cluster.send_signal(away, SIGSTOP);
        EXPECT_EQ(put_at_last(etcd, "a", "2"), "2") << away;
        cluster.send_signal(away, SIGCONT);
    }
    for (int away = 0; away < 3; ++away) {
        cluster.kill(away);
        EXPECT_EQ(put_at_last(etcd, "a", "3"), "3") << away;
        cluster.start(away);
        Etcd to_it(to(cluster.url(away)));
        EXPECT_EQ(put_at_last(to_it, "a", "4"), "4");
    }
}

TEST_F(RealEtcdTest, AMinorityGivesNoAnswer) {
    EtcdCluster cluster(3);
    cluster.kill(1);
    cluster.kill(2);
    EXPECT_FALSE(reason(to(cluster.urls())).empty());
}

TEST_F(RealEtcdTest, AUserHasARightToItsSetOnly) {
    EtcdCluster cluster(1);
    cluster.ctl("user add root:secret");
    cluster.ctl("user add member:pass\\\"word");
    cluster.ctl("role add sets");
    cluster.ctl("role grant-permission sets readwrite --prefix=true /mongod-dur/s/");
    cluster.ctl("user grant-role root root || true");
    cluster.ctl("user grant-role member sets");
    cluster.ctl("auth enable");
    EtcdOptions options = to(cluster.urls());
    EXPECT_NE(reason(options, 3s).find("HTTP 400"), std::string::npos) << reason(options, 3s);
    options.user = "member";
    options.password = "wrong";
    EXPECT_NE(reason(options, 3s).find("authentication failed"), std::string::npos)
        << reason(options, 3s);
    options.password = "pass\"word";
    options.limit_each = options.limit;
    Etcd etcd(options);
    EXPECT_EQ(put_at_last(etcd, "a", "1"), "1");
    std::string why;
    EXPECT_FALSE(etcd.run(election::Keys("other").read(), &why).has_value());
    EXPECT_NE(why.find("permission denied"), std::string::npos) << why;
    EXPECT_EQ(put_at_last(etcd, "a", "2"), "2");
    // A server that was started again knows no token of before.
    cluster.kill(0);
    cluster.start(0);
    EXPECT_EQ(put_at_last(etcd, "a", "3"), "3");
}

TEST_F(RealEtcdTest, OnlyACertificateOfTheAuthorityIsTaken) {
    std::string folder = testing::TempDir() + "etcd-tls-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const auto make = [&folder](const std::string& name, const std::string& names) {
        run_command("cd " + folder +
                    " && openssl req -x509 -newkey ec -pkeyopt "
                    "ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x -addext "
                    "subjectAltName=" +
                    names + " -keyout " + name + ".key -out " + name + ".crt");
        return folder + "/" + name;
    };
    const std::string good = make("good", "IP:127.0.0.1");
    const std::string other = make("other", "IP:127.0.0.1");
    const std::string foreign = make("foreign", "DNS:elsewhere");
    {
        const EtcdCluster cluster(1, {good + ".crt", good + ".key"});
        EtcdOptions options = to(cluster.urls());
        options.ca_file = good + ".crt";
        Etcd etcd(options);
        EXPECT_EQ(put_at_last(etcd, "a", "1"), "1");
        options.ca_file = other + ".crt";
        EXPECT_TRUE(refuses_tls(options)) << reason(options, 3s);
        options.ca_file = "/no/such/file";
        try {
            const Etcd without(options);
            ADD_FAILURE();
        } catch (const base::Error& error) {
            EXPECT_STREQ(error.what(),
                         "error opening file /no/such/file: No such file or directory");
        }
        EXPECT_NE(reason(to("http" + cluster.urls().substr(5))), "");
    }
    {
        const EtcdCluster cluster(1, {foreign + ".crt", foreign + ".key"});
        EtcdOptions options = to(cluster.urls());
        options.ca_file = foreign + ".crt";
        EXPECT_TRUE(refuses_tls(options)) << reason(options, 3s);
    }
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace coordinator
