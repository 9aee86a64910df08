#include "oplog/log.h"

#include <array>
#include <optional>
#include <span>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "catalog/names.h"
#include "oplog/entry.h"
#include "storage/write_unit.h"

namespace oplog {

namespace {

constexpr std::string_view kDatabase = "local";
constexpr int kEntryTooLarge = 10334;
constexpr size_t kUsualBytes = 64 << 10;

}  // namespace

// The entries of one change by a thread that shares its database: that of what the client is shown,
// if there is one, and that of the change.
class Log::LateEntries final : public storage::CommitStep {
  public:
    LateEntries(Log& log, char op, const Statement* statement)
        : log_(log),
          op_(op),
          turn_(statement == nullptr ? nullptr : &statement->turn()),
          number_(statement == nullptr ? 0 : statement->number()) {}

    // Returns the bytes.
    size_t add(const Entry& entry) {
        Late& late = count_++ == 0 ? entries_[0] : entries_[1];
        return static_cast<size_t>(write_entry(entry, log_.form_, late.bytes).size());
    }

    void write() override {
        for (Late& late : written()) {
            const End end = log_.next_end(base::ms_since_1970());
            set_place(late.bytes, log_.form_, end.position.ts, end.hash);
            late.id = log_.put(bson::Doc(late.bytes.data()));
            if (late.id.is_null()) return;
            log_.end_ = end;
            log_.written_ts_.store(end.position.ts, std::memory_order_release);
            late.position = end.position;
        }
        if (turn_ != nullptr) turn_->note(number_, op_, entries_[0].position.ts);
    }

    void committed() override {
        for (const Late& late : written()) {
            if (late.id.is_null()) return;
            log_.ring_.load(std::memory_order_relaxed)
                ->announce({late.id, bson::Doc(late.bytes.data())});
            log_.show(late.position);
            log_.last_ts_.notify_all();
            t_writer.written = late.position;
        }
    }

  private:
    struct Late {
        bson::Buffer bytes;
        storage::RecordId id;  // null: not written
        Position position;
    };
    std::span<Late> written() { return std::span(entries_).first(count_); }

    Log& log_;
    const char op_;
    Retries::Turn* const turn_;  // null: the change is of no statement
    const int32_t number_;
    std::array<Late, 2> entries_;
    size_t count_ = 0;
};

Log::Log(storage::Engine& engine, catalog::Catalog& catalog, Form form)
    : engine_(engine),
      catalog_(catalog),
      form_(form),
      ns_(form == Form::master ? kMasterLog : kSetLog) {
    DCHECK(catalog::split(ns_).db == kDatabase);
    engine_.locks().set_log_database(kDatabase);
    catalog_.set_change_log(this);
}

void Log::open(int64_t bytes) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    DCHECK(!is_open());
    catalog::Database& local = catalog_.get_or_create(kDatabase);
    const bool is_new = local.collection(ns_) == nullptr;
    if (is_new) {
        base::log::info("creating the log of writes, {}: {} MB", ns_, bytes >> 20);
        local.create(ns_, bson::make("capped", true, "size", bytes, "autoIndexId", false));
    }
    catalog::Collection& ring = *local.collection(ns_);
    if (!ring.capped() || !ring.indexes().empty())
        base::fail(base::kIllegalOperation,
                   "{} cannot be the log of writes: it has to be capped and without an index; drop "
                   "it without this option",
                   ns_);
    const storage::RecordStoreStats stats = ring.records().stats();
    entry_bytes_max_ = ring.records().capped_document_max();
    if (!is_new && bytes != 0)
        base::log::info("the log of writes, {}, has {} MB", ns_, stats.capped_bytes >> 20);
    ring_.store(&ring, std::memory_order_release);
    read_last();
    if (form_ == Form::replica_set) read_retries();
    if (form_ == Form::master && last().ts == 0) append('n', "", bson::Doc());
}

void Log::begin_term(int64_t term, int32_t member, bson::Doc note) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    DCHECK(form_ == Form::replica_set && term >= last().term);
    const End before = end_;
    const bool followed = follows_.exchange(false, std::memory_order_relaxed);
    set_end({{term, end_.position.ts}, end_.hash});
    member_ = member;
    if (has_lost_found_) read_retries();
    try {
        add_note(note);
    } catch (...) {
        set_end(before);
        follows_.store(followed, std::memory_order_relaxed);
        throw;
    }
}

void Log::clear() {
    DCHECK(storage::LockManager::may_write(kDatabase));
    DCHECK(follows_.load(std::memory_order_relaxed));
    if (last().ts == 0) return;
    ring_.load(std::memory_order_relaxed)->take_all_back();
    last_entry_ = {};
    set_end({});
    retries_.clear();
}

void Log::cut_behind(Position position) {
    DCHECK(storage::LockManager::may_write(kDatabase));
    DCHECK(follows_.load(std::memory_order_relaxed) && position <= last());
    catalog::Collection* const ring = ring_.load(std::memory_order_relaxed);
    const auto newest = ring->records().cursor(storage::Direction::backward);
    auto record = newest->next();
    while (record && position_of(record->doc) > position)
        record = newest->next();
    DCHECK(record && position_of(record->doc) == position);
    const End end{position, record->doc["h"].to_int64()};
    ring->take_back_behind(record->id);
    last_entry_ = {};
    set_end(end);
    read_retries();
}

void Log::add_note(bson::Doc note) {
    storage::WriteUnit unit(engine_.durability());
    unit.admit(prepare(note.size()));
    unit.keep([&] { append('n', "", note); });
}

// The last entry. A drop of a database whose entry it is may have been cut short: nothing could be
// written before it was done.
void Log::read_last() {
    const auto newest = ring_.load()->records().cursor(storage::Direction::backward);
    const auto record = newest->next();
    if (!record) return;
    const bson::Object entry(record->doc);
    if (entry["ts"].type() != bson::Type::timestamp)
        base::fail(base::kIllegalOperation, "the last entry of {} has no `ts`: {}", ns_,
                   bson::to_text(entry.doc()));
    set_end({position_of(entry), entry["h"].to_int64()});
    if (!entry["o"].is_object() || !entry["o"].as_doc().has("dropDatabase") ||
        !entry["ns"].is_string())
        return;
    const std::string db(catalog::split(entry["ns"].as_string()).db);
    if (!covers(db) || catalog_.database(db) == nullptr) return;
    base::log::info("ending the drop of database {}", db);
    catalog_.drop_database_again(db);
}

// Reads the entries from the oldest one that counts to the newest, as they were written.
void Log::read_retries() {
    retries_.clear();
    has_lost_found_ = false;
    storage::RecordStore& records = ring_.load(std::memory_order_relaxed)->records();
    constexpr auto kSeconds = std::chrono::duration_cast<std::chrono::seconds>(Retries::kKept);
    const uint64_t newest = last().ts >> 32;
    storage::RecordId first;
    int64_t bytes = 0;
    const auto back = records.cursor(storage::Direction::backward);
    while (const auto record = back->next()) {
        bytes += record->doc.size();
        const bson::Element ts = record->doc["ts"];
        const bool is_recent = ts.type() == bson::Type::timestamp &&
                               (ts.as_timestamp() >> 32) + kSeconds.count() >= newest;
        if (!is_recent || bytes > kRetriesReadBytes) break;
        first = record->id;
    }
    if (first.is_null()) return;
    const auto cursor = records.cursor(storage::Direction::forward);
    cursor->seek(first);
    while (const auto record = cursor->next())
        find_statement(record->doc);
    if (retries_.sessions() > 0)
        base::log::info("{} sessions have written what may come again", retries_.sessions());
}

void Log::find_statement(bson::Doc entry) {
    const std::optional<StatementId> id = statement_of(entry);
    const bson::Element op = entry["op"];
    const uint64_t ts = entry["ts"].as_timestamp();
    const bool shows = id && op.is_string() && op.as_string() == "n";
    if (id && !shows && op.is_string() && !op.as_string().empty())
        retries_.found(*id, op.as_string().front(), shown_ts_ != 0 ? shown_ts_ : ts);
    shown_ts_ = shows ? ts : 0;
}

bool Log::covers(std::string_view ns) const {
    const auto [db, collection] = catalog::split(ns);
    return db != kDatabase && collection != "system.profile" && !catalog::is_catalogue(collection);
}

int64_t Log::prepare(int64_t entry_bytes) {
    if (!is_open()) return 0;
    constexpr auto kBeside = kEntryBytes + static_cast<int64_t>(storage::kNameLimitsOfToday.ns);
    const ForeignChange* const foreign = ForeignChange::of_this_thread(*this);
    if (foreign != nullptr && foreign->is_copy_) return 0;
    // A change of state ends both what a primary wrote and what another's entry tells.
    const bool is_late =
        foreign == nullptr ? follows_.load(std::memory_order_relaxed) : !foreign->may_write();
    if (is_late)
        base::fail(base::kInterruptedDueToReplStateChange,
                   "operation was interrupted: this member is not in the state any more in which "
                   "it began");
    if (TransactionEntries* const entries = t_writer.transaction) {
        entries->prepare(entry_bytes + static_cast<int64_t>(storage::kNameLimitsOfToday.ns));
        return entry_bytes;
    }
    int64_t bytes = entry_bytes + kBeside;
    if (foreign != nullptr) bytes = foreign->is_written_ ? 0 : foreign->entry_.size();
    if (is_broken_)
        base::fail(base::kInternalError,
                   "nothing can be changed: an entry could not be written to {}", ns_);
    int64_t bytes_of_shown = 0;
    if (const Statement* const statement = t_writer.statement) {
        bytes += kStatementBytes;
        if (const bson::Doc* const shown = statement->shown()) {
            bytes_of_shown = shown->size() + kBeside + kStatementBytes;
            check_entry(bytes_of_shown);
        }
    }
    check_entry(bytes);
    return bytes_of_shown + bytes;
}

void Log::check_entry(int64_t bytes) const {
    if (bytes > entry_bytes_max_)
        base::fail(kEntryTooLarge,
                   "the change needs an entry of {} bytes, the log of writes has room for {}: make "
                   "it larger (oplogSize)",
                   bytes, entry_bytes_max_);
}

void Log::inserted(std::string_view ns, bson::Doc doc) {
    changed('i', ns, doc);
}

void Log::removed(std::string_view ns, bson::Doc which) {
    changed('d', ns, which);
}

void Log::updated(std::string_view ns, bson::Doc which, bson::Doc form) {
    changed('u', ns, form, &which);
}

void Log::index_built(std::string_view ns, bson::Doc spec) {
    append('i', fmt::format("{}.system.indexes", catalog::split(ns).db), spec);
}

void Log::command(std::string_view db, bson::Doc command, const bson::Doc* beside) {
    append('c', fmt::format("{}.$cmd", db), command, beside);
}

// Once an entry is missing nothing more can be changed, by the client's next try either.
void Log::changed_by(Statement& statement, char op, std::string_view ns, bson::Doc o,
                     const bson::Doc* o2) {
    if (!is_open()) return;
    uint64_t first_ts = 0;
    if (const bson::Doc* const shown = statement.shown()) {
        append('n', ns, *shown, nullptr, &statement);
        first_ts = last().ts;
    }
    append(op, ns, o, o2, &statement);
    if (!is_broken_)
        statement.turn().note(statement.number(), op, first_ts != 0 ? first_ts : last().ts);
}

void Log::changed_late(char op, std::string_view ns, bson::Doc o, const bson::Doc* o2) {
    if (!is_open()) return;
    DCHECK(ForeignChange::of_this_thread(*this) == nullptr);
    const Statement* const statement = t_writer.statement;
    auto entries = std::make_unique<LateEntries>(*this, op, statement);
    size_t bytes = 0;
    if (const bson::Doc* const shown = statement == nullptr ? nullptr : statement->shown())
        bytes += entries->add(entry('n', ns, *shown, nullptr, statement));
    bytes += entries->add(entry(op, ns, o, o2, statement));
    engine_.durability().add_step(std::move(entries), bytes);
}

// Its lock has been held since command(): no reader has seen the entry.
void Log::take_command_back() {
    if (!is_open() || last_entry_.is_null() || is_broken_) return;
    ring_.load(std::memory_order_relaxed)->take_back(last_entry_);
    last_entry_ = {};
    set_end(before_);
    forget_written();
    if (ForeignChange* const foreign = ForeignChange::of_this_thread(*this))
        foreign->is_written_ = false;
}

void Log::append(char op, std::string_view ns, bson::Doc o, const bson::Doc* o2,
                 const Statement* statement) {
    if (!is_open()) return;
    if (ForeignChange* const foreign = ForeignChange::of_this_thread(*this))
        return foreign->write();
    Entry written = entry(op, ns, o, o2, statement);
    const End end = next_end(written.wall_ms);
    written.ts = end.position.ts;
    written.hash = end.hash;
    buffer_.clear();
    const bool is_stored = store(write_entry(written, form_, buffer_), end);
    if (is_stored && op != 'n') t_writer.written = end.position;
    buffer_.trim(kUsualBytes);
}

// One that has no place yet.
Entry Log::entry(char op, std::string_view ns, bson::Doc o, const bson::Doc* o2,
                 const Statement* statement) const {
    Entry made{0, op, ns, o, o2, last().term, 0, base::ms_since_1970()};
    if (statement != nullptr) {
        made.turn = &statement->turn();
        made.statement = statement->number();
    }
    return made;
}

Log::End Log::next_end(int64_t now_ms) const {
    const uint64_t ts = next_ts(end_.position.ts, now_ms / 1000);
    return {{end_.position.term, ts}, next_hash(end_.hash, ts, member_)};
}

bool Log::store(bson::Doc entry, const End& end) {
    DCHECK(storage::LockManager::may_write(kDatabase) && !storage::LockManager::is_concurrent());
    storage::Durability& durability = engine_.durability();
    if (durability.keeps_undo())
        durability.on_undo(
            [this, end = end_, written = t_writer.written, is_broken = is_broken_.load()] {
                set_end(end);
                last_entry_ = {};
                t_writer.written = written;
                is_broken_ = is_broken;
                has_lost_found_ = true;
            });
    const storage::RecordId id = put(entry);
    if (id.is_null()) return false;
    ring_.load(std::memory_order_relaxed)->announce({id, entry});
    last_entry_ = id;
    before_ = end_;
    set_end(end);
    return true;
}

// Returns null where it cannot. The change has been made by now. A step that cannot fail is not
// undone: should the collection turn out to be damaged, an error says so, and nothing is changed
// any more.
storage::RecordId Log::put(bson::Doc entry) {
    try {
        return ring_.load(std::memory_order_relaxed)->append(entry);
    } catch (const base::Error& e) {
        is_broken_ = true;
        base::log::error("cannot write to {}: {}; this is missing there: {}", ns_, e.what(),
                         bson::to_text(entry));
        return {};
    }
}

void Log::set_end(const End& end) {
    end_ = end;
    written_ts_.store(end.position.ts, std::memory_order_release);
    show(end.position);
}

void Log::show(const Position& last) {
    last_ts_.store(last.ts, std::memory_order_release);
    term_.store(last.term, std::memory_order_relaxed);
}

Position Log::last_settled() const {
    DCHECK(storage::LockManager::may_read(kDatabase));
    const uint64_t written = written_ts_.load(std::memory_order_acquire);
    for (uint64_t shown = 0; (shown = last_ts_.load(std::memory_order_acquire)) < written;)
        last_ts_.wait(shown, std::memory_order_acquire);
    return last();
}

ForeignChange::ForeignChange(Log& log) : log_(log), is_copy_(true), outer_(t_writer.foreign) {
    t_writer.foreign = this;
}

ForeignChange::ForeignChange(Log& log, bson::Doc entry)
    : log_(log), entry_(entry), is_copy_(false), outer_(t_writer.foreign) {
    if (entry["ts"].type() != bson::Type::timestamp || position_of(entry) <= log.last())
        base::fail(base::kIllegalOperation, "no entry that could follow the last one of {}: {}",
                   log.ns_, bson::to_text(entry));
    t_writer.foreign = this;
}

ForeignChange::~ForeignChange() {
    t_writer.foreign = outer_;
}

ForeignChange* ForeignChange::of_this_thread(const Log& log) {
    return t_writer.foreign != nullptr && &t_writer.foreign->log_ == &log ? t_writer.foreign
                                                                          : nullptr;
}

bool ForeignChange::may_write() const {
    return log_.follows_.load(std::memory_order_relaxed) &&
           (is_written_ || position_of(entry_) > log_.end_.position);
}

// Writes the entry at the first change; the later ones are the rest of what it tells of.
void ForeignChange::write() {
    if (is_copy_ || is_written_) return;
    is_written_ = log_.store(entry_, {position_of(entry_), entry_["h"].to_int64()});
    if (is_written_) log_.find_statement(entry_);
}

void ForeignChange::finish() {
    DCHECK(!is_copy_);
    if (is_written_) return;
    std::optional<storage::DatabaseLock> lock;
    if (!storage::LockManager::may_write(kDatabase))
        lock.emplace(log_.engine_.locks(), kDatabase, true);
    storage::WriteUnit unit(log_.engine_.durability());
    unit.admit(log_.prepare(0));
    unit.keep([this] { write(); });
    if (!is_written_)
        base::fail(base::kInternalError, "an entry could not be written to {}", log_.ns_);
}

}  // namespace oplog
