#include "command/request/session.h"

#include <memory>
#include <new>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "catalog/catalog.h"
#include "command/context/locks.h"
#include "command/cursor/query_cursors.h"
#include "command/request/cluster_time.h"
#include "command/request/retryable_write.h"
#include "command/request/run_command.h"
#include "oplog/log.h"
#include "sched/memory_metrics.h"
#include "spill/run.h"

namespace command {

namespace {

// The bytes that failed() needs for the text of a memory limit.
constexpr size_t kErrorReplyBytes = 512;

// The largest message of a client that has not logged in; a login and a first user need far less.
constexpr int32_t kUnauthenticatedMessageBytesMax = 16 * 1024;

}  // namespace

std::unique_ptr<wire::Session> Service::open(const wire::ConnectionInfo& info, wire::Waker& waker) {
    return std::make_unique<ClientSession>(*this, info, waker);
}

ClientSession::ClientSession(Service& service, const wire::ConnectionInfo& info, wire::Waker& waker)
    : service_(service),
      client_(service.contexts(), service.access_control(), info, waker),
      members_wait_(waker) {
    limit_messages();
}

ClientSession::~ClientSession() {
    service_.cursors().opener_left(client_.info().number);
}

bool ClientSession::is_unauthenticated() {
    return service_.access_control().enabled && !client_.login().logged_in();
}

void ClientSession::limit_messages() {
    set_message_bytes_max(is_unauthenticated() ? kUnauthenticatedMessageBytesMax
                                               : wire::kMessageBytesMax);
}

wire::Step ClientSession::serve(std::span<const uint8_t> message, bson::Buffer& reply) {
    exhaust_ns_.clear();
    start_request(message, reply);
    return stream_on(begin(reply), reply);
}

void ClientSession::start_request(std::span<const uint8_t> message, bson::Buffer& reply) {
    DCHECK(message.size() >= wire::kHeaderBytes);
    DCHECK(!suspension_);
    message_ = message;
    reply_start_ = reply.size();
    reply.reserve(reply_start_ + kErrorReplyBytes);
    client_.data_wait().reset();
    client_.commit_wait().clear_wait_fields();
    client_.operation().start();
    client_.set_may_defer(false);
    // Made anew in its place: to assign an empty one costs twice as much.
    std::destroy_at(&client_.report());
    std::construct_at(&client_.report());
}

wire::Step ClientSession::stream_on(const wire::Step& step, bson::Buffer& reply) {
    if (step.kind != wire::Step::Kind::reply) return step;
    if (!std::exchange(goes_on_, false) && !prepare_get_more(reply)) return step;
    suspension_ = Suspension::until_sent();
    return {wire::Step::Kind::more, {}};
}

bool ClientSession::prepare_get_more(const bson::Buffer& reply) {
    if (exhaust_ns_.empty()) return false;
    DCHECK(reply.size() >= reply_start_ + wire::kHeaderBytes);
    const wire::ReplyHead last = wire::read_reply_head(reply.data() + reply_start_);
    constexpr int32_t kEnd = wire::ReplyWriter::kCursorNotFound | wire::ReplyWriter::kQueryFailure;
    if ((last.flags & kEnd) != 0 || last.cursor_id == 0) return false;
    next_request_.clear();
    // However small the first batch was to be, only their size limits the further ones.
    wire::write_get_more(next_request_, last.header.request_id, exhaust_ns_, 0, last.cursor_id);
    return true;
}

bool ClientSession::prepare_hello(const wire::MsgMessage& hello, const bson::Buffer& reply) {
    const bool may_change = (hello.flags & wire::MsgMessage::kChecksumPresent) == 0;
    const bson::Doc told(reply.data() + reply_start_ + wire::MsgWriter::kBodyAt);
    if (!hello.exhaust_allowed() || !may_change || told["ok"].to_double() != 1) return false;
    const bson::Doc version = told["topologyVersion"].as_doc();
    const bson::Doc known = hello.body["topologyVersion"].as_doc();
    if (message_.data() != next_request_.data()) {
        next_request_.clear();
        next_request_.append(message_.data(), message_.size());
    }
    constexpr size_t kRequestIdAt = sizeof(int32_t);
    const auto offset = [&](const char* field) {
        return static_cast<size_t>(known[field].value() - message_.data());
    };
    const size_t process_at = offset("processId"), counter_at = offset("counter");
    next_request_.store<int32_t>(kRequestIdAt,
                                 wire::read_header(reply.data() + reply_start_).request_id);
    next_request_.store(process_at, version["processId"].as_object_id());
    next_request_.store<int64_t>(counter_at, version["counter"].as_int64());
    return true;
}

wire::Step ClientSession::begin(bson::Buffer& reply) {
    DCHECK(client_.operation().active());
    base::log::set_context(client_.description());
    const sched::Operation::Scope scope(&client_.operation());
    client_.current().attach_to_this_thread();
    const size_t capacity = reply.capacity();
    const int64_t disk = spill::bytes_by_this_thread();
    const int64_t descriptors = spill::descriptors_by_this_thread();
    oplog::Log::forget_written();
    const wire::Step step = dispatch_or_fail(reply);
    DCHECK(reply.size() >= reply_start_);
    DCHECK((step.kind == wire::Step::Kind::suspend) == static_cast<bool>(suspension_));
    client_.note_write(oplog::Log::written());
    client_.report().reply_bytes = static_cast<int64_t>(reply.size() - reply_start_);
    // The request leaves to the cursor what it holds beside its reply.
    if (client_.report().left_open != 0)
        service_.cursors().note_held(
            client_.report().left_open,
            {.memory = sched::memory::held() - static_cast<int64_t>(reply.capacity() - capacity),
             .disk = spill::bytes_by_this_thread() - disk,
             .descriptors = spill::descriptors_by_this_thread() - descriptors});
    if (step.kind != wire::Step::Kind::suspend) end_request();
    return step;
}

// The result is reported even if recording it fails.
void ClientSession::end_request() {
    DCHECK(!suspension_);
    return sched::undisturbed([&] {
        limit_messages();
        client_.give_back();
        try {
            if (!client_.report().as_command && client_.report().scanned != OpReport::kNone)
                client_.current().visit([this](const CurrentRequest::Shown& shown) {
                    count_scans_if_told(client_, service_.profiler(), shown.ns,
                                        base::ms_since(client_.operation().started()));
                });
            client_.current().finish(service_.top(), service_.profiler(), client_.operation(),
                                     client_.info().remote, client_.login().users());
        } catch (const std::exception& e) {
            base::log::error("cannot add a request to the statistics: {}", e.what());
        }
    });
}

bool ClientSession::still_waits() {
    switch (suspension_.what()) {
        case Suspension::For::commit:
            return !client_.commit_wait().done();
        case Suspension::For::time:
            return !sched::Operation::shutting_down() &&
                   Suspension::Clock::now() < suspension_.until();
        default:
            return false;  // to serve the request again, or to look at the members, is harmless
    }
}

wire::Step ClientSession::resume(bson::Buffer& reply) {
    if (still_waits()) return {wire::Step::Kind::suspend, suspension_.until()};
    const Suspension::For what = suspension_.what();
    if (what != Suspension::For::members) suspension_ = {};
    switch (what) {
        case Suspension::For::time:
            client_.forget_delay();
            end_request();
            break;
        case Suspension::For::members: {
            const sched::Operation::Scope scope(&client_.operation());
            const wire::Step step = wait_for_members(reply);
            if (step.kind != wire::Step::Kind::suspend) end_request();
            return step;
        }
        case Suspension::For::data:
            client_.data_wait().retry();
            reply.truncate(reply_start_);
            return stream_on(begin(reply), reply);
        case Suspension::For::batch:
            start_request({next_request_.data(), next_request_.size()}, reply);
            return stream_on(begin(reply), reply);
        case Suspension::For::commit:
            client_.commit_wait().finish(reply);
            end_request();
            break;
        case Suspension::For::turn:
            reply.truncate(reply_start_);
            return stream_on(begin(reply), reply);
        case Suspension::For::nothing:
        case Suspension::For::end:
            break;
    }
    return {};
}

wire::Step ClientSession::dispatch_or_fail(bson::Buffer& reply) {
    try {
        return dispatch(message_, reply);
    } catch (const std::bad_alloc& e) {
        return failed(base::kExceededMemoryLimit, e.what(), reply);
    } catch (const base::Error& e) {
        return failed(e.code(), e.what(), reply);
    } catch (const std::exception& e) {
        return failed(base::kInternalError, e.what(), reply);
    }
}

// Memory may be what is missing: for a short text this needs none but what start_request() has
// reserved. If it throws all the same, the connection ends: a client without a reply would take its
// write for done.
wire::Step ClientSession::failed(int code, const char* text, bson::Buffer& reply, bool of_stream) {
    return sched::undisturbed([&]() -> wire::Step {
        const wire::Header header = wire::read_header(message_.data());
        reply.truncate(reply_start_);
        suspension_ = {};
        exhaust_ns_.clear();
        client_.commit_wait().clear_wait_fields();
        client_.data_wait().reset();
        service_.asserts().user.fetch_add(1, std::memory_order_relaxed);
        const auto append_failure = [&](bson::Builder& out) {
            const bool memory = code == base::kExceededMemoryLimit;
            out.append("ok", 0.0).append("errmsg", text).append("code", code);
            if (memory)
                out.append("codeName", "ExceededMemoryLimit");
            else
                out.append("codeName", base::code_name(code));
            if (of_stream) append_stream_label(code, out);
        };
        switch (header.opcode) {
            case wire::Opcode::msg:
                if (!wire::peek_more_to_come(message_)) {
                    wire::MsgWriter writer(reply, header.request_id);
                    bson::Builder body = writer.body();
                    append_failure(body);
                    append_cluster_time(service_.context(), body);
                    body.finish();
                    writer.finish();
                }
                break;
            case wire::Opcode::query:
            case wire::Opcode::get_more: {
                const bool command = catalog::split(wire::peek_ns(message_)).collection == "$cmd";
                wire::ReplyWriter writer(reply, header.request_id);
                bson::Builder doc = writer.document();
                if (command)
                    append_failure(doc);
                else
                    doc.append("$err", text).append("code", code);
                doc.finish();
                writer.finish(
                    command ? wire::ReplyWriter::kAwaitCapable : wire::ReplyWriter::kQueryFailure,
                    0, 0);
                if (!command) client_.last_error().record_error(code, text);
                break;
            }
            case wire::Opcode::insert:
            case wire::Opcode::update:
            case wire::Opcode::remove:
                client_.last_error().record_error(code, text);
                break;
            default:
                base::log::error("a request failed: {}", text);
                break;
        }
        client_.report().failed(code, text);
        return {};
    });
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
                return serve_write(message, header.opcode, reply);
            case wire::Opcode::kill_cursors:
                return serve_kill_cursors(message);
            default:
                break;
        }
    } catch (const wire::DecodeError& e) {
        wire::Step step = undecodable(e, message, reply);
        // A log line for each message of such a client would fill the disk.
        if (is_unauthenticated()) step.kind = wire::Step::Kind::close;
        return step;
    }
    base::log::info("unsupported operation code {}", static_cast<int>(header.opcode));
    client_.last_error().next_request();
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
            client_.last_error().next_request();
            client_.last_error().record_error(error.code(), error.what());
            return {};
        case Reaction::ignore:
            return {};
        case Reaction::msg_error:
        case Reaction::msg_refused: {
            if (!wire::peek_more_to_come(message)) {
                wire::MsgWriter writer(reply, header.request_id);
                bson::Builder body = writer.body();
                append_error(body, error);
                append_cluster_time(service_.context(), body);
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
    client_.report().failed(error.code(), error.what());
    client_.last_error().record_error(error.code(), error.what());
    service_.asserts().user.fetch_add(1, std::memory_order_relaxed);
    wire::ReplyWriter writer(reply, header.request_id);
    bson::Builder doc = writer.document();
    doc.append("$err", std::string_view(error.what())).append("code", error.code());
    doc.finish();
    writer.finish(wire::ReplyWriter::kQueryFailure, 0, 0);
}

wire::Step ClientSession::serve_msg(std::span<const uint8_t> message, bson::Buffer& reply) {
    const wire::MsgMessage msg = wire::decode_msg(message);
    Invocation invocation{service_, client_, msg.db, {}, msg.body, &msg};
    wire::MsgWriter writer(reply, msg.header.request_id);
    run_command(invocation, reply);
    invocation.settle();
    if (msg.more_to_come()) {
        reply.truncate(reply_start_);
        client_.commit_wait().clear_wait_fields();
        // The client does not ask what they have.
        if (invocation.suspension.what() == Suspension::For::members) return {};
    } else if (invocation.suspension.has_reply()) {
        goes_on_ = invocation.is_stream && prepare_hello(msg, reply);
        writer.finish(goes_on_ ? wire::MsgMessage::kMoreToCome : 0);
    }
    return suspend(std::move(invocation.suspension), reply);
}

wire::Step ClientSession::suspend(Suspension&& suspension, bson::Buffer& reply) {
    DCHECK(!suspension_ && suspension.what() != Suspension::For::batch);
    if (!suspension) return {};
    if (!suspension.has_reply()) reply.truncate(reply_start_);
    switch (suspension.what()) {
        case Suspension::For::end:
            return {wire::Step::Kind::close, {}};
        case Suspension::For::commit:
            if (!client_.commit_wait().start(service_.durability())) return {};
            break;
        case Suspension::For::members:
            if (suspension.has_commit() && !client_.commit_wait().start(service_.durability()))
                suspension.drop_commit();
            members_wait_.start(*service_.context().member, service_.metrics(),
                                suspension.members());
            suspension_ = std::move(suspension);
            return wait_for_members(reply);
        default:
            break;
    }
    suspension_ = std::move(suspension);
    return {wire::Step::Kind::suspend, suspension_.until(),
            suspension_.what() == Suspension::For::data};
}

wire::Step ClientSession::wait_for_turn(bson::Buffer& reply) {
    return suspend(Suspension::until_turn(Suspension::Clock::now() + kRetryAfter), reply);
}

wire::Step ClientSession::wait_for_members(bson::Buffer& reply) {
    DCHECK(suspension_.what() == Suspension::For::members);
    const bool is_over = members_wait_.is_over(client_.operation());
    const bool is_committed = !suspension_.has_commit() || client_.commit_wait().done();
    if (!is_over || !is_committed) {
        const auto at = is_over ? Suspension::Clock::time_point::max() : members_wait_.deadline();
        return {wire::Step::Kind::suspend, at, true};
    }
    const bool has_commit = suspension_.has_commit();
    const int64_t cursor = suspension_.members().cursor;
    suspension_ = {};
    if (has_commit) client_.commit_wait().finish(reply);
    const std::optional<base::Error> failure = members_wait_.failure();
    if (failure && cursor != 0) service_.cursors().kill(cursor);
    if (failure) return failed(failure->code(), failure->what(), reply, cursor != 0);
    if (members_wait_.is_reported()) add_to_reply(reply);
    return {};
}

// Adds what the members say to the reply, which is complete but for that.
void ClientSession::add_to_reply(bson::Buffer& reply) {
    return sched::undisturbed([&] {
        const wire::Header header = wire::read_header(message_.data());
        const bool is_msg = header.opcode == wire::Opcode::msg;
        DCHECK(is_msg || header.opcode == wire::Opcode::query);
        const size_t body = is_msg ? wire::MsgWriter::kBodyAt : wire::ReplyWriter::kFirstAt;
        DCHECK(reply.size() > reply_start_ + body);
        const bson::Object before(bson::Doc(reply.data() + reply_start_ + body));
        reply.truncate(reply_start_);
        const auto write = [&](bson::Builder out) {
            for (const bson::Element& e : before) {
                if (e.name() == "ok") members_wait_.report(out);
                out.append(e);
            }
        };
        if (is_msg) {
            wire::MsgWriter writer(reply, header.request_id);
            write(writer.body());
            writer.finish();
        } else {
            wire::ReplyWriter writer(reply, header.request_id);
            write(writer.document());
            writer.finish(wire::ReplyWriter::kAwaitCapable, 0, 0);
        }
    });
}

}  // namespace command
