#include "auth/privileges.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "sched/tick.h"

namespace auth {

namespace {

constexpr std::string_view kAnyActionName = "anyAction";
constexpr int64_t kTicksPerAction = 2;  // sched/tick.h

void append_resource(const Resource& resource, bson::Builder& out) {
    switch (resource.kind) {
        case Resource::Kind::cluster:
            out.append("cluster", true);
            return;
        case Resource::Kind::everything:
            out.append("anyResource", true);
            return;
        case Resource::Kind::collection:
        case Resource::Kind::database:
        case Resource::Kind::any_database:
        case Resource::Kind::system_collection:
            break;
    }
    out.append("db", resource.db).append("collection", resource.collection);
}

void append_actions(Actions actions, bson::Builder& out) {
    std::vector<std::string_view> names;
    if ((actions & kAnyAction) == kAnyAction) {
        names.push_back(kAnyActionName);
        actions &= ~kAnyAction;
    }
    for (size_t i = 0; i < std::size(kActionNames); ++i) {
        if ((actions >> i & 1) != 0) names.push_back(kActionNames[i]);
    }
    std::ranges::sort(names);
    for (const std::string_view name : names)
        out.push(name);
}

Resource parse_resource(const bson::Element& e) {
    using Kind = Resource::Kind;
    constexpr std::string_view kForms =
        "the resource of a privilege must be {{ db, collection }}, {{ cluster: true }} or "
        "{{ anyResource: true }}";
    if (!e.is_object()) base::fail(base::kTypeMismatch, kForms);
    const bson::Doc fields = e.as_doc();
    const int64_t count = fields.field_count();
    for (const bson::Element& field : fields) {
        if (field.name() == "db" || field.name() == "collection") {
            if (!field.is_string())
                base::fail(base::kTypeMismatch,
                           "'{}' of the resource of a privilege must be a "
                           "string",
                           field.name());
        } else if (field.name() != "cluster" && field.name() != "anyResource") {
            base::fail(base::kFailedToParse, "a resource has no field '{}'", field.name());
        }
    }
    if (count == 1 && fields["cluster"].truthy()) return {Kind::cluster, "", ""};
    if (count == 1 && fields["anyResource"].truthy()) return {Kind::everything, "", ""};
    if (count != 2 || !fields["db"] || !fields["collection"])
        base::fail(base::kFailedToParse, kForms);
    const std::string db(fields["db"].as_string());
    const std::string collection(fields["collection"].as_string());
    for (const std::string& name : {db, collection})
        if (name.find('\0') != std::string::npos || !base::is_utf8(name))
            base::fail(base::kBadValue, "the names of a resource have no NUL, and are UTF-8");
    if (db.empty())
        return {collection.empty() ? Kind::any_database : Kind::system_collection, db, collection};
    return {collection.empty() ? Kind::database : Kind::collection, db, collection};
}

// Returns the action of that name; none: there is none.
Actions find_action(std::string_view name) {
    if (name == kAnyActionName) return kAnyAction;
    const auto found = std::ranges::find(kActionNames, name);
    return found == std::end(kActionNames) ? Actions{0}
                                           : Actions{1} << (found - std::begin(kActionNames));
}

}  // namespace

Privilege parse_privilege(const bson::Element& e, bool spares_actions) {
    if (!e.is_object())
        base::fail(base::kTypeMismatch, "a privilege must be a document {{ resource, actions }}");
    for (const bson::Element& field : e.as_doc())
        if (field.name() != "resource" && field.name() != "actions")
            base::fail(base::kFailedToParse,
                       "a privilege has the fields resource and actions, not "
                       "'{}'",
                       field.name());
    Privilege out;
    out.resource = parse_resource(e.as_doc()["resource"]);
    const bson::Element actions = e.as_doc()["actions"];
    if (!actions.is_array())
        base::fail(base::kTypeMismatch, "the actions of a privilege must be an array of names");
    std::vector<std::string_view> unknown;
    for (const bson::Element& name : sched::ticked(actions.as_doc(), kTicksPerAction)) {
        if (!name.is_string())
            base::fail(base::kTypeMismatch, "the name of an action must be a string");
        const Actions found = find_action(name.as_string());
        if (found == 0) unknown.push_back(name.as_string());
        out.actions |= found;
    }
    if (!unknown.empty() && !spares_actions)
        base::fail(base::kBadValue, "Unrecognized action privilege strings: {}",
                   fmt::join(unknown, ","));
    return out;
}

bool is_system_collection(std::string_view collection) {
    return collection.starts_with("system.");
}

bool Resource::covers(std::string_view of_db, std::string_view of_collection) const {
    switch (kind) {
        case Kind::cluster:
            return false;
        case Kind::collection:
            return of_db == db && of_collection == collection;
        case Kind::database:
            return of_db == db && !is_system_collection(of_collection);
        case Kind::any_database:
            return !is_system_collection(of_collection);
        case Kind::system_collection:
            return of_collection == collection;
        case Kind::everything:
            break;
    }
    return true;
}

void Privileges::add(const Resource& resource, Actions actions) {
    const auto same = std::ranges::find(list_, resource, &Privilege::resource);
    if (same == list_.end()) {
        list_.push_back({resource, actions});
    } else {
        same->actions |= actions;
    }
}

void Privileges::remove(const Resource& resource, Actions actions) {
    const auto same = std::ranges::find(list_, resource, &Privilege::resource);
    if (same == list_.end()) return;
    same->actions &= ~actions;
    if (same->actions == 0) list_.erase(same);
}

void Privileges::add(const Privileges& others) {
    for (const Privilege& privilege : sched::ticked(others.list_))
        add(privilege.resource, privilege.actions);
}

bool Privileges::allow_on_cluster(Actions actions) const {
    Actions missing = actions;
    for (const Privilege& privilege : list_) {
        const Resource::Kind kind = privilege.resource.kind;
        if (kind == Resource::Kind::cluster || kind == Resource::Kind::everything)
            missing &= ~privilege.actions;
    }
    return missing == 0;
}

bool Privileges::allow(std::string_view db, std::string_view collection, Actions actions) const {
    Actions missing = actions;
    for (const Privilege& privilege : list_) {
        if ((missing & privilege.actions) != 0 && privilege.resource.covers(db, collection))
            missing &= ~privilege.actions;
    }
    return missing == 0;
}

bool Privileges::allow_anywhere(Actions actions) const {
    Actions missing = actions;
    for (const Privilege& privilege : list_) {
        const Resource::Kind kind = privilege.resource.kind;
        if (kind == Resource::Kind::any_database || kind == Resource::Kind::everything)
            missing &= ~privilege.actions;
    }
    return missing == 0;
}

bool Privileges::know_database(std::string_view db) const {
    return std::ranges::any_of(list_, [db](const Privilege& privilege) {
        const Resource& resource = privilege.resource;
        if (privilege.actions == 0) return false;
        if (resource.kind == Resource::Kind::collection) return resource.db == db;
        return resource.covers(db, "");
    });
}

void Privileges::append_to(bson::Builder& array) const {
    for (const Privilege& privilege : list_) {
        bson::Builder entry = array.sub_object(array.next().view());
        {
            bson::Builder resource = entry.sub_object("resource");
            append_resource(privilege.resource, resource);
        }
        bson::Builder actions = entry.sub_array("actions");
        append_actions(privilege.actions, actions);
    }
}

}  // namespace auth
