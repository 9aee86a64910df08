#include "replica/office.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "replica/initial_sync.h"

namespace replica {

namespace {

constexpr std::string_view kMemory = "local.replset.election";

// The voters of a configuration, of which the document says who is to be one in the end.
void set_voters(Config& config, const std::vector<int32_t>& voters) {
    for (MemberConfig& member : config.members)
        member.has_vote = std::ranges::find(voters, member.id) != voters.end();
}

std::vector<int32_t> voters_of(const Config& config) {
    std::vector<int32_t> voters;
    for (const MemberConfig& member : config.members)
        if (member.has_vote) voters.push_back(member.id);
    return voters;
}

size_t index_of(const Config& config, int32_t id) {
    const auto found = std::ranges::find(config.members, id, &MemberConfig::id);
    return found == config.members.end() ? Config::kNone
                                         : static_cast<size_t>(found - config.members.begin());
}

}  // namespace

election::Config Office::to_kept(const Config& config) {
    DCHECK(config.version > 0);
    election::Config kept;
    kept.version = config.version;
    kept.document = bson::to_json(config.document);
    for (const MemberConfig& member : config.members)
        if (member.has_vote) kept.voters.push_back({member.id, member.priority});
    return kept;
}

// Lock: at least shared on `local`.
ElectionMemory Office::read_memory() {
    ElectionMemory memory;
    catalog::Collection* const memories = member_.catalog_.collection(kMemory);
    if (memories == nullptr) return memory;
    const auto cursor = memories->records().cursor(storage::Direction::forward);
    const auto record = cursor->next();
    if (!record) return memory;
    const bson::Doc doc(record->doc);
    memory.id = doc["id"].to_int32();
    memory.starts = doc["starts"].to_int64();
    memory.is_blank = doc["blank"].truthy();
    memory.term = doc["term"].to_int64();
    if (doc["gen"].is_string()) memory.gen = doc["gen"].as_string();
    if (doc["voters"].is_array())
        for (const bson::Element& voter : doc["voters"].as_doc())
            memory.voters.push_back(voter.to_int32());
    return memory;
}

// Lock: exclusive on `local`.
void Office::write_memory(const ElectionMemory& memory) {
    catalog::Collection& memories = member_.catalog_.collection_for_write(kMemory);
    bson::Builder out;
    out.append("_id", 0)
        .append("id", memory.id)
        .append("starts", memory.starts)
        .append("blank", memory.is_blank)
        .append("term", memory.term)
        .append("gen", memory.gen);
    {
        bson::Builder list = out.sub_array("voters");
        for (const int32_t voter : memory.voters)
            list.push(voter);
    }
    if (const storage::RecordId stored = memories.records().first_id())
        memories.update(stored, out.doc());
    else
        memories.insert(out.doc());
}

ElectionMemory Office::begin() {
    const storage::GlobalLock lock(member_.engine_.locks(), storage::GlobalMode::W);
    Config config(*member_.config());
    ElectionMemory memory = read_memory();
    if (memory.id != config.own().id) memory = ElectionMemory();
    memory.id = config.own().id;
    ++memory.starts;
    memory.is_blank |= InitialSync::is_under_way(member_.catalog_);
    memory.term = std::max(memory.term, member_.last().term);
    write_memory(memory);
    member_.engine_.durability().commit_now();
    // Another member may have told of the configuration, and not of its voters.
    if (!memory.voters.empty()) set_voters(config, memory.voters);
    member_.set_config(std::make_shared<const Config>(std::move(config)));
    return memory;
}

void Office::keep_self(int64_t starts, bool is_blank) {
    const storage::GlobalLock lock(member_.engine_.locks(), storage::GlobalMode::W);
    ElectionMemory memory = read_memory();
    memory.starts = starts;
    memory.is_blank = is_blank;
    write_memory(memory);
    member_.engine_.durability().commit_now();
}

void Office::keep_config(const election::Config& kept) {
    const std::shared_ptr<const Config> before = member_.config();
    const bson::Object document = bson::from_json(kept.document);
    const int64_t term = document["term"].to_int64();
    std::optional<Config> parsed;
    std::string why;
    try {
        parsed = parse_own_config(document, before.get(), term, member_.options_);
    } catch (const base::Error& error) {
        if (error.code() != base::kNodeNotFound && error.code() != base::kInvalidReplicaSetConfig)
            throw;
        why = error.what();
    }
    const storage::GlobalLock lock(member_.engine_.locks(), storage::GlobalMode::W);
    if (!parsed) return member_.leave(why);
    Config config = std::move(*parsed);
    std::vector<int32_t> voters;
    for (const election::Voter& voter : kept.voters)
        voters.push_back(voter.id);
    set_voters(config, voters);
    ElectionMemory memory = read_memory();
    memory.voters = std::move(voters);
    store_config(member_.catalog_, config);
    write_memory(memory);
    config.primary_index = index_of(config, primary_);
    config.term = term_;
    if (before == nullptr) {  // it had been removed
        member_.become_follower(std::move(config));
    } else {
        if (member_.role_.is_primary())
            member_.log_.add_note(bson::make("msg", "Reconfig set", "version", config.version));
        member_.set_config(std::make_shared<const Config>(std::move(config)));
    }
    member_.engine_.durability().commit_now();
}

void Office::set_primary(election::MemberId id, int64_t term) {
    primary_ = id;
    term_ = term;
    const std::shared_ptr<const Config> before = member_.config();
    if (before == nullptr) return;
    Config config(*before);
    config.primary_index = index_of(config, id);
    config.term = term;
    member_.set_config(std::make_shared<const Config>(std::move(config)));
}

oplog::Position Office::stop(int64_t known_term, const std::string& gen) {
    DCHECK(!member_.role_.is_primary() && known_term >= member_.last().term);
    set_primary(election::kNoMember, 0);
    member_.following_.await_applied();
    {
        const storage::DatabaseLock lock(member_.engine_.locks(), "local", true);
        ElectionMemory memory = read_memory();
        memory.term = known_term;
        memory.gen = gen;
        write_memory(memory);
    }
    const storage::GlobalLock lock(member_.engine_.locks(), storage::GlobalMode::R);
    member_.engine_.durability().commit_now();
    return member_.last();
}

void Office::follow(election::MemberId primary, int64_t term) {
    DCHECK(primary != election::kNoMember && !member_.role_.is_primary());
    base::log::info("replica set {}: follows member {} in term {}", member_.set_name(), primary,
                    term);
    set_primary(primary, term);
    member_.peers_.ask_soon();
}

oplog::Position Office::lead(int64_t term, bool is_renewed) {
    const storage::GlobalLock lock(member_.engine_.locks(), storage::GlobalMode::W);
    DCHECK(member_.role_.is_primary() == is_renewed);
    Config config(*member_.needed_config());
    config.primary_index = config.own_index;
    config.term = term_ = term;
    primary_ = config.own().id;
    if (!member_.log_.is_open()) member_.log_.open(member_.options_.log_bytes);
    if (!is_renewed) member_.end_hand_over();  // who waits there was not answered in its term
    member_.become(std::move(config), term, is_renewed ? "term renewed" : "new primary");
    member_.engine_.durability().commit_now();
    return member_.last();
}

void Office::resign(const std::string& why) {
    const storage::GlobalLock lock(member_.engine_.locks(), storage::GlobalMode::W);
    if (!member_.role_.is_primary()) return;
    base::log::info("replica set {}: this member is the primary no more: {}", member_.set_name(),
                    why);
    Config config(*member_.config());
    config.primary_index = Config::kNone;
    config.term = term_ = 0;
    primary_ = election::kNoMember;
    member_.become_follower(std::move(config));
}

void Office::found(Config config) {
    DCHECK(config.own().has_vote && config.votes() == 1);
    const storage::GlobalLock lock(member_.engine_.locks(), storage::GlobalMode::W);
    if (!member_.log_.is_open()) member_.log_.open(member_.options_.log_bytes);
    store_config(member_.catalog_, config);
    ElectionMemory memory;
    memory.id = config.own().id;
    memory.is_blank = false;
    memory.voters = voters_of(config);
    write_memory(memory);
    member_.become_follower(std::move(config));
    member_.engine_.durability().commit_now();
}

}  // namespace replica
