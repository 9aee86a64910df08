// command/access/login.h - the users logged in on one connection: the conversation that proves it
// (wire spec 6.4), and what those users may do.
//
// Each database may have one user logged in at a time, as the old drivers have it; the connection
// may do what any of these users may. A Login belongs to the thread that serves the connection's
// request.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/privileges.h"
#include "auth/scram.h"
#include "auth/user.h"
#include "bson/builder.h"
#include "command/access/session_owner.h"

namespace command {

class LoginDelays;
class UserStore;

class Login {
  public:
    using Clock = std::chrono::steady_clock;

    // `remote`: the client's address and port; as the references, it outlives the login.
    Login(UserStore& store, LoginDelays& delays, std::string_view remote)
        : store_(store), delays_(delays), remote_(remote) {}

    // The commands saslStart and saslContinue; `body` is the command's. Append conversationId, done
    // and payload. Throws base::Error 18, always with the same text, for a wrong user or password;
    // the reply is then to wait until reply_at(). Throws 2, 9, 14, 17 for what is no such command.
    void start(std::string_view db, bson::Doc body, bson::Builder& reply);
    void go_on(std::string_view db, bson::Doc body, bson::Builder& reply);
    // Whether the second one has to be delayed (command/access/login_delays.h): it is to be served
    // again at attempt_at().
    bool must_delay_attempt();
    Clock::time_point attempt_at() const { return conversation_->attempt_at.value(); }
    // The first of them inside hello: a failure is no answer.
    void start_early(bson::Doc body, bson::Builder& reply);
    // Drops the login as a user of this database.
    void log_out(std::string_view db);

    // Reads the users anew where something has changed; dropped ones are logged out.
    void refresh() {
        if (logged_in_.generation != 0) update();
    }

    bool logged_in() const { return !users().empty(); }
    const std::vector<auth::User>& users() const { return logged_in_.users; }
    const auth::Privileges& privileges() const { return logged_in_.privileges; }
    // Identifies each of them, also among users who had the same name one after the other.
    const std::vector<std::string>& ids() const { return logged_in_.ids; }
    // The owner of the sessions that requests name: the user who logged in first.
    const SessionOwner& session_owner() const { return logged_in_.session_owner; }

    // Returns until when the answer to the request under way is to be held back; nothing: not at
    // all.
    std::optional<Clock::time_point> reply_at() const { return reply_at_; }
    void forget_delay() { reply_at_.reset(); }

  private:
    struct Conversation {
        explicit Conversation(auth::Mechanism mechanism) : server(mechanism) {}
        auth::ScramServer server;
        auth::UserName who;
        int32_t id = 0;
        uint64_t since = 0;                           // of the users, when it began
        bool skip_empty = false;                      // no third exchange is wanted
        bool proven = false;                          // only that one is missing
        std::optional<Clock::time_point> attempt_at;  // once it was asked for
    };

    // The users, and what follows from them. What may be interrupted makes another one.
    struct LoggedIn {
        // Adds a user whose database has none.
        void add(auth::User user, uint64_t user_since, uint64_t incarnation);
        // Drops the user of a database.
        void drop(std::string_view db);
        // To be called behind these, with the generation of what was read.
        void sum_up(uint64_t read);

        std::vector<auth::User> users;
        std::vector<uint64_t> since;  // the generation of each of them
        std::vector<std::string> ids;
        SessionOwner session_owner = kNoOwner;
        auth::Privileges privileges;
        uint64_t generation = 0;  // of what the above was read; 0: not logged in
    };

    // The answer; nothing where it is early, and no login, or the user has credentials of other
    // kinds only: the client then takes one of those.
    std::optional<std::string> begin(std::string_view db, bson::Doc body, bool early);
    void finish();
    [[noreturn]] void fail(std::string_view why);
    void update();

    UserStore& store_;
    LoginDelays& delays_;
    const std::string_view remote_;

    std::optional<Conversation> conversation_;
    int32_t conversations_ = 0;
    int failures_ = 0;  // since the last success
    std::optional<Clock::time_point> reply_at_;

    LoggedIn logged_in_;
};

}  // namespace command
