// command/commands/testing/access_control.h - a server with --auth and no login, and what
// makes users and logs them in.
#pragma once

#include <string>

#include "auth/scram_client.h"
#include "command/commands/testing/service.h"

namespace command {

class AccessControlTest : public ServiceTest {
  protected:
    AccessControlTest() : ServiceTest(false, TestEngine::memory) {
        service_->access_control().enabled = true;
        open(*service_, 2);
    }

    static bool ok(const bson::Object& reply) { return reply["ok"].to_double() == 1.0; }

    // The first user, through the localhost exception.
    void make_root() {
        const bson::Object reply =
            run(R"({"createUser": "root", "pwd": "secret", "roles": ["root"]})", "admin");
        ASSERT_TRUE(ok(reply)) << bson::to_text(reply.doc());
    }
    void make_user(const std::string& name, const std::string& roles,
                   const std::string& db = "test") {
        const bson::Object reply =
            run(R"({"createUser": ")" + name + R"(", "pwd": "pw", "roles": )" + roles + "}", db);
        ASSERT_TRUE(ok(reply)) << bson::to_text(reply.doc());
    }

    bson::Object sasl(TestConnection& client, const char* command, const std::string& mechanism,
                      const std::string& payload, int32_t id, const std::string& db) {
        bson::Builder out;
        out.append(command, 1);
        if (mechanism.empty()) {
            out.append("conversationId", id);
        } else {
            out.append("mechanism", mechanism);
            out.append("options", bson::make("skipEmptyExchange", true));
        }
        out.append_binary("payload", 0,
                          {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
        return client.run(out.object(), db);
    }
    static std::string payload(const bson::Object& reply) {
        const auto bytes = reply["payload"].binary_data();
        return {bytes.begin(), bytes.end()};
    }
    // The code of the failure; 0: logged in.
    int log_in(TestConnection& client, const std::string& name, const std::string& password,
               const std::string& db = "test",
               auth::Mechanism mechanism = auth::Mechanism::sha256) {
        auth::ScramClient scram(mechanism, name, password);
        const bson::Object first =
            sasl(client, "saslStart", std::string(auth::name_of(mechanism)), scram.first(), 0, db);
        if (!ok(first)) return code(first);
        const bson::Object second = sasl(client, "saslContinue", "", scram.final(payload(first)),
                                         first["conversationId"].to_int32(), db);
        return ok(second) ? 0 : code(second);
    }

    // Two users and what they read: root is logged in here, `one` may read and `two` write as well.
    void make_two_users(TestConnection& one, TestConnection& two) {
        make_root();
        ASSERT_EQ(log_in(*this, "root", "secret", "admin"), 0);
        make_user("one", R"(["read"])");
        make_user("two", R"(["readWrite"])");
        run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
        one.open(*service_, 3);
        two.open(*service_, 4);
        ASSERT_EQ(log_in(one, "one", "pw"), 0);
        ASSERT_EQ(log_in(two, "two", "pw"), 0);
    }
};

}  // namespace command
