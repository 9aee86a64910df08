// A connection to a server of the room wire that answers as the test says.
#include "peer/connection.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "auth/scram.h"
#include "auth/user.h"
#include "base/error.h"
#include "base/testing/failure.h"
#include "base/testing/muted.h"
#include "bson/json.h"
#include "wire/listener.h"
#include "wire/message.h"

namespace peer {
namespace {

using namespace std::chrono_literals;
using base::failure;

// Answers each command with what `answer` makes of it; an empty document: not at all.
class Answers final : public wire::Handler {
  public:
    using Answer = std::function<bson::Object(std::string_view db, bson::Doc command)>;
    explicit Answers(Answer answer) : answer_(std::move(answer)) {}

    std::unique_ptr<wire::Session> open(const wire::ConnectionInfo&, wire::Waker&) override {
        return std::make_unique<AnsweringSession>(answer_);
    }

  private:
    class AnsweringSession final : public wire::Session {
      public:
        explicit AnsweringSession(const Answer& answer) : answer_(answer) {}
        wire::Step serve(std::span<const uint8_t> message, bson::Buffer& reply) override {
            const wire::MsgMessage msg = wire::decode_msg(message);
            const bson::Object answer = answer_(msg.db, msg.body);
            if (answer.empty()) return {};
            if (answer["close"].truthy()) return {wire::Step::Kind::close, {}};
            wire::MsgWriter writer(reply, msg.header.request_id + (answer["other"] ? 1 : 0));
            writer.body().append_all(answer);
            writer.finish();
            return {};
        }
        wire::Step resume(bson::Buffer&) override { return {}; }

      private:
        const Answer& answer_;
    };
    const Answer answer_;
};

class ConnectionTest : public testing::Test {
  protected:
    // Takes the answers that are to be given, and returns a connection to who gives them.
    std::unique_ptr<Connection> connect(Answers::Answer answer, const Identity& identity = {}) {
        answers_ = std::make_unique<Answers>(std::move(answer));
        wire::Listener::Options options;
        options.port = 0;
        options.unix_socket = false;
        listener_ = std::make_unique<wire::Listener>(*answers_, options);
        listener_->bind();
        listener_->start();
        return std::make_unique<Connection>(fmt::format("127.0.0.1:{}", listener_->port()),
                                            interrupt_, 10s, identity);
    }
    ~ConnectionTest() override {
        if (listener_ == nullptr) return;
        listener_->stop_accepting();
        listener_->stop(10s);
    }

    const base::MutedLog muted_;
    Interrupt interrupt_;
    std::unique_ptr<Answers> answers_;
    std::unique_ptr<wire::Listener> listener_;
};

TEST_F(ConnectionTest, RunsCommands) {
    const auto connection = connect([](std::string_view db, bson::Doc command) {
        bson::Builder out;
        out.append("ok", 1.0).append("db", db).append("asked", command);
        out.append("pad", std::string(static_cast<size_t>(command["pad"].to_int64()), 'x'));
        return out.object();
    });
    for (const int pad : {0, 5, 3'000'000, 7}) {
        const bson::Doc answer =
            connection->run("test", bson::make("ping", 1, "pad", pad).doc(), 10s);
        EXPECT_EQ(answer["db"].as_string(), "test");
        EXPECT_EQ(answer["asked"].as_doc()["ping"].to_int64(), 1);
        EXPECT_EQ(answer["pad"].as_string().size(), static_cast<size_t>(pad));
    }
    EXPECT_GT(connection->bytes_received(), 3'000'000);
}

TEST_F(ConnectionTest, ThrowsWhatTheAnswerSays) {
    const auto connection = connect([](std::string_view, bson::Doc command) {
        if (command.has("fail"))
            return bson::make("ok", 0.0, "code", 10107, "errmsg", "not primary");
        return bson::make("ok", 1.0);
    });
    EXPECT_EQ(failure([&] { connection->run("test", bson::make("fail", 1).doc(), 10s); }), 10107);
    EXPECT_EQ(failure([&] { connection->run("test", bson::make("ping", 1).doc(), 10s); }), 0);
}

// A server that knows a key, and says `last` in place of its proof where that is not empty.
class LoginServer {
  public:
    explicit LoginServer(const std::string& key, std::string last = {})
        : member_(auth::member_user(key)), last_(std::move(last)) {}

    bson::Object operator()(std::string_view db, bson::Doc command) {
        EXPECT_EQ(db, "local");
        const auto bytes = command["payload"].binary_data();
        const std::string payload(bytes.begin(), bytes.end());
        if (command.first().name() == "saslStart") {
            EXPECT_EQ(scram_.start(payload), "__system");
            return answer(scram_.answer(*member_.credential(scram_.mechanism()), true));
        }
        const auto last = scram_.finish(payload);
        if (!last) return bson::make("ok", 0.0, "code", 18, "errmsg", "Authentication failed.");
        return answer(last_.empty() ? *last : last_);
    }

  private:
    static bson::Object answer(const std::string& payload) {
        bson::Builder out;
        out.append("ok", 1.0)
            .append("conversationId", 1)
            .append_binary("payload", 0,
                           {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
        return out.object();
    }
    const auth::User member_;
    const std::string last_;
    auth::ScramServer scram_{auth::Mechanism::sha256};
};

TEST_F(ConnectionTest, LogsInByTheKeyOfTheSet) {
    auto server = std::make_shared<LoginServer>("abcdef");
    const auto connection = connect(
        [server](std::string_view db, bson::Doc command) {
            if (command.has("ping")) return bson::make("ok", 1.0);
            return (*server)(db, command);
        },
        {.key = "abcdef", .tls = nullptr});
    connection->run("admin", bson::make("ping", 1).doc(), 10s);
}

TEST_F(ConnectionTest, NeitherSideTrustsTheOtherWithoutTheKey) {
    for (const auto& [key, last] :
         {std::pair<std::string, std::string>{"abcdeg", ""}, {"abcdef", "v=AAAA"}}) {
        auto server = std::make_shared<LoginServer>(key, last);
        EXPECT_EQ(failure([&] {
                      connect([server](std::string_view db,
                                       bson::Doc command) { return (*server)(db, command); },
                              {.key = "abcdef", .tls = nullptr});
                  }),
                  base::kAuthenticationFailed);
        listener_->stop_accepting();
        listener_->stop(10s);
        listener_ = nullptr;
    }
}

TEST_F(ConnectionTest, ReadsACursorInBatches) {
    std::vector<std::string> asked;
    const auto connection = connect([&asked](std::string_view db, bson::Doc command) {
        asked.push_back(bson::to_text(command));
        const bool is_first = command.has("find");
        bson::Builder out;
        {
            bson::Builder cursor = out.sub_object("cursor");
            cursor.append("id", int64_t{asked.size() < 3 ? 77 : 0})
                .append("ns", std::string(db) + ".a.b");
            bson::Builder batch = cursor.sub_array(is_first ? "firstBatch" : "nextBatch");
            for (size_t i = 0; i < asked.size(); ++i)
                batch.push(bson::make("n", static_cast<int32_t>(asked.size())));
        }
        out.append("ok", 1.0);
        return out.object();
    });
    Cursor cursor(*connection, "test", bson::make("find", "a.b"), 10s);
    EXPECT_EQ(bson::to_text(cursor.batch()), "{ 0: { n: 1 } }");
    ASSERT_TRUE(cursor.is_open());
    cursor.fetch(250ms);
    EXPECT_EQ(cursor.batch().field_count(), 2);
    ASSERT_TRUE(cursor.is_open());
    cursor.fetch();
    EXPECT_EQ(cursor.batch().field_count(), 3);
    EXPECT_FALSE(cursor.is_open());
    EXPECT_EQ(asked, (std::vector<std::string>{
                         "{ find: \"a.b\", $db: \"test\" }",
                         "{ getMore: 77, collection: \"a.b\", maxTimeMS: 250, $db: \"test\" }",
                         "{ getMore: 77, collection: \"a.b\", $db: \"test\" }"}));
}

TEST_F(ConnectionTest, EndsWhereTheOtherDoes) {
    const auto connection = connect([](std::string_view, bson::Doc command) {
        if (command.has("other")) return bson::make("ok", 1.0, "other", true);
        if (command.has("cursor")) return bson::make("ok", 1.0);
        return bson::make("close", true);
    });
    EXPECT_EQ(failure([&] { Cursor(*connection, "test", bson::make("cursor", 1), 10s); }),
              base::kProtocolError);
    EXPECT_EQ(failure([&] { connection->run("test", bson::make("other", 1).doc(), 10s); }),
              base::kProtocolError);
    Connection other(connection->host(), interrupt_, 10s);
    EXPECT_EQ(failure([&] { other.run("test", bson::make("end", 1).doc(), 10s); }),
              base::kHostUnreachable);
}

TEST_F(ConnectionTest, WaitsNoLongerThanItMay) {
    const auto connection = connect([](std::string_view, bson::Doc) { return bson::Object(); });
    EXPECT_EQ(failure([&] { connection->run("test", bson::make("silence", 1).doc(), 1ms); }),
              base::kNetworkTimeout);
    std::thread ender([this] { interrupt_.set(); });
    EXPECT_EQ(failure([&] { connection->run("test", bson::make("silence", 1).doc(), 1h); }),
              base::kInterruptedAtShutdown);
    ender.join();
    EXPECT_TRUE(interrupt_.is_set());
    EXPECT_TRUE(interrupt_.wait_for(1h));
}

TEST_F(ConnectionTest, SaysWhereItCannotConnect) {
    std::string free_port;
    {
        const auto connection = connect([](std::string_view, bson::Doc) { return bson::Object(); });
        free_port = connection->host();
    }
    listener_->stop_accepting();
    listener_->stop(10s);
    listener_ = nullptr;
    for (const std::string& host :
         {free_port, std::string("no.example.invalid:1"), std::string("no-port")})
        EXPECT_EQ(failure([&] { Connection(host, interrupt_, 10s); }), base::kHostUnreachable)
            << host;
}

}  // namespace
}  // namespace peer
