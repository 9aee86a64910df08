// What members tell each other of elections with their heartbeats: how Elections writes and reads
// it.
#include <optional>
#include <utility>

#include "base/boot_clock.h"
#include "base/error.h"
#include "base/log.h"
#include "oplog/entry.h"
#include "replica/elections.h"

namespace replica {

namespace {

std::string text_in(const bson::Element& e) {
    return e.is_string() ? std::string(e.as_string()) : std::string();
}

election::Heartbeat heartbeat_in(bson::Doc said) {
    election::Heartbeat heartbeat;
    heartbeat.gen = text_in(said["gen"]);
    heartbeat.term = said["term"].to_int64();
    heartbeat.is_primary = said["primary"].truthy();
    heartbeat.sealed = said["sealed"].to_int64();
    if (const bson::Element e = said["durable"]) {
        const oplog::Position durable = oplog::read_position(e);
        heartbeat.durable = {durable.term, durable.ts};
    }
    heartbeat.config = said["config"].to_int64();
    heartbeat.priority = said["priority"].to_double();
    return heartbeat;
}

std::optional<election::Question> question_in(const bson::Element& e) {
    switch (e.to_int64()) {
        case 1:
            return election::Question::dry;
        case 2:
            return election::Question::seal;
        case 3:
            return election::Question::resigned;
        default:
            return {};
    }
}

int32_t number_of(election::Question question) {
    return question == election::Question::dry ? 1 : question == election::Question::seal ? 2 : 3;
}

}  // namespace

void Elections::append_heartbeat(bson::Builder& out) const {
    const election::Heartbeat own = election_->heartbeat();
    out.append("gen", own.gen)
        .append("term", own.term)
        .append("primary", own.is_primary)
        .append("sealed", own.sealed)
        .append("config", own.config)
        .append("priority", own.priority)
        .append("id", election_->id())
        .append("blank", election_->is_blank())
        .append("frozen", election_->abstains(base::ms_of_boot_clock()));
    oplog::append_position(out, "durable", {own.durable.term, own.durable.ts});
}

void Elections::append_question(const std::string& host, bson::Builder& out) {
    const std::lock_guard guard(mutex_);
    const std::optional<election::MemberId> id = id_of(host);
    if (!election_ || !id) return;
    bson::Builder said = out.sub_object("election");
    append_heartbeat(said);
    const auto found = letters_.extract(*id);
    if (!found) return;
    const Letter& letter = found.mapped();
    const auto append_asked = [&said](const char* name, const Letter::Asked& asked) {
        bson::Builder b = said.sub_object(name);
        b.append("what", number_of(asked.question))
            .append("gen", asked.gen)
            .append("term", asked.term);
    };
    if (letter.asked) append_asked("ask", *letter.asked);
    if (letter.heir) append_asked("heir", *letter.heir);
    if (letter.round != 0) said.append("round", static_cast<int64_t>(letter.round));
    if (!letter.agreed) return;
    bson::Builder b = said.sub_object("agreed");
    b.append("what", number_of(letter.agreed->question))
        .append("term", letter.agreed->term)
        .append("yes", letter.agreed->is_agreed);
}

void Elections::answer(bson::Doc question, bson::Builder& out) {
    const bson::Element e = question["election"];
    const std::lock_guard guard(mutex_);
    if (!e.is_object() || !election_) return;
    const bson::Doc said = e.as_doc();
    const int64_t now_ms = base::ms_of_boot_clock();
    const election::MemberId from = question["fromId"].to_int32();
    election_->heard(from, heartbeat_in(said), now_ms);
    neighbours_[from] = neighbour_in(from, said, now_ms);
    if (const bson::Element ask = said["ask"]; ask.is_object()) {
        const std::optional<election::Question> what = question_in(ask.as_doc()["what"]);
        const int64_t term = ask.as_doc()["term"].to_int64();
        if (what) {
            askers_[++last_token_] = {from, *what, term};
            election_->asked(last_token_, text_in(ask.as_doc()["gen"]), term, *what, now_ms);
        }
    }
    if (const bson::Element agreed = said["agreed"]; agreed.is_object()) {
        const std::optional<election::Question> what = question_in(agreed.as_doc()["what"]);
        if (what)
            election_->agreed(from, agreed.as_doc()["term"].to_int64(), *what,
                              agreed.as_doc()["yes"].truthy(), now_ms);
    }
    if (const bson::Element heir = said["heir"]; heir.is_object())
        election_->step_up(text_in(heir.as_doc()["gen"]), heir.as_doc()["term"].to_int64(), now_ms);
    take_actions();
    bson::Builder reply = out.sub_object("election");
    append_heartbeat(reply);
    if (const bson::Element round = said["round"]; round.is_number())
        reply.append("round", round.to_int64());
}

// One that takes part as another member still is none of this configuration yet.
Elections::Neighbour Elections::neighbour_in(election::MemberId member, bson::Doc said,
                                             int64_t now_ms) {
    const bson::Element id = said["id"];
    const bool is_other = id.is_number() && id.to_int32() != member;
    return {.is_blank = is_other || said["blank"].truthy(),
            .is_frozen = said["frozen"].truthy(),
            .heard_ms = now_ms};
}

// One that answers, and takes no part for so long, is none that has just been started.
void Elections::note_outsider(const std::string& host, Neighbour& neighbour, int64_t now_ms) {
    if (neighbour.outside_ms == 0) neighbour.outside_ms = now_ms;
    if (neighbour.is_reported || now_ms - neighbour.outside_ms < kNeighbourMs) return;
    neighbour.is_reported = true;
    base::log::error("replica set {}: {} has no --coordinator: it takes no part in elections",
                     member_.set_name(), host);
}

void Elections::note_answer(const std::string& host, bson::Doc answer, int64_t sent_ms) {
    const bson::Element e = answer["election"];
    const std::lock_guard guard(mutex_);
    const std::optional<election::MemberId> id = id_of(host);
    if (!election_ || !id) return;
    const int64_t now_ms = base::ms_of_boot_clock();
    look_for_heir(now_ms);
    if (!e.is_object()) return note_outsider(host, neighbours_[*id], now_ms);
    const bson::Doc said = e.as_doc();
    const Neighbour& neighbour = neighbours_[*id] = neighbour_in(*id, said, now_ms);
    const election::Heartbeat heartbeat = heartbeat_in(said);
    election_->answered(*id, heartbeat, sent_ms, now_ms);
    if (const bson::Element round = said["round"]; round.is_number())
        election_->told(*id, static_cast<uint64_t>(round.to_int64()),
                        {heartbeat.term, heartbeat.config, neighbour.is_blank}, now_ms);
    take_actions();
}

void Elections::append_to_report(bson::Builder& out) const {
    const std::lock_guard guard(mutex_);
    const bool follows = election_ && election_->followed() != election::kNoMember;
    out.append("term", follows ? election_->term().number : int64_t{0})
        .append("gen", follows ? election_->term().gen : std::string())
        .append("configVersion", follows ? election_->config().version : int64_t{0});
}

void Elections::take_report(bson::Doc report, oplog::Position durable) {
    const std::lock_guard guard(mutex_);
    const std::string gen = text_in(report["gen"]);
    const int64_t term = report["term"].to_int64();
    if (!election_ || gen != election_->term().gen || term != election_->term().number)
        base::fail(base::kNotWritablePrimary,
                   "the report is of term {}, and this is not its primary", term);
    const std::optional<election::MemberId> id = id_of(text_in(report["from"]));
    if (!id) return;
    election_->reported(*id, gen, term, report["configVersion"].to_int64(),
                        {durable.term, durable.ts}, base::ms_of_boot_clock());
    take_actions();
}

}  // namespace replica
