#include "catalog/names.h"

#include <algorithm>

#include "base/database_name.h"
#include "base/error.h"
#include "base/utf8.h"

namespace catalog {

namespace {

// System collections that users may write to, or make.
bool writable_system_collection(std::string_view db, std::string_view collection) {
    constexpr std::string_view kAnywhere[] = {"system.indexes", "system.js", "system.profile",
                                              "system.users"};
    constexpr std::string_view kAdmin[] = {"system.version", "system.roles", "system.new_users",
                                           "system.backup_users"};
    if (std::ranges::find(kAnywhere, collection) != std::end(kAnywhere)) return true;
    if (db == "admin" && std::ranges::find(kAdmin, collection) != std::end(kAdmin)) return true;
    return db == "local" && collection == "system.replset";
}

}  // namespace

bool valid_collection_name(std::string_view db, std::string_view collection,
                           const storage::NameLimits& limits) {
    if (collection.empty()) return false;
    if (db.size() + 1 + collection.size() > limits.ns) return false;
    if (collection.find('\0') != std::string_view::npos) return false;
    return collection.find('$') == std::string_view::npos ||
           (db == "local" && collection == "oplog.$main");
}

void check_writable(std::string_view ns, const storage::NameLimits& limits, int code) {
    const auto [db, collection] = split(ns);
    if (collection.empty() || !valid_database_name(db))
        base::fail(base::kInvalidNamespace, "Invalid namespace specified '{}'", ns);
    if (db == "system") base::fail(code, "cannot use 'system' database");
    if (ns.size() > limits.ns)
        base::fail(code, "fully qualified namespace {} is too long (max is {} bytes)", ns,
                   limits.ns);
    if (!valid_collection_name(db, collection, limits))
        base::fail(code, "cannot write to '{}'", ns);
    if (is_system(collection) ? !writable_system_collection(db, collection)
                              : collection.find(".system.") != std::string_view::npos)
        base::fail(code, "cannot write to '{}'", ns);
}

void check_not_profile(std::string_view ns, int code) {
    if (split(ns).collection == "system.profile") base::fail(code, "cannot write to '{}'", ns);
}

void check_insertable(std::string_view ns, const storage::NameLimits& limits, int code) {
    check_writable(ns, limits, code);
    check_not_profile(ns, code);
}

void refuse_leading_dot(std::string_view collection) {
    if (collection.starts_with('.'))
        base::fail(base::kInvalidNamespace, "Collection names cannot start with '.': {}",
                   collection);
    if (collection.find("..") != std::string_view::npos)
        base::fail(base::kInvalidNamespace, "Collection names cannot contain '..': {}", collection);
}

void check_readable(std::string_view name) {
    if (!base::is_utf8(name))
        base::fail(base::kInvalidNamespace, "the name '{}' is not UTF-8", name);
}

}  // namespace catalog
