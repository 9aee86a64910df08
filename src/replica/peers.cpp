#include "replica/peers.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "replica/elections.h"
#include "replica/member.h"

namespace replica {

namespace {

constexpr size_t kCallersMax = 50;

// The version by which a heartbeat says that its sender has no configuration yet.
constexpr int32_t kNoVersion = -2;

}  // namespace

Peer Peers::peer(const std::string& host) const {
    const std::lock_guard guard(mutex_);
    const auto found = peers_.find(host);
    return found == peers_.end() ? Peer() : found->second;
}

bool Peers::elects() const {
    return member_.elections() != nullptr;
}

std::vector<std::string> Peers::hosts() const {
    const std::shared_ptr<const Config> config = member_.config();
    if (config == nullptr) {
        const std::lock_guard guard(mutex_);
        return {callers_.begin(), callers_.end()};
    }
    std::vector<std::string> hosts;
    for (size_t i = 0; i < config->members.size(); ++i)
        if (i != config->own_index) hosts.push_back(config->members[i].host);
    return hosts;
}

void Peers::forget_callers() {
    const std::lock_guard guard(mutex_);
    callers_.clear();
}

void Peers::wait_to_ask(std::chrono::milliseconds limit) {
    std::unique_lock lock(ask_mutex_);
    asks_.wait_for(lock, limit, [this] { return is_to_ask_; });
    is_to_ask_ = false;
}

void Peers::ask_soon() {
    {
        const std::lock_guard guard(ask_mutex_);
        is_to_ask_ = true;
    }
    asks_.notify_all();
}

bson::Object Peers::question(const std::string& host) const {
    const std::shared_ptr<const Config> config = member_.config();
    bson::Builder out;
    out.append("replSetHeartbeat", member_.set_name())
        .append("v", config == nullptr ? kNoVersion : config->version)
        .append("pv", int32_t{1})
        .append("checkEmpty", false)
        .append("state", static_cast<int32_t>(member_.role().state()))
        .append("from", config == nullptr ? std::string() : config->own().host);
    if (config != nullptr) out.append("fromId", config->own().id);
    if (member_.elections() != nullptr) member_.elections()->append_question(host, out);
    return out.object();
}

void Peers::answer(bson::Doc question, bson::Builder& out) {
    const bson::Element set = question["replSetHeartbeat"];
    const bson::Element from = question["from"];
    if (!set.is_string() || set.as_string() != member_.set_name())
        base::fail(base::kInconsistentReplicaSetNames,
                   "repl set names do not match: this is a member of {}", member_.set_name());
    const std::shared_ptr<const Config> config = member_.config();
    const bool has_name = from.is_string() && !from.as_string().empty();
    bool has_news = config != nullptr && question["v"].to_int64() > config->version;
    {
        const std::lock_guard guard(mutex_);
        if (config == nullptr && has_name && callers_.size() < kCallersMax)
            callers_.insert(with_port(from.as_string()));
        if (config != nullptr && has_name)
            if (const auto found = peers_.find(std::string(from.as_string()));
                found != peers_.end()) {
                found->second.last_question_ms = base::ms_since_1970();
                has_news |= question.has("state") &&
                            question["state"].to_int64() != static_cast<int>(found->second.state);
            }
    }
    out.append("set", member_.set_name())
        .append("rs", true)
        .append("state", static_cast<int32_t>(member_.role().state()))
        .append("e", config != nullptr && config->is_of_primary())
        .append("hbmsg", member_.message())
        .append("time", base::ms_since_1970() / 1000)
        .append_timestamp("opTime", member_.last().ts)
        .append("t", member_.last().term)
        .append("v", config == nullptr ? kNoVersion : config->version)
        .append("keepsLong", member_.limits().keeps_long());
    if (member_.role().is_primary()) out.append_timestamp("electionTime", member_.election_ts());
    if (const std::string host = member_.following().syncing_to(); !host.empty())
        out.append("syncingTo", host);
    if (config != nullptr && question["v"].to_int64() < config->version)
        out.append("config", config->document);
    if (member_.elections() != nullptr) member_.elections()->answer(question, out);
    if (has_news) ask_soon();
}

void Peers::note_answer(const std::string& host, bson::Doc answer, int64_t round_trip_ms,
                        int64_t sent_ms) {
    const auto text = [&answer](const char* name) {
        const bson::Element e = answer[name];
        return e.is_string() ? std::string(e.as_string()) : std::string();
    };
    const auto timestamp = [&answer](const char* name) {
        const bson::Element e = answer[name];
        return e.type() == bson::Type::timestamp ? e.as_timestamp() : 0;
    };
    DCHECK(!host.empty() && round_trip_ms >= 0);
    const int64_t now = base::ms_since_1970();
    {
        const std::lock_guard guard(mutex_);
        Peer& peer = peers_[host];
        if (!std::exchange(peer.is_up, true)) peer.up_since_ms = now;
        peer.state = static_cast<State>(answer["state"].to_int32());
        peer.last = {answer["t"].to_int64(), timestamp("opTime")};
        peer.election_ts = timestamp("electionTime");
        peer.last_answer_ms = now;
        peer.round_trip_ms = round_trip_ms;
        peer.asked = std::chrono::steady_clock::now() - std::chrono::milliseconds(round_trip_ms);
        peer.config_version = answer["v"].to_int32();
        peer.keeps_long = answer["keepsLong"].truthy();
        peer.syncing_to = text("syncingTo");
        peer.message = text("hbmsg");
    }
    noted_.notify_all();
    member_.limits().heard();
    const bson::Element config = answer["config"];
    if (Elections* const elections = member_.elections()) {
        elections->note_answer(host, answer, sent_ms);
        // The first one; later ones come from the coordinator.
        if (member_.role().state() != State::startup) return;
    }
    if (!config.is_object()) return;
    try {
        member_.adopt(host, config.as_doc(), {answer["t"].to_int64(), timestamp("opTime")});
    } catch (const base::Error& error) {
        member_.report_problem(
            fmt::format("the configuration of other members is not taken over: {}", error.what()));
    }
}

void Peers::note_no_answer(const std::string& host, const std::string& why, bool is_refused) {
    DCHECK(!host.empty() && !why.empty());
    {
        const std::lock_guard guard(mutex_);
        Peer& peer = peers_[host];
        peer.is_up = false;
        peer.state = State::down;
        peer.message = why;
        peer.config_version = 0;
        peer.asked = std::chrono::steady_clock::now();
    }
    noted_.notify_all();
    if (is_refused && member_.elections() != nullptr) member_.elections()->note_refusal(host);
}

std::string Peers::one_ahead_of(oplog::Position last, std::chrono::milliseconds limit) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<std::string> hosts = this->hosts();
    ask_soon();
    std::unique_lock lock(mutex_);
    const auto has_answered = [&](const std::string& host) { return peers_[host].asked >= begin; };
    noted_.wait_for(lock, limit, [&] { return std::ranges::all_of(hosts, has_answered); });
    for (const std::string& host : hosts) {
        const Peer& peer = peers_[host];
        const bool has_data = peer.state == State::primary || peer.state == State::secondary ||
                              peer.state == State::recovering;
        if (peer.is_up && has_data && peer.last > last) return host;
    }
    return {};
}

}  // namespace replica
