// bulkWrite, of servers from 8.0 on: inserts, updates and removals in several collections by one
// command. The result of each operation is a document of a cursor.
#include <memory>
#include <optional>
#include <variant>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/families.h"
#include "command/commands/item_report.h"
#include "command/commands/request_expressions.h"
#include "command/commands/write_errors.h"
#include "command/commands/writes.h"
#include "command/cursor/batch.h"
#include "command/request/authorization.h"
#include "command/request/bind.h"
#include "command/request/fields_of_today.h"
#include "command/request/invocation.h"
#include "command/request/member_state.h"
#include "command/request/retryable_write.h"
#include "command/request/run_command.h"
#include "command/write/write_ops.h"
#include "dialect/dialect.h"
#include "oplog/statement.h"
#include "sched/interruption.h"
#include "sched/tick.h"

namespace command {

namespace {

// The cost of reading one operation.
constexpr int64_t kTicksPerOperation = 64;

struct BulkRequest {
    bool ordered = true;
    bool errors_only = false;
    Validation validation = Validation::asked;
    bool keeps_empty_timestamps = false;
    bson::Element let;
    bson::Element statement, statements;
};

constexpr Row<BulkRequest> kBulkRows[] = {
    required("ops", types::array),
    required("nsInfo", types::array),
    row<kBool, &BulkRequest::ordered>("ordered"),
    row<kBool, &BulkRequest::errors_only>("errorsOnly"),
    row<kValidation, &BulkRequest::validation>(kBypassValidation),
    row<lenient::flag, &BulkRequest::keeps_empty_timestamps>(kKeepsEmptyTimestamps),
    row<lenient::object_element, &BulkRequest::let>(kLet),
    Field{"cursor", types::object},
    row<kNumber, &BulkRequest::statement>("stmtId"),
    row<lenient::array_element, &BulkRequest::statements>("stmtIds"),
};
constexpr RequestTable kBulk(kBulkRows);

struct NamedTarget {
    bson::Element ns;
};
constexpr Reader<bson::Element> kText{types::string, as_it_came};
constexpr Row<NamedTarget> kTargetRows[] = {
    row<kText, &NamedTarget::ns>(required("ns", types::string)),
    refused("collectionUUID", "8.0"),
    refused("encryptionInformation", "8.0"),
};
constexpr RequestTable kTarget(kTargetRows);

struct InsertItem {
    bson::Element target, document;
};
constexpr Row<InsertItem> kInsertRows[] = {
    row<kNumber, &InsertItem::target>(required("insert", types::number)),
    row<lenient::object_element, &InsertItem::document>(required("document", types::object)),
};
constexpr RequestTable kInsert(kInsertRows);

struct BulkUpdate {
    bson::Element target;
    UpdateItem item;
};
constexpr Reader<bson::Element> kUpdateMods{types::object | types::array, as_it_came};
constexpr Row<BulkUpdate> kUpdateRows[] = {
    row<kNumber, &BulkUpdate::target>(required("update", types::number)),
    row<lenient::object_element, &BulkUpdate::item, &UpdateItem::query>(
        required("filter", types::object)),
    row<kUpdateMods, &BulkUpdate::item, &UpdateItem::update>(
        required("updateMods", kUpdateMods.types)),
    row<kBoolean, &BulkUpdate::item, &UpdateItem::multi>("multi"),
    row<kBoolean, &BulkUpdate::item, &UpdateItem::upsert>("upsert"),
    row<lenient::hint, &BulkUpdate::item, &UpdateItem::hint>("hint"),
    row<lenient::object_element, &BulkUpdate::item, &UpdateItem::sort>("sort"),
    row<lenient::array_element, &BulkUpdate::item, &UpdateItem::array_filters>("arrayFilters"),
    row<lenient::object_element, &BulkUpdate::item, &UpdateItem::collation>(kCollation),
    row<lenient::object_element, &BulkUpdate::item, &UpdateItem::constants>("constants"),
};
constexpr RequestTable kUpdate(kUpdateRows);

struct BulkDelete {
    bson::Element target, query, multi, hint, collation;
};
constexpr Row<BulkDelete> kDeleteRows[] = {
    row<kNumber, &BulkDelete::target>(required("delete", types::number)),
    row<lenient::object_element, &BulkDelete::query>(required("filter", types::object)),
    row<kBoolean, &BulkDelete::multi>("multi"),
    row<lenient::hint, &BulkDelete::hint>("hint"),
    row<lenient::object_element, &BulkDelete::collation>(kCollation),
};
constexpr RequestTable kDelete(kDeleteRows);

constexpr const char* kWhere = "bulkWrite.ops";

// Returns the place in nsInfo that an operation names by its first field. Throws base::Error 2.
size_t target_of(const bson::Element& target, size_t targets, int64_t index) {
    const int64_t place = target.is_number() ? target.to_int64() : -1;
    if (place < 0 || static_cast<size_t>(place) >= targets)
        base::fail(base::kBadValue, "BulkWrite ops entry {} has an invalid nsInfo index.", index);
    return static_cast<size_t>(place);
}

// The collections of nsInfo, by their places. Throws base::Error 14, 40414, 40415.
std::vector<std::string> read_targets(const Invocation& invocation) {
    std::vector<std::string> out;
    invocation.each_document("nsInfo", sched::ticking([&](bson::Doc each) {
                                 NamedTarget target;
                                 kTarget.read(each, "bulkWrite.nsInfo", invocation.dialect(),
                                              target);
                                 out.emplace_back(target.ns.as_string());
                             }));
    return out;
}

struct Operation {
    bson::Doc item;  // as it was sent
    size_t target = 0;
    // The document of an insert, or the request.
    std::variant<bson::Doc, UpdateRequest, DeleteRequest> work;
};

class BulkWrite {
  public:
    explicit BulkWrite(Invocation& invocation)
        : invocation_(invocation),
          client_(invocation.client),
          service_(invocation.service),
          history_(invocation.client, invocation.turn) {
        kBulk.bind(invocation.given, invocation.dialect(), request_);
        batch_size_ = invocation.batch_size(-1);
        targets_ = read_targets(invocation);
        check_targets();
        expressions_.emplace(invocation.dialect(), request_.let, nullptr);
        invocation.each_document("ops", [this](bson::Doc each) { parse(each); });
        check_operations();
    }

    void run() {
        for (size_t i = 0; i < operations_.size() && !stopped_; ++i) {
            sched::tick(kTicksPerOperation);
            const auto index = static_cast<int32_t>(i);
            const Operation& operation = operations_[i];
            if (!std::holds_alternative<bson::Doc>(operation.work)) insert_lock_.reset();
            const bool profiled = is_profiled(operation);
            ItemReport item(service_.profiler(), client_, kind_of(operation),
                            targets_[operation.target], operation.item);
            try {
                run(operation, index);
                ++succeeded_;
            } catch (const base::Error& e) {
                item.report().failed(e.code(), e.what());
                failed(operation, index, e);
            }
            if (profiled) insert_lock_.reset();
        }
        insert_lock_.reset();
        reply();
    }

  private:
    void check_targets() const {
        for (const std::string& ns : targets_) {
            const catalog::Namespace parts = catalog::split(ns);
            if (!catalog::valid_database_name(parts.db) ||
                !catalog::valid_collection_name(parts.db, parts.collection,
                                                service_.engine().name_limits()) ||
                ns.find('\0') != std::string::npos)
                base::fail(base::kInvalidNamespace,
                           "Invalid namespace specified for bulkWrite: '{}'", ns);
            catalog::refuse_leading_dot(parts.collection);
            check_takes_writes(service_.context(), parts.db, invocation_.dialect());
            service_.opener().open_again(parts.db);
        }
    }

    // Throws what is wrong with the request as a whole: nothing is done then.
    void check_operations() const {
        const int64_t most = service_.context().max_write_batch;
        const auto count = static_cast<int64_t>(operations_.size());
        if (count < 1 || count > most)
            base::fail(base::kInvalidLength,
                       "Write batch sizes must be between 1 and {}. Got {} operations.", most,
                       count);
        if (invocation_.turn == nullptr) return;
        if (request_.statements &&
            request_.statements.as_doc().field_count() != static_cast<int32_t>(count))
            base::fail(base::kInvalidLength,
                       "The number of statement ids must match the number of operations: there are "
                       "{}",
                       count);
        for (const Operation& operation : operations_) {
            const auto* update = std::get_if<UpdateRequest>(&operation.work);
            const auto* removal = std::get_if<DeleteRequest>(&operation.work);
            if ((update != nullptr && update->multi) || (removal != nullptr && !removal->just_one))
                base::fail(base::kInvalidOptions,
                           "Cannot use retryable writes with multi=true in bulkWrite");
        }
    }

    void parse(bson::Doc each) {
        sched::tick();
        const auto index = static_cast<int64_t>(operations_.size());
        const dialect::Dialect dialect = invocation_.dialect();
        const std::string_view kind = each.first().name();
        Operation operation;
        if (kind == "insert") {
            InsertItem item;
            kInsert.read(each, kWhere, dialect, item);
            operation = {each, target_of(item.target, targets_.size(), index),
                         item.document.as_doc()};
            const std::string& ns = targets_[operation.target];
            catalog::check_insertable(ns, service_.engine().name_limits(),
                                      catalog::code_of_bad_name(dialect));
            if (catalog::split(ns).collection == "system.indexes")
                base::fail(base::kInvalidNamespace,
                           "bulkWrite makes no indexes: use createIndexes");
        } else if (kind == "update") {
            BulkUpdate item;
            kUpdate.read(each, kWhere, dialect, item);
            UpdateRequest update = make_update_request(item.item, dialect);
            update.validation = request_.validation;
            update.keeps_empty_timestamps = request_.keeps_empty_timestamps;
            update.expressions = expressions_->get();
            operation = {each, target_of(item.target, targets_.size(), index), std::move(update)};
        } else if (kind == "delete") {
            BulkDelete item;
            kDelete.read(each, kWhere, dialect, item);
            DeleteRequest removal;
            removal.query = item.query.as_doc();
            removal.hint = item.hint;
            removal.collator = named_collator(item.collation, dialect);
            removal.just_one = !item.multi.truthy();
            operation = {each, target_of(item.target, targets_.size(), index), std::move(removal)};
        } else {
            base::fail(base::kFailedToParse,
                       "Unrecognized bulkWrite operation '{}': the first field has to be insert, "
                       "update or delete",
                       kind);
        }
        operations_.push_back(std::move(operation));
    }

    static const char* kind_of(const Operation& operation) {
        if (std::holds_alternative<bson::Doc>(operation.work)) return "insert";
        return std::holds_alternative<UpdateRequest>(operation.work) ? "update" : "remove";
    }
    // Whether a line may be kept of it, under a lock of its own.
    bool is_profiled(const Operation& operation) const {
        const std::string_view db = catalog::split(targets_[operation.target]).db;
        return service_.profiler().level(db) > 0;
    }

    int32_t statement_of(int32_t index) const {
        if (request_.statements)
            return request_.statements
                .as_doc()[bson::IndexName(static_cast<uint32_t>(index)).view()]
                .to_int32();
        return (request_.statement ? request_.statement.to_int32() : 0) + index;
    }

    void run(const Operation& operation, int32_t index) {
        const std::string& ns = targets_[operation.target];
        const int32_t statement = statement_of(index);
        if (const auto* document = std::get_if<bson::Doc>(&operation.work))
            return insert(ns, *document, index, statement);
        DCHECK(insert_lock_ == nullptr);  // the others take their own
        if (const auto* update = std::get_if<UpdateRequest>(&operation.work))
            return this->update(ns, *update, index, statement);
        remove(ns, std::get<DeleteRequest>(operation.work), index, statement);
    }

    // Inserts that follow each other into one collection have one lock.
    void insert(const std::string& ns, bson::Doc document, int32_t index, int32_t statement) {
        if (!insert_lock_ || insert_lock_->ns() != ns) {
            insert_lock_.reset();
            insert_lock_ =
                std::make_unique<CollectionLock>(client_, ns, storage::Access::documents);
            under_lock_ = 0;
        }
        yield_before_insert(*insert_lock_, under_lock_++, document);
        if (!is_done(invocation_.turn, statement, 'i')) {
            const oplog::Statement mark(invocation_.turn, statement);
            const CountedOp counted(service_.counters().insert, client_.report());
            insert_document(*insert_lock_, document, client_.scratch(), invocation_.dialect(),
                            request_.validation, !request_.keeps_empty_timestamps);
            service_.metrics().inserted.fetch_add(1, std::memory_order_relaxed);
            client_.last_error().record_insert();
            client_.report().inserted = 1;
        }
        ++inserted_;
        if (!request_.errors_only) done(index, 1);
    }

    void update(const std::string& ns, const UpdateRequest& request, int32_t index,
                int32_t statement) {
        const CountedOp counted(service_.counters().update, client_.report());
        const UpdateOutcome outcome = update_once(invocation_, ns, history_, request, statement);
        DCHECK(outcome.modified <= outcome.matched);
        report_update(client_.report(), outcome);
        matched_ += outcome.matched;
        modified_ += outcome.modified;
        upserted_ += outcome.upserted.empty() ? 0 : 1;
        client_.last_error().record_update(outcome.existing(), outcome.n(), outcome.upserted);
        if (request_.errors_only) return;
        bson::Builder told = result(1.0, index);
        append_count(told, "n", outcome.n());
        append_count(told, "nModified", outcome.modified);
        if (!outcome.upserted.empty()) {
            bson::Builder upserted = told.sub_object("upserted");
            upserted.append_as("_id", outcome.upserted.doc().first());
        }
        results_->add(told.doc());
    }

    void remove(const std::string& ns, const DeleteRequest& request, int32_t index,
                int32_t statement) {
        const CountedOp counted(service_.counters().remove, client_.report());
        const int64_t removed =
            delete_once(invocation_, ns, request, expressions_->get(), statement);
        DCHECK(removed <= 1 || !request.just_one);
        client_.report().deleted = removed;
        removed_ += removed;
        client_.last_error().record_delete(removed);
        if (!request_.errors_only) done(index, removed);
    }

    // A write that another server may be able to do fails as a whole, and an interruption ends the
    // rest, as in the other write commands.
    void failed(const Operation& operation, int32_t index, const base::Error& error) {
        if (is_worth_a_retry(error.code())) throw base::Error(error);
        stopped_ =
            ends_transaction(client_, error) || request_.ordered || sched::is_interruption(error);
        client_.last_error().record_error(error.code(), error.what());
        service_.asserts().user.fetch_add(1, std::memory_order_relaxed);
        bson::Builder out = result(0.0, index);
        errors_.tell(for_client(invocation_, error), out);
        out.append("n", int32_t{0});
        if (std::holds_alternative<UpdateRequest>(operation.work))
            out.append("nModified", int32_t{0});
        results_->add(out.doc());
    }

    static bson::Builder result(double ok, int32_t index) {
        bson::Builder out;
        out.append("ok", ok).append("idx", index);
        return out;
    }
    void done(int32_t index, int64_t count) {
        bson::Builder out = result(1.0, index);
        append_count(out, "n", count);
        results_->add(out.doc());
    }
    static void append_count(bson::Builder& out, std::string_view name, int64_t count) {
        if (count <= INT32_MAX)
            out.append(name, static_cast<int32_t>(count));
        else
            out.append(name, count);
    }

    void reply() {
        invocation_.skip_concern = errors_.count() > 0 && succeeded_ == 0;
        client_.report().inserted = inserted_;
        client_.report().deleted = removed_;
        DCHECK(errors_.count() + succeeded_ <= static_cast<int64_t>(operations_.size()));
        auto cursor = std::make_unique<Cursor>();
        cursor->ns = "admin.$cmd.bulkWrite";
        cursor->source = std::move(results_);
        reply_with_cursor(service_.cursors(), client_, std::move(cursor), batch_size_,
                          *invocation_.reply);
        const std::pair<std::string_view, int64_t> counts[] = {
            {"nErrors", errors_.count()}, {"nInserted", inserted_}, {"nMatched", matched_},
            {"nModified", modified_},     {"nUpserted", upserted_}, {"nDeleted", removed_},
        };
        for (const auto& [name, count] : counts)
            append_count(*invocation_.reply, name, count);
    }

    Invocation& invocation_;
    Client& client_;
    Service& service_;
    WriteHistory history_;
    BulkRequest request_;
    int64_t batch_size_ = -1;
    std::vector<std::string> targets_;
    std::optional<RequestExpressions> expressions_;
    sched::Vector<Operation> operations_;
    std::unique_ptr<CollectionLock> insert_lock_;
    int64_t under_lock_ = 0;
    bool stopped_ = false;
    WriteErrors errors_;
    int64_t succeeded_ = 0;
    int64_t inserted_ = 0, matched_ = 0, modified_ = 0, upserted_ = 0, removed_ = 0;
    std::unique_ptr<ListSource> results_ = std::make_unique<ListSource>();
};

void run_bulk_write(Invocation& invocation) {
    if (invocation.msg == nullptr)
        base::fail(base::kCommandNotFound, "no such cmd: {}", invocation.name);
    BulkWrite(invocation).run();
}

// The command itself reports what is malformed, before anything is done.
bool may_bulk_write(const Invocation& invocation, const Rights& rights) {
    if (!rights.logged_in()) return false;
    if (invocation.count_documents("ops") < 0 || invocation.count_documents("nsInfo") < 0)
        return true;
    std::vector<std::string_view> targets;
    invocation.each_document("nsInfo", [&](bson::Doc each) {
        const bson::Element ns = each["ns"];
        targets.push_back(ns.is_string() ? ns.as_string() : std::string_view());
    });
    bool may = true;
    invocation.each_document("ops", sched::ticking([&](bson::Doc each) {
                                 const bson::Element first = each.first();
                                 const int64_t place = first.is_number() ? first.to_int64() : -1;
                                 if (place < 0 || static_cast<size_t>(place) >= targets.size())
                                     return;
                                 auth::Actions actions = auth::action::remove;
                                 if (first.name() == "insert") actions = auth::action::insert;
                                 if (first.name() == "update") actions = auth::action::update;
                                 if (first.name() == "update" && each["upsert"].truthy())
                                     actions |= auth::action::insert;
                                 may =
                                     may && rights.on(targets[static_cast<size_t>(place)], actions);
                             }));
    return may;
}

constexpr Command kCommands[] = {
    {"bulkWrite", "", kAdminOnly | kNotCounted | kRetryable | kInTransaction, LockKind::write,
     "{ bulkWrite: 1, ops: [ { insert | update | delete: place in nsInfo, ... } ], nsInfo: [ { ns "
     "} ], ordered, errorsOnly, let, cursor }",
     run_bulk_write, needs::decided(may_bulk_write), kBulk.fields()},
};

}  // namespace

Family bulk_write_commands() {
    return kCommands;
}

}  // namespace command
