#include "command/commands/aggregate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "bson/validate.h"
#include "command/commands/families.h"
#include "command/commands/foreign_reader.h"
#include "command/commands/newer_fields.h"
#include "command/commands/pipeline_query.h"
#include "command/commands/server_stages.h"
#include "command/context/locks.h"
#include "command/cursor/batch.h"
#include "command/cursor/query_cursors.h"
#include "command/request/authorization.h"
#include "command/write/write_ops.h"
#include "query/aggregation/pipeline.h"
#include "query/plan/explain.h"
#include "query/update/update.h"
#include "sched/blocking.h"
#include "sched/interruption.h"
#include "sched/tick.h"
#include "sched/work_limit.h"

namespace command {

namespace {

constexpr int kDocumentTooLarge = 10334;
constexpr int kResultTooLarge = 16389;
// Of a first batch: a document that would exceed it goes into the next one.
constexpr int64_t kFirstBatchBytes = 4 * 1024 * 1024;
// What $out stores under one lock.
constexpr size_t kBatchBytes = 256 * 1024;

struct Request {
    std::string ns;  // "db.$cmd.aggregate" for { aggregate: 1 }
    bool whole_database = false;
    bson::Object stages;
    bool explain = false;
    bool as_cursor = false;
    int64_t batch_size = kFirstBatchDocuments;
    bool allow_disk_use = false;
    bson::Element hint;
    bool over_msg = false;
};

void take_cursor(const bson::Element& cursor, bool over_msg, Request& out) {
    if (!cursor.is_object()) base::fail(16954, "cursor field must be missing or an object");
    read_fields(cursor.as_doc(), "cursor", kCursorFields, over_msg);
    out.as_cursor = true;
    for (const bson::Element& e : cursor.as_doc()) {
        if (is_absent(e, over_msg)) continue;
        if (e.name() != "batchSize")
            base::fail(16955, "cursor object can't contain fields other than batchSize");
        if (!e.is_number()) base::fail(16956, "cursor.batchSize must be a number");
        if (e.to_int64() < 0) base::fail(16957, "Cursor batchSize must not be negative");
        out.batch_size = e.to_int64();
    }
}

Request parse(const Invocation& invocation) {
    Request out;
    out.over_msg = invocation.over_msg();
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
                                             "collation",
                                             "let"};
    for (const bson::Element& e : invocation.body) {
        const std::string_view name = e.name();
        if (is_absent(e, invocation.over_msg())) continue;
        if (name == "pipeline") {
            if (!e.is_array())
                base::fail(13111, "wrong type for field (pipeline): expected an array");
            out.stages = bson::Object(e.as_doc());
        } else if (name == "explain") {
            if (e.type() != bson::Type::boolean)
                base::fail(13111, "wrong type for field (explain): expected a boolean");
            out.explain = e.as_bool();
        } else if (name == "cursor") {
            take_cursor(e, invocation.over_msg(), out);
        } else if (name == "allowDiskUse") {
            if (e.type() != bson::Type::boolean)
                base::fail(16949, "allowDiskUse must be a bool, not a {}",
                           static_cast<int>(e.type()));
            out.allow_disk_use = e.as_bool();
        } else if (name == "hint") {
            out.hint = e;
        } else if (!out.over_msg && !name.starts_with('$') &&
                   std::ranges::find(kIgnored, name) == std::end(kIgnored)) {
            base::fail(base::kFailedToParse, "unrecognized field '{}'", name);
        }
    }
    return out;
}

// A pipeline with the query that feeds it. The query reads under the lock, some documents at a
// time; the stages need none.
class PipelineSource final : public CursorSource {
  public:
    // The stages bring their own documents, or there are query and lock. `foreign`: null if they
    // read no other collection.
    PipelineSource(std::shared_ptr<query::Pipeline> stages, std::shared_ptr<ForeignReader> foreign,
                   std::optional<PipelineQuery> query, CollectionLock* lock)
        : stages_(std::move(stages)),
          foreign_(std::move(foreign)),
          query_(std::move(query)),
          lock_(lock) {
        if (!query_) return;
        query_->plan(*lock_);
        has_collection_ = lock_->collection() != nullptr;
        stages_->set_source([this](query::DocumentBatch& batch) { read(batch); });
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
        // Stages that read other collections take locks of their own.
        if (foreign_ != nullptr) save();
        const std::optional<sched::Preemptible> without_lock =
            query_ ? std::optional<sched::Preemptible>(std::in_place) : std::nullopt;
        done_ = !stages_->next(doc);
        if (!done_ && doc->size() > bson::kInternalBytesMax)
            base::fail(kDocumentTooLarge, "a result of {} bytes is too large, at most {}",
                       doc->size(), bson::kInternalBytesMax);
        last_ = *doc;
        return !done_;
    }
    bool put_back() override { return again_ = true; }
    bool at_end() const override { return done_; }
    // Gives the lock up until more is read.
    void save() override {
        if (lock_ == nullptr || executor() == nullptr) return;
        query_->save();
        lock_->release();
    }
    void restore() override { lock_->release(); }
    void set_lock(CollectionLock* lock) override {
        lock_ = lock;
        if (query_) query_->set_lock(lock);
    }
    void set_context(OperationContext& context) override {
        if (foreign_ != nullptr) foreign_->set_context(context);
    }
    bool reads_collections() const override { return executor() != nullptr; }

    const query::Pipeline& stages() const { return *stages_; }
    const query::Executor* executor() const override {
        return query_ ? query_->executor() : nullptr;
    }
    const PipelineQuery& query() const { return *query_; }

  private:
    // The lock is released behind it, also where it fails: then nothing more can be read.
    void read(query::DocumentBatch& batch) {
        if (!has_collection_ || query_->all_read()) return;
        try {
            lock_->take();
            query_->fill(batch);
            save();
        } catch (...) {
            query_->drop();
            lock_->release();
            throw;
        }
    }

    std::shared_ptr<query::Pipeline> stages_;  // reads from query_
    const std::shared_ptr<ForeignReader> foreign_;
    std::optional<PipelineQuery> query_;
    CollectionLock* lock_;  // null: between two requests
    bool has_collection_ = false;
    bson::Doc last_;
    bool again_ = false;  // it comes again
    bool done_ = false;
};

std::unique_ptr<query::Pipeline> parse_pipeline(Invocation& invocation, const Request& request,
                                                std::shared_ptr<ForeignReader> foreign) {
    query::PipelineContext context;
    context.allow_disk_use = request.allow_disk_use;
    if (request.allow_disk_use)
        context.scratch_directory = invocation.service.engine().scratch_directory();
    context.over_msg = invocation.over_msg();
    context.foreign = std::move(foreign);
    context.find_first_stage = [&](std::string_view stage) {
        return find_first_stage(invocation, request.ns, stage);
    };
    return query::Pipeline::parse(request.stages, context);
}

// Null where the client takes this for a server that has no such stages.
std::shared_ptr<ForeignReader> foreign_reader(Invocation& invocation) {
    if (!invocation.over_msg()) return nullptr;
    auto reader = std::make_shared<ForeignReader>(invocation.db);
    reader->set_context(invocation.client);
    return reader;
}

// Of the collections that the stages read besides their own.
std::vector<std::string> foreign_namespaces(const Invocation& invocation, const Request& request) {
    std::vector<std::string> found;
    all_foreign(request.stages, [&](std::string_view name) {
        found.push_back(fmt::format("{}.{}", invocation.db, name));
        return true;
    });
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return found;
}

// $out: results go into a new collection that takes the target's place at the end.
class OutputCollection {
  public:
    OutputCollection(Invocation& invocation, const std::string& name)
        : client_(invocation.client),
          cursors_(invocation.service.cursors()),
          over_msg_(invocation.over_msg()),
          validation_(validation_of(invocation.body)),
          target_(fmt::format("{}.{}", invocation.db, name)),
          temporary_(fmt::format("{}.tmp.agg_out.{}", invocation.db, next_number())) {
        if (name.empty()) base::fail(16997, "$out needs the name of a collection");
        if (name.find('\0') != std::string::npos)
            base::fail(base::kInvalidNamespace, "the name of a collection has no NUL byte in it");
        if (name.find('$') != std::string::npos || catalog::is_system(name))
            base::fail(17385, "Can't $out to special collection: {}", name);
    }

    // The source holds no lock.
    void fill(PipelineSource& source) {
        create();
        try {
            insert_all(source);
            replace_target();
        } catch (...) {
            const sched::Uninterruptible whole;
            const storage::DatabaseLock lock(client_.locks(), catalog::split(target_).db, true);
            if (catalog::Database* db = database(); db != nullptr && find() != nullptr)
                db->drop(temporary_);
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

    // It has the validator of the collection whose place it takes.
    static bson::Object options_of_output(catalog::Collection* old) {
        bson::Builder options;
        options.append("temp", true);
        if (old == nullptr) return options.object();
        for (const bson::Element& e : old->store().options())
            if (catalog::is_validation_option(e.name())) options.append(e);
        return options.object();
    }

    void refuse_capped(const catalog::Collection* old) const {
        if (old != nullptr && old->capped())
            base::fail(17152, "can't $out to the capped collection {}", target_);
    }

    void create() {
        CollectionLock lock(client_, target_, true);
        catalog::Database& db = lock.make_database();
        catalog::Collection* old = db.collection(target_);
        refuse_capped(old);
        catalog::Collection& output = db.create(temporary_, options_of_output(old));
        try {
            copy_indexes(db, old, output);
        } catch (...) {
            const sched::Uninterruptible whole;
            db.drop(temporary_);
            throw;
        }
        incarnation_ = output.incarnation();
    }

    catalog::Database* database() const {
        return client_.catalog().database(catalog::split(target_).db);
    }
    // Null where it has gone: others may drop the collection, or the whole database.
    catalog::Collection* find() const {
        catalog::Database* db = database();
        catalog::Collection* output = db == nullptr ? nullptr : db->collection(temporary_);
        return output != nullptr && output->incarnation() == incarnation_ ? output : nullptr;
    }
    catalog::Collection& found() const {
        catalog::Collection* output = find();
        if (output == nullptr)
            base::fail(base::kNamespaceNotFound,
                       "the collection that $out was filling has been dropped: {}", temporary_);
        return *output;
    }

    void insert_all(PipelineSource& source) {
        bson::Buffer results;
        for (bool more = true; more;) {
            results.clear();
            while (results.size() < kBatchBytes && (more = source.next(results))) {
            }
            insert(results);
        }
    }

    // Documents, one behind another.
    void insert(const bson::Buffer& results) {
        CollectionLock lock(client_, target_, true);
        int64_t number = 0;
        for (size_t at = 0; at < results.size();) {
            const bson::Doc doc(results.data() + at);
            at += static_cast<size_t>(doc.size());
            yield_before_insert(lock, number++, doc);
            insert(found(), doc);
        }
    }

    void insert(catalog::Collection& output, bson::Doc doc) {
        bson::check_depth(doc, "a document for $out");  // what is stored has to be read again
        fixed_.clear();
        try {
            const sched::WorkLimit limit(kInsertWork);
            const bool rewritten = query::fix_for_insert(doc, true, fixed_, over_msg_);
            const bson::Doc fixed = rewritten ? bson::Doc(fixed_.data()) : doc;
            validate(output, validation_, fixed);
            output.insert(fixed);
        } catch (const base::Error& e) {
            if (e.code() == base::kDocumentValidationFailure) throw;
            sched::fail_because(e, 16996, "insert for $out failed: {}", e.what());
        }
    }

    void replace_target() {
        CollectionLock lock(client_, target_, true);
        found();
        refuse_capped(lock.collection());
        cursors_.kill_collection(target_);
        try {
            lock.database()->replace(temporary_, target_, false);
        } catch (...) {
            // find() would not find it: a rename that failed has opened it anew.
            const sched::Uninterruptible whole;
            lock.database()->drop(temporary_);
            throw;
        }
    }

    Client& client_;
    CursorManager& cursors_;
    const bool over_msg_;
    const Validation validation_;
    const std::string target_;
    const std::string temporary_;
    uint64_t incarnation_ = 0;  // of the temporary collection
    bson::Buffer fixed_;
};

void reply_inline(bson::Builder& reply, PipelineSource* source) {
    bson::Builder results = reply.sub_array("result");
    bson::Doc doc;
    while (source != nullptr && source->next(&doc)) {
        results.push(doc);
        if (results.size() > static_cast<size_t>(bson::kDocumentBytesMax))
            base::fail(kResultTooLarge, "aggregation result exceeds maximum document size (16MB)");
    }
}

void reply_explain(bson::Builder& reply, const PipelineSource& source) {
    bson::Builder stages = reply.sub_array("stages");
    if (const query::Executor* executor = source.executor()) {
        bson::Builder first = stages.sub_object(stages.next().view());
        bson::Builder cursor = first.sub_object("$cursor");
        cursor.append("query", source.query().match());
        if (!source.query().sort().empty()) {
            cursor.append("sort", source.query().sort());
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
    std::shared_ptr<ForeignReader> foreign = foreign_reader(invocation);
    const std::shared_ptr<query::Pipeline> stages = parse_pipeline(invocation, request, foreign);
    std::vector<std::string> foreign_ns = foreign_namespaces(invocation, request);
    if (foreign_ns.empty()) foreign = nullptr;
    if (request.whole_database && !stages->has_own_source())
        base::fail(base::kInvalidNamespace, "{{aggregate: 1}} is not valid for this pipeline");
    const std::string out_name = stages->out_collection();
    const bool writes = request.stages.empty() ? false : has_out_stage(request.stages);
    if (writes && !request.explain)
        invocation.concern.check(invocation.service.durability().journaling());
    std::optional<OutputCollection> output;
    if (writes) output.emplace(invocation, out_name);

    std::optional<PipelineQuery> query;
    std::optional<CollectionLock> lock;
    if (!stages->has_own_source()) {
        query.emplace(*stages, request.hint);
        lock.emplace(invocation.client, request.ns, false);
    }
    auto source = std::make_unique<PipelineSource>(stages, std::move(foreign), std::move(query),
                                                   lock ? &*lock : nullptr);
    if (request.explain) return reply_explain(*invocation.reply, *source);
    const auto report = [&](const CursorSource& done) {
        if (done.executor() != nullptr) report_query(invocation.client, *done.executor(), {}, true);
    };
    if (writes) {
        const sched::BlockingSection away;
        source->save();
        output->fill(*source);
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
    cursor->foreign_ns = std::move(foreign_ns);
    cursor->source = std::move(source);
    if (!lock)
        return reply_with_cursor(invocation.service.cursors(), invocation.client, std::move(cursor),
                                 request.batch_size, *invocation.reply);
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
    reply.buffer().store<int64_t>(
        id_offset, keep_cursor(invocation.service.cursors(), *lock, cursor, exhausted, false));
}

void run_aggregate(Invocation& invocation) {
    run(invocation, parse(invocation));
}

// The first stage reads a collection, or asks about the server; others read what all_foreign()
// says, and only $out writes.
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
    if (!all_foreign(stages, [&](std::string_view name) {
            return rights.on(invocation.db, name, auth::action::find);
        }))
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

constexpr Field kFields[] = {
    required("pipeline", types::array),
    {"cursor", types::object},
    {"allowDiskUse", types::boolean},
    {"hint", types::hint},
    {"explain", types::boolean},
    kBypassValidation,
    refused("collation", "3.4"),
    refused("let", "5.0"),
    refused("encryptionInformation", "6.0"),
    // A part of the work for another server, which goes on with it.
    refused("fromRouter"),
    refused("fromMongos"),
    refused("needsMerge"),
};

constexpr Command kCommands[] = {
    {"aggregate", "", kRecordsFailure, LockKind::read,
     "{ aggregate: collection, pipeline: [ ... ], cursor: {}, allowDiskUse: bool }", run_aggregate,
     needs::decided(may_aggregate), kFields},
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
