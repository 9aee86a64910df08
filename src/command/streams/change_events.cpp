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

// Calls `take` with what an entry, or a change of one, tells of, whatever collections that is of.
template <typename Take>
void for_events(const oplog::EntryFields& entry, const Take& take) {
    const auto [db, collection] = catalog::split(entry.ns);
    const bson::Doc o = entry.o.as_doc();
    const auto made = [&entry](std::string_view operation, std::string_view of_db,
                               std::string_view of_collection) {
        return ChangeEvent{.change = entry.entry,
                           .operation = operation,
                           .db = of_db,
                           .collection = of_collection};
    };
    if (entry.op == "i" && !catalog::is_catalogue(collection)) {
        take(made("insert", db, collection));
    } else if (entry.op == "u") {
        take(made(has_operators(o) ? "update" : "replace", db, collection));
    } else if (entry.op == "d") {
        take(made("delete", db, collection));
    } else if (entry.op == "c" && o.first().name() == "drop") {
        take(made("drop", db, text(o.first())));
    } else if (entry.op == "c" && o.first().name() == "renameCollection") {
        const auto [from_db, from] = catalog::split(text(o.first()));
        ChangeEvent rename = made("rename", from_db, from);
        const auto [to_db, to] = catalog::split(text(o["to"]));
        rename.to_db = to_db;
        rename.to_collection = to;
        take(rename);
    } else if (entry.op == "c" && o.first().name() == "dropDatabase") {
        const bson::Element dropped =
            entry.o2.is_object() ? entry.o2.as_doc()["collections"] : entry.o2;
        if (dropped.is_array())
            for (const bson::Element& each : dropped.as_doc())
                take(made("drop", db, text(each)));
        take(made("dropDatabase", db, {}));
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

void append_document(const ChangeEvent& event, const oplog::EntryFields& change,
                     const bson::Element& id, const ChangeEvents::LookUp* look_up,
                     bson::Builder& out) {
    if (event.operation == "insert" || event.operation == "replace")
        out.append("fullDocument", change.o.as_doc());
    if (event.operation != "update" || look_up == nullptr) return;
    bson::Builder key;
    if (id) key.append(id);
    bson::Buffer found;
    if ((*look_up)(change.ns, key.doc(), found))
        out.append("fullDocument", bson::Doc(found.data()));
    else
        out.append_null("fullDocument");
}

}  // namespace

bool ChangeEvents::may_concern(const oplog::EntryFields& entry) const {
    if (entry.op == "n" || !entry.o.is_object()) return false;
    if (entry.op == "c" || request_.scope == StreamRequest::Scope::cluster) return true;
    const auto [db, collection] = catalog::split(entry.ns);
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

void ChangeEvents::add(const oplog::EntryFields& entry, std::vector<ChangeEvent>& found) const {
    uint32_t number = 0;
    bool has_ended = false;
    const auto take = [&](ChangeEvent event) {
        const uint32_t at = number;
        number += 2;
        if (has_ended || !concerns(event)) return;
        event.token = {entry.position, at, ResumeToken::Kind::event};
        found.push_back(event);
        if (!ends_with(event)) return;
        has_ended = true;
        ChangeEvent& end = found.emplace_back();
        end.operation = kInvalidate;
        end.token = {entry.position, at + 1, ResumeToken::Kind::invalidate};
        end.ends_stream = true;
    };
    oplog::for_each_change(entry,
                           [&take](const oplog::EntryFields& change) { for_events(change, take); });
}

void ChangeEvents::write(const ChangeEvent& event, const oplog::EntryFields& entry,
                         const LookUp* look_up, bson::Buffer& out) {
    const uint64_t ts = entry.position.ts;
    constexpr int64_t kMsPerSecond = 1000;
    bson::Builder doc(out);
    event.token.append_to(doc, "_id");
    doc.append("operationType", event.operation)
        .append_timestamp("clusterTime", ts)
        .append_date("wallTime", entry.wall.type() == bson::Type::date
                                     ? entry.wall.as_date()
                                     : static_cast<int64_t>(ts >> 32) * kMsPerSecond);
    if (event.operation == kInvalidate) return doc.finish();
    const bool is_of_transaction = event.change.data() != entry.entry.data();
    const oplog::EntryFields change = is_of_transaction ? oplog::EntryFields(event.change) : entry;
    if (is_of_transaction) doc.append(entry.txn_number).append(entry.lsid);
    const bool is_of_document = change.op != "c";
    const bson::Doc o = change.o.as_doc();
    bson::Element id;
    if (is_of_document) {
        id = (change.o2.is_object() ? change.o2.as_doc() : o)["_id"];
        append_document(event, change, id, look_up, doc);
    }
    append_ns("ns", event.db, event.collection, doc);
    if (event.operation == "rename") append_ns("to", event.to_db, event.to_collection, doc);
    if (is_of_document) {
        bson::Builder key = doc.sub_object("documentKey");
        if (id) key.append(id);
    }
    if (event.operation == "update") append_update(o, doc);
    doc.finish();
}

}  // namespace command
