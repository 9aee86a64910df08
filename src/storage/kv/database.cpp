#include "storage/kv/database.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "storage/kv/bytes.h"

namespace kv {

void Database::write_row() {
    store_.session().put(kCatalogue, as_bytes(name_), bson::Object().doc().bytes());
}

void Database::add(std::string_view ns, bson::Doc row) {
    DCHECK(ns.starts_with(name_ + ".") && !collections_.contains(ns));
    collections_.emplace(ns, std::make_unique<Collection>(store_, ns, row));
}

void Database::drop() {
    for (const auto& [ns, collection] : collections_)
        collection->drop();
    store_.session().erase(kCatalogue, as_bytes(name_));
}

int64_t Database::bytes() const {
    int64_t sum = static_cast<int64_t>(name_.size());
    for (const auto& [ns, collection] : collections_)
        sum += collection->bytes();
    return sum;
}

std::vector<std::string> Database::collections() const {
    std::vector<std::string> names;
    for (const auto& [ns, collection] : collections_)
        names.push_back(ns);
    return names;
}

storage::CollectionStore* Database::collection(std::string_view ns) {
    const auto found = collections_.find(ns);
    return found == collections_.end() ? nullptr : found->second.get();
}

storage::CollectionStore& Database::create_collection(std::string_view ns,
                                                      const storage::CollectionOptions& options) {
    refuse_existing(ns);
    store_.check_space();
    return *collections_.emplace(ns, std::make_unique<Collection>(store_, ns, options))
                .first->second;
}

void Database::drop_collection(std::string_view ns) {
    const auto found = find(ns);
    found->second->drop();
    collections_.erase(found);
}

void Database::rename_collection(std::string_view from, std::string_view to, bool stay_temp) {
    const auto found = find(from);
    refuse_existing(to);
    auto node = collections_.extract(found);
    node.key() = to;
    node.mapped()->rename(to, stay_temp);
    collections_.insert(std::move(node));
}

storage::DatabaseStats Database::stats() const {
    storage::DatabaseStats stats;
    stats.file_bytes = bytes();
    return stats;
}

Database::Collections::iterator Database::find(std::string_view ns) {
    const auto found = collections_.find(ns);
    if (found == collections_.end()) base::fail(base::kNamespaceNotFound, "ns not found: {}", ns);
    return found;
}

void Database::refuse_existing(std::string_view ns) const {
    if (collections_.contains(ns))
        base::fail(base::kNamespaceExists, "collection {} already exists", ns);
}

}  // namespace kv
