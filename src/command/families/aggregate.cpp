#include "command/families/aggregate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/blocking.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/operation.h"
#include "bson/validate.h"
#include "catalog/collation.h"
#include "command/batch.h"
#include "command/families/families.h"
#include "command/families/server_stages.h"
#include "command/gate.h"
#include "command/locks.h"
#include "command/query_cursors.h"
#include "options/general.h"
#include "query/aggregation/pipeline.h"
#include "query/plan/explain.h"
#include "query/update/update.h"

namespace command {

namespace {

constexpr int kDocumentTooLarge = 10334;
constexpr int kResultTooLarge = 16389;
// Of a first batch: a document that would exceed it goes into the next one.
constexpr int64_t kFirstBatchBytes = 4 * 1024 * 1024;
// What it costs to store a document (base/operation.h).
constexpr int64_t kTicksPerDocument = 8;
constexpr int32_t kBytesPerTick = 256;

struct Request {
    std::string ns;  // "db.$cmd.aggregate" for { aggregate: 1 }
    bool whole_database = false;
    bson::Object stages;
    bool explain = false;
    bool as_cursor = false;
    int64_t batch_size = kFirstBatchDocuments;
    bool allow_disk_use = false;
    bson::Element hint;
};

void take_cursor(const bson::Element& cursor, Request& out) {
    if (!cursor.is_object()) base::fail(16954, "cursor field must be missing or an object");
    out.as_cursor = true;
    for (const bson::Element& e : cursor.as_doc()) {
        if (e.name() != "batchSize")
            base::fail(16955, "cursor object can't contain fields other than batchSize");
        if (!e.is_number()) base::fail(16956, "cursor.batchSize must be a number");
        if (e.to_int64() < 0) base::fail(16957, "Cursor batchSize must not be negative");
        out.batch_size = e.to_int64();
    }
}

void refuse_unless_simple(const bson::Element& collation) {
    if (!collation.is_object()) base::fail(base::kTypeMismatch, "'collation' must be a document");
    if (catalog::asks_for_collation(collation))
        base::fail(base::kInvalidOptions, "'collation' is not supported by this server");
}

Request parse(const Invocation& invocation) {
    Request out;
    const bson::Element target = invocation.first();
    out.whole_database = target.is_number() && target.to_double() == 1.0;
    out.ns = out.whole_database ? fmt::format("{}.$cmd.aggregate", invocation.db) : invocation.ns();
    constexpr std::string_view kIgnored[] = {"aggregate",
                                             "maxTimeMS",
                                             "readConcern",
                                             "writeConcern",
                                             "comment",
                                             "lsid",
                                             "apiVersion",
                                             "apiStrict",
                                             "apiDeprecationErrors",
                                             "backpressure",
                                             "bypassDocumentValidation",
                                             "fromRouter",
                                             "fromMongos",
                                             "needsMerge"};
    for (const bson::Element& e : invocation.body) {
        const std::string_view name = e.name();
        if (name == "pipeline") {
            if (!e.is_array())
                base::fail(13111, "wrong type for field (pipeline): expected an array");
            out.stages = bson::Object(e.as_doc());
        } else if (name == "explain") {
            if (e.type() != bson::Type::boolean)
                base::fail(13111, "wrong type for field (explain): expected a boolean");
            out.explain = e.as_bool();
        } else if (name == "cursor") {
            take_cursor(e, out);
        } else if (name == "allowDiskUse") {
            if (e.type() != bson::Type::boolean)
                base::fail(16949, "allowDiskUse must be a bool, not a {}",
                           static_cast<int>(e.type()));
            out.allow_disk_use = e.as_bool();
        } else if (name == "hint") {
            out.hint = e;
        } else if (name == "collation") {
            refuse_unless_simple(e);
        } else if (name == "let" && e.is_object() && e.as_doc().empty()) {
            continue;  // some drivers always send it
        } else if (!name.starts_with('$') &&
                   std::ranges::find(kIgnored, name) == std::end(kIgnored)) {
            base::fail(base::kFailedToParse, "unrecognized field '{}'", name);
        }
    }
    return out;
}

// What a pipeline reads from its collection. Made before the lock is taken, since that may take
// long.
struct SourceQuery {
    SourceQuery(const Request& request, const query::Pipeline& stages)
        : match(stages.leading_match()), sort(stages.leading_sort()) {
        if (stages.has_own_source()) return;
        query::FindQuery::Parts parts;
        parts.filter = match;
        parts.hint = request.hint;
        parts.sort = sort;
        find.canonicalise(parts);
    }

    bson::Object match;
    bson::Object sort;
    query::FindQuery find;
};

// A pipeline with the query that feeds it.
class PipelineSource final : public CursorSource, private base::Operation::Pause {
  public:
    PipelineSource(SourceQuery query, std::shared_ptr<query::Pipeline> stages, CollectionLock* lock)
        : stages_(std::move(stages)) {
        if (stages_->has_own_source()) return;
        executor_ = plan(std::move(query), *lock);
        stages_->set_source([this](bson::Doc* doc) {
            query::Row row;
            if (!executor_->next(&row)) return false;
            *doc = row.doc;
            return true;
        });
    }

    bool next(bson::Buffer& out) override {
        bson::Doc doc;
        if (!next(&doc)) return false;
        out.append(doc.data(), static_cast<size_t>(doc.size()));
        return true;
    }
    bool next(bson::Doc* doc) {
        if (std::exchange(again_, false)) {
            *doc = last_;
            return true;
        }
        if (done_) return false;
        const base::Operation::PauseScope between(executor_ ? this : nullptr);
        done_ = !stages_->next(doc);
        if (!done_ && doc->size() > bson::kMaxInternalBytes)
            base::fail(kDocumentTooLarge, "a result of {} bytes is too large, at most {}",
                       doc->size(), bson::kMaxInternalBytes);
        last_ = *doc;
        return !done_;
    }
    bool put_back() override { return again_ = true; }
    bool at_end() const override { return done_; }
    void save() override {
        if (executor_) executor_->save();
    }
    void restore() override {
        if (executor_) executor_->restore();
    }
    void set_yielder(query::Yielder* yielder) override {
        if (executor_) executor_->set_yielder(yielder);
    }
    // What its reader does between two documents may take long, too.
    void let_others_in(CollectionLock& lock) {
        if (executor_) return executor_->give_way();
        base::Operation::start_slice();
        if (lock.should_yield()) lock.yield();
    }
    bool reads_collections() const override { return executor_ != nullptr; }

    const query::Pipeline& stages() const { return *stages_; }
    const query::Executor* executor() const override { return executor_.get(); }
    bson::Doc match() const { return match_; }
    bson::Doc sort() const { return sort_; }

  private:
    void pause() override { executor_->give_way(); }

    // What the query does better than the stages: the first filter, and the first sort where an
    // index gives the order.
    std::unique_ptr<query::Executor> plan(SourceQuery query, CollectionLock& lock) {
        query::ExecutorOptions options;
        options.no_table_scan = options::no_table_scan.get();
        options.avoid_sorting = true;
        auto sort_pattern = query.find.sort_pattern;
        auto executor =
            query::make_executor(lock.collection(), std::move(query.find), options, &lock);
        if (!executor->query().sort.empty()) {
            stages_->drop_leading_sort();
            sort_ = std::move(query.sort);
        } else if (sort_pattern != nullptr) {
            stages_->order_leading_sort(std::move(sort_pattern));
        }
        match_ = std::move(query.match);
        if (!match_.empty()) stages_->drop_leading_match();
        return executor;
    }

    bson::Object match_;
    bson::Object sort_;
    std::unique_ptr<query::Executor> executor_;
    std::shared_ptr<query::Pipeline> stages_;  // reads from executor_
    bson::Doc last_;
    bool again_ = false;  // it comes again
    bool done_ = false;
};

std::unique_ptr<query::Pipeline> parse_pipeline(Invocation& invocation, const Request& request) {
    query::PipelineContext context;
    context.allow_disk_use = request.allow_disk_use;
    if (request.allow_disk_use)
        context.scratch_directory = invocation.service.engine().scratch_directory();
    context.over_msg = invocation.over_msg();
    context.find_first_stage = [&](std::string_view stage) {
        return find_first_stage(invocation, request.ns, stage);
    };
    return query::Pipeline::parse(request.stages, context);
}

// $out: results go into a new collection that takes the target's place at the end.
class OutputCollection {
  public:
    OutputCollection(Invocation& invocation, const std::string& name)
        : service_(invocation.service),
          target_(fmt::format("{}.{}", invocation.db, name)),
          temporary_(fmt::format("{}.tmp.agg_out.{}", invocation.db, next_number())) {
        if (name.empty()) base::fail(16997, "$out needs the name of a collection");
        if (name.find('$') != std::string::npos || catalog::is_system(name))
            base::fail(17385, "Can't $out to special collection: {}", name);
    }

    void fill(CollectionLock& lock, PipelineSource& source) {
        create(lock);
        try {
            insert_all(lock, source);
        } catch (...) {
            const base::Operation::Uninterruptible whole;
            if (find(lock) != nullptr) lock.database()->drop(temporary_);
            throw;
        }
        // From here on nobody else has the lock.
        catalog::Database& db = *lock.database();
        try {
            refuse_capped(db.collection(target_));
            service_.cursors().kill_collection(target_);
            db.replace(temporary_, target_, false);
        } catch (...) {
            const base::Operation::Uninterruptible whole;
            db.drop(temporary_);
            throw;
        }
    }

  private:
    static uint64_t next_number() {
        static std::atomic<uint64_t> number{1};
        return number.fetch_add(1);
    }

    static void copy_indexes(catalog::Database& db, const catalog::Collection* old,
                             catalog::Collection& output) {
        if (old == nullptr) return;
        for (const auto& index : old->indexes()) {
            if (index->is_id) continue;
            bson::Builder spec;
            for (const bson::Element& e : index->spec) {
                if (e.name() != "ns") spec.append(e);
            }
            db.create_index(output, spec.doc());
        }
    }

    void refuse_capped(const catalog::Collection* old) const {
        if (old != nullptr && old->capped())
            base::fail(17152, "can't $out to the capped collection {}", target_);
    }

    void create(CollectionLock& lock) {
        catalog::Database& db = lock.make_database();
        const catalog::Collection* old = db.collection(target_);
        refuse_capped(old);
        catalog::Collection& output = db.create(temporary_, bson::make("temp", true));
        try {
            copy_indexes(db, old, output);
        } catch (...) {
            const base::Operation::Uninterruptible whole;
            db.drop(temporary_);
            throw;
        }
        incarnation_ = output.incarnation();
    }

    // Null where it has gone: the source gives the lock up now and then, and whoever has it
    // meanwhile may drop the collection, or the whole database.
    catalog::Collection* find(CollectionLock& lock) const {
        catalog::Database* db = lock.database();
        catalog::Collection* output = db == nullptr ? nullptr : db->collection(temporary_);
        return output != nullptr && output->incarnation() == incarnation_ ? output : nullptr;
    }

    void insert_all(CollectionLock& lock, PipelineSource& source) {
        bson::Doc doc;
        bson::Buffer fixed;
        int64_t yields = lock.yields();
        catalog::Collection* output = find(lock);
        while (source.next(&doc)) {
            if (std::exchange(yields, lock.yields()) != lock.yields()) output = find(lock);
            if (output == nullptr) fail_dropped();
            bson::check_depth(doc, "a document for $out");  // what is stored has to be read again
            fixed.clear();
            try {
                const bool rewritten = query::fix_for_insert(doc, true, fixed);
                output->insert(rewritten ? bson::Doc(fixed.data()) : doc);
            } catch (const base::Error& e) {
                base::fail_because(e, 16996, "insert for $out failed: {}", e.what());
            }
            base::Operation::tick(kTicksPerDocument + doc.size() / kBytesPerTick);
            // Behind a group or a sort nothing else would, however much there is to store.
            if (base::Operation::slice_over()) source.let_others_in(lock);
        }
        if (find(lock) == nullptr) fail_dropped();
    }

    [[noreturn]] void fail_dropped() const {
        base::fail(base::kNamespaceNotFound,
                   "the collection that $out was filling has been dropped meanwhile: {}",
                   temporary_);
    }

    Service& service_;
    const std::string target_;
    const std::string temporary_;
    uint64_t incarnation_ = 0;  // of the temporary collection
};

void reply_inline(bson::Builder& reply, PipelineSource* source) {
    bson::Builder results = reply.sub_array("result");
    bson::Doc doc;
    while (source != nullptr && source->next(&doc)) {
        results.push(doc);
        if (results.size() > static_cast<size_t>(bson::kMaxDocumentBytes))
            base::fail(kResultTooLarge, "aggregation result exceeds maximum document size (16MB)");
    }
}

void reply_explain(bson::Builder& reply, const PipelineSource& source) {
    bson::Builder stages = reply.sub_array("stages");
    if (const query::Executor* executor = source.executor()) {
        bson::Builder first = stages.sub_object(stages.next().view());
        bson::Builder cursor = first.sub_object("$cursor");
        cursor.append("query", source.match());
        if (!source.sort().empty()) {
            cursor.append("sort", source.sort());
            if (source.stages().leading_limit() > 0)
                cursor.append("limit", source.stages().leading_limit());
        }
        const bson::Object fields = source.stages().fields();
        if (!fields.empty()) cursor.append("fields", fields);
        bson::Builder plan = cursor.sub_object("plan");
        query::append_legacy_plan(plan, executor->report());
    }
    for (const bson::Object& stage : source.stages().describe())
        stages.push(stage.doc());
}

void reply_empty_cursor(bson::Builder& reply, std::string_view ns) {
    bson::Builder cursor = reply.sub_object("cursor");
    cursor.sub_array("firstBatch").finish();
    cursor.append("id", int64_t{0}).append("ns", ns);
}

void run(Invocation& invocation, const Request& request) {
    // What the stages hold, which may be much, goes when the lock has been given up.
    const std::shared_ptr<query::Pipeline> stages = parse_pipeline(invocation, request);
    if (request.whole_database && !stages->has_own_source())
        base::fail(base::kInvalidNamespace, "{{aggregate: 1}} is not valid for this pipeline");
    const std::string out_name = stages->out_collection();
    const bool writes = request.stages.empty() ? false : has_out_stage(request.stages);
    if (writes && !request.explain)
        invocation.concern.check(invocation.service.durability().journaling());
    std::optional<OutputCollection> output;
    if (writes) output.emplace(invocation, out_name);

    SourceQuery query(request, *stages);
    std::optional<CollectionLock> lock;
    if (!stages->has_own_source() || writes) lock.emplace(invocation.client, request.ns, writes);
    auto source =
        std::make_unique<PipelineSource>(std::move(query), stages, lock ? &*lock : nullptr);
    if (request.explain) return reply_explain(*invocation.reply, *source);
    const auto report = [&](const CursorSource& done) {
        if (done.executor() != nullptr) report_query(invocation.client, *done.executor(), {}, true);
    };
    if (writes) {
        const base::BlockingSection away;
        output->fill(*lock, *source);
        report(*source);
        invocation.wrote = true;
        if (request.as_cursor) return reply_empty_cursor(*invocation.reply, request.ns);
        return reply_inline(*invocation.reply, nullptr);
    }
    if (!request.as_cursor) {
        reply_inline(*invocation.reply, source.get());
        report(*source);
        return;
    }

    auto cursor = std::make_unique<Cursor>();
    cursor->ns = request.ns;
    cursor->source = std::move(source);
    if (!lock) return reply_with_cursor(invocation, std::move(cursor), request.batch_size);
    cursor->collection_ns = request.ns;
    BatchLimits limits;
    limits.documents = request.batch_size;
    limits.max_bytes = kFirstBatchBytes;
    limits.may_be_empty = true;
    bool exhausted = false;
    // The id comes first, as it always did here, and is known last.
    bson::Builder reply = invocation.reply->sub_object("cursor");
    reply.append("id", int64_t{0});
    const size_t id_offset = reply.buffer().size() - sizeof(int64_t);
    reply.append("ns", request.ns);
    {
        bson::Builder batch = reply.sub_array("firstBatch");
        fill_array(*cursor, limits, batch, &exhausted);
    }
    cursor->returned = 0;  // OP_GET_MORE counts from here
    reply.buffer().store<int64_t>(id_offset, keep_cursor(*lock, cursor, exhausted, false));
}

void run_aggregate(Invocation& invocation) {
    run(invocation, parse(invocation));
}

// Only the first stage reads a collection, or asks about the server; only $out writes.
bool may_read(const Invocation& invocation, const Rights& rights, std::string_view stage) {
    const bson::Element target = invocation.first();
    const std::string_view name = target.is_string() ? target.as_string() : std::string_view();
    if (stage == "$currentOp") return rights.on_cluster(auth::action::inprog);
    if (stage == "$listLocalSessions") return true;
    if (stage == "$collStats") return rights.on(invocation.db, name, auth::action::collStats);
    if (stage == "$indexStats") return rights.on(invocation.db, name, auth::action::indexStats);
    return rights.on(invocation.db, name, auth::action::find);
}

bool may_run(const Invocation& invocation, const Rights& rights, bson::Doc stages) {
    constexpr auth::Actions kReplaces = auth::action::insert | auth::action::remove;
    const bson::Element first = stages.first();
    if (!may_read(invocation, rights,
                  first.is_object() ? first.as_doc().first().name() : std::string_view()))
        return false;
    for (const bson::Element& stage : stages) {
        const bson::Element out = stage.is_object() ? stage.as_doc()["$out"] : bson::Element();
        if (out.is_string() && !rights.on(invocation.db, out.as_string(), kReplaces)) return false;
    }
    return true;
}

bool may_aggregate(const Invocation& invocation, const Rights& rights) {
    if (!rights.logged_in()) return false;
    bool any = false;
    for (const bson::Element& e : invocation.body) {
        if (e.name() != "pipeline" || !e.is_array()) continue;
        any = true;
        if (!may_run(invocation, rights, e.as_doc())) return false;
    }
    return any || may_read(invocation, rights, "");
}

constexpr Command kCommands[] = {
    {"aggregate", "", kRecordsFailure, LockKind::read,
     "{ aggregate: collection, pipeline: [ ... ], cursor: {}, allowDiskUse: bool }", run_aggregate,
     needs::decided(may_aggregate)},
};

}  // namespace

void explain_aggregate(Invocation& invocation) {
    Request request = parse(invocation);
    request.explain = true;
    run(invocation, request);
}

Family aggregate_commands() {
    return kCommands;
}

}  // namespace command
