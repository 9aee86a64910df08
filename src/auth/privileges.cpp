#include "auth/privileges.h"

#include <algorithm>

namespace auth {

namespace {

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
    for (size_t i = 0; i < std::size(kActionNames); ++i) {
        if ((actions >> i & 1) != 0) names.push_back(kActionNames[i]);
    }
    std::ranges::sort(names);
    for (const std::string_view name : names)
        out.push(name);
}

}  // namespace

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

void Privileges::add(const Privileges& others) {
    for (const Privilege& privilege : others.list_)
        add(privilege.resource, privilege.actions);
}

bool Privileges::allow_on_cluster(Actions actions) const {
    Actions missing = actions;
    for (const Privilege& privilege : list_) {
        if (privilege.resource.kind == Resource::Kind::cluster) missing &= ~privilege.actions;
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
