#include "client.h"

#include <string>

#include "base/utf8.h"
#include "command/commands/families.h"
#include "storage/contract/memory_engine.h"
#include "storage/mmapv1/engine.h"
#include "storage/mmapv1/testing/small_engine.h"
#include "wire/message.h"

namespace fuzz {

namespace {

constexpr int kResumes = 3;
constexpr int64_t kAskedTimeMs = 500;   // of what has no time limit of its own
constexpr int64_t kLastCursor = 64;     // in an input
constexpr size_t kErrorTextMax = 1200;  // with what is said of its being cut
constexpr int32_t kHeaderBytes = 16;
constexpr size_t kMsgBodyAt = 21, kReplyDocumentsAt = 36;

// The same, with the cursor that the input means.
void append_with_cursor(bson::Builder& out, bson::Doc doc, int64_t cursor) {
    for (const bson::Element& e : doc) {
        const std::string_view name = e.name();
        if (e.is_number() && e.to_int64() == kLastCursor && (name == "getMore" || name == "0")) {
            out.append(name, cursor);
        } else if (name == "cursors" && e.type() == bson::Type::array) {
            bson::Builder list = out.sub_array(name);
            append_with_cursor(list, e.as_doc(), cursor);
        } else {
            out.append(e);
        }
    }
}

void header(bson::Buffer& out, wire::Opcode opcode) {
    for (const int32_t each : {0, 77, 0, static_cast<int32_t>(opcode)})
        out.append_value<int32_t>(each);
}

void append_document(bson::Buffer& out, const bson::Element& e) {
    const bson::Object empty;
    const bson::Doc doc = e.is_object() ? e.as_doc() : empty.doc();
    out.append(doc.data(), static_cast<size_t>(doc.size()));
}

}  // namespace

std::span<const char* const> command_words() {
    static constexpr const char* kWords[] = {
        // Commands.
        "aggregate", "buildInfo", "cloneCollectionAsCapped", "collMod", "collStats", "compact",
        "connectionStatus", "convertToCapped", "count", "create", "createIndexes", "createUser",
        "currentOp", "dataSize", "dbHash", "dbStats", "delete", "distinct", "drop", "dropDatabase",
        "dropIndexes", "dropUser", "explain", "filemd5", "find", "findAndModify", "getLastError",
        "getMore", "getParameter", "grantRolesToUser", "hello", "insert", "killCursors",
        "listCollections", "listDatabases", "listIndexes", "logout", "parallelCollectionScan",
        "profile", "reIndex", "renameCollection", "repairDatabase", "rolesInfo", "saslContinue",
        "saslStart", "serverStatus", "startSession", "endSessions", "touch", "update", "updateUser",
        "usersInfo", "validate", "OP_QUERY", "OP_INSERT", "OP_UPDATE", "OP_DELETE", "OP_GET_MORE",
        "OP_KILL_CURSORS", "mmapv1",
        // Their fields.
        "$db", "$query", "$orderby", "$hint", "$explain", "$snapshot", "$min", "$max",
        "allowDiskUse", "arrayFilters", "background", "batchSize", "bypassDocumentValidation",
        "capped", "collation", "cursor", "cursors", "deletes", "documents", "dropDups",
        "dropTarget", "expireAfterSeconds", "fields", "filter", "full", "hint", "index", "indexes",
        "j", "key", "limit", "lsid", "max", "maxTimeMS", "mechanism", "min", "multi", "n", "name",
        "nameOnly", "new", "ordered", "payload", "pipeline", "projection", "pwd", "q", "query",
        "remove", "returnKey", "roles", "showRecordId", "singleBatch", "size", "skip", "sort",
        "sparse", "tailable", "awaitData", "to", "toCollection", "u", "unique", "update", "updates",
        "upsert", "usePowerOf2Sizes", "v", "verbosity", "w", "writeConcern", "wtimeout",
        // Operators of each kind.
        "$set", "$inc", "$push", "$each", "$slice", "$pull", "$rename", "$unset", "$setOnInsert",
        "$gt", "$in", "$or", "$and", "$elemMatch", "$regex", "$match", "$group", "$sort",
        "$project", "$unwind", "$out", "$sum", "$indexStats", "$collStats", "$currentOp",
        // Namespaces.
        "c", "d.c", "d.x", "x", "system.indexes", "system.namespaces", "system.users",
        "system.profile", "system.js", "d.$cmd", "admin", "local", "d.system.indexes",
        "d.system.namespaces", "d.c.$_id_"};
    return kWords;
}

Service::Service(bool on_disk) {
    if (on_disk) {
        disk_.keep_no_events();
        disk_.create_directory("/db");
        disk_.set_free_bytes(uint64_t{256} << 20);
        mmapv1::EngineOptions options = mmapv1::small_engine_options("/db");
        options.durable.journal = false;
        engine_ = mmapv1::open_engine(options, disk_);
    } else {
        engine_ = std::make_unique<storage::contract::MemoryEngine>(false);
    }
    context_.host = "here:27017";
    context_.request_shutdown = context_.rotate_log = [] {};
    context_.connections = [] { return command::ConnectionCounts(); };
    context_.network = [] { return command::NetworkCounts(); };
    catalog_ = std::make_unique<catalog::Catalog>(*engine_);
    service_ = std::make_unique<command::Service>(*catalog_, context_, command::all_families());
}

Service::~Service() {
    service_ = nullptr;
    catalog_ = nullptr;
    engine_->shutdown();
}

void Client::send(bson::Doc doc) {
    bson::Buffer message;
    if (doc.empty() || !write_old(message, doc)) write_msg(message, doc);
    exchange(message);
}

bson::Object Client::run(const bson::Object& command) {
    bson::Buffer message;
    write_msg(message, command.doc());
    exchange(message);
    expect(!last_reply_.empty(), "a command is answered");
    return last_reply_;
}

void Client::connect() {
    wire::ConnectionInfo info;
    info.number = ++connections_;
    info.remote = "127.0.0.1:1";
    session_ = service_.open(info, waker_);
}

void Client::write_msg(bson::Buffer& out, bson::Doc doc) const {
    header(out, wire::Opcode::msg);
    out.append_value<uint32_t>(0);
    out.append_byte(0);
    bson::Builder body(out);
    append_with_cursor(body, doc, cursor_);
    if (!doc["$db"]) body.append("$db", "d");
    // Only cursors that wait for more take one with getMore.
    if (!doc["maxTimeMS"] && doc.first().name() != "getMore")
        body.append("maxTimeMS", kAskedTimeMs);
}

bool Client::write_old(bson::Buffer& out, bson::Doc doc) const {
    const bson::Element first = doc.first();
    const std::string_view name = first.name();
    if (!name.starts_with("OP_") || !first.is_string()) return false;
    const std::string ns(first.as_string());
    const auto number = [&](const char* field) { return doc[field].to_int32(); };
    const auto start = [&](wire::Opcode opcode, int32_t flags) {
        header(out, opcode);
        out.append_value<int32_t>(flags);
        out.append(ns.c_str(), ns.size() + 1);
    };
    if (name == "OP_QUERY") {
        start(wire::Opcode::query, number("flags"));
        out.append_value<int32_t>(number("skip"));
        out.append_value<int32_t>(number("n"));
        append_document(out, doc["q"]);
        if (doc["fields"]) append_document(out, doc["fields"]);
    } else if (name == "OP_INSERT") {
        start(wire::Opcode::insert, number("flags"));
        append_document(out, doc["q"]);
        append_document(out, doc["u"]);
    } else if (name == "OP_UPDATE") {
        start(wire::Opcode::update, 0);
        out.append_value<int32_t>(number("flags"));
        append_document(out, doc["q"]);
        append_document(out, doc["u"]);
    } else if (name == "OP_DELETE") {
        start(wire::Opcode::remove, 0);
        out.append_value<int32_t>(number("flags"));
        append_document(out, doc["q"]);
    } else if (name == "OP_GET_MORE") {
        start(wire::Opcode::get_more, 0);
        out.append_value<int32_t>(number("n"));
        out.append_value<int64_t>(cursor_);
    } else if (name == "OP_KILL_CURSORS") {
        header(out, wire::Opcode::kill_cursors);
        out.append_value<int32_t>(0);
        out.append_value<int32_t>(1);
        out.append_value<int64_t>(cursor_);
    } else {
        return false;
    }
    return true;
}

void Client::exchange(bson::Buffer& message) {
    message.store<int32_t>(0, static_cast<int32_t>(message.size()));
    using Kind = wire::Step::Kind;
    last_reply_ = bson::Object();
    bson::Buffer reply;
    wire::Step step = session_->serve({message.data(), message.size()}, reply);
    for (int n = 0; step.kind == Kind::suspend || step.kind == Kind::more; ++n) {
        if (n == kResumes) return connect();
        step = session_->resume(reply);
    }
    look_at({reply.data(), reply.size()});
    if (step.kind == Kind::close) connect();
}

void Client::look_at(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        expect(bytes.size() >= kHeaderBytes, "a reply has a header");
        const wire::Header head = wire::read_header(bytes.data());
        expect(head.length > kHeaderBytes && static_cast<size_t>(head.length) <= bytes.size(),
               "replies are whole messages");
        const auto one = bytes.first(static_cast<size_t>(head.length));
        bytes = bytes.subspan(one.size());
        if (look_) look_(one);
        head.opcode == wire::Opcode::msg ? look_at_msg(one) : look_at_old(one);
    }
}

void Client::look_at_msg(std::span<const uint8_t> message) {
    expect(message.size() > kMsgBodyAt, "a reply has a body");
    expect_document(message.subspan(kMsgBodyAt), "a body is a document");
    last_reply_ = bson::Object(bson::Doc(message.data() + kMsgBodyAt));
    look_at_result(last_reply_.doc());
}

void Client::look_at_old(std::span<const uint8_t> message) {
    expect(message.size() >= kReplyDocumentsAt, "a reply has its numbers");
    const auto cursor = bson::load<int64_t>(&message[20]);
    const auto count = bson::load<int32_t>(&message[32]);
    if (cursor != 0) cursor_ = cursor;
    int32_t found = 0;
    for (size_t at = kReplyDocumentsAt; at < message.size(); ++found) {
        expect(bson::load<int32_t>(&message[at]) > 0, "a document has a size");
        const auto size = static_cast<size_t>(bson::load<int32_t>(&message[at]));
        expect(size <= message.size() - at, "documents lie inside their reply");
        expect_document(message.subspan(at, size), "a reply has documents");
        at += size;
    }
    expect(found == count, "a reply has as many documents as it says");
}

void Client::look_at_result(bson::Doc result) {
    expect(result["ok"].is_number(), "a reply says whether it went well");
    const bson::Element cursor = result["cursor"];
    if (cursor.is_object() && cursor.as_doc()["id"].to_int64() != 0)
        cursor_ = cursor.as_doc()["id"].to_int64();
    if (result["ok"].to_double() != 0) return;
    expect(result["errmsg"].is_string(), "an error has a text");
    const std::string_view text = result["errmsg"].as_string();
    expect(!text.empty() && text.size() <= kErrorTextMax, "it is a sentence");
    expect(base::is_utf8(text), "which can be read");
}

}  // namespace fuzz
