#include "command/streams/change_events.h"

#include "base/dcheck.h"
#include "catalog/names.h"
#include "oplog/transaction_entries.h"

namespace command {

namespace {

constexpr std::string_view kInvalidate = "invalidate";

bool is_internal(std::string_view db) {
    return db == "admin" || db == "config" || db == "local";
}

// An update's entry has the whole document or operators.
bool has_operators(bson::Doc o) {
    return !o.empty() && o.first().name().starts_with('$');
}

std::string_view text(const bson::Element& e) {
    return e.is_string() ? e.as_string() : std::string_view();
}

// Adds the changes that an entry tells of, whatever collections they are of.
void add_changes(bson::Doc entry, std::vector<ChangeEvent>& found) {
    if (oplog::is_unit(entry)) {
        for (const bson::Element& each : entry["o"].as_doc().first().as_doc())
            add_changes(each.as_doc(), found);
        return;
    }
    const std::string_view op = text(entry["op"]);
    const auto [db, collection] = catalog::split(text(entry["ns"]));
    const bson::Doc o = entry["o"].as_doc();
    const auto add = [&](std::string_view operation, std::string_view of_db,
                         std::string_view of_collection) -> ChangeEvent& {
        found.push_back(
            {.change = entry, .operation = operation, .db = of_db, .collection = of_collection});
        return found.back();
    };
    if (op == "i" && !catalog::is_catalogue(collection)) {
        add("insert", db, collection);
    } else if (op == "u") {
        add(has_operators(o) ? "update" : "replace", db, collection);
    } else if (op == "d") {
        add("delete", db, collection);
    } else if (op == "c" && o.first().name() == "drop") {
        add("drop", db, text(o.first()));
    } else if (op == "c" && o.first().name() == "renameCollection") {
        const auto [from_db, from] = catalog::split(text(o.first()));
        const auto [to_db, to] = catalog::split(text(o["to"]));
        ChangeEvent& rename = add("rename", from_db, from);
        rename.to_db = to_db;
        rename.to_collection = to;
    } else if (op == "c" && o.first().name() == "dropDatabase") {
        const bson::Element beside = entry["o2"];
        const bson::Element dropped = beside.is_object() ? beside.as_doc()["collections"] : beside;
        if (dropped.is_array())
            for (const bson::Element& each : dropped.as_doc())
                add("drop", db, text(each));
        add("dropDatabase", db, {});
    }
}

void append_ns(std::string_view field, std::string_view db, std::string_view collection,
               bson::Builder& out) {
    bson::Builder ns = out.sub_object(field);
    ns.append("db", db);
    if (!collection.empty()) ns.append("coll", collection);
}

void append_update(bson::Doc o, bson::Builder& out) {
    bson::Builder description = out.sub_object("updateDescription");
    const bson::Element set = o["$set"];
    description.append("updatedFields", set.is_object() ? set.as_doc() : bson::Doc());
    {
        bson::Builder removed = description.sub_array("removedFields");
        const bson::Element unset = o["$unset"];
        if (unset.is_object())
            for (const bson::Element& e : unset.as_doc())
                removed.push(e.name());
    }
    bson::Builder truncated = description.sub_array("truncatedArrays");
    const bson::Element push = o["$push"];
    if (!push.is_object()) return;
    for (const bson::Element& e : push.as_doc())
        if (e.is_object() && e.as_doc()["$slice"].is_number())
            truncated.push(
                bson::make("field", e.name(), "newSize", e.as_doc()["$slice"].to_int32()));
}

void append_document(const ChangeEvent& event, bson::Doc entry, bson::Doc key,
                     const ChangeEvents::LookUp* look_up, bson::Builder& out) {
    if (event.operation == "insert" || event.operation == "replace")
        out.append("fullDocument", entry["o"].as_doc());
    if (event.operation != "update" || look_up == nullptr) return;
    bson::Buffer found;
    if ((*look_up)(text(entry["ns"]), key, found))
        out.append("fullDocument", bson::Doc(found.data()));
    else
        out.append_null("fullDocument");
}

}  // namespace

bool ChangeEvents::may_concern(bson::Doc entry) const {
    const std::string_view op = text(entry["op"]);
    if (op == "n" || !entry["o"].is_object()) return false;
    if (op == "c" || request_.scope == StreamRequest::Scope::cluster) return true;
    const auto [db, collection] = catalog::split(text(entry["ns"]));
    return db == request_.db &&
           (request_.scope == StreamRequest::Scope::database || collection == request_.collection);
}

bool ChangeEvents::concerns(const ChangeEvent& event) const {
    switch (request_.scope) {
        case StreamRequest::Scope::collection:
            return (event.db == request_.db && event.collection == request_.collection) ||
                   (event.to_db == request_.db && event.to_collection == request_.collection);
        case StreamRequest::Scope::database:
            return event.db == request_.db && !event.collection.starts_with("system.");
        case StreamRequest::Scope::cluster:
            return !is_internal(event.db) && !event.collection.starts_with("system.");
    }
    return false;
}

bool ChangeEvents::ends_with(const ChangeEvent& event) const {
    if (request_.scope == StreamRequest::Scope::cluster) return false;
    if (request_.scope == StreamRequest::Scope::database) return event.operation == "dropDatabase";
    return event.operation == "drop" || event.operation == "rename";
}

std::vector<ChangeEvent> ChangeEvents::of(bson::Doc entry) const {
    std::vector<ChangeEvent> all, found;
    add_changes(entry, all);
    const oplog::Position position = oplog::position_of(entry);
    uint32_t number = 0;
    for (ChangeEvent& event : all) {
        const uint32_t at = number;
        number += 2;
        if (!concerns(event)) continue;
        event.token = {position, at, ResumeToken::Kind::event};
        found.push_back(event);
        if (!ends_with(event)) continue;
        ChangeEvent& end = found.emplace_back();
        end.operation = kInvalidate;
        end.token = {position, at + 1, ResumeToken::Kind::invalidate};
        end.ends_stream = true;
        break;
    }
    return found;
}

void ChangeEvents::write(const ChangeEvent& event, bson::Doc entry, const LookUp* look_up,
                         bson::Buffer& out) {
    const uint64_t ts = entry["ts"].as_timestamp();
    const bson::Element wall = entry["wall"];
    constexpr int64_t kMsPerSecond = 1000;
    bson::Builder doc(out);
    doc.append("_id", event.token.object())
        .append("operationType", event.operation)
        .append_timestamp("clusterTime", ts)
        .append_date("wallTime", wall.type() == bson::Type::date
                                     ? wall.as_date()
                                     : static_cast<int64_t>(ts >> 32) * kMsPerSecond);
    if (event.operation == kInvalidate) return doc.finish();
    const bson::Doc change = event.change;
    const bson::Doc o = change["o"].as_doc();
    const bool is_of_document = text(change["op"]) != "c";
    if (change.data() != entry.data()) doc.append(entry["txnNumber"]).append(entry["lsid"]);
    bson::Builder key;
    if (is_of_document) {
        const bson::Element id = (change["o2"].is_object() ? change["o2"].as_doc() : o)["_id"];
        if (id) key.append(id);
        append_document(event, change, key.doc(), look_up, doc);
    }
    append_ns("ns", event.db, event.collection, doc);
    if (event.operation == "rename") append_ns("to", event.to_db, event.to_collection, doc);
    if (is_of_document) doc.append("documentKey", key.doc());
    if (event.operation == "update") append_update(o, doc);
    doc.finish();
}

}  // namespace command
