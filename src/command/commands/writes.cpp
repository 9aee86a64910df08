// insert, update, delete (wire spec 3.3 to 3.5).
#include "command/commands/writes.h"

#include <memory>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/families.h"
#include "command/commands/indexes.h"
#include "command/commands/item_report.h"
#include "command/commands/projection_of_today.h"
#include "command/commands/request_expressions.h"
#include "command/commands/write_errors.h"
#include "command/commands/write_history.h"
#include "command/request/authorization.h"
#include "command/request/bind.h"
#include "command/request/fields_of_today.h"
#include "command/request/invocation.h"
#include "command/request/retryable_write.h"
#include "command/request/run_command.h"
#include "command/write/write_ops.h"
#include "dialect/collections.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "dialect/updates.h"
#include "oplog/statement.h"
#include "query/stage/update_pipeline.h"
#include "sched/interruption.h"

namespace command {

namespace {

constexpr int kBadNewName = 17246;
constexpr int kConstantsWithoutPipeline = 51198;
// The ticks for reading an update or a delete and refusing it (sched/tick.h).
constexpr int64_t kTicksPerItem = 64;

// The fields of the three commands beside their items.
struct WriteRequest {
    bool ordered = true;
    Validation validation = Validation::asked;
    bool keeps_empty_timestamps = false;
    bson::Element let;
};

constexpr Row<WriteRequest> kInsertRows[] = {
    required("documents", types::array),
    row<kBool, &WriteRequest::ordered>("ordered"),
    row<kValidation, &WriteRequest::validation>(kBypassValidation),
    row<lenient::flag, &WriteRequest::keeps_empty_timestamps>(kKeepsEmptyTimestamps),
    refused("encryptionInformation", "6.0"),
    refused("let", "5.0"),
    refused("collation", "3.4"),
    refused("arrayFilters", "3.6"),
};
constexpr RequestTable kInsert(kInsertRows);

constexpr Row<WriteRequest> kUpdateRows[] = {
    required("updates", types::array),
    row<kBool, &WriteRequest::ordered>("ordered"),
    row<kValidation, &WriteRequest::validation>(kBypassValidation),
    row<lenient::flag, &WriteRequest::keeps_empty_timestamps>(kKeepsEmptyTimestamps),
    refused("encryptionInformation", "6.0"),
    row<lenient::object_element, &WriteRequest::let>(kLet),
    refused("collation", "3.4"),
    refused("arrayFilters", "3.6"),
};
constexpr RequestTable kUpdate(kUpdateRows);

constexpr Row<WriteRequest> kDeleteRows[] = {
    required("deletes", types::array),
    row<kBool, &WriteRequest::ordered>("ordered"),
    refused("encryptionInformation", "6.0"),
    row<lenient::object_element, &WriteRequest::let>(kLet),
    refused("collation", "3.4"),
    refused("arrayFilters", "3.6"),
};
constexpr RequestTable kDelete(kDeleteRows);

// The parts that the three commands share: checks before, bookkeeping per item, the reply.
class WriteBatch {
  public:
    WriteBatch(Invocation& invocation, std::string_view items, const auto& table)
        : invocation_(invocation), client_(invocation.client), ns_(target()) {
        table.bind(invocation.given, invocation.dialect(), request_);
        check(items);
    }

    const std::string& ns() const { return ns_; }
    const WriteRequest& request() const { return request_; }
    bool stopped() const { return stopped_; }
    int64_t next_index() {
        DCHECK(!stopped_);
        return index_++;
    }

    // A write that another server may be able to do fails as a whole: today's drivers then look for
    // that server, and send again what is numbered.
    void failed(int64_t index, const base::Error& error) {
        DCHECK(!stopped_ && index + 1 == index_);
        if (invocation_.dialect().has(dialect::kLostWritesFail) && is_worth_a_retry(error.code()))
            throw base::Error(error);
        if (ends_transaction(client_, error)) stopped_ = true;
        bson::Builder entry = told_.sub_object(told_.next().view());
        entry.append("index", static_cast<int32_t>(index));
        errors_.tell(for_client(invocation_, error), entry);
        entry.finish();
        client_.last_error().record_error(error.code(), error.what());
        invocation_.service.asserts().user.fetch_add(1, std::memory_order_relaxed);
        if (request_.ordered || sched::is_interruption(error)) stopped_ = true;
    }

    // The items done before an error count as done: they are as durable as was asked for.
    void finish(int64_t succeeded) {
        DCHECK(succeeded <= index_ && errors_.count() <= index_);
        invocation_.skip_concern = errors_.count() > 0 && succeeded == 0;
        if (!bare_reply() && errors_.count() > 0)
            invocation_.reply->append_array("writeErrors", told_.doc());
    }
    // { w: 0 } asks for no details.
    bool bare_reply() const { return invocation_.concern.unacknowledged(); }

  private:
    void check(std::string_view items) const {
        // An item that is no document fails the whole command before the first item is done.
        int64_t count = 0;
        invocation_.each_document(items, [&count](bson::Doc) { ++count; });
        if (count == 0) base::fail(base::kInvalidLength, "no write ops were included in the batch");
        if (count > invocation_.service.context().max_write_batch)
            base::fail(base::kInvalidLength,
                       "exceeded maximum write batch size of {}: {} items are too many",
                       invocation_.service.context().max_write_batch, count);
        const int bad_name = catalog::code_of_bad_name(invocation_.dialect());
        const storage::NameLimits& limits = invocation_.service.engine().name_limits();
        if (invocation_.name == "insert") {
            catalog::check_insertable(ns_, limits, bad_name);
            // The old messages that write, and `create`, take such names.
            if (catalog::split(ns_).collection.front() == '.')
                base::fail(kBadNewName, "Invalid namespace [{}]", ns_);
        } else {
            catalog::check_writable(ns_, limits, bad_name);
        }
    }

    std::string target() const {
        const bson::Element collection = invocation_.first();
        if (!collection.is_string() && !invocation_.dialect().has(dialect::kNamesAreNeeded))
            base::fail(base::kFailedToParse, "wrong type for '{}' field, expected a string",
                       invocation_.name);
        return invocation_.ns();
    }

    Invocation& invocation_;
    Client& client_;
    const std::string ns_;
    WriteRequest request_;
    bool stopped_ = false;
    int64_t index_ = 0;
    WriteErrors errors_;
    bson::Builder told_;  // of them; built only when something failed
};

bson::Doc document_field(const bson::Element& e, std::string_view field) {
    if (e.missing()) base::fail(base::kFailedToParse, "missing {} field", field);
    if (!e.is_object())
        base::fail(base::kFailedToParse, "wrong type for '{}' field, expected object", field);
    return e.as_doc();
}

// Index definitions come one by one; those that name no collection of this database fail the whole
// command.
void check_index_targets(const Invocation& invocation) {
    if (invocation.count_documents("documents") > 1)
        base::fail(base::kInvalidOptions,
                   "invalid batch request for index creation: one definition "
                   "at a time, or the command createIndexes");
    invocation.each_document("documents", [&invocation](bson::Doc spec) {
        const bson::Element ns = spec["ns"];
        if (!ns.is_string() || catalog::split(ns.as_string()).db != invocation.db)
            base::fail(base::kInvalidOptions,
                       "an index definition needs the name of a collection of database {}",
                       invocation.db);
        invocation.name_in(ns);
        if (invocation.dialect().has(dialect::kIndexDefinitionsAreChecked)) check_definition(spec);
    });
}

// Returns the access that an insert needs: each document of an old message is an operation of its
// own, which the profiler writes down under the same lock.
storage::Access access_of(const Invocation& invocation) {
    const bool profiled = !invocation.dialect().has(dialect::kProfileShowsCommands) &&
                          invocation.service.profiler().level(invocation.db) > 0;
    return profiled ? storage::Access::all : storage::Access::documents;
}

void run_insert(Invocation& invocation) {
    WriteBatch batch(invocation, "documents", kInsert);
    if (catalog::split(batch.ns()).collection == "system.indexes") check_index_targets(invocation);
    Service& service = invocation.service;
    Client& client = invocation.client;
    bson::Buffer& scratch = client.scratch();
    int64_t inserted = 0;
    int64_t done_before = 0;  // when the same came for the first time
    {
        CollectionLock lock(client, batch.ns(), access_of(invocation));
        invocation.each_document("documents", [&](bson::Doc doc) {
            if (batch.stopped()) return;
            const int64_t index = batch.next_index();
            const auto number = static_cast<int32_t>(index);
            // A command that came by OP_MSG is reported itself.
            std::optional<ItemReport> item;
            if (!invocation.dialect().has(dialect::kProfileShowsCommands))
                item.emplace(service.profiler(), client, "insert", batch.ns(), doc);
            try {
                yield_before_insert(lock, index, doc);
                if (is_done(invocation.turn, number, 'i')) {
                    ++done_before;
                    return;
                }
                const oplog::Statement statement(invocation.turn, number);
                const CountedOp counted(service.counters().insert, client.report());
                const int64_t count = insert_document(lock, doc, scratch, invocation.dialect(),
                                                      batch.request().validation,
                                                      !batch.request().keeps_empty_timestamps);
                DCHECK(count == 0 || count == 1);
                inserted += count;
                client.report().inserted = item ? count : inserted;
                client.last_error().record_insert();
            } catch (const base::Error& e) {
                client.report().failed(e.code(), e.what());
                batch.failed(index, e);
            }
        });
    }
    service.metrics().inserted.fetch_add(inserted, std::memory_order_relaxed);
    const int64_t n = inserted + done_before;
    if (!batch.bare_reply()) invocation.reply->append("n", static_cast<int32_t>(n));
    batch.finish(n);
}

constexpr Reader<bson::Element> kDocument{types::object, as_it_came};
constexpr Reader<bson::Element> kAnyUpdate{types::object | types::array, as_it_came};

constexpr Row<UpdateItem> kUpdateItemRows[] = {
    row<kDocument, &UpdateItem::query>(required("q", types::object)),
    row<kAnyUpdate, &UpdateItem::update>(required("u", kAnyUpdate.types)),
    row<kBoolean, &UpdateItem::upsert>("upsert"),
    row<kBoolean, &UpdateItem::multi>("multi"),
    row<lenient::hint, &UpdateItem::hint>("hint"),
    row<lenient::array_element, &UpdateItem::array_filters>("arrayFilters"),
    row<lenient::object_element, &UpdateItem::collation>(kCollation),
    row<lenient::object_element, &UpdateItem::sort>(of_today("sort", types::object, "8.0")),
    row<lenient::object_element, &UpdateItem::constants>(of_today("c", types::object, "4.2")),
};
constexpr RequestTable kUpdateItem(kUpdateItemRows);

[[noreturn]] void refuse_to_retry(const char* why) {
    base::fail(base::kInvalidOptions, "Cannot use (or request) retryable writes with {}", why);
}

void run_update(Invocation& invocation) {
    WriteBatch batch(invocation, "updates", kUpdate);
    Service& service = invocation.service;
    Client& client = invocation.client;
    sched::Vector<UpdateRequest> requests;
    const RequestExpressions expressions(invocation.dialect(), batch.request().let, nullptr);
    invocation.each_document("updates", [&](bson::Doc item) {
        requests.push_back(parse_update_item(item, invocation.dialect()));
        requests.back().validation = batch.request().validation;
        requests.back().keeps_empty_timestamps = batch.request().keeps_empty_timestamps;
        requests.back().expressions = expressions.get();
    });
    int64_t n = 0;
    int64_t modified = 0;
    int64_t succeeded = 0;
    bson::Builder upserted;
    int64_t upserts = 0;
    WriteHistory history(client, invocation.turn);
    for (const UpdateRequest& request : requests) {
        if (batch.stopped()) break;
        const int64_t index = batch.next_index();
        ItemReport item(service.profiler(), client, "update", batch.ns(),
                        invocation.dialect().has(dialect::kProfileShowsCommands) ? request.item
                                                                                 : request.query);
        item.report().update = request.update;
        item.report().has_update = !invocation.dialect().has(dialect::kProfileShowsCommands);
        try {
            sched::tick(kTicksPerItem);
            const CountedOp counted(service.counters().update, client.report());
            const UpdateOutcome outcome =
                update_once(invocation, batch.ns(), history, request, static_cast<int32_t>(index));
            DCHECK(request.multi || outcome.n() <= 1);
            report_update(item.report(), outcome);
            n += outcome.n();
            modified += outcome.modified;
            ++succeeded;
            client.last_error().record_update(outcome.existing(), outcome.n(), outcome.upserted);
            if (outcome.upserted.empty()) continue;
            ++upserts;
            bson::Builder entry = upserted.sub_object(upserted.next().view());
            entry.append("index", static_cast<int32_t>(index))
                .append_as("_id", outcome.upserted.doc().first());
        } catch (const base::Error& e) {
            item.report().failed(e.code(), e.what());
            batch.failed(index, e);
        }
    }
    if (!batch.bare_reply()) {
        invocation.reply->append("nModified", static_cast<int32_t>(modified))
            .append("n", static_cast<int32_t>(n));
        if (upserts > 0) invocation.reply->append_array("upserted", upserted.doc());
    }
    batch.finish(succeeded);
}

struct DeleteItem {
    bson::Element query, limit, hint, collation;
};

constexpr Row<DeleteItem> kDeleteItemRows[] = {
    row<kDocument, &DeleteItem::query>(required("q", types::object)),
    row<kNumber, &DeleteItem::limit>(required("limit", types::number)),
    row<lenient::hint, &DeleteItem::hint>("hint"),
    row<lenient::object_element, &DeleteItem::collation>(kCollation),
};
constexpr RequestTable kDeleteItem(kDeleteItemRows);

DeleteRequest parse_delete(bson::Doc document, dialect::Dialect dialect) {
    DeleteItem item;
    kDeleteItem.read(document, "delete.deletes", dialect, item);
    DeleteRequest request;
    request.item = document;
    request.query = document_field(item.query, "q");
    if (item.limit.missing()) base::fail(base::kFailedToParse, "missing limit field");
    if (!item.limit.is_number())
        base::fail(base::kFailedToParse, "wrong type for 'limit' field, expected a number");
    if (dialect.has(dialect::kRemovalsAreChecked) && item.limit.to_double() != 0 &&
        item.limit.to_double() != 1)
        base::fail(base::kFailedToParse, "The limit field in delete objects must be 0 or 1. Got {}",
                   item.limit.to_double());
    // Cut to 32 bits: 1 removes one document, anything else all.
    request.just_one = static_cast<int32_t>(item.limit.to_int64()) == 1;
    request.hint = item.hint;
    request.collator = named_collator(item.collation, dialect);
    return request;
}

void run_delete(Invocation& invocation) {
    WriteBatch batch(invocation, "deletes", kDelete);
    Service& service = invocation.service;
    Client& client = invocation.client;
    sched::Vector<DeleteRequest> requests;
    const RequestExpressions expressions(invocation.dialect(), batch.request().let, nullptr);
    invocation.each_document("deletes", [&](bson::Doc item) {
        requests.push_back(parse_delete(item, invocation.dialect()));
    });
    int64_t n = 0;
    int64_t succeeded = 0;
    for (const DeleteRequest& request : requests) {
        if (batch.stopped()) break;
        const int64_t index = batch.next_index();
        ItemReport item(service.profiler(), client, "remove", batch.ns(),
                        invocation.dialect().has(dialect::kProfileShowsCommands) ? request.item
                                                                                 : request.query);
        try {
            sched::tick(kTicksPerItem);
            const CountedOp counted(service.counters().remove, client.report());
            const int64_t removed = delete_once(invocation, batch.ns(), request, expressions.get(),
                                                static_cast<int32_t>(index));
            item.report().deleted = removed;
            n += removed;
            ++succeeded;
            client.last_error().record_delete(removed);
        } catch (const base::Error& e) {
            item.report().failed(e.code(), e.what());
            batch.failed(index, e);
        }
    }
    if (!batch.bare_reply()) invocation.reply->append("n", static_cast<int32_t>(n));
    batch.finish(succeeded);
}

std::string_view target_of(const Invocation& invocation) {
    const bson::Element target = invocation.first();
    return target.is_string() ? target.as_string() : std::string_view();
}

// Inserting into system.indexes is making indexes.
bool may_insert(const Invocation& invocation, const Rights& rights) {
    const std::string_view collection = target_of(invocation);
    if (!rights.logged_in()) return false;
    if (collection != "system.indexes")
        return rights.on(invocation.db, collection, auth::action::insert);
    bool may = true;
    invocation.each_document("documents",
                             [&](bson::Doc spec) { may = may && may_make_index(rights, spec); });
    return may;
}

bool may_update(const Invocation& invocation, const Rights& rights) {
    if (!rights.logged_in()) return false;
    auth::Actions actions = auth::action::update;
    invocation.each_document("updates", [&](bson::Doc item) {
        if (item["upsert"].truthy()) actions |= auth::action::insert;
    });
    return rights.on(invocation.db, target_of(invocation), actions);
}

constexpr Command kCommands[] = {
    {"insert", "", kNotCounted | kRetryable | kInTransaction, LockKind::write,
     "{ insert: collection, documents: [ ... ], ordered: bool, writeConcern: {} }", run_insert,
     needs::decided(may_insert), kInsert.fields()},
    {"update", "", kNotCounted | kRetryable | kInTransaction, LockKind::write,
     "{ update: collection, updates: [ { q, u, multi, upsert } ], ordered: bool }", run_update,
     needs::decided(may_update), kUpdate.fields()},
    {"delete", "", kNotCounted | kRetryable | kInTransaction, LockKind::write,
     "{ delete: collection, deletes: [ { q, limit } ], ordered: bool }", run_delete,
     needs::on_collection(auth::action::remove), kDelete.fields()},
};

}  // namespace

bool read_bool(const bson::Element& e, dialect::Dialect) {
    if (e.type() != bson::Type::boolean)
        base::fail(base::kFailedToParse, "wrong type for '{}' field, expected bool", e.name());
    return e.as_bool();
}

UpdateOutcome update_once(Invocation& invocation, const std::string& ns, WriteHistory& history,
                          const UpdateRequest& request, int32_t statement) {
    if (invocation.turn == nullptr) return update_documents(invocation.client, ns, request);
    if (request.multi) refuse_to_retry("multi=true");
    if (auto outcome = history.update(statement)) return std::move(*outcome);
    const oplog::Statement mark(invocation.turn, statement);
    return update_documents(invocation.client, ns, request);
}

int64_t delete_once(Invocation& invocation, const std::string& ns, const DeleteRequest& request,
                    const query::FilterExpressions* expressions, int32_t statement) {
    if (invocation.turn != nullptr && !request.just_one) refuse_to_retry("limit=0");
    if (is_done(invocation.turn, statement, 'd')) return 1;
    const oplog::Statement mark(invocation.turn, statement);
    return delete_documents(invocation.client, ns, request.query, request.hint, request.just_one,
                            expressions, request.collator);
}

Fields update_item_fields() {
    return kUpdateItem.fields();
}

UpdateRequest make_update_request(const UpdateItem& item, dialect::Dialect dialect) {
    DCHECK(item.query.is_object() && (item.update.is_object() || item.update.is_array()));
    UpdateRequest request;
    request.query = item.query.as_doc();
    refuse_pipeline(item.update, dialect);
    request.by_pipeline = item.update.is_array();
    request.update = item.update.as_doc();
    if (request.by_pipeline) query::check_stage_names(request.update);
    request.multi = item.multi && read_bool(item.multi, dialect);
    request.upsert = item.upsert && read_bool(item.upsert, dialect);
    request.dialect = dialect;
    request.hint = item.hint;
    request.array_filters = read_array_filters(item.array_filters, dialect);
    request.collator = named_collator(item.collation, dialect);
    if (!dialect.has(dialect::kUpdatesByPipeline)) return request;
    if (item.sort) request.sort = item.sort.as_doc();
    if (item.sort && request.multi)
        base::fail(base::kFailedToParse, "Cannot specify sort with multi=true");
    check_sort_of_today(request.sort, request.query);
    request.constants = item.constants;
    if (!request.by_pipeline && request.constants)
        base::fail(kConstantsWithoutPipeline,
                   "Constant values may only be specified for pipeline updates");
    return request;
}

UpdateRequest parse_update_item(bson::Doc document, dialect::Dialect dialect) {
    UpdateItem item;
    kUpdateItem.read(document, "update.updates", dialect, item);
    document_field(item.query, "q");
    refuse_pipeline(item.update, dialect);
    if (!item.update.is_array()) document_field(item.update, "u");
    UpdateRequest request = make_update_request(item, dialect);
    request.item = document;
    return request;
}

Fields delete_item_fields() {
    return kDeleteItem.fields();
}

Family write_commands() {
    return kCommands;
}

}  // namespace command
