// Commands that only enableTestCommands brings out, and those that belong to no other family.
#include <thread>

#include "base/error.h"
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

constexpr Command kCommands[] = {
    {"sleep", "", kAdminOnly | kTestOnly, LockKind::none,
     "{ sleep: 1, w: bool, secs: n, millis: n }", run_sleep,
     needs::on_cluster(auth::action::internal), kSleepFields},
    {"godinsert", "", kTestOnly, LockKind::write, "{ godinsert: collection, obj: document }",
     run_god_insert, needs::on_cluster(auth::action::internal), kGodFields},
    {"_hashBSONElement", "", kTestOnly, LockKind::none, "the hash a hashed index stores",
     run_hash_element, needs::login, kHashFields},
    {"_commandFields", "", kTestOnly, LockKind::none, "what fields the commands have",
     run_command_fields, needs::login},
};

}  // namespace

Family hidden_commands() {
    return kCommands;
}

}  // namespace command
