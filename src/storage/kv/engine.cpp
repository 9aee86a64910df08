#include "storage/kv/engine.h"

#include <mutex>

#include "base/damage.h"
#include "bson/validate.h"
#include "sched/operation.h"
#include "storage/kv/bytes.h"

namespace kv {

Engine::Engine(std::unique_ptr<Map> map, EngineOptions options)
    : options_(std::move(options)),
      store_(std::move(map), locks_, options_.found, options_.injected_conflict),
      durability_(store_, options_.durable) {
    locks_.allow_concurrent_changes();
    read_catalogue({});
    store_.end_start();
    store_.before_unlock();  // what the start has changed
}

Engine::~Engine() = default;

void Engine::read_catalogue(std::string_view only) {
    const auto rows = store_.session().cursor(kCatalogue);
    for (rows->seek(as_bytes(only)); !rows->at_end(); rows->next()) {
        const std::string_view row = as_text(rows->key());
        const std::string_view db = row.substr(0, row.find('.'));
        if (!row.starts_with(only)) break;
        if (!only.empty() && db != only) continue;  // one whose name begins so
        const std::string fault = bson::validate(rows->value().data(), rows->value().size(),
                                                 nullptr, bson::Source::data_file);
        if (!fault.empty())
            base::fail(base::Damaged{base::kInternalError},
                       "the catalogue's row of {} is damaged: {}", row, fault);
        auto& slot = databases_[std::string(db)];
        if (slot == nullptr) slot = std::make_unique<Database>(store_, db);
        if (row != db) slot->add(row, bson::Doc(rows->value().data()));
    }
}

std::vector<std::string> Engine::database_names() const {
    const std::shared_lock guard(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, db] : databases_)
        names.push_back(name);
    return names;
}

int64_t Engine::database_bytes(std::string_view db) const {
    const std::shared_lock guard(mutex_);
    const auto found = databases_.find(db);
    return found == databases_.end() ? 0 : found->second->bytes();
}

storage::DatabaseStore* Engine::database(std::string_view db) {
    const std::shared_lock guard(mutex_);
    const auto found = databases_.find(db);
    return found == databases_.end() ? nullptr : found->second.get();
}

storage::DatabaseStore& Engine::create_database(std::string_view db) {
    const std::unique_lock guard(mutex_);
    auto& slot = databases_[std::string(db)];
    if (slot == nullptr) {
        slot = std::make_unique<Database>(store_, db);
        slot->write_row();
    }
    return *slot;
}

std::unique_ptr<storage::Remains> Engine::drop_database(std::string_view db) {
    const std::unique_lock guard(mutex_);
    const auto found = find(db);
    found->second->drop();
    databases_.erase(found);
    store_.commit();
    if (durability_.journaling())
        durability_.commit_now();
    else
        store_.map().checkpoint(true);
    return nullptr;
}

void Engine::close_database(std::string_view db) {
    const std::unique_lock guard(mutex_);
    const auto found = find(db);
    const std::string name = found->first;
    store_.commit();
    store_.wound_all();
    databases_.erase(found);
    read_catalogue(name);
}

bool Engine::copy_data(const std::string& directory) {
    std::optional<storage::GlobalLock> lock;
    store_.map().copy_to({.directory = directory + "/" + options_.name,
                          .before_piece = sched::Operation::note_copied,
                          .hold_commits = [&] { lock.emplace(locks_, storage::GlobalMode::R); },
                          .may_commit = [&] { lock.reset(); }});
    return true;
}

void Engine::append_metrics(bson::Builder& out) const {
    out.append("writeConflicts", static_cast<int64_t>(store_.conflicts()));
    store_.map().report([&out](const char* name, int64_t value) { out.append(name, value); });
}

void Engine::shutdown() {
    locks_.lock_global(storage::GlobalMode::W);
    store_.before_unlock();
    durability_.stop();
    store_.map().checkpoint(true);
    if (options_.stopped) options_.stopped();
    const std::unique_lock guard(mutex_);
    databases_.clear();
    locks_.leave_locked();
}

Engine::Databases::iterator Engine::find(std::string_view db) {
    const auto found = databases_.find(db);
    if (found == databases_.end()) base::fail(base::kNamespaceNotFound, "no database {}", db);
    return found;
}

}  // namespace kv
