#include "monitoring/inner_client.h"

#include <algorithm>
#include <utility>

#include "auth/user.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "wire/message.h"

namespace monitoring {

namespace {

constexpr size_t kBody = wire::MsgWriter::kBodyAt;
constexpr size_t kKeptBytes = 64 * 1024;  // of buffers, between calls
constexpr const char* kMechanismsOf = "saslSupportedMechs";

bool is_good(bson::Doc answer) {
    return answer["ok"].to_double() == 1;
}

std::string_view payload_of(bson::Doc answer) {
    const auto bytes = answer["payload"].binary_data();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append_payload(bson::Builder& out, std::string_view bytes) {
    out.append_binary("payload", 0, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

// The best that the server names; for a user who is not there, too, it must be one.
auth::Mechanism mechanism_of(bson::Doc hello) {
    bool has_sha1 = false;
    if (const bson::Element names = hello[kMechanismsOf]; names.is_array()) {
        for (const bson::Element& e : names.as_doc()) {
            if (!e.is_string()) continue;
            const auto found = auth::find_mechanism(e.as_string());
            if (found == auth::Mechanism::sha256) return *found;
            has_sha1 |= found.has_value();
        }
    }
    return has_sha1 ? auth::Mechanism::sha1 : auth::Mechanism::sha256;
}

}  // namespace

InnerClient::InnerClient(wire::Handler& handler, const wire::ConnectionInfo& info, Later later)
    : later_(std::move(later)), session_(handler.open(info, waker_)) {}

void InnerClient::run(bson::Doc command, Done done) {
    DCHECK(!done_);
    done_ = std::move(done);
    request_.clear();
    reply_.clear();
    wire::MsgWriter writer(request_, 0, 0);
    writer.body().append_all(command).append("$db", auth::kAdmin);
    writer.finish();
    go_on(session_->serve({request_.data(), request_.size()}, reply_));
}

void InnerClient::go_on(const wire::Step& step) {
    using Kind = wire::Step::Kind;
    if (step.kind == Kind::suspend && step.deadline != Clock::time_point::max()) {
        later_(step.deadline, [this] { go_on(session_->resume(reply_)); });
        return;
    }
    const bool is_answered = step.kind == Kind::reply && reply_.size() > kBody;
    const Done done = std::exchange(done_, {});
    done(is_answered ? bson::Doc(reply_.data() + kBody) : bson::Doc());
    if (done_) return;  // of another command
    request_.trim(kKeptBytes);
    reply_.trim(kKeptBytes);
}

void InnerClient::log_in(std::string name, std::string password, std::function<void(bool)> done) {
    DCHECK(!logged_in_);
    logged_in_ = std::move(done);
    const auth::UserName who{name, std::string(auth::kAdmin)};
    run(bson::make("hello", 1, kMechanismsOf, who.id()),
        [this, name = std::move(name), password = std::move(password)](bson::Doc hello) {
            if (!is_good(hello)) return end_login(false);
            begin_login(mechanism_of(hello), name, password);
        });
}

void InnerClient::begin_login(auth::Mechanism mechanism, const std::string& name,
                              const std::string& password) {
    scram_.emplace(mechanism, name, password);
    bson::Builder start;
    start.append("saslStart", 1).append("mechanism", auth::name_of(mechanism));
    append_payload(start, scram_->first());
    start.append("options", bson::make("skipEmptyExchange", true));
    run(start.doc(), [this](bson::Doc first) { prove(first); });
}

void InnerClient::prove(bson::Doc first) {
    if (!is_good(first)) return end_login(false);
    bson::Builder proof;
    proof.append("saslContinue", 1).append("conversationId", first["conversationId"].to_int32());
    try {
        append_payload(proof, scram_->final(payload_of(first)));
    } catch (const base::Error&) {
        return end_login(false);  // a password that no user can have
    }
    run(proof.doc(), [this](bson::Doc last) { end_login(is_good(last)); });
}

void InnerClient::end_login(bool is_good) {
    scram_.reset();
    std::exchange(logged_in_, {})(is_good);
}

}  // namespace monitoring
