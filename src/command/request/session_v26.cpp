// The opcodes of 2.6: OP_QUERY, its commands, OP_GET_MORE, OP_INSERT, OP_UPDATE, OP_DELETE,
// OP_KILL_CURSORS.

#include <new>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "catalog/catalog.h"
#include "command/context/locks.h"
#include "command/cursor/query_cursors.h"
#include "command/request/authorization.h"
#include "command/request/member_state.h"
#include "command/request/opcodes_v26.h"
#include "command/request/run_command.h"
#include "command/request/session.h"
#include "dialect/dialect.h"

namespace command {

namespace {

constexpr int kInvalidQueryNs = 16256;
constexpr int kInvalidWriteNs = 16257;
constexpr int kInvalidGetMoreNs = 16258;

constexpr int kNsTooLong = 10080;

constexpr int kInsertNotMaster = 10058;
constexpr int kUpdateNotMaster = 10054;
constexpr int kDeleteNotMaster = 10056;

// Whether the old opcodes take it for a namespace at all: a database, a dot, something behind it.
bool is_namespace(std::string_view ns) {
    const catalog::Namespace parts = catalog::split(ns);
    return !parts.collection.empty() && catalog::valid_database_name(parts.db);
}

void check_length(std::string_view ns) {
    if (ns.size() > storage::kOldNameLimits.index_ns)
        base::fail(kNsTooLong, "ns name too long, max size is {} bytes",
                   storage::kOldNameLimits.index_ns);
}

// A name that updates and deletes refuse: checked before currentOp shows it.
void refuse_if_long(std::string_view ns) {
    if (ns.size() > storage::kOldNameLimits.ns)
        catalog::check_writable(ns, storage::kOldNameLimits);
}

// An operation that runs out of memory fails with an ordinary error.
template <typename Work>
auto within_memory(Work&& work) {
    try {
        return work();
    } catch (const std::bad_alloc& e) {
        throw base::Error(base::kExceededMemoryLimit, e.what());
    }
}

// A write by an old message, which has a code of its own for it.
void check_takes_old_write(const ServerContext& context, std::string_view ns,
                           wire::Opcode opcode) try {
    check_takes_writes(context, catalog::split(ns).db, dialect::kV26);
} catch (const base::Error& e) {
    switch (opcode) {
        case wire::Opcode::insert:
            base::fail(kInsertNotMaster, "{}", e.what());
        case wire::Opcode::update:
            base::fail(kUpdateNotMaster, "{}", e.what());
        default:
            base::fail(kDeleteNotMaster, "{}", e.what());
    }
}

}  // namespace

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
        admit_query(client_, query.ns);
        if (should_defer(client_, parts.db, false, query.query, "$maxTimeMS"))
            return wait_for_turn(reply);
        client_.last_error().next_request();
        service_.counters().query.fetch_add(1, std::memory_order_relaxed);
        client_.current().describe("query", query.ns, query.query);
        client_.report().to_return = query.to_return;
        client_.report().wants_stages = service_.profiler().level(parts.db) > 0;
        within_memory([&] {
            if (pseudo_query_v26(service_.contexts(), service_.fsync_lock(), client_, query, reply))
                return;
            check_takes_reads(service_.context(), parts.db,
                              (query.flags & wire::kSlaveOk) != 0 || allows_secondary(query.query),
                              dialect::kV26);
            query_v26(service_.opener(), service_.cursors(), service_.context().host, client_,
                      query, reply);
        });
        // A tailable cursor has no end: its client asks when it wants to look again.
        if ((query.flags & (wire::kExhaust | wire::kTailable)) == wire::kExhaust)
            exhaust_ns_ = query.ns;
    } catch (const wire::DecodeError&) {
        throw;
    } catch (const base::Error& e) {
        query_failure(reply, header, e);
        if (client_.report().has_request)
            base::log::info("{}", assertion_line(wire::peek_ns(message), client_.report()));
    }
    return {};
}

wire::Step ClientSession::serve_query_command(const wire::QueryMessage& query, std::string_view db,
                                              bson::Buffer& reply) {
    bson::Doc body = query.query;
    const bson::Element wrapped = body.first();
    if (wrapped.is_object() && (wrapped.name() == "$query" || wrapped.name() == "query")) {
        body = wrapped.as_doc();
        // A limit that were ignored would be none.
        if (query.query.has("$maxTimeMS"))
            return failed(base::kBadValue,
                          "a command takes no $maxTimeMS beside it; use its field maxTimeMS",
                          reply);
    }
    Invocation invocation{service_, client_, db, {}, body};
    invocation.secondary_ok = (query.flags & wire::kSlaveOk) != 0 || allows_secondary(query.query);
    wire::ReplyWriter writer(reply, query.header.request_id);
    writer.next_document();
    run_command(invocation, reply);
    invocation.settle();
    if (invocation.suspension.has_reply()) writer.finish(wire::ReplyWriter::kAwaitCapable, 0, 0);
    return suspend(std::move(invocation.suspension), reply);
}

wire::Step ClientSession::serve_get_more(std::span<const uint8_t> message, bson::Buffer& reply) {
    const wire::Header header = wire::read_header(message.data());
    const std::string_view ns = wire::peek_ns(message);
    if (should_defer(client_, catalog::split(ns).db, false)) return wait_for_turn(reply);
    if (!client_.data_wait().is_retry()) {
        client_.last_error().next_request();
        service_.counters().getmore.fetch_add(1, std::memory_order_relaxed);
    }
    try {
        // A name that is too long for any namespace is damage, which the decoder tells.
        if (ns.size() <= storage::kOldNameLimits.index_ns && !is_namespace(ns))
            base::fail(kInvalidGetMoreNs, "Invalid ns [{}]", ns);
        const wire::GetMoreMessage request = wire::decode_get_more(message);
        client_.current().describe("getmore", request.ns, bson::Doc());
        client_.report().has_request = false;
        if (within_memory(
                [&] { return get_more_v26(service_.cursors(), client_, request, reply); }))
            return suspend(Suspension::until_data(client_.data_wait().deadline()), reply);
    } catch (const wire::DecodeError&) {
        throw;
    } catch (const base::Error& e) {
        query_failure(reply, header, e);
    }
    return {};
}

wire::Step ClientSession::serve_write(std::span<const uint8_t> message, wire::Opcode opcode,
                                      bson::Buffer& reply) {
    const std::string_view ns = wire::peek_ns(message);
    if (should_defer(client_, catalog::split(ns).db, true)) return wait_for_turn(reply);
    client_.last_error().next_request();
    try {
        if (!is_namespace(ns)) base::fail(kInvalidWriteNs, "Invalid ns [{}]", ns);
        if (opcode == wire::Opcode::insert) {
            check_length(ns);
            const wire::InsertMessage insert = wire::decode_insert(message);
            admit_insert(client_, insert);
            client_.current().describe("insert", insert.ns, insert.documents.first());
            client_.report().has_request = false;
            check_takes_old_write(service_.context(), ns, opcode);
            within_memory(
                [&] { insert_v26(service_.opener(), service_.counters(), client_, insert); });
        } else if (opcode == wire::Opcode::update) {
            const wire::UpdateMessage update = wire::decode_update(message);
            admit_update(client_, update);
            refuse_if_long(ns);
            client_.current().describe("update", update.ns, update.selector);
            client_.report().update = update.update;
            client_.report().has_update = true;
            check_takes_old_write(service_.context(), ns, opcode);
            within_memory(
                [&] { update_v26(service_.opener(), service_.counters(), client_, update); });
        } else {
            const wire::DeleteMessage remove = wire::decode_delete(message);
            admit(client_, "remove", remove.ns, auth::action::remove);
            refuse_if_long(ns);
            client_.current().describe("remove", remove.ns, remove.selector);
            check_takes_old_write(service_.context(), ns, opcode);
            within_memory(
                [&] { delete_v26(service_.opener(), service_.counters(), client_, remove); });
        }
    } catch (const wire::DecodeError&) {
        throw;
    } catch (const base::Error& e) {
        client_.last_error().record_error(e.code(), e.what());
        client_.report().failed(e.code(), e.what());
        service_.asserts().user.fetch_add(1, std::memory_order_relaxed);
    }
    return {};
}

wire::Step ClientSession::serve_kill_cursors(std::span<const uint8_t> message) {
    try {
        kill_cursors_v26(service_.cursors(), client_, wire::decode_kill_cursors(message));
    } catch (const wire::DecodeError&) {
        throw;
    } catch (const base::Error& e) {
        base::log::info("killCursors: {}", e.what());
    }
    return {};
}

}  // namespace command
