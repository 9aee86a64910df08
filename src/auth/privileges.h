// auth/privileges.h - privileges: which actions a user may take on which resource. They are the sum
// of what roles give (auth/roles.h), so that asking is quick.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/actions.h"
#include "bson/builder.h"

namespace auth {

// The resource that actions are taken on.
//
// A collection is "normal" unless its name begins with "system."; the others have to be named,
// since they hold users, indexes and the profile. A resource of all normal collections of a
// database is also that of the database itself (collection "").
//
// Clients write them so, in the order of Kind: {cluster: true}, {db, collection}, {db, collection:
// ""}, {db: "", collection: ""}, {db: "", collection}, {anyResource: true}.
struct Resource {
    enum class Kind {
        cluster,            // the server as a whole
        collection,         // db and collection
        database,           // the normal collections of db
        any_database,       // the normal collections of all databases
        system_collection,  // the collection of that name in all databases
        everything,         // all collections, system ones too, and the server as a whole
    };
    Kind kind = Kind::cluster;
    std::string db;
    std::string collection;

    bool covers(std::string_view of_db, std::string_view of_collection) const;
    bool operator==(const Resource&) const = default;
};

bool is_system_collection(std::string_view collection);

struct Privilege {
    Resource resource;
    Actions actions = 0;
};

// Reads {resource, actions}. Throws base::Error 2, 9, 14 for what is none, or names an action that
// no server has; if `spares_actions` those are left out, for documents that another server made.
Privilege parse_privilege(const bson::Element& e, bool spares_actions = false);

class Privileges {
  public:
    void add(const Resource& resource, Actions actions);
    void add(const Privileges& others);
    // Takes actions away from that very resource, if it is there.
    void remove(const Resource& resource, Actions actions);

    // Whether all of these are allowed, some perhaps by one role and some by another.
    bool allow_on_cluster(Actions actions) const;
    bool allow(std::string_view db, std::string_view collection, Actions actions) const;
    // Whether they are allowed on all databases, those to come included.
    bool allow_anywhere(Actions actions) const;
    // Whether anything at all is allowed on some collection of this database.
    bool know_database(std::string_view db) const;

    const std::vector<Privilege>& list() const { return list_; }
    // [ { resource, actions }, ... ], elements of an open array.
    void append_to(bson::Builder& array) const;

  private:
    std::vector<Privilege> list_;  // each resource once
};

}  // namespace auth
