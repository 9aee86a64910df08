#include "command/access/login.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "command/access/login_delays.h"
#include "command/access/users.h"

namespace command {

namespace {

// The answer to a wrong password comes so late, and twice as late after each further one.
constexpr std::chrono::milliseconds kFirstDelay{200};
constexpr int kDoublingsMax = 4;

std::string_view payload_of(bson::Doc body) {
    const bson::Element payload = body["payload"];
    if (payload.type() != bson::Type::binary)
        base::fail(base::kTypeMismatch, "payload must be binary data");
    const auto bytes = payload.binary_data();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append_answer(int32_t id, bool done, std::string_view payload, bson::Builder& reply) {
    reply.append("conversationId", id)
        .append("done", done)
        .append_binary("payload", 0,
                       {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
}

auth::Mechanism mechanism_of(bson::Doc body) {
    const bson::Element name = body["mechanism"];
    if (!name.is_string()) base::fail(base::kTypeMismatch, "mechanism must be a string");
    const auto found = auth::find_mechanism(name.as_string());
    if (!found)
        base::fail(base::kBadValue,
                   "Unsupported mechanism {}: this server has SCRAM-SHA-1 and SCRAM-SHA-256",
                   name.as_string());
    return *found;
}

}  // namespace

std::optional<std::string> Login::begin(std::string_view db, bson::Doc body, bool early) {
    conversation_.reset();
    const auth::Mechanism mechanism = mechanism_of(body);
    const std::string_view payload = payload_of(body);
    conversation_.emplace(mechanism);
    Conversation& now = *conversation_;
    const auto name = now.server.start(payload);
    // The answer to an early one does not wait: nor is there anything to tell for each.
    if (!name && early) return std::nullopt;
    if (!name) fail(now.server.failure());
    now.who = {*name, std::string(db)};
    now.id = ++conversations_;
    const bson::Element options = body["options"];
    now.skip_empty = options.is_object() && options.as_doc()["skipEmptyExchange"].truthy();

    now.since = store_.generation();
    const std::optional<auth::User> user = store_.find(now.who);
    std::optional<auth::Credential> credential;
    if (user) credential = user->credential(mechanism);
    if (early && user && !credential) return std::nullopt;
    auth::Credential dummy = auth::dummy_credential(mechanism, store_.secret(), now.who.id());
    return now.server.answer(credential ? std::move(*credential) : std::move(dummy),
                             credential.has_value());
}

void Login::start(std::string_view db, bson::Doc body, bson::Builder& reply) {
    const auto answer = begin(db, body, false);
    DCHECK(answer.has_value());
    append_answer(conversation_->id, false, *answer, reply);
}

void Login::start_early(bson::Doc body, bson::Builder& reply) {
    const bson::Element db = body["db"];
    if (body.first().name() != "saslStart" || !db.is_string()) return;
    try {
        const auto answer = begin(db.as_string(), body, true);
        if (!answer) return conversation_.reset();
        bson::Builder early = reply.sub_object("speculativeAuthenticate");
        append_answer(conversation_->id, false, *answer, early);
    } catch (const base::Error&) {
        conversation_.reset();
    }
}

void Login::go_on(std::string_view db, bson::Doc body, bson::Builder& reply) {
    const bson::Element id = body["conversationId"];
    if (!conversation_ || !id.is_number() || id.to_int64() != conversation_->id ||
        db != conversation_->who.db)
        base::fail(base::kProtocolError, "No SASL session state found");
    const std::string_view payload = payload_of(body);
    const int32_t number = conversation_->id;
    if (conversation_->proven) {
        if (!payload.empty()) fail("something follows the proof");
        finish();
        return append_answer(number, true, "", reply);
    }
    const auto answer = conversation_->server.finish(payload);
    if (!answer) fail(conversation_->server.failure());
    const bool done = conversation_->skip_empty;
    if (done) {
        finish();
    } else {
        conversation_->proven = true;
    }
    append_answer(number, done, *answer, reply);
}

bool Login::must_delay_attempt() {
    if (!conversation_ || conversation_->proven) return false;
    const Clock::time_point now = Clock::now();
    if (!conversation_->attempt_at)
        conversation_->attempt_at = delays_.reserve_attempt(conversation_->who.id(), remote_, now);
    return now < *conversation_->attempt_at;
}

void Login::finish() {
    DCHECK(conversation_.has_value());
    DCHECK(conversation_->proven || conversation_->skip_empty);
    Conversation done = std::move(*conversation_);
    conversation_.reset();
    std::optional<auth::User> user = store_.find(done.who);
    const std::optional<uint64_t> incarnation = store_.incarnation(done.who, done.since);
    if (!user || !incarnation) {
        conversation_.emplace(std::move(done));
        fail("the user has been dropped");
    }
    if (user->credential(done.server.mechanism()) != done.server.credential()) {
        conversation_.emplace(std::move(done));
        fail("the password has been changed");
    }
    LoggedIn next = logged_in_;
    next.drop(done.who.db);
    next.add(std::move(*user), done.since, *incarnation);
    next.sum_up(done.since);
    logged_in_ = std::move(next);
    failures_ = 0;
    base::log::info("Successfully authenticated as principal {} on {} ({}, client {})",
                    done.who.name, done.who.db, auth::name_of(done.server.mechanism()), remote_);
}

// The client cannot tell a missing user, a wrong password and a broken message from each other.
void Login::fail(std::string_view why) {
    DCHECK(conversation_.has_value());
    base::log::info("{} authentication failed for {} on {} from client {}: {}",
                    auth::name_of(conversation_->server.mechanism()), conversation_->who.name,
                    conversation_->who.db, remote_, why);
    const Clock::time_point now = Clock::now();
    const int elsewhere = delays_.failed(conversation_->who.id(), remote_, now);
    conversation_.reset();
    reply_at_ = now + kFirstDelay * (1 << std::min(std::max(failures_, elsewhere), kDoublingsMax));
    ++failures_;
    base::fail(base::kAuthenticationFailed, "Authentication failed.");
}

void Login::log_out(std::string_view db) {
    logged_in_.drop(db);
    logged_in_.sum_up(logged_in_.generation);
}

void Login::update() {
    const uint64_t generation = store_.generation();
    if (generation == logged_in_.generation) return;
    LoggedIn next;
    for (size_t i = 0; i < logged_in_.users.size(); ++i) {
        const auth::UserName& who = logged_in_.users[i].who;
        const uint64_t since = logged_in_.since[i];
        std::optional<auth::User> found = store_.find(who);
        const std::optional<uint64_t> incarnation = store_.incarnation(who, since);
        if (found && incarnation) next.add(std::move(*found), since, *incarnation);
    }
    next.sum_up(generation);
    logged_in_ = std::move(next);
}

void Login::LoggedIn::add(auth::User user, uint64_t user_since, uint64_t incarnation) {
    DCHECK(std::ranges::none_of(
        users, [&user](const auth::User& other) { return other.who.db == user.who.db; }));
    ids.push_back(fmt::format("{}:{}", incarnation, user.who.id()));
    since.push_back(user_since);
    users.push_back(std::move(user));
}

void Login::LoggedIn::drop(std::string_view db) {
    for (size_t i = users.size(); i-- > 0;) {
        if (users[i].who.db != db) continue;
        users.erase(users.begin() + static_cast<std::ptrdiff_t>(i));
        since.erase(since.begin() + static_cast<std::ptrdiff_t>(i));
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void Login::LoggedIn::sum_up(uint64_t read) {
    DCHECK(since.size() == users.size() && ids.size() == users.size());
    DCHECK(read != 0 || users.empty());
    generation = users.empty() ? 0 : read;
    session_owner = users.empty() ? kNoOwner : users.front().who.digest();
    privileges = {};
    for (const auth::User& user : users)
        privileges.add(user.granted.privileges);
}

}  // namespace command
