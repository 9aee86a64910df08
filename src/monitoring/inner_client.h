// monitoring/inner_client.h - a client inside the process: it logs in and sends commands as one on
// a connection does, by the same messages, and has no other rights than that.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "auth/scram_client.h"
#include "bson/builder.h"
#include "wire/handler.h"

namespace monitoring {

class InnerClient {
  public:
    using Clock = std::chrono::steady_clock;
    // Calls the function at that time, on the same thread, unless the client is destroyed by then.
    using Later = std::function<void(Clock::time_point, std::function<void()>)>;
    // `answer`: of the command, while the call lasts; empty: there is none.
    using Done = std::function<void(bson::Doc answer)>;

    // The handler outlives it.
    InnerClient(wire::Handler& handler, const wire::ConnectionInfo& info, Later later);
    InnerClient(const InnerClient&) = delete;
    InnerClient& operator=(const InnerClient&) = delete;

    // Runs a command on `admin`. The answer may come before this returns; the next call waits for
    // it.
    void run(bson::Doc command, Done done);
    // Logs in as a user of `admin`; at most once. `done` hears whether that went well.
    void log_in(std::string name, std::string password, std::function<void(bool)> done);

  private:
    class NoWaker final : public wire::Waker {
      public:
        void wake() override {}
    };

    void go_on(const wire::Step& step);
    void begin_login(auth::Mechanism mechanism, const std::string& name,
                     const std::string& password);
    void prove(bson::Doc first);
    void end_login(bool is_good);

    const Later later_;
    NoWaker waker_;  // what these commands wait for has a time
    std::unique_ptr<wire::Session> session_;
    bson::Buffer request_, reply_;
    Done done_;  // empty: no command is under way
    std::optional<auth::ScramClient> scram_;
    std::function<void(bool)> logged_in_;
};

}  // namespace monitoring
