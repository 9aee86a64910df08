#include "command/commands/testing/service.h"

namespace command {

namespace {

void header(bson::Buffer& out, wire::Opcode opcode) {
    out.append_value<int32_t>(0);
    out.append_value<int32_t>(77);
    out.append_value<int32_t>(0);
    out.append_value<int32_t>(static_cast<int32_t>(opcode));
}

void finish(bson::Buffer& out) {
    out.store<int32_t>(0, static_cast<int32_t>(out.size()));
}

void append(bson::Buffer& out, const std::string& json) {
    const bson::Object doc = bson::from_json(json);
    out.append(doc.bytes().data(), doc.bytes().size());
}

}  // namespace

void TestConnection::open(Service& service, int number, bool local_client) {
    wire::ConnectionInfo info;
    info.number = number;
    info.local_client = local_client;
    info.remote = "127.0.0.1:1";
    session_ = service.open(info, waker_);
}

std::vector<uint8_t> TestConnection::serve(const bson::Buffer& message) {
    bson::Buffer reply;
    wire::Step step = session_->serve({message.data(), message.size()}, reply);
    while (step.kind == wire::Step::Kind::suspend || step.kind == wire::Step::Kind::more) {
        if (step.kind == wire::Step::Kind::suspend) {
            ++suspensions_;
            wait(step.deadline);
        }
        step = session_->resume(reply);
    }
    closed_ = step.kind == wire::Step::Kind::close;
    return {reply.data(), reply.data() + reply.size()};
}

bson::Object TestConnection::run(const std::string& json, std::string_view db) {
    return run(bson::from_json(json), db);
}

bson::Buffer TestConnection::message_of(const bson::Object& command, std::string_view db,
                                        uint32_t flags) {
    bson::Buffer message;
    header(message, wire::Opcode::msg);
    message.append_value<uint32_t>(flags);
    message.append_byte(0);
    {
        bson::Builder body(message);
        body.append_all(command).append("$db", db);
    }
    finish(message);
    return message;
}

bson::Object TestConnection::run(const bson::Object& command, std::string_view db) {
    const std::vector<uint8_t> reply = serve(message_of(command, db));
    return reply.empty() ? bson::Object() : bson::Object(bson::Doc(reply.data() + 21));
}

bson::Object TestConnection::run_old(const std::string& json, const std::string& db) {
    return query(db + ".$cmd", json, -1).at(0);
}

std::vector<bson::Object> TestConnection::query(const std::string& ns, const std::string& json,
                                                int32_t n) {
    return documents(query_bytes(ns, bson::from_json(json), n, 0));
}

std::vector<bson::Object> TestConnection::query(const std::string& ns, const bson::Object& filter,
                                                int32_t n) {
    return documents(query_bytes(ns, filter, n, 0));
}

std::vector<uint8_t> TestConnection::query_bytes(const std::string& ns, const std::string& json,
                                                 int32_t n, int32_t flags) {
    return query_bytes(ns, bson::from_json(json), n, flags);
}

std::vector<uint8_t> TestConnection::query_bytes(const std::string& ns, const bson::Object& filter,
                                                 int32_t n, int32_t flags) {
    bson::Buffer message;
    header(message, wire::Opcode::query);
    message.append_value<int32_t>(flags);
    message.append(ns.c_str(), ns.size() + 1);
    message.append_value<int32_t>(0);
    message.append_value<int32_t>(n);
    message.append(filter.bytes().data(), filter.bytes().size());
    finish(message);
    return serve(message);
}

std::vector<bson::Object> TestConnection::get_more(const std::string& ns, int32_t n) {
    bson::Buffer message;
    header(message, wire::Opcode::get_more);
    message.append_value<int32_t>(0);
    message.append(ns.c_str(), ns.size() + 1);
    message.append_value<int32_t>(n);
    message.append_value<int64_t>(cursor_);
    finish(message);
    return documents(serve(message));
}

std::vector<bson::Object> TestConnection::documents(const std::vector<uint8_t>& reply) {
    std::vector<bson::Object> docs;
    reply_flags_ = bson::load<int32_t>(reply.data() + 16);
    cursor_ = bson::load<int64_t>(reply.data() + 20);
    starting_from_ = bson::load<int32_t>(reply.data() + 28);
    for (size_t at = 36; at < reply.size();) {
        const bson::Doc doc(reply.data() + at);
        docs.emplace_back(doc);
        at += static_cast<size_t>(doc.size());
    }
    return docs;
}

void TestConnection::insert_old(const std::string& ns, const std::vector<std::string>& docs,
                                int32_t flags) {
    bson::Buffer message;
    header(message, wire::Opcode::insert);
    message.append_value<int32_t>(flags);
    message.append(ns.c_str(), ns.size() + 1);
    for (const std::string& doc : docs)
        append(message, doc);
    finish(message);
    EXPECT_TRUE(serve(message).empty());
}

void TestConnection::update_old(const std::string& ns, const std::string& selector,
                                const std::string& update, int32_t flags) {
    bson::Buffer message;
    header(message, wire::Opcode::update);
    message.append_value<int32_t>(0);
    message.append(ns.c_str(), ns.size() + 1);
    message.append_value<int32_t>(flags);
    append(message, selector);
    append(message, update);
    finish(message);
    EXPECT_TRUE(serve(message).empty());
}

void TestConnection::delete_old(const std::string& ns, const std::string& selector) {
    bson::Buffer message;
    header(message, wire::Opcode::remove);
    message.append_value<int32_t>(0);
    message.append(ns.c_str(), ns.size() + 1);
    message.append_value<int32_t>(0);
    append(message, selector);
    finish(message);
    EXPECT_TRUE(serve(message).empty());
}

void TestConnection::kill_old(int64_t cursor) {
    bson::Buffer message;
    header(message, wire::Opcode::kill_cursors);
    message.append_value<int32_t>(0);
    message.append_value<int32_t>(1);
    message.append_value<int64_t>(cursor);
    finish(message);
    EXPECT_TRUE(serve(message).empty());
}

int TestConnection::code(const bson::Object& reply) {
    return reply["ok"].to_double() == 1.0 ? 0 : reply["code"].to_int32();
}

std::string TestConnection::text(const bson::Object& reply, std::string_view field) {
    return bson::to_text(reply[field]);
}

void TestConnection::wait(std::chrono::steady_clock::time_point deadline) {
    if (deadline == std::chrono::steady_clock::time_point::max()) return waker_.wait();
    waker_.wait_until(deadline);
}

ServiceTest::ServiceTest(bool journal, TestEngine engine)
    : ServiceTest([&] { return catalog::make_test_engine(engine, directory_.path(), journal); }) {}

ServiceTest::ServiceTest(const std::function<std::unique_ptr<storage::Engine>()>& make)
    : engine_(make()) {
    catalog_ = std::make_unique<catalog::Catalog>(*engine_, &expressions_);
    context_.test_commands = true;
    context_.host = "here:27017";
    service_ = std::make_unique<Service>(*catalog_, context_, all_families());
    open(*service_, 1);
}

ServiceTest::~ServiceTest() {
    session_ = nullptr;
    service_ = nullptr;
    catalog_ = nullptr;
    engine_->shutdown();
}

}  // namespace command
