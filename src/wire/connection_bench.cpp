// Measures the cost of the protocol: decoding, and round trips through a real socket.
//
// The handler does as little as a ping. "Group" sends one request on each of N connections and
// wakes them all together, as a group commit does.

#include <benchmark/benchmark.h>

#include <condition_variable>
#include <memory>
#include <mutex>

#include "base/log.h"
#include "wire/listener.h"
#include "wire/testing/client.h"

namespace wire {
namespace {

using bson::make;
using test::Bytes;
using test::Client;

// Answers { ok: 1 } at once, or after wake() when the request is { suspend: 1 }.
class OkHandler : public Handler {
  public:
    class OkSession : public Session {
      public:
        OkSession(OkHandler& handler, Waker& waker) : handler_(handler), waker_(waker) {}
        Step serve(std::span<const uint8_t> message, bson::Buffer& reply) override {
            const MsgMessage msg = decode_msg(message);
            request_id_ = msg.header.request_id;
            if (msg.body.first().name() == "suspend") {
                handler_.add(waker_);
                return {Step::Kind::suspend};
            }
            return resume(reply);
        }
        Step resume(bson::Buffer& reply) override {
            MsgWriter writer(reply, request_id_);
            {
                bson::Builder body = writer.body();
                body.append("ok", 1.0);
            }
            writer.finish();
            return {};
        }

      private:
        OkHandler& handler_;
        Waker& waker_;
        int32_t request_id_ = 0;
    };

    std::unique_ptr<Session> open(const ConnectionInfo&, Waker& waker) override {
        return std::make_unique<OkSession>(*this, waker);
    }
    void add(Waker& waker) {
        const std::lock_guard guard(mutex_);
        waiting_.push_back(&waker);
        changed_.notify_one();
    }
    void wake(size_t n) {
        std::vector<Waker*> ready;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this, n] { return waiting_.size() == n; });
            ready.swap(waiting_);
        }
        for (Waker* waker : ready)
            waker->wake();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Waker*> waiting_;
};

// A listener on a free port for the time of a benchmark.
class Bench {
  public:
    Bench() : listener_(handler, options()) {
        base::log::set_sink([](base::log::Severity, std::string_view) {});
        listener_.bind();
        listener_.start();
    }
    ~Bench() {
        listener_.stop(std::chrono::seconds(10));
        base::log::set_sink({});
    }
    int port() const { return listener_.port(); }
    OkHandler handler;

  private:
    static Listener::Options options() {
        Listener::Options options;
        options.port = 0;
        options.unix_socket = false;
        return options;
    }
    Listener listener_;
};

void decode(benchmark::State& state) {
    const Bytes bytes = test::msg(1, make("insert", "c", "$db", "test", "a", 1, "b",
                                          std::string(static_cast<size_t>(state.range(0)), 'x')));
    for (auto _ : state)
        benchmark::DoNotOptimize(decode_msg(bytes).body.data());
}
BENCHMARK(decode)->Arg(10)->Arg(1000);

void round_trip(benchmark::State& state) {
    Bench bench;
    Client client(bench.port());
    const Bytes request = test::msg(1, make("ping", 1, "$db", "admin"));
    for (auto _ : state) {
        client.send(request);
        benchmark::DoNotOptimize(client.receive_message().size());
    }
}
BENCHMARK(round_trip)->UseRealTime();

void group(benchmark::State& state) {
    Bench bench;
    const auto n = static_cast<size_t>(state.range(0));
    std::vector<std::unique_ptr<Client>> clients;
    for (size_t i = 0; i < n; ++i)
        clients.push_back(std::make_unique<Client>(bench.port()));
    const Bytes request = test::msg(1, make("suspend", 1, "$db", "admin"));
    for (auto _ : state) {
        for (const auto& client : clients)
            client->send(request);
        bench.handler.wake(n);
        for (const auto& client : clients)
            benchmark::DoNotOptimize(client->receive_message().size());
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(group)->Arg(1)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace wire
