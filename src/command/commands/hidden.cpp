// Commands that only enableTestCommands brings out, and those that belong to no other family.
#include <algorithm>
#include <thread>

#include "base/error.h"
#include "bson/compare.h"
#include "catalog/index_keys.h"
#include "catalog/names.h"
#include "command/commands/families.h"
#include "command/context/locks.h"
#include "command/request/invocation.h"
#include "storage/lock.h"

namespace command {

namespace {

constexpr std::chrono::milliseconds kSlice{10};

void sleep_until(sched::Operation::Clock::time_point end) {
    while (sched::Operation::Clock::now() < end) {
        sched::Operation::check();
        std::this_thread::sleep_for(std::min<sched::Operation::Clock::duration>(
            kSlice, end - sched::Operation::Clock::now()));
    }
}

// { sleep: 1, w: bool, secs | millis }: holds the global lock for reading or writing during that
// time.
void run_sleep(Invocation& invocation) {
    const bson::Element secs = invocation.body["secs"];
    const bson::Element millis = invocation.body["millis"];
    std::chrono::milliseconds time{10000};
    if (secs.is_number() || millis.is_number())
        time = std::chrono::milliseconds(secs.to_int64() * 1000 + millis.to_int64());
    const storage::GlobalLock lock(invocation.service.locks(), invocation.body["w"].truthy()
                                                                   ? storage::GlobalMode::W
                                                                   : storage::GlobalMode::R);
    sleep_until(sched::Operation::Clock::now() + time);
}

// { godinsert: collection, obj: document }: inserts without any check of names but that
// for system.profile.
void run_god_insert(Invocation& invocation) {
    const std::string ns = invocation.ns();
    const bson::Element doc = invocation.body["obj"];
    if (!doc.is_object()) base::fail(base::kBadValue, "godinsert needs a document 'obj'");
    catalog::check_not_profile(ns);
    CollectionLock lock(invocation.client, ns, true);
    catalog::Collection& collection = lock.make();
    if (collection.id_index() != nullptr && !doc.as_doc().has("_id"))
        base::fail(base::kInternalError, "a document without _id cannot be inserted into {}", ns);
    collection.insert(doc.as_doc());
}

void run_hash_element(Invocation& invocation) {
    const bson::Element key = invocation.first();
    const bson::Element seed = invocation.body["seed"];
    if (seed && !seed.is_number()) base::fail(base::kBadValue, "seed must be a number");
    const int32_t value = catalog::hash_seed(seed);
    invocation.reply->append_as("key", key)
        .append("seed", value)
        .append("out", catalog::hash_value(key, value));
}

// { _indexKeys: collection, hint: pattern or name, id: value }: the keys of an index, [_id, key]
// each, of one document or all, by _id and in the order of the index: what tests compare.
void run_index_keys(Invocation& invocation) {
    constexpr size_t kKeysMax = 3000;
    CollectionLock lock(invocation.client, invocation.ns(), false);
    const bson::Doc given = invocation.body;
    const bson::Element hint = given["hint"];
    const bson::Element id = given["id"];
    const catalog::Index* index = nullptr;
    if (lock.collection() != nullptr)
        index = hint.is_object() ? lock.collection()->find_index_by_key(hint.as_doc())
                                 : lock.collection()->find_index(hint.as_string());
    if (index == nullptr || index->store == nullptr) base::fail(base::kBadValue, "bad hint");
    std::vector<std::pair<bson::Object, bson::Object>> found;
    const auto cursor = index->store->cursor(storage::Direction::forward);
    for (cursor->seek_to_start(); !cursor->at_end(); cursor->next()) {
        sched::tick();
        const bson::Element own = lock.collection()->records().get(cursor->id())["_id"];
        if (id && !bson::equal_values(id, own)) continue;
        bson::Builder named;
        auto value = cursor->key().begin();
        for (const bson::Element& field : index->key_pattern) {
            named.append_as(field.name(), *value);
            ++value;
        }
        bson::Builder unnamed;
        unnamed.append_as("", own);
        found.emplace_back(unnamed.object(), named.object());
    }
    std::ranges::stable_sort(found, [](const auto& a, const auto& b) {
        return bson::compare_docs(a.first, b.first) < 0;
    });
    bson::Builder keys = invocation.reply->sub_array("keys");
    for (size_t i = 0; i < std::min(found.size(), kKeysMax); ++i) {
        bson::Builder pair = keys.sub_array(keys.next().view());
        pair.push_element(found[i].first.doc().first());
        pair.push(found[i].second.doc());
    }
}

std::string_view name_of(Field::Use use) {
    switch (use) {
        case Field::Use::refused:
            return "refused";
        case Field::Use::of_today:
            return "by OP_MSG";
        default:
            return "taken";
    }
}

// { _commandFields: 1 }: the tables of the commands, which docs/compatibility.md is made from.
void run_command_fields(Invocation& invocation) {
    bson::Builder commands = invocation.reply->sub_object("commands");
    for (const Command* command : invocation.service.commands().sorted()) {
        if ((command->flags & kTestOnly) != 0) continue;
        bson::Builder fields = commands.sub_object(command->name);
        for (const Field& field : command->fields)
            fields.append(field.name, name_of(field.use));
    }
}

constexpr Field kSleepFields[] = {
    {"w", types::flag},
    {"secs", types::number},
    {"millis", types::number},
};
constexpr Field kGodFields[] = {
    {"obj", types::object},
};
constexpr Field kHashFields[] = {
    {"seed", types::number},
};

constexpr Field kKeysFields[] = {
    required("hint", types::hint),
    {"id", types::any},
};

constexpr Command kCommands[] = {
    {"sleep", "", kAdminOnly | kTestOnly, LockKind::none,
     "{ sleep: 1, w: bool, secs: n, millis: n }", run_sleep,
     needs::on_cluster(auth::action::internal), kSleepFields},
    {"godinsert", "", kTestOnly, LockKind::write, "{ godinsert: collection, obj: document }",
     run_god_insert, needs::on_cluster(auth::action::internal), kGodFields},
    {"_hashBSONElement", "", kTestOnly, LockKind::none, "the hash a hashed index stores",
     run_hash_element, needs::login, kHashFields},
    {"_indexKeys", "", kTestOnly, LockKind::read, "the keys of an index", run_index_keys,
     needs::on_cluster(auth::action::internal), kKeysFields},
    {"_commandFields", "", kTestOnly, LockKind::none, "what fields the commands have",
     run_command_fields, needs::login},
};

}  // namespace

Family hidden_commands() {
    return kCommands;
}

}  // namespace command
