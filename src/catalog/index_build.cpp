#include "catalog/index_build.h"

#include <chrono>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "catalog/catalog.h"
#include "catalog/index_spec.h"
#include "catalog/key_sorter.h"
#include "catalog/mixed_times.h"
#include "catalog/names.h"
#include "options/server_parameters.h"
#include "sched/operation.h"
#include "sched/work_limit.h"
#include "storage/record_id_set.h"
#include "storage/write_unit.h"

namespace catalog {

namespace {

constexpr int kKeyTooLongInBuild = 17282;
constexpr int64_t kCheckEvery = 128;
// The ticks for storing a key, and for examining a document (sched/tick.h).
constexpr int64_t kTicksPerKey = 8;
constexpr std::chrono::seconds kLogEvery{3};

// The progress of a build, for currentOp and now and then for the log.
class Progress {
  public:
    Progress(const char* text, int64_t total) : text_(text), total_(total) { show(0); }
    ~Progress() {
        if (sched::Operation* operation = sched::Operation::current()) operation->set_progress({});
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void at(int64_t done) {
        show(done);
        const auto now = std::chrono::steady_clock::now();
        if (now - logged_ < kLogEvery) return;
        logged_ = now;
        base::log::info("  {}: {}/{} {}%", text_, done, total_,
                        total_ > 0 ? done * 100 / total_ : 100);
    }

  private:
    void show(int64_t done) {
        if (sched::Operation* operation = sched::Operation::current())
            operation->set_progress({text_, done, total_});
    }

    const char* const text_;
    const int64_t total_;
    std::chrono::steady_clock::time_point logged_ = std::chrono::steady_clock::now();
};

class Build {
  public:
    Build(Collection& collection, storage::Engine& engine, int slot, sched::YieldPoint* yield_point,
          ChangeLog* log)
        : collection_(collection), engine_(engine), yield_point_(yield_point), log_(log) {
        index_.read(collection_.store().index(slot), slot);
        if (!index_.fault.empty()) base::fail(base::kCannotCreateIndex, "{}", index_.fault);
        // A ring could overtake the scan, and a loser against an equal key could be gone.
        yields_ =
            background() && yield_point_ != nullptr && !index_.drop_dups && !collection_.capped();
        if (yields_) {
            const storage::WriteUnit unit(engine_.durability());
            collection_.reload_indexes(false);  // writers keep the new index up
            collection_.count_build(1);
        }
    }
    ~Build() {
        if (yields_) collection_.count_build(-1);
    }
    Build(const Build&) = delete;
    Build& operator=(const Build&) = delete;

    // Whether it has met keys of mixed_times.h.
    bool run() {
        if (background())
            insert_all();
        else
            bulk_load();
        const int slot = slot_of(collection_, index_.name);
        if (multikey_) collection_.store().set_multikey(slot);
        remove_refused();
        complete(slot);
        return mixes_times(*index_.generator);
    }

  private:
    bool background() const { return index_.spec["background"].truthy(); }

    void complete(int slot) {
        const bson::Object spec(collection_.store().index(slot).spec);
        storage::WriteUnit unit(engine_.durability());
        if (log_ != nullptr) unit.admit(log_->prepare(spec.size()));
        unit.begin();
        collection_.store().finish_index(slot);
        unit.keep([&] {
            if (log_ != nullptr) log_->index_built(collection_.ns(), spec.doc());
        });
    }

    int64_t bulk_load() {
        KeySorter sorter(index_.generator->descending_bits(), engine_.scratch_directory());
        const int64_t scanned = collect(sorter);
        sorter.finish();
        if (sorter.runs() > 0)
            base::log::info("  external sort: {} runs in {}", sorter.runs(), sorter.directory());
        if (sorter.count() > 0) load(sorter);
        return scanned;
    }

    // A background build inserts document by document, which leaves fuller or emptier buckets than
    // a bulk load, as it does in the old server.
    int64_t insert_all() {
        return for_each_document([this](const KeySet& keys, storage::RecordId id) {
            for (size_t i = 0; i < keys.size(); ++i) {
                // An index that is not ready may become durable in pieces: nothing reads it.
                storage::WriteUnit::between(engine_.durability());
                sched::tick(kTicksPerKey);
                if (index_.store->insert(keys[i], id, !index_.unique) !=
                    storage::InsertResult::duplicate)
                    continue;
                // A writer may have put this very entry there.
                if (yields_ && !index_.store->has_duplicate(keys[i], id)) continue;
                if (!index_.drop_dups) throw_duplicate_key(index_, collection_.ns(), keys[i]);
                refused_.push_back(id);
            }
        });
    }

    int64_t collect(KeySorter& sorter) {
        return for_each_document([&](const KeySet& keys, storage::RecordId id) {
            for (size_t i = 0; i < keys.size(); ++i)
                sorter.add(keys[i], id);
        });
    }

    // Derives the keys of every document that can be indexed; returns how many documents there are.
    template <typename Use>
    int64_t for_each_document(Use use) {
        KeySet keys;
        int64_t scanned = 0;
        sched::LongLoop loop(yields_ ? yield_point_ : nullptr);
        Progress progress(background() ? "Index Build (background)" : "Index Build",
                          collection_.records().count());
        const auto cursor = collection_.records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next()) {
            sched::tick_bytes(record->doc.size(), sched::PerTick::copied);
            if (++scanned % kCheckEvery == 0) progress.at(scanned);
            use_keys(*record, keys, use);
            // Nothing can take the collection away while the index is being built.
            if (loop.is_due()) loop.yield([&] { cursor->save(); }, [&] { restore(*cursor); });
        }
        return scanned;
    }

    // During the yield the definition may have been replaced.
    void restore(storage::RecordCursor& cursor) {
        cursor.restore();
        const int slot = slot_of(collection_, index_.name);
        index_.read(collection_.store().index(slot), slot);
    }

    template <typename Use>
    void use_keys(const storage::Record& record, KeySet& keys, Use& use) {
        // A document that is only indexed again (compact, a repair) was let in before, maybe by
        // another limit.
        std::optional<sched::WorkLimit> limit;
        if (yield_point_ != nullptr) limit.emplace("indexing one document");
        index_.generator->keys(record.doc, keys);
        multikey_ |= keys.multikey();
        if (!fits(keys, record.id)) return;
        // The sorter, when it is full, sorts the keys of all documents before.
        if (!background()) limit.reset();
        use(keys, record.id);
    }

    // Whether a document's keys can be stored; throws where that is an error.
    bool fits(const KeySet& keys, storage::RecordId id) {
        for (size_t i = 0; i < keys.size(); ++i) {
            if (!options::fail_index_key_too_long.get() || !index_.store->too_long(keys[i]))
                continue;
            if (!index_.drop_dups)
                throw_key_too_long(
                    index_.spec["background"].truthy() ? base::kKeyTooLong : kKeyTooLongInBuild,
                    index_, collection_.ns(), keys[i]);
            refused_.push_back(id);
            return false;
        }
        return true;
    }

    // The index lacks keys of these documents, so it is not ready before they are gone: a start
    // builds it again.
    void remove_refused() {
        if (refused_.empty()) return;
        {
            const storage::WriteUnit unit(engine_.durability());
            collection_.reload_indexes(false);  // keys that it has of them go too
        }
        storage::RecordIdSet removed;
        for (const storage::RecordId id : refused_) {
            if (removed.insert(id)) collection_.remove(id);
        }
    }

    void load(KeySorter& sorter) {
        const auto builder = index_.store->bulk_builder(!index_.unique);
        bson::Doc key;
        storage::RecordId id;
        int64_t done = 0;
        Progress progress("Index Build: inserting sorted keys", sorter.count());
        while (sorter.next(&key, &id)) {
            constexpr int32_t kLarge = 64 << 10;
            if (++done % kCheckEvery == 0 || key.size() > kLarge) {
                sched::Operation::check();
                progress.at(done);
                storage::WriteUnit::between(engine_.durability());
            }
            if (builder->add(key, id) != storage::InsertResult::duplicate) continue;
            if (!index_.drop_dups) throw_duplicate_key(index_, collection_.ns(), key);
            refused_.push_back(id);
        }
        builder->finish();
    }

    Collection& collection_;
    storage::Engine& engine_;
    sched::YieldPoint* const yield_point_;
    ChangeLog* const log_;
    bool yields_ = false;
    Index index_;
    bool multikey_ = false;
    std::vector<storage::RecordId> refused_;  // lost against an equal key (dropDups)
};

// Leaves the index as far as it is when it fails.
void fill(Collection& collection, storage::Engine& engine, int slot, sched::YieldPoint* yield_point,
          ChangeLog* log) {
    const auto started = std::chrono::steady_clock::now();
    const int64_t records = collection.records().count();
    base::log::info("build index on: {} properties: {}", collection.ns(),
                    bson::to_text(collection.store().index(slot).spec));
    const std::string name = collection.store().index(slot).name;
    const bool mixed = Build(collection, engine, slot, yield_point, log).run();
    {
        const storage::WriteUnit unit(engine.durability());
        collection.reload_indexes(false);
    }
    const Index* const built = collection.find_index(name);
    if (built != nullptr && built->generator != nullptr) {
        if (mixed) set_mixes_times(*built->generator);
        set_knows_times(*built->generator);
    }
    if (records == 0) return;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    base::log::info("build index done.  scanned {} total records. {:.3f} secs", records,
                    took.count());
}

// Returns the slot of a new index without entries.
int begin_index(Collection& collection, storage::Engine& engine, bson::Doc spec) {
    const storage::WriteUnit unit(engine.durability());
    return collection.store().begin_index(spec);
}

void drop_unfilled(Collection& collection, storage::Engine& engine, std::string_view name) {
    const storage::WriteUnit unit(engine.durability());
    collection.store().drop_index(slot_of(collection, name));
    collection.reload_indexes(true);
}

}  // namespace

void fill_index(Collection& collection, storage::Engine& engine, int slot,
                sched::YieldPoint* yield_point, ChangeLog* log) {
    DCHECK(storage::LockManager::may_write(split(collection.ns()).db));
    DCHECK(!collection.store().index(slot).ready);
    const std::string name = collection.store().index(slot).name;
    try {
        fill(collection, engine, slot, yield_point, log);
    } catch (...) {
        drop_unfilled(collection, engine, name);
        throw;
    }
}

void build_index(Collection& collection, storage::Engine& engine, bson::Doc spec,
                 sched::YieldPoint* yield_point, ChangeLog* log) {
    fill_index(collection, engine, begin_index(collection, engine, spec), yield_point, log);
}

void build_indexes(Collection& collection, storage::Engine& engine,
                   const std::vector<bson::Object>& specs, const BuildFailed& failed,
                   ChangeLog* log) {
    DCHECK(storage::LockManager::may_write(split(collection.ns()).db));
    std::vector<const bson::Object*> begun;
    for (const bson::Object& spec : specs) {
        try {
            begin_index(collection, engine, spec);
            begun.push_back(&spec);
        } catch (const std::exception& error) {
            failed(spec, error);
        }
    }
    for (const bson::Object* spec : begun) {
        const std::string_view name = (*spec)["name"].as_string();
        try {
            sched::Operation::check();
            fill(collection, engine, slot_of(collection, name), nullptr, log);
        } catch (const std::exception& error) {
            if (sched::Operation::shutting_down()) throw;
            drop_unfilled(collection, engine, name);
            failed(*spec, error);
        }
    }
}

std::vector<bson::Object> all_specs(const Collection& collection) {
    std::vector<bson::Object> specs;
    for (const auto& index : collection.indexes())
        specs.emplace_back(index->spec);
    return specs;
}

int slot_of(Collection& collection, std::string_view name) {
    int slot = 0;
    while (collection.store().index(slot).name != name)
        ++slot;
    return slot;
}

}  // namespace catalog
