// catalog/names.h - names of databases and collections: how they are taken apart, and which ones
// may be (wire spec 3.11, 2.5).
#pragma once

#include <cstddef>
#include <string_view>

#include "base/database_name.h"
#include "base/error_codes.h"
#include "dialect/dialect.h"
#include "storage/name_limits.h"

namespace catalog {

// "db.coll" split at the first dot; collection is empty where there is none.
struct Namespace {
    std::string_view db;
    std::string_view collection;
};
constexpr Namespace split(std::string_view ns) {
    const size_t dot = ns.find('.');
    if (dot == std::string_view::npos) return {ns, {}};
    return {ns.substr(0, dot), ns.substr(dot + 1)};
}

// A name that a client gives as a string ends at a NUL, as names do in the files.
constexpr std::string_view until_nul(std::string_view name) {
    return name.substr(0, name.find('\0'));
}

using base::valid_database_name;
// One of those that mean something to the server.
constexpr bool is_system(std::string_view collection) {
    return collection.starts_with("system.");
}
// Whether the engine keeps there what it knows of a database's collections and indexes.
constexpr bool is_catalogue(std::string_view collection) {
    return collection == "system.indexes" || collection == "system.namespaces";
}
// Whether it is called as a log of writes: local.oplog.rs, local.oplog.$main.
constexpr bool is_oplog(std::string_view ns) {
    return ns.starts_with("local.oplog.");
}
// A collection that users may create: not empty, no '$', short enough for an engine with those
// limits. Old clients may make one whose name begins with a dot.
bool valid_collection_name(std::string_view db, std::string_view collection,
                           const storage::NameLimits& limits);
// The code that the errors below have: to old clients 2, to those of today 73.
constexpr int code_of_bad_name(dialect::Dialect dialect) {
    return dialect.code(base::kBadValue, base::kInvalidNamespace);
}
// Throws base::Error `code` for a namespace that documents may not be written to
// (system.namespaces, unknown system.* collections), or that is too long; 73 where it is none.
void check_writable(std::string_view ns, const storage::NameLimits& limits,
                    int code = base::kBadValue);
// Throws base::Error `code` for system.profile: clients may make it as large as they like, but only
// the server fills it.
void check_not_profile(std::string_view ns, int code = base::kBadValue);
// Does both, for a namespace that clients may not add documents or indexes to.
void check_insertable(std::string_view ns, const storage::NameLimits& limits,
                      int code = base::kBadValue);
// Throws base::Error 73 for a name that old clients could give a collection, and today's cannot.
void refuse_leading_dot(std::string_view collection);
// Throws base::Error 73 where what is to be made anew has a name that is no UTF-8: clients expect
// that of a text, and a list with the name in it could be read by none. A collection that has such
// a name already is served.
void check_readable(std::string_view name);

}  // namespace catalog
