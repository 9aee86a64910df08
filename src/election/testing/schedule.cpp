#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/dcheck.h"
#include "election/testing/schedule_state.h"

namespace election {

namespace schedule {

Schedule::Schedule(uint64_t seed, Aim aim, Counts* counts)
    : random_(seed * 7919 + static_cast<uint64_t>(aim)),
      aim_(aim),
      counts_(*counts),
      changes_(aim == Aim::reconfigure || aim == Aim::churn || aim == Aim::rebuild ||
               aim == Aim::all),
      loses_(aim == Aim::loss || aim == Aim::all),
      rebuilds_(aim == Aim::rebuild || aim == Aim::all),
      late_(aim == Aim::late ? one_of({.3, .8, 1}) : one_of({.1, .3, .8})),
      crash_(aim == Aim::churn || aim == Aim::rebuild || aim == Aim::late ? .4
                                                                          : one_of({.1, .4, 1})),
      slow_(one_of({.3, .7, 1})),
      outage_(one_of({0, 0, .3})),
      heartbeats_(one_of({.02, .1, .5})),
      candidacies_(one_of({0, .05, .3})),
      queue_max_(aim == Aim::late ? 40 : 20) {
    const size_t count = aim == Aim::churn ? 6 : changes_ ? 4 + below(2) : 3 + below(3);
    const size_t voters = aim == Aim::churn ? 4 : changes_ ? 3 : count;
    Config config;
    config.version = 1;
    for (size_t i = 0; i < voters; ++i)
        config.voters.push_back({static_cast<MemberId>(i), i == 2 && chance(.3) ? 0. : 1.});
    nodes_.resize(count);
    for (size_t i = 0; i < count; ++i) {
        Node& node = nodes_[i];
        node.speed = one_of({.08, .4, 1});
        node.clock_step_ms = static_cast<int64_t>(one_of({20, 100, 600}));
        node.disk.is_blank = i >= voters;  // the voters have a copy of nothing
        if (i < voters) node.disk.config = config;
    }
    // The first member, whose process is the first, is the primary.
    const Term term{.gen = "first", .number = 1, .primary = 0, .start = "1", .config = 1};
    coordinator_.apply(keys_.create(term, config));
    for (size_t i = 0; i < count; ++i)
        start(static_cast<MemberId>(i));
}

void Schedule::start(MemberId id) {
    Node& node = nodes_[id];
    node.process = ++processes_;
    ++node.disk.starts;
    node.durable = node.disk.log.size();
    int64_t known = node.disk.known_term;
    if (!node.disk.log.empty()) known = std::max(known, node.disk.log.back().term);
    node.election = std::make_unique<Election>(
        keys_,
        Election::Self{.id = id,
                       .start = {std::to_string(node.process), node.disk.starts},
                       .is_blank = node.disk.is_blank,
                       .known_term = known,
                       .config = node.disk.config,
                       .seed = random_()},
        Election::Times{.timeout_ms = kTimeoutMs, .retry_ms = 50, .look_ms = 5000});
    node.leads.reset();
    node.follows.reset();
    node.is_stopping = false;
    node.catches_up_with = kNoMember;
    moved(id);
    node.election->note_time(node.clock_ms);
    do_actions(id);
}

void Schedule::kill(MemberId id) {
    Node& node = nodes_[id];
    const bool is_known = node.election->phase() != Phase::starting;
    node.election.reset();
    node.disk.log.resize(node.durable);
    node.leads.reset();
    node.follows.reset();
    if (!loses_ || !chance(.25)) return;
    // One disk at a time, as for a majority's promise.
    for (const Node& other : nodes_)
        if (other.disk.is_blank) return;
    // The coordinator has seen it start more often than the copy tells.
    if (aim_ == Aim::loss && node.copy && node.copied_process != node.process && is_known &&
        chance(.5)) {
        node.disk = *node.copy;
    } else {
        node.disk = {};
        node.disk.is_blank = true;
    }
    node.durable = node.disk.log.size();
}

void Schedule::moved(MemberId id) {
    const Node& node = nodes_[id];
    node.election->moved(last(node, node.disk.log.size()), last(node, node.durable));
    if (node.leads) acknowledge(id);
}

void Schedule::send(MemberId to, Body body, uint64_t process) {
    net_.push_back({to, process, std::move(body)});
    if (aim_ == Aim::late && std::holds_alternative<ToReport>(net_.back().body)) {
        late_messages_.push_back(net_.back());
        if (late_messages_.size() > 40) late_messages_.pop_front();
    }
}

std::string Schedule::run(int steps) {
    for (int i = 0; i < steps && failure_.empty(); ++i)
        step();
    if (aim_ == Aim::still && failure_.empty()) check_settles();
    return failure_;
}

void Schedule::step() {
    while (net_.size() > queue_max_)
        lose(below(net_.size()));
    if (outage_ > 0 && chance(.004))
        is_coordinator_up_ = !is_coordinator_up_ || chance(1 - outage_);
    if (aim_ == Aim::late && chance(.04)) {  // what was sent long ago arrives
        if (!late_messages_.empty() && chance(.5))
            give(late_messages_[below(late_messages_.size())]);
        else if (!late_requests_.empty())
            coordinator_.apply(late_requests_[below(late_requests_.size())].transact.transaction);
    }
    const double what = real_(random_);
    if (what < .3)
        deliver();
    else if (what < .47)
        serve_coordinator();
    else
        act(static_cast<MemberId>(below(nodes_.size())));
}

// A member does something of its own accord.
void Schedule::act(MemberId id) {
    Node& node = nodes_[id];
    if (node.election == nullptr) {
        if (chance(.3)) start(id);
        return;
    }
    Election& election = *node.election;
    const double what = real_(random_);
    if (what < .15) {
        node.clock_ms += static_cast<int64_t>(below(static_cast<size_t>(node.clock_step_ms)));
        election.note_time(node.clock_ms);
    } else if (what < .27) {
        write(id);
    } else if (what < .5) {
        pull(id);
    } else if (what < .6) {
        node.durable = node.disk.log.size();
        moved(id);
    } else if (what < .74) {
        report(id);
    } else if (what < .78) {
        catch_up(id);
        if (node.is_stopping && chance(.7)) {
            node.is_stopping = false;
            node.durable = node.disk.log.size();
            moved(id);
            election.stopped(node.clock_ms);
        }
    } else if (what < .86) {
        const auto to = static_cast<MemberId>(below(nodes_.size()));
        if (to != id && chance(heartbeats_ + .1))
            send(to, ToHeartbeat{id, election.heartbeat(), -1});
    } else if (what < .88) {
        // Connections to a member are refused, perhaps for another reason.
        const auto other = static_cast<MemberId>(below(nodes_.size()));
        if (nodes_[other].election == nullptr || chance(.3)) election.refused(other, node.clock_ms);
    } else if (what < .9) {
        if (changes_) change_voters(id);
    } else if (what < .91) {
        if (node.leads) {
            if (chance(.2))
                election.hand_over(static_cast<MemberId>(below(nodes_.size())), node.clock_ms);
        } else if (chance(candidacies_)) {  // as if it were an heir
            election.step_up(election.term().gen, election.term().number, node.clock_ms);
        }
    } else if (what < .94) {
        if (rebuilds_ && !lacks_set() && chance(aim_ == Aim::rebuild ? .06 : .02))
            lose_coordinator();
        else if (lacks_set())
            election.rebuild(node.clock_ms);
    } else if (what < .96) {
        if (loses_ && !node.disk.is_blank && chance(.1)) {
            node.copy = node.disk;
            node.copy->log.resize(node.durable);
            node.copied_process = node.process;
        }
    } else if (chance(crash_ * .35)) {
        return kill(id);
    }
    do_actions(id);
}

void Schedule::write(MemberId id) {
    Node& node = nodes_[id];
    if (!node.leads) return;
    node.disk.log.push_back({*node.leads, ++writes_});
    moved(id);
}

// How many entries two logs have in common.
size_t common(const std::vector<Entry>& a, const std::vector<Entry>& b) {
    size_t count = std::min(a.size(), b.size());
    // Entries that are equal have equal ones before them.
    while (count > 0 && a[count - 1] != b[count - 1])
        --count;
    return count;
}

// The entries of a source from a place on, as far as a member takes them that knows this term.
std::vector<Entry> entries_for(int64_t known_term, const std::vector<Entry>& log, size_t begin,
                               size_t most) {
    std::vector<Entry> found;
    for (size_t i = begin; i < log.size() && found.size() < most; ++i) {
        if (log[i].term > known_term) break;
        found.push_back(log[i]);
    }
    return found;
}

// The source may be the primary no more, and even follow the next one.
void Schedule::pull(MemberId id) {
    Node& node = nodes_[id];
    if (!node.follows || !chance(node.speed)) return;
    const auto [primary, term] = *node.follows;
    const Node& source = nodes_[primary];
    if (source.election == nullptr) return;
    std::vector<Entry>& log = node.disk.log;
    const size_t count = common(log, source.disk.log);
    const bool leads = source.leads == term;
    if (count < log.size()) {
        if (!leads || !node.election->begin_copy(term)) return;
        do_actions(id);
        log.resize(count);
        node.durable = std::min(node.durable, count);
    }
    const std::vector<Entry> more =
        node.disk.is_blank
            ? entries_for(std::numeric_limits<int64_t>::max(), source.disk.log, count, 9)
            : entries_for(node.election->term().number, source.disk.log, count, 1 + below(3));
    log.insert(log.end(), more.begin(), more.end());
    const bool is_complete = leads && log.size() == source.disk.log.size();
    if (node.disk.is_blank && is_complete) node.durable = log.size();
    moved(id);
    if (node.disk.is_blank && is_complete) {
        node.election->copied(term);
        ++counts_.copies;
    }
}

// Reads the log of a member that had sealed the same term, and may have gone on since.
void Schedule::catch_up(MemberId id) {
    Node& node = nodes_[id];
    if (node.catches_up_with == kNoMember || node.election->phase() != Phase::sealed) return;
    const Node& source = nodes_[node.catches_up_with];
    std::vector<Entry>& log = node.disk.log;
    if (source.election == nullptr || common(log, source.disk.log) < log.size()) return;
    const std::vector<Entry> more = entries_for(node.election->term().number, source.disk.log,
                                                log.size(), source.disk.log.size());
    log.insert(log.end(), more.begin(), more.end());
    node.durable = log.size();
    if (chance(.5)) node.catches_up_with = kNoMember;
    moved(id);
}

void Schedule::report(MemberId id) {
    const Node& node = nodes_[id];
    if (!node.follows || node.disk.is_blank) return;
    const auto [primary, term] = *node.follows;
    const Node& source = nodes_[primary];
    if (source.leads != term || node.durable == 0 ||
        common(node.disk.log, source.disk.log) < node.durable)
        return;
    send(primary, ToReport{id, node.election->term().gen, term, node.election->config().version,
                           last(node, node.durable)});
}

void Schedule::change_voters(MemberId id) {
    Node& node = nodes_[id];
    if (!node.leads) return;
    Config next = node.election->config();
    ++next.version;
    for (int i = chance(.1) ? 2 : 1; i > 0; --i) {
        const auto changed = static_cast<MemberId>(below(nodes_.size()));
        if (next.has_vote(changed))
            std::erase_if(next.voters, [&](const Voter& voter) { return voter.id == changed; });
        else
            next.voters.push_back({changed, 1});
    }
    if (next.voters.size() < 2) return;
    node.election->reconfigure(next, node.clock_ms);
}

void Schedule::deliver() {
    if (net_.empty()) return;
    const size_t at = pick(net_);
    const Message message = net_[at];
    if (chance(.07)) return lose(at);
    if (!chance(.1)) net_.erase(net_.begin() + static_cast<ptrdiff_t>(at));
    give(message);
}

// A message goes. Of an answer of the coordinator it is known that it did not come.
void Schedule::lose(size_t at) {
    Message message = std::move(net_[at]);
    net_.erase(net_.begin() + static_cast<ptrdiff_t>(at));
    auto* const answer = std::get_if<ToAnswer>(&message.body);
    if (answer == nullptr) return;
    answer->answer.reset();
    give(message);
}

void Schedule::give(const Message& message) {
    const MemberId to = message.to;
    Node& node = nodes_[to];
    if (node.election == nullptr || (message.process != 0 && message.process != node.process))
        return;
    Election& election = *node.election;
    const int64_t now = node.clock_ms;
    if (const auto* heartbeat = std::get_if<ToHeartbeat>(&message.body)) {
        if (heartbeat->sent_ms >= 0) {
            election.answered(heartbeat->from, heartbeat->heartbeat, heartbeat->sent_ms, now);
        } else {
            election.heard(heartbeat->from, heartbeat->heartbeat, now);
            if (nodes_[heartbeat->from].election != nullptr)
                send(heartbeat->from,
                     ToHeartbeat{to, election.heartbeat(), nodes_[heartbeat->from].clock_ms},
                     nodes_[heartbeat->from].process);
        }
    } else if (const auto* ask = std::get_if<ToAsk>(&message.body)) {
        const uint64_t token = ++last_token_;
        tokens_[token] = {ask->from, ask->ask};
        while (tokens_.size() > 100)
            tokens_.erase(tokens_.begin());
        election.asked(token, ask->ask.gen, ask->ask.term, ask->ask.question, now);
    } else if (const auto* reply = std::get_if<ToReply>(&message.body)) {
        election.agreed(reply->from, reply->term, reply->question, reply->is_agreed, now);
    } else if (const auto* report = std::get_if<ToReport>(&message.body)) {
        election.reported(report->from, report->gen, report->term, report->config, report->durable,
                          now);
        if (node.leads) acknowledge(to);
    } else if (const auto* told = std::get_if<ToTold>(&message.body)) {
        if (told->is_question)
            send(told->from, ToTold{to, told->round, election.known(), false});
        else
            election.told(told->from, told->round, told->known, now);
    } else if (const auto* heir = std::get_if<ToHeir>(&message.body)) {
        election.step_up(heir->gen, heir->term, now);
    } else if (const auto* answer = std::get_if<ToAnswer>(&message.body)) {
        election.transacted(answer->number, answer->answer, now);
        if (node.leads) acknowledge(to);
    }
    do_actions(to);
}

// The coordinator does something that was asked for, however late.
void Schedule::serve_coordinator() {
    if (requests_.empty()) return;
    const size_t at = pick(requests_);
    const Request request = requests_[at];
    const auto forget = [&] { requests_.erase(requests_.begin() + static_cast<ptrdiff_t>(at)); };
    const auto answer = [&](std::optional<Answer> of) {
        send(request.from, ToAnswer{request.transact.number, std::move(of)}, request.process);
    };
    if (chance(.06)) {
        // Its member's time is over; what was asked for may be done yet.
        answer({});
        if (chance(.5)) forget();
        return;
    }
    if (!is_coordinator_up_ || !chance(slow_)) return;
    forget();
    const bool is_seal =
        request.transact.transaction.puts.size() == 1 &&
        request.transact.transaction.puts[0].key.find("/seal/") != std::string::npos;
    if (aim_ == Aim::late && is_seal && chance(.3)) {
        late_requests_.push_back(request);  // kept back; its member often dies now
        if (late_requests_.size() > 10) late_requests_.pop_front();
        if (chance(.6) && nodes_[request.from].election != nullptr) kill(request.from);
        return;
    }
    const bool is_creation = lacks_set();
    Answer done = coordinator_.apply(request.transact.transaction);
    std::string what;
    const std::optional<View> view = keys_.view(done, &what);
    if (!view) return fail("the coordinator has rubbish at " + what);
    if (is_creation && view->term) {
        ++counts_.rebuilds;
        if (view->config->version < lost_config_)
            return fail(fmt::format("configuration {} is put back, and a majority knew {}",
                                    view->config->version, lost_config_));
    }
    if (done.succeeded && request.transact.transaction.puts.size() == 2 && !is_creation)
        ++counts_.configurations;
    answer(chance(.9) ? std::optional(std::move(done)) : std::nullopt);
}

void Schedule::lose_coordinator() {
    coordinator_.lose_all();
    lost_config_ = 0;
    for (const Node& node : nodes_) {
        const Config& config = node.disk.config;
        const auto knows = [&](const Voter& voter) {
            return nodes_[voter.id].disk.config.version >= config.version;
        };
        if (static_cast<size_t>(std::ranges::count_if(config.voters, knows)) >= config.majority())
            lost_config_ = std::max(lost_config_, config.version);
    }
}

void Schedule::lead(MemberId id, int64_t term) {
    Node& node = nodes_[id];
    const auto [found, is_new] = winners_.try_emplace(term, Winner{id, node.process, {}});
    if (!is_new) return fail(fmt::format("term {} has two primaries", term));
    found->second.log = node.disk.log;
    for (const Acknowledged& each : acknowledged_) {
        if (each.term >= term) continue;
        if (node.disk.log.size() <= each.index || node.disk.log[each.index] != each.entry)
            return fail(
                fmt::format("entry {} of term {}, acknowledged in term {}, is not in the "
                            "primary of term {}",
                            each.entry.id, each.entry.term, each.term, term));
    }
    ++counts_.elections;
}

// What the primary has learned to be on a majority is acknowledged.
void Schedule::acknowledge(MemberId id) {
    const Node& node = nodes_[id];
    const Position committed = node.election->committed();
    if (node.election->phase() != Phase::primary || committed == kNothing) return;
    const size_t count = std::min<size_t>(committed.ts, node.disk.log.size());
    for (size_t i = 0; i < count; ++i) {
        const Entry& entry = node.disk.log[i];
        const auto [found, is_new] = acknowledged_at_.try_emplace(i, entry);
        if (!is_new) {
            if (found->second != entry)
                return fail(fmt::format("two entries were acknowledged as number {}", i + 1));
            continue;
        }
        acknowledged_.push_back({i, entry, *node.leads});
        ++counts_.acknowledged;
        for (auto winner = winners_.upper_bound(*node.leads); winner != winners_.end(); ++winner)
            if (winner->second.log.size() <= i || winner->second.log[i] != entry)
                return fail(
                    fmt::format("entry {} of term {} is acknowledged in term {}, and not "
                                "in the primary of term {}",
                                entry.id, entry.term, *node.leads, winner->first));
    }
}

void Schedule::do_actions(MemberId id) {
    Node& node = nodes_[id];
    for (std::vector<Action> actions = node.election->take_actions(); !actions.empty();
         actions = node.election->take_actions())
        for (Action& action : actions) {
            if (auto* ask = std::get_if<Ask>(&action)) {
                send(ask->member, ToAsk{id, *ask});
            } else if (auto* reply = std::get_if<Reply>(&action)) {
                if (const auto found = tokens_.find(reply->token); found != tokens_.end()) {
                    const auto& [asker, asked] = found->second;
                    send(asker, ToReply{id, asked.term, asked.question, reply->is_agreed});
                }
            } else if (auto* transact = std::get_if<Transact>(&action)) {
                requests_.push_back({id, node.process, std::move(*transact)});
            } else if (auto* stop = std::get_if<Stop>(&action)) {
                node.follows.reset();
                node.leads.reset();
                const std::vector<Entry>& log = node.disk.log;
                DCHECK(log.empty() || log.back().term <= stop->known_term);
                node.disk.known_term = std::max(node.disk.known_term, stop->known_term);
                node.is_stopping = true;
            } else if (auto* keep = std::get_if<KeepConfig>(&action)) {
                node.disk.config = keep->config;
            } else if (auto* self = std::get_if<KeepSelf>(&action)) {
                node.disk.starts = self->starts;
                node.disk.is_blank = self->is_blank;
            } else if (auto* follow = std::get_if<Follow>(&action)) {
                node.follows = *follow;
                node.leads.reset();
            } else if (auto* primary = std::get_if<BecomePrimary>(&action)) {
                node.follows.reset();
                node.leads = primary->term;
                counts_.renewals += primary->is_renewed;
                lead(id, primary->term);
                node.disk.log.push_back({primary->term, ++writes_});
                moved(id);
                node.election->began(primary->term, last(node, node.disk.log.size()));
                acknowledge(id);
            } else if (std::get_if<BecomeSecondary>(&action) != nullptr) {
                node.leads.reset();
            } else if (auto* catch_up = std::get_if<CatchUp>(&action)) {
                node.catches_up_with = catch_up->member;
            } else if (auto* known = std::get_if<AskKnown>(&action)) {
                send(known->member, ToTold{id, known->round, {}, true});
            } else if (auto* heir = std::get_if<TellHeir>(&action)) {
                send(heir->member, ToHeir{node.election->term().gen, node.election->term().number});
            }
        }
}

}  // namespace schedule

Counts& Counts::operator+=(const Counts& other) {
    elections += other.elections;
    renewals += other.renewals;
    acknowledged += other.acknowledged;
    configurations += other.configurations;
    rebuilds += other.rebuilds;
    copies += other.copies;
    return *this;
}

std::string run_schedule(uint64_t seed, int steps, Aim aim, Counts* counts) {
    return schedule::Schedule(seed, aim, counts).run(steps);
}

}  // namespace election
