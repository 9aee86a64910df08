#include "command/session.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "catalog/catalog.h"
#include "command/legacy.h"

namespace command {

namespace {

constexpr int kInvalidQueryNs = 16256;
constexpr int kInvalidWriteNs = 16257;
constexpr int kInvalidGetMoreNs = 16258;

constexpr int kNsTooLong = 10080;
constexpr int kOtherCase = 13297;
constexpr int kNotFullNamespace = 17005;

// What the old opcodes take for a namespace at all: a database, a dot, something behind it.
bool is_namespace(std::string_view ns) {
    const catalog::Namespace parts = catalog::split(ns);
    return !parts.collection.empty() && catalog::valid_database_name(parts.db);
}

void check_length(std::string_view ns) {
    if (ns.size() > catalog::kMaxIndexNamespace)
        base::fail(kNsTooLong, "ns name too long, max size is {} bytes",
                   catalog::kMaxIndexNamespace);
}

void append_error(bson::Builder& out, const base::Error& error) {
    out.append("ok", 0.0)
        .append("errmsg", std::string_view(error.what()))
        .append("code", error.code())
        .append("codeName", base::codeName(error.code()));
    if (error.details() != nullptr) out.append_all(bson::Doc(error.details()->data()));
}

// The old server threw some errors of a command, which getLastError then knows, and answered
// others. Those with a number of their own are thrown, but for the ones found before the command's
// own work.
bool is_exception(const Command& command, const Invocation& invocation, const base::Error& error) {
    constexpr int kFirstOwnNumber = 10000;
    constexpr int kAnswered[] = {kOtherCase, kNotFullNamespace};
    if (std::ranges::find(kAnswered, error.code()) != std::end(kAnswered)) return false;
    return error.code() >= kFirstOwnNumber || invocation.records_failure ||
           (command.flags & kRecordsFailure) != 0;
}

int64_t checked_max_time(const bson::Element& e) {
    if (!e.is_number()) base::fail(base::kBadValue, "maxTimeMS must be a number");
    const double given = e.to_double();
    if (!(given >= 0 && given <= 2147483647.0) || given != static_cast<double>(e.to_int64()))
        base::fail(base::kBadValue, "maxTimeMS is out of range");
    return e.to_int64();
}

void check_read_concern(const bson::Element& e) {
    if (!e.is_object()) base::fail(base::kTypeMismatch, "readConcern must be a document");
    if (e.as_doc().has("atClusterTime"))
        base::fail(base::kInvalidOptions, "readConcern 'atClusterTime' is not supported");
    const bson::Element level = e.as_doc()["level"];
    if (level.missing()) return;
    if (!level.is_string()) base::fail(base::kTypeMismatch, "readConcern level must be a string");
    const std::string_view name = level.as_string();
    if (name != "local" && name != "available" && name != "majority" && name != "linearizable")
        base::fail(base::kInvalidOptions, "readConcern level '{}' is not supported", name);
}

// Fields that any command may carry (wire spec 1b). Returns whether help was asked for.
bool take_generic_fields(Invocation& invocation, base::Operation& operation) {
    bool help = false;
    for (const bson::Element& e : invocation.body) {
        const std::string_view name = e.name();
        switch (name.empty() ? 0 : name.front()) {
            case 'w':
                if (name == "writeConcern") {
                    if (!e.is_object())
                        base::fail(base::kFailedToParse, "writeConcern must be a document");
                    invocation.concern = WriteConcern::parse(e.as_doc());
                }
                break;
            case 'm':
                if (name == "maxTimeMS") operation.set_deadline_ms(checked_max_time(e));
                break;
            case '$':
                if (name == "$maxTimeMS")
                    base::fail(base::kBadValue,
                               "no such command option $maxTimeMS; use maxTimeMS instead");
                break;
            case 't':
                if (name == "txnNumber")
                    base::fail(base::kIllegalOperation,
                               "Transaction numbers are only allowed on a replica set member or "
                               "mongos");
                break;
            case 's':
                if (name == "startTransaction")
                    base::fail(base::kIllegalOperation, "transactions are not supported");
                break;
            case 'a':
                if (name == "autocommit")
                    base::fail(base::kIllegalOperation, "transactions are not supported");
                if (name == "apiVersion" && !(e.is_string() && e.as_string() == "1"))
                    base::fail(322, "API version must be \"1\"");
                break;
            case 'r':
                if (name == "readConcern") check_read_concern(e);
                break;
            case 'h':
                if (name == "help") help = e.truthy();
                break;
            default:
                break;
        }
    }
    return help;
}

Top::Kind top_kind(std::string_view op) {
    if (op == "find" || op == "query") return Top::Kind::queries;
    if (op == "getMore" || op == "getmore") return Top::Kind::getmore;
    if (op == "insert") return Top::Kind::insert;
    if (op == "update") return Top::Kind::update;
    if (op == "delete" || op == "remove") return Top::Kind::remove;
    return Top::Kind::commands;
}

bool is_write(Top::Kind kind) {
    return kind == Top::Kind::insert || kind == Top::Kind::update || kind == Top::Kind::remove;
}

}  // namespace

ClientSession::ClientSession(Service& service, const wire::ConnectionInfo& info, wire::Waker& waker)
    : service_(service),
      info_(info),
      context_(fmt::format("conn{}", info.number)),
      waker_(waker),
      waiter_(std::make_shared<Waiter>()) {
    const std::lock_guard guard(service_.sessions_mutex_);
    service_.sessions_.insert(this);
}

ClientSession::~ClientSession() {
    if (wake_ != nullptr) wake_->disarm();
    const std::lock_guard guard(service_.sessions_mutex_);
    service_.sessions_.erase(this);
}

wire::Step ClientSession::serve(std::span<const uint8_t> message, bson::Buffer& reply) {
    exhaust_ns_.clear();
    start_request(message, reply);
    return stream_on(begin(reply), reply);
}

void ClientSession::start_request(std::span<const uint8_t> message, bson::Buffer& reply) {
    message_ = message;
    reply_start_ = reply.size();
    retry_ = false;
    await_deadline_ = {};
    wait_fields_.clear();
    operation_.start();
    current_.report = OpReport();
}

wire::Step ClientSession::stream_on(const wire::Step& step, bson::Buffer& reply) {
    if (exhaust_ns_.empty() || step.kind != wire::Step::Kind::reply) return step;
    const wire::ReplyHead last = wire::read_reply_head(reply.data() + reply_start_);
    constexpr int32_t kEnd = wire::ReplyWriter::kCursorNotFound | wire::ReplyWriter::kQueryFailure;
    if ((last.flags & kEnd) != 0 || last.cursor_id == 0) return step;
    exhaust_get_more_.clear();
    // However small the first batch was to be, only their size limits the further ones.
    wire::write_get_more(exhaust_get_more_, last.header.request_id, exhaust_ns_, 0, last.cursor_id);
    pending_ = Pending::exhaust;
    return {wire::Step::Kind::more, {}};
}

wire::Step ClientSession::begin(bson::Buffer& reply) {
    const base::Operation::Scope scope(&operation_);
    base::log::set_context(context_);
    current_.thread.store(pthread_self(), std::memory_order_relaxed);
    const wire::Step step = dispatch(message_, reply);
    current_.report.reply_bytes = static_cast<int64_t>(reply.size() - reply_start_);
    if (step.kind != wire::Step::Kind::suspend) end_request();
    return step;
}

wire::Step ClientSession::resume(bson::Buffer& reply) {
    // A resume may come before the commit has.
    if (pending_ == Pending::commit && !waiter_->committed.load(std::memory_order_acquire))
        return {wire::Step::Kind::suspend, base::Operation::Clock::time_point::max()};
    const Pending pending = std::exchange(pending_, Pending::none);
    if (wake_ != nullptr) wake_->disarm();
    wake_ = nullptr;
    if (pending == Pending::await_data) {
        retry_ = true;
        reply.truncate(reply_start_);
        return begin(reply);
    }
    if (pending == Pending::exhaust) {
        start_request({exhaust_get_more_.data(), exhaust_get_more_.size()}, reply);
        return stream_on(begin(reply), reply);
    }
    report_wait(reply);
    end_request();
    return {};
}

void ClientSession::end_request() {
    using std::chrono::duration_cast;
    const auto spent = base::Operation::Clock::now() - operation_.started();
    const auto took = duration_cast<std::chrono::milliseconds>(spent);
    operation_.finish();
    if (!top_ns_.empty()) {
        recent_top_.find(service_.top(), top_ns_)
            .record(top_kind_, top_write_, duration_cast<std::chrono::microseconds>(spent).count());
        top_ns_.clear();
    }
    report_request(took.count());
    const std::lock_guard guard(current_.mutex);
    current_.op = "none";
    current_.has_request = false;
    current_.yields.store(0, std::memory_order_relaxed);
}

void ClientSession::report_request(int64_t millis) {
    FinishedOp finished{current_.op,
                        current_.ns,
                        info_.remote,
                        millis,
                        current_.yields.load(std::memory_order_relaxed),
                        operation_.locks().times()};
    if (!command_ns_.empty()) {
        finished.op = "command";
        finished.ns = command_ns_;
    }
    if (std::string_view(finished.op) != "none")
        service_.profiler().finished(finished, current_.report, recorded_);
    recorded_ = false;
    command_ns_.clear();
}

void ClientSession::describe(const char* op, std::string_view ns, bson::Doc request) {
    const std::lock_guard guard(current_.mutex);
    current_.op = op;
    current_.ns = ns;
    current_.request = request;
    current_.has_request = !request.empty();
    current_.report.request = request;
    current_.report.has_request = !request.empty();
    recorded_ = true;
    top_ns_ = ns;
    top_kind_ = top_kind(op);
    top_write_ = is_write(top_kind_);
}

wire::Step ClientSession::dispatch(std::span<const uint8_t> message, bson::Buffer& reply) {
    const wire::Header header = wire::read_header(message.data());
    try {
        switch (header.opcode) {
            case wire::Opcode::msg:
                return serve_msg(message, reply);
            case wire::Opcode::query:
                return serve_query(message, reply);
            case wire::Opcode::get_more:
                return serve_get_more(message, reply);
            case wire::Opcode::insert:
            case wire::Opcode::update:
            case wire::Opcode::remove:
                return serve_write(message, header.opcode);
            case wire::Opcode::kill_cursors:
                return serve_kill_cursors(message);
            default:
                break;
        }
    } catch (const wire::DecodeError& e) {
        return undecodable(e, message, reply);
    }
    base::log::info("unsupported operation code {}", static_cast<int>(header.opcode));
    last_error_.next_request();
    // The old server ignored what carried no namespace; a client that waits for a reply, as after
    // the ancient text message, is better off with a closed connection.
    constexpr auto kTextMessage = static_cast<wire::Opcode>(1000);
    if (header.opcode != kTextMessage && !is_namespace(wire::peek_ns(message))) return {};
    return {wire::Step::Kind::close, {}};
}

wire::Step ClientSession::undecodable(const wire::DecodeError& error,
                                      std::span<const uint8_t> message, bson::Buffer& reply) {
    const wire::Header header = wire::read_header(message.data());
    base::log::info("damaged message of kind {}: {}", static_cast<int>(header.opcode),
                    error.what());
    reply.truncate(reply_start_);
    using Reaction = wire::DecodeError::Reaction;
    switch (error.reaction()) {
        case Reaction::query_failure:
            query_failure(reply, header, error);
            return {};
        case Reaction::last_error:
            last_error_.next_request();
            last_error_.record_error(error.code(), error.what());
            return {};
        case Reaction::ignore:
            return {};
        case Reaction::msg_error:
        case Reaction::msg_refused: {
            if (!wire::peek_more_to_come(message)) {
                wire::MsgWriter writer(reply, header.request_id);
                bson::Builder body = writer.body();
                append_error(body, error);
                body.finish();
                writer.finish();
            }
            if (error.reaction() == Reaction::msg_refused) return {};
            return {wire::Step::Kind::close, {}};
        }
        case Reaction::close:
            break;
    }
    return {wire::Step::Kind::close, {}};
}

void ClientSession::query_failure(bson::Buffer& reply, const wire::Header& header,
                                  const base::Error& error) {
    reply.truncate(reply_start_);
    current_.report.failed(error.code(), error.what());
    last_error_.record_error(error.code(), error.what());
    service_.asserts().user.fetch_add(1, std::memory_order_relaxed);
    wire::ReplyWriter writer(reply, header.request_id);
    bson::Builder doc = writer.document();
    doc.append("$err", std::string_view(error.what())).append("code", error.code());
    doc.finish();
    writer.finish(wire::ReplyWriter::kQueryFailure, 0, 0);
}

wire::Step ClientSession::serve_msg(std::span<const uint8_t> message, bson::Buffer& reply) {
    const wire::MsgMessage msg = wire::decode_msg(message);
    Invocation invocation{service_, *this, msg.db, {}, msg.body, &msg};
    wire::MsgWriter writer(reply, msg.header.request_id);
    wire::Step step = run_command(invocation, reply);
    if (step.kind == wire::Step::Kind::close || invocation.await_data || msg.more_to_come()) {
        reply.truncate(reply_start_);
        wait_fields_.clear();
    } else {
        writer.finish();
    }
    return step;
}

wire::Step ClientSession::serve_query(std::span<const uint8_t> message, bson::Buffer& reply) {
    const wire::Header header = wire::read_header(message.data());
    try {
        const wire::QueryMessage query = wire::decode_query(message);
        if (!is_namespace(query.ns)) base::fail(kInvalidQueryNs, "Invalid ns [{}]", query.ns);
        check_length(query.ns);
        const catalog::Namespace parts = catalog::split(query.ns);
        if (parts.collection == "$cmd") {
            if (query.to_return != 1 && query.to_return != -1)
                base::fail(16979, "bad numberToReturn ({}) for $cmd type ns - can only be 1 or -1",
                           query.to_return);
            return serve_query_command(query, parts.db, reply);
        }
        last_error_.next_request();
        service_.counters().query.fetch_add(1, std::memory_order_relaxed);
        describe("query", query.ns, query.query);
        legacy_query(*this, query, reply);
        // A tailable cursor has no end: its client asks when it wants to look again.
        if ((query.flags & (wire::kExhaust | wire::kTailable)) == wire::kExhaust)
            exhaust_ns_ = query.ns;
    } catch (const wire::DecodeError&) {
        throw;
    } catch (const base::Error& e) {
        query_failure(reply, header, e);
    }
    return {};
}

wire::Step ClientSession::serve_query_command(const wire::QueryMessage& query, std::string_view db,
                                              bson::Buffer& reply) {
    bson::Doc body = query.query;
    const bson::Element wrapped = body.first();
    if (wrapped.is_object() && (wrapped.name() == "$query" || wrapped.name() == "query"))
        body = wrapped.as_doc();
    Invocation invocation{service_, *this, db, {}, body};
    wire::ReplyWriter writer(reply, query.header.request_id);
    writer.next_document();
    const wire::Step step = run_command(invocation, reply);
    if (step.kind == wire::Step::Kind::close || invocation.await_data) {
        reply.truncate(reply_start_);
    } else {
        writer.finish(wire::ReplyWriter::kAwaitCapable, 0, 0);
    }
    return step;
}

wire::Step ClientSession::run_command(Invocation& invocation, bson::Buffer& reply) {
    const size_t start = reply.size();
    const auto fail_with = [&](const base::Error& error) {
        reply.truncate(start);
        wait_fields_.clear();
        bson::Builder out(reply);
        append_error(out, error);
    };
    invocation.name = invocation.body.first().name();
    const Command* command = find_command(invocation.name);
    if (command != nullptr && (command->flags & kTestOnly) != 0 &&
        !service_.context().test_commands)
        command = nullptr;
    const bool keeps_last_error = command != nullptr && (command->flags & kKeepsLastError) != 0;
    if (!keeps_last_error) last_error_.next_request();
    if (command == nullptr || (command->flags & kNotCounted) == 0)
        service_.counters().command.fetch_add(1, std::memory_order_relaxed);
    try {
        if (command == nullptr)
            base::fail(base::kCommandNotFound, "no such cmd: {}", invocation.name);
        bson::Builder out(reply);
        invocation.reply = &out;
        execute(invocation, *command);
        out.append("ok", 1.0);
    } catch (const base::Error& e) {
        fail_with(e);
        current_.report.failed(e.code(), e.what());
        service_.asserts().user.fetch_add(1, std::memory_order_relaxed);
        if (!invocation.started) {
            if (keeps_last_error) last_error_.next_request();
        } else if (is_exception(*command, invocation, e)) {
            last_error_.record_error(e.code(), e.what());
        }
        return {};
    } catch (const std::exception& e) {
        base::log::error("command {} failed: {}", invocation.name, e.what());
        fail_with(base::Error(base::kInternalError, e.what()));
        current_.report.failed(base::kInternalError, e.what());
        return {};
    }
    if (invocation.close) return {wire::Step::Kind::close, {}};
    if (invocation.await_data) return wait_for_data(reply);
    const bool by_concern =
        command->lock == LockKind::write && invocation.concern.waits() && !invocation.skip_concern;
    if (invocation.wait_for_commit || by_concern) return wait_for_commit();
    return {};
}

void ClientSession::execute(Invocation& invocation, const Command& command) {
    if (take_generic_fields(invocation, operation_)) {
        invocation.reply->append("help", fmt::format("help for: {} {}", command.name, command.help))
            .append("lockType", static_cast<int32_t>(command.lock));
        return;
    }
    if ((command.flags & kAdminOnly) != 0 && invocation.db != "admin")
        base::fail(base::kUnauthorized, "{} may only be run against the admin database.",
                   invocation.name);
    if ((command.flags & kLocalOnly) != 0 && !info_.local_client)
        base::fail(base::kUnauthorized, "{} must run from localhost when running db without auth",
                   invocation.name);
    if (!catalog::valid_database_name(invocation.db))
        base::fail(base::kInvalidNamespace, "Invalid database name: '{}'", invocation.db);
    if (command.lock == LockKind::write)
        invocation.concern.check(service_.durability().journaling());
    describe_command(invocation, command);
    invocation.started = true;
    command.run(invocation);
}

void ClientSession::describe_command(const Invocation& invocation, const Command& command) {
    const bson::Element target =
        command.name == "getMore" ? invocation.body["collection"] : invocation.body.first();
    const Top::Kind kind = top_kind(command.name);
    const bool on_collection = command.lock != LockKind::none && target.is_string();
    std::string ns(invocation.db);
    const std::lock_guard guard(current_.mutex);
    current_.request = invocation.body;
    current_.has_request = true;
    current_.report.request = invocation.body;
    current_.report.has_request = true;
    recorded_ = command.lock != LockKind::none;
    // What the old server had messages for is shown as those.
    if (on_collection && kind != Top::Kind::commands) {
        constexpr const char* kOps[] = {"query", "getmore", "insert", "update", "remove"};
        current_.op = kOps[static_cast<size_t>(kind)];
        current_.ns.assign(ns).append(1, '.').append(target.as_string());
        if (is_write(kind)) {
            command_ns_ = ns + ".$cmd";
            recorded_ = false;
        }
    } else {
        current_.op = "command";
        current_.ns.assign(ns).append(".$cmd");
    }
    if (on_collection && command.name != "drop") {
        top_ns_.assign(ns).append(1, '.').append(target.as_string());
        top_kind_ = kind;
        top_write_ = command.lock == LockKind::write;
    }
}

wire::Step ClientSession::serve_get_more(std::span<const uint8_t> message, bson::Buffer& reply) {
    const wire::Header header = wire::read_header(message.data());
    const std::string_view ns = wire::peek_ns(message);
    if (!retry_) {
        last_error_.next_request();
        service_.counters().getmore.fetch_add(1, std::memory_order_relaxed);
    }
    try {
        // What is too long for any namespace is damage, which the decoder tells.
        if (ns.size() <= catalog::kMaxIndexNamespace && !is_namespace(ns))
            base::fail(kInvalidGetMoreNs, "Invalid ns [{}]", ns);
        const wire::GetMoreMessage request = wire::decode_get_more(message);
        describe("getmore", request.ns, bson::Doc());
        if (legacy_get_more(*this, request, reply)) return wait_for_data(reply);
    } catch (const wire::DecodeError&) {
        throw;
    } catch (const base::Error& e) {
        query_failure(reply, header, e);
    }
    return {};
}

wire::Step ClientSession::serve_write(std::span<const uint8_t> message, wire::Opcode opcode) {
    const std::string_view ns = wire::peek_ns(message);
    last_error_.next_request();
    try {
        if (!is_namespace(ns)) base::fail(kInvalidWriteNs, "Invalid ns [{}]", ns);
        if (opcode == wire::Opcode::insert) {
            check_length(ns);
            const wire::InsertMessage insert = wire::decode_insert(message);
            describe("insert", insert.ns, insert.documents.first());
            legacy_insert(*this, insert);
        } else if (opcode == wire::Opcode::update) {
            const wire::UpdateMessage update = wire::decode_update(message);
            describe("update", update.ns, update.selector);
            current_.report.update = update.update;
            current_.report.has_update = true;
            legacy_update(*this, update);
        } else {
            const wire::DeleteMessage remove = wire::decode_delete(message);
            describe("remove", remove.ns, remove.selector);
            legacy_delete(*this, remove);
        }
    } catch (const wire::DecodeError&) {
        throw;
    } catch (const base::Error& e) {
        last_error_.record_error(e.code(), e.what());
        current_.report.failed(e.code(), e.what());
        service_.asserts().user.fetch_add(1, std::memory_order_relaxed);
    }
    return {};
}

wire::Step ClientSession::serve_kill_cursors(std::span<const uint8_t> message) {
    try {
        legacy_kill_cursors(*this, wire::decode_kill_cursors(message));
    } catch (const wire::DecodeError&) {
        throw;
    } catch (const base::Error& e) {
        base::log::info("killCursors: {}", e.what());
    }
    return {};
}

wire::Step ClientSession::wait_for_commit() {
    wake_ = std::make_shared<WakeOnce>(waker_);
    waiter_->committed.store(false, std::memory_order_relaxed);
    waiter_->wake = wake_;
    waiter_->self = waiter_;
    waiter_->done = [](storage::CommitWaiter* base) {
        auto* waiter = static_cast<Waiter*>(base);
        const std::shared_ptr<Waiter> self = std::move(waiter->self);
        const std::shared_ptr<WakeOnce> wake = std::move(waiter->wake);
        waiter->committed.store(true, std::memory_order_release);
        wake->wake();
    };
    wait_started_ = base::Operation::Clock::now();
    pending_ = Pending::commit;
    if (service_.durability().await_commit(waiter_.get())) {
        waiter_->self = nullptr;
        waiter_->wake = nullptr;
        wake_ = nullptr;
        pending_ = Pending::none;
        return {};
    }
    return {wire::Step::Kind::suspend, base::Operation::Clock::time_point::max()};
}

wire::Step ClientSession::wait_for_data(bson::Buffer& reply) {
    reply.truncate(reply_start_);
    pending_ = Pending::await_data;
    return {wire::Step::Kind::suspend, await_deadline_};
}

void ClientSession::wake_on_insert(catalog::Collection& collection) {
    wake_ = std::make_shared<WakeOnce>(waker_);
    collection.notify_on_insert([wake = wake_] { wake->wake(); });
}

void ClientSession::report_wait(bson::Buffer& reply) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        base::Operation::Clock::now() - wait_started_);
    for (const size_t offset : wait_fields_)
        reply.store<int32_t>(offset, static_cast<int32_t>(took.count()));
}

}  // namespace command
