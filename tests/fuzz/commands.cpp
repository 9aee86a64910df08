// Fuzz target: what a client sends, document by document, to the commands of a whole server.
//
// A document is the body of a command; or, where its first field is the name of an old opcode, a
// message of that kind. A first document {mmapv1: true} is none: what follows goes to an engine on
// the simulated disk, and otherwise to the one in memory, which is much quicker. Every reply is a
// document that clients can read; afterwards every index has what its documents say.
#include "base/utf8.h"
#include "bson/json.h"
#include "command/families/families.h"
#include "command/service.h"
#include "mutator.h"
#include "os/testing/sim_file_system.h"
#include "storage/contract/memory_engine.h"
#include "storage/mmapv1/engine.h"
#include "storage/mmapv1/testing/small_engine.h"
#include "target.h"
#include "wire/message.h"

std::span<const char* const> fuzz::words() {
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

namespace {

using bson::Object;

constexpr int kDocumentsMax = 30;
constexpr int kResumes = 3;             // then the client leaves
constexpr int64_t kAskedTimeMs = 500;   // of what has no time limit of its own
constexpr int64_t kLastCursor = 64;     // in an input: the cursor that was opened last
constexpr size_t kErrorTextMax = 1200;  // with what is said of its being cut
constexpr int32_t kHeaderBytes = 16;
constexpr size_t kMsgBodyAt = 21, kReplyDocumentsAt = 36;

class NoWaker final : public wire::Waker {
  public:
    void wake() override {}
};

// Commands that change more than this server, or wait for others.
bool is_left_out(bson::Doc body) {
    const std::string_view name = body.first().name();
    return name == "setParameter" || name == "logRotate" || name == "fsync" ||
           name == "fsyncUnlock" || name == "journalLatencyTest";
}

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

class Client {
  public:
    explicit Client(command::Service& service) : service_(service) { connect(); }

    void send(bson::Doc doc) {
        if (doc.empty() || is_left_out(doc)) return;
        bson::Buffer message;
        const bool is_old = write_old(message, doc);
        if (!is_old) write_msg(message, doc);
        message.store<int32_t>(0, static_cast<int32_t>(message.size()));
        exchange(message);
    }
    // The body of a reply to a command that every server takes.
    Object run(const Object& command) {
        bson::Buffer message;
        write_msg(message, command.doc());
        message.store<int32_t>(0, static_cast<int32_t>(message.size()));
        exchange(message);
        fuzz::expect(!last_reply_.empty(), "a command is answered");
        return last_reply_;
    }

  private:
    void connect() {
        wire::ConnectionInfo info;
        info.number = ++connections_;
        info.remote = "127.0.0.1:1";
        session_ = service_.open(info, waker_);
    }

    static void header(bson::Buffer& out, wire::Opcode opcode) {
        for (const int32_t each : {0, 77, 0, static_cast<int32_t>(opcode)})
            out.append_value<int32_t>(each);
    }
    void write_msg(bson::Buffer& out, bson::Doc doc) const {
        header(out, wire::Opcode::msg);
        out.append_value<uint32_t>(0);
        out.append_byte(0);
        bson::Builder body(out);
        append_with_cursor(body, doc, cursor_);
        if (!doc["$db"]) body.append("$db", "d");
        if (!doc["maxTimeMS"]) body.append("maxTimeMS", kAskedTimeMs);
    }
    static void append(bson::Buffer& out, const bson::Element& e) {
        const Object empty;
        const bson::Doc doc = e.is_object() ? e.as_doc() : empty.doc();
        out.append(doc.data(), static_cast<size_t>(doc.size()));
    }
    // Returns false where the document is no message of an old kind.
    bool write_old(bson::Buffer& out, bson::Doc doc) const {
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
            append(out, doc["q"]);
            if (doc["fields"]) append(out, doc["fields"]);
        } else if (name == "OP_INSERT") {
            start(wire::Opcode::insert, number("flags"));
            append(out, doc["q"]);
            append(out, doc["u"]);
        } else if (name == "OP_UPDATE") {
            start(wire::Opcode::update, 0);
            out.append_value<int32_t>(number("flags"));
            append(out, doc["q"]);
            append(out, doc["u"]);
        } else if (name == "OP_DELETE") {
            start(wire::Opcode::remove, 0);
            out.append_value<int32_t>(number("flags"));
            append(out, doc["q"]);
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

    void exchange(const bson::Buffer& message) {
        using Kind = wire::Step::Kind;
        last_reply_ = Object();
        bson::Buffer reply;
        wire::Step step = session_->serve({message.data(), message.size()}, reply);
        for (int n = 0; step.kind == Kind::suspend || step.kind == Kind::more; ++n) {
            if (n == kResumes) return connect();
            step = session_->resume(reply);
        }
        look_at({reply.data(), reply.size()});
        if (step.kind == Kind::close) connect();
    }

    void look_at(std::span<const uint8_t> bytes) {
        while (!bytes.empty()) {
            fuzz::expect(bytes.size() >= kHeaderBytes, "a reply has a header");
            const wire::Header head = wire::read_header(bytes.data());
            fuzz::expect(
                head.length > kHeaderBytes && static_cast<size_t>(head.length) <= bytes.size(),
                "replies are whole messages");
            const auto one = bytes.first(static_cast<size_t>(head.length));
            bytes = bytes.subspan(one.size());
            head.opcode == wire::Opcode::msg ? look_at_msg(one) : look_at_old(one);
        }
    }
    void look_at_msg(std::span<const uint8_t> message) {
        fuzz::expect(message.size() > kMsgBodyAt, "a reply has a body");
        fuzz::expect_document(message.subspan(kMsgBodyAt), "a body is a document");
        last_reply_ = Object(bson::Doc(message.data() + kMsgBodyAt));
        look_at_result(last_reply_.doc());
    }
    void look_at_old(std::span<const uint8_t> message) {
        fuzz::expect(message.size() >= kReplyDocumentsAt, "a reply has its numbers");
        const auto cursor = bson::load<int64_t>(&message[20]);
        const auto count = bson::load<int32_t>(&message[32]);
        if (cursor != 0) cursor_ = cursor;
        int32_t found = 0;
        for (size_t at = kReplyDocumentsAt; at < message.size(); ++found) {
            fuzz::expect(bson::load<int32_t>(&message[at]) > 0, "a document has a size");
            const auto size = static_cast<size_t>(bson::load<int32_t>(&message[at]));
            fuzz::expect(size <= message.size() - at, "documents lie inside their reply");
            fuzz::expect_document(message.subspan(at, size), "a reply has documents");
            at += size;
        }
        fuzz::expect(found == count, "a reply has as many documents as it says");
    }
    void look_at_result(bson::Doc result) {
        fuzz::expect(result["ok"].is_number(), "a reply says whether it went well");
        const bson::Element cursor = result["cursor"];
        if (cursor.is_object() && cursor.as_doc()["id"].to_int64() != 0)
            cursor_ = cursor.as_doc()["id"].to_int64();
        if (result["ok"].to_double() != 0) return;
        fuzz::expect(result["errmsg"].is_string(), "an error has a text");
        const std::string_view text = result["errmsg"].as_string();
        fuzz::expect(!text.empty() && text.size() <= kErrorTextMax, "it is a sentence");
        fuzz::expect(base::is_utf8(text), "which can be read");
    }

    command::Service& service_;
    NoWaker waker_;
    std::unique_ptr<wire::Session> session_;
    int connections_ = 0;
    int64_t cursor_ = 0;
    Object last_reply_;
};

class Server {
  public:
    explicit Server(bool on_disk) {
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
    ~Server() {
        service_ = nullptr;
        catalog_ = nullptr;
        engine_->shutdown();
    }
    command::Service& service() { return *service_; }

    void expect_valid(Client& client) {
        for (const std::string& db : catalog_->database_names()) {
            const Object reply = client.run(bson::make("listCollections", 1, "cursor",
                                                       bson::make("batchSize", 10000), "$db", db));
            for (const bson::Element& e : reply["cursor"].as_doc()["firstBatch"].as_doc()) {
                const std::string_view name = e.as_doc()["name"].as_string();
                const Object result =
                    client.run(bson::make("validate", name, "full", true, "$db", db));
                // What another limit ended says nothing.
                if (result["ok"].to_double() == 0) continue;
                if (!result["valid"].truthy())
                    fuzz::broken("a collection is damaged: " + bson::to_json(result));
            }
        }
    }

  private:
    os::SimFileSystem disk_;
    std::unique_ptr<storage::Engine> engine_;
    std::unique_ptr<catalog::Catalog> catalog_;
    command::ServerContext context_;
    std::unique_ptr<command::Service> service_;
};

// Else no input would reach anything.
bool expect_it_works() {
    for (const bool on_disk : {false, true}) {
        Server server(on_disk);
        Client client(server.service());
        const Object stored = bson::make("_id", 1);
        bson::Builder insert;
        insert.append("insert", "c").sub_array("documents").push(stored.doc());
        client.send(insert.doc());
        const Object found = client.run(bson::make("find", "c", "$db", "d"));
        const bson::Doc batch = found["cursor"].as_doc()["firstBatch"].as_doc();
        fuzz::expect(batch["0"].is_object() && batch["0"].as_doc()["_id"].to_int64() == 1,
                     "what is inserted is found");
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::vector<Object> documents = fuzz::documents(data, size);
    if (documents.empty() || documents.size() > kDocumentsMax) return fuzz::kNoInput;
    [[maybe_unused]] static const bool works = expect_it_works();
    const bool on_disk = documents[0].doc().first().name() == "mmapv1";
    Server server(on_disk);
    Client client(server.service());
    for (size_t n = on_disk ? 1 : 0; n < documents.size(); ++n)
        client.send(documents[n].doc());
    server.expect_valid(client);
    return fuzz::kTaken;
}
