// applyOps: entries of an oplog, applied as a client sends them (docs/replication.md).
//
// Entries of documents alone are applied under one global lock as one unit, and a precondition is
// asked under the same lock: a failure, or a stop of the server, leaves all of them or none. Their
// collections are made before, since no unit makes any. Among commands each entry is an operation
// of its own.
#include <algorithm>
#include <optional>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "catalog/names.h"
#include "command/commands/families.h"
#include "command/context/default_collation.h"
#include "command/cursor/query_cursors.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "command/request/run_command.h"
#include "command/write/write_ops.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "oplog/apply.h"
#include "query/plan/executor.h"
#include "sched/operation.h"
#include "sched/tick.h"
#include "storage/durability.h"
#include "storage/write_unit.h"

namespace command {

namespace {

constexpr int64_t kTicksPerEntry = 64;  // to read one and to refuse it (sched/tick.h)
constexpr int64_t kTogetherMax = 1000;  // entries; others wait for their lock
constexpr std::string_view kIndexes = "system.indexes";

// The commands that change data and that an oplog can have.
constexpr std::string_view kLogged[] = {
    "collMod", "convertToCapped", "create",       "createIndexes", "deleteIndexes",
    "drop",    "dropIndexes",     "dropDatabase", "emptycapped",   "renameCollection"};

struct Entry {
    char op = 'n';
    std::string_view ns;
    bson::Doc o;
    bson::Doc o2;
    bool flag = false;  // `b`: of an update upsert, of a delete only one

    std::string_view db() const { return catalog::split(ns).db; }
    bool changes_document() const {
        return op != 'c' && op != 'n' && catalog::split(ns).collection != kIndexes;
    }
    bool changes_nothing() const { return op == 'n'; }
};

// Returns nothing for what is no entry.
std::optional<Entry> entry_of(bson::Doc given) {
    const bson::Element op = given["op"];
    const bson::Element ns = given["ns"];
    const bson::Element o = given["o"];
    const bson::Element o2 = given["o2"];
    if (!op.is_string() || op.as_string().size() != 1 || !ns.is_string()) return {};
    const Entry entry{op.as_string()[0], ns.as_string(), o.is_object() ? o.as_doc() : bson::Doc(),
                      o2.is_object() ? o2.as_doc() : bson::Doc(), given["b"].truthy()};
    switch (entry.op) {
        case 'n':
            return entry;
        case 'c':
            if (!o.is_object() || entry.o.empty()) return {};
            break;
        case 'u':
            if (!o.is_object() || !o2.is_object()) return {};
            break;
        case 'i':
        case 'd':
            if (!o.is_object()) return {};
            break;
        default:
            return {};
    }
    if (catalog::split(entry.ns).collection.empty()) return {};
    return entry;
}

// Elements of the array that are documents, in order, as Visit takes them.
template <typename Visit>
void each_element(const bson::Element& list, const Visit& visit) {
    if (!list.is_array()) return;
    for (const bson::Element& e : list.as_doc())
        visit(e.is_object() ? e.as_doc() : bson::Doc());
}

bool upserts(const Invocation& invocation, const Entry& entry) {
    const bson::Element always = invocation.field("alwaysUpsert");
    return entry.flag || always.missing() || always.truthy();
}

// One call of the command.
class Application {
  public:
    explicit Application(Invocation& invocation) : invocation_(invocation) {
        const bson::Element list = invocation.first();
        if (!list.is_array()) base::fail(base::kTypeMismatch, "ops has to be an array");
        each_element(list, [this](bson::Doc given) {
            sched::tick(kTicksPerEntry);
            const std::optional<Entry> entry = entry_of(given);
            if (!entry)
                base::fail(base::kFailedToParse, "no entry of an oplog: {}", bson::to_text(given));
            entries_.push_back(*entry);
        });
        read_conditions();
        for (const Entry& entry : entries_)
            check(entry);
        together_ = std::ranges::all_of(entries_, [](const Entry& entry) {
            return entry.changes_document() || entry.changes_nothing();
        });
        if (!together_ && !conditions_.empty())
            base::fail(base::kBadValue,
                       "a preCondition is asked only where all entries are of documents");
        if (together_ && static_cast<int64_t>(entries_.size()) > kTogetherMax) {
            if (!conditions_.empty())
                base::fail(base::kBadValue,
                           "{} entries are too many for a preCondition, at most {}",
                           entries_.size(), kTogetherMax);
            together_ = false;
        }
        DCHECK(together_ || conditions_.empty());
    }

    void run() {
        for (const Entry& entry : entries_)
            invocation_.service.opener().open_again(entry.db());
        if (!together_) return apply_all();
        Service& service = invocation_.service;
        const storage::GlobalLock lock(service.locks(), storage::GlobalMode::W);
        fail_if_shutting_down();
        check_conditions();
        apply_as_one();
    }

  private:
    struct Condition {
        std::string ns;
        query::FindQuery query;  // the document that is looked at is the first that it finds
        std::unique_ptr<query::Matcher> wanted;
        bson::Doc source;
    };

    static query::FindQuery filter(bson::Doc source, OperationContext& context,
                                   std::string_view ns) {
        query::FindQuery query;
        query.collator = default_collator(context, ns);
        query.inherits_collation = true;
        query::FindQuery::Parts parts;
        parts.filter = source;
        query.canonicalise(parts);
        query.limit = 1;
        return query;
    }

    void read_conditions() {
        each_element(invocation_.field("preCondition"), [this](bson::Doc given) {
            const bson::Element ns = given["ns"];
            const bson::Element q = given["q"];
            const bson::Element res = given["res"];
            if (!ns.is_string() || !q.is_object() || !res.is_object())
                base::fail(base::kFailedToParse, "no preCondition with ns, q and res: {}",
                           bson::to_text(given));
            Condition condition;
            condition.ns = ns.as_string();
            condition.query = filter(q.as_doc(), invocation_.client, condition.ns);
            condition.wanted = filter(res.as_doc(), invocation_.client, condition.ns).matcher;
            condition.source = given;
            conditions_.push_back(std::move(condition));
        });
    }

    // Throws for the faults of an entry that can be seen before the first one is applied.
    void check(const Entry& entry) {
        if (entry.changes_nothing()) return;
        if (!catalog::valid_database_name(entry.db()))
            base::fail(base::kInvalidNamespace, "Invalid namespace '{}'", entry.ns);
        if (entry.op == 'c') {
            admit_command(entry);
        } else if (entry.changes_document()) {
            check_updatable(invocation_.client, entry.ns);
            if (entry.op == 'u') oplog::operators_of(entry.o);
        } else if (entry.op != 'i') {
            base::fail(base::kFailedToParse, "{} takes inserts only: {}", entry.ns,
                       bson::to_text(entry.o));
        }
    }

    const Command& logged_command(const Entry& entry) const {
        const std::string_view name = entry.o.first().name();
        const Command* found = invocation_.service.commands().find(name);
        if (found == nullptr || std::ranges::find(kLogged, name) == std::end(kLogged))
            base::fail(base::kCommandNotSupported, "an entry of the command {} is not applied",
                       name);
        return *found;
    }

    Invocation inner(const Entry& entry, bson::Builder* reply) const {
        DCHECK(entry.op == 'c' && !entry.o.empty());
        return {invocation_.service,
                invocation_.client,
                entry.db(),
                entry.o.first().name(),
                entry.o,
                nullptr,
                reply};
    }

    void admit_command(const Entry& entry) const {
        const Invocation command = inner(entry, nullptr);
        admit(command, logged_command(entry));
    }

    void check_conditions() {
        DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
        for (Condition& condition : conditions_) {
            CollectionLock lock(invocation_.client, condition.ns, storage::Access::read);
            const auto executor = query::make_executor(
                lock.collection(), std::move(condition.query), execution_options(), &lock);
            query::Row row;
            const bson::Doc found = executor->next(&row) ? row.doc : bson::Doc();
            if (condition.wanted->matches(found)) continue;
            bson::Builder details;
            details.append("got", found).append("whatFailed", condition.source);
            const char* const text = invocation_.dialect().has(dialect::kTextsOfToday)
                                         ? "preCondition failed"
                                         : "pre-condition failed";
            throw base::Error(base::kBadValue, text, details.doc().bytes());
        }
    }

    // Applies all entries, or none.
    void apply_as_one() {
        DCHECK(together_ && storage::LockManager::mode() == storage::GlobalMode::W);
        std::vector<std::string> made;
        try {
            each_entry([&](const Entry& entry) { make_collection(entry, made); });
            storage::WriteUnit unit(invocation_.service.durability());
            unit.admit(invocation_.body.size());
            const storage::WriteUnit::EngineUndo undo(unit);
            apply_all();
            unit.keep();
        } catch (...) {
            for (const std::string& ns : made)
                drop_again(ns);
            throw;
        }
    }

    // Makes the collection that the entry would make.
    void make_collection(const Entry& entry, std::vector<std::string>& made) {
        if (entry.op != 'i' && (entry.op != 'u' || !upserts(invocation_, entry))) return;
        CollectionLock lock(invocation_.client, entry.ns, true);
        if (lock.collection() != nullptr) return;
        lock.make();
        made.emplace_back(entry.ns);
    }

    void drop_again(const std::string& ns) {
        const sched::Operation::Scope undisturbed(nullptr);
        try {
            invocation_.service.catalog().database(catalog::split(ns).db)->drop(ns);
        } catch (const base::Error& error) {
            base::log::error("{}, made for entries of which none is applied, stays: {}", ns,
                             error.what());
        }
    }

    void apply_all() {
        each_entry([this](const Entry& entry) { apply(entry); });
        append_outcome(*invocation_.reply, entries_.size(), true);
    }

    // Calls `work` with the entries up to the first that fails; its error tells how many there
    // were. REQUIRES: what `work` does is taken back if they are applied together.
    template <typename Work>
    void each_entry(const Work& work) {
        size_t done = 0;
        try {
            for (const Entry& entry : entries_) {
                work(entry);
                ++done;
            }
        } catch (const base::Error& error) {
            DCHECK(done < entries_.size());
            bson::Builder reply;
            append_outcome(reply, done, false);
            if (error.details() != nullptr) reply.append_all(bson::Doc(error.details()->data()));
            throw base::Error(error.code(), error.what(), reply.doc().bytes());
        }
    }

    // `done` entries were applied; unless they are all, the next one was not, nor was any of them
    // where they are one.
    void append_outcome(bson::Builder& reply, size_t done, bool all) const {
        DCHECK(all == (done == entries_.size()));
        bson::Builder results;
        const bool stay = all || !together_;
        for (size_t i = 0; i < done; ++i)
            results.append(results.next().view(), stay);
        if (!all) results.append(results.next().view(), false);
        reply.append("applied", stay ? static_cast<int32_t>(done) : 0);
        reply.append_array("results", results.doc());
    }

    void apply(const Entry& entry) {
        switch (entry.op) {
            case 'i':
                return insert(entry);
            case 'u':
                return update(entry.ns, entry.o2, entry.o, upserts(invocation_, entry));
            case 'd':
                delete_documents(invocation_.client, entry.ns, entry.o, {}, entry.flag);
                return;
            case 'c': {
                DCHECK(!together_);
                bson::Builder reply;
                Invocation command = inner(entry, &reply);
                take_fields(command, logged_command(entry));
                try {
                    logged_command(entry).run(command);
                } catch (const base::Error& error) {
                    if (!oplog::may_be_over(error)) throw;
                }
                return;
            }
            default:
                DCHECK(entry.changes_nothing());
        }
    }

    void insert(const Entry& entry) {
        const bson::Element id = entry.o["_id"];
        if (id && entry.changes_document()) {
            bson::Builder which;
            which.append(id);
            return update(entry.ns, which.doc(), entry.o, true);
        }
        CollectionLock lock(invocation_.client, entry.ns, true);
        insert_document(lock, entry.o, scratch_, dialect::kToday);
    }

    void update(std::string_view ns, bson::Doc query, bson::Doc change, bool upsert) {
        const bool by_operators = !change.empty() && change.first().name().starts_with('$');
        const bson::Object operators = by_operators ? oplog::operators_of(change) : bson::Object();
        UpdateRequest request;
        request.query = query;
        request.update = by_operators ? operators.doc() : change;
        request.upsert = upsert;
        request.dialect = dialect::kToday;
        update_documents(invocation_.client, ns, request);
    }

    Invocation& invocation_;
    std::vector<Entry> entries_;
    std::vector<Condition> conditions_;
    bool together_ = false;
    bson::Buffer scratch_;
};

void run_apply_ops(Invocation& invocation) {
    Application(invocation).run();
}

// Whether the client has the rights that each entry, and each condition, would need by itself. A
// value that is no entry fails by itself later.
bool may_apply(const Invocation& invocation, const Rights& rights) {
    if (!rights.logged_in()) return false;
    bool may = true;
    each_element(invocation.first(), [&](bson::Doc given) {
        const std::optional<Entry> entry = entry_of(given);
        if (!entry || entry->changes_nothing() || entry->op == 'c') return;
        if (!entry->changes_document()) {
            may = may && may_make_index(rights, entry->o);
            return;
        }
        auth::Actions actions = auth::action::remove;
        if (entry->op == 'i') actions = auth::action::insert | auth::action::update;
        if (entry->op == 'u')
            actions = auth::action::update |
                      (upserts(invocation, *entry) ? auth::action::insert : auth::Actions{0});
        may = may && rights.on(entry->ns, actions);
    });
    each_element(invocation.field("preCondition"), [&](bson::Doc given) {
        const bson::Element ns = given["ns"];
        may = may && (!ns.is_string() || rights.on(ns.as_string(), auth::action::find));
    });
    return may;
}

constexpr Field kApplyOpsFields[] = {
    {"preCondition", types::array},
    {"alwaysUpsert", types::flag},
    refused("allowAtomic", "3.2"),
};

constexpr Command kCommands[] = {
    {"applyOps", "", kRecordsFailure, LockKind::write,
     "{ applyOps: [ { op, ns, o, o2, b } ], preCondition: [ { ns, q, res } ], alwaysUpsert: bool }",
     run_apply_ops, needs::decided(may_apply), kApplyOpsFields},
};

}  // namespace

Family apply_ops_commands() {
    return kCommands;
}

}  // namespace command
