// storage/kv/overlay.h - the rows as one thread sees them: the committed ones, as a session of the
// map shows them, and over them what the thread has changed since its last commit.
//
// Each change goes into a batch (changes.h), and only the commit hands it to the map, as one. So a
// map needs no transactions, and what fails is taken back here. Most changes are never read before
// they are committed: the changed rows of a table are put in order when the thread first looks into
// the table after it has changed it. They then lie over the committed rows of that table, each
// hiding the one beneath it. A table that the thread has not changed is read from the map itself.
//
// No two overlays change the same row before one of them commits (row_locks.h).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "storage/kv/changes.h"
#include "storage/kv/map.h"

namespace kv {

class Overlay {
  public:
    explicit Overlay(std::unique_ptr<Session> rows) : rows_(std::move(rows)) {}
    Overlay(const Overlay&) = delete;
    Overlay& operator=(const Overlay&) = delete;

    // Session's. REQUIRES: nothing is changed before, or committed between.
    void begin_snapshot();
    void end_snapshot() { rows_->end_snapshot(); }
    // Session's; the value lives whatever is changed or committed.
    bool get(Table table, Bytes key, Bytes* value);
    std::optional<size_t> size_of(Table table, Bytes key);
    // Session's. Changes of this table, and a commit after such changes, end the cursor: it may
    // then only be destroyed.
    std::unique_ptr<Cursor> cursor(Table table);
    // Changes rows. The bytes may lie in what get() has given. REQUIRES: the table was added.
    void put(Table table, Bytes key, Bytes value) { change(table, key, &value); }
    void erase(Table table, Bytes key) { change(table, key, nullptr); }
    // Returns how many bytes were changed since the last commit; 0: nothing was changed.
    size_t changed_bytes() const { return changes_.bytes(); }
    // roll_back() takes back what was changed since the last mark and removes the mark,
    // forget_mark() only removes it. A roll-back does not fail. It ends cursors as changes do.
    void mark() { marks_.push_back(changes_.mark()); }
    void roll_back();
    void forget_mark() { marks_.pop_back(); }
    // REQUIRES: there is no mark.
    void commit();
    // Takes back all changes since the last commit, and every mark.
    void clear();
    // A cursor over the rows without those changes.
    std::unique_ptr<Cursor> committed(Table table) { return rows_->cursor(table); }
    // Returns about how much memory the changes take.
    size_t memory_bytes() const;
    // Session's.
    void end_cursors();

    // A changed row, by its key; the last change of it.
    struct Row {
        mutable const Changes::Made* last;
    };
    struct ByKey {
        using is_transparent = void;
        bool operator()(const Row& a, const Row& b) const;
        bool operator()(const Row& a, Bytes b) const;
        bool operator()(Bytes a, const Row& b) const;
    };
    using Rows = std::set<Row, ByKey>;

  private:
    // What was changed of a table.
    struct Changed {
        explicit Changed(Table changed) : table(changed) {}
        Table table;
        bool is_sorted = false;  // into `rows`
        size_t changes = 0;
        Rows rows;
    };

    void change(Table table, Bytes key, const Bytes* value);
    Changed& changed(Table table);
    // Returns the changed rows; null: there are none.
    const Rows* changed_rows(Table table);
    void sort(Changed& changed);
    static void add(Changed& changed, Changes::Made& made);
    // Returns the last change of the row; null: it was not changed.
    const Changes::Made* last_of(Table table, Bytes key);

    const std::unique_ptr<Session> rows_;
    Changes changes_;
    std::deque<Changed> changed_;  // which do not move: cursors look into them
    std::vector<Changes::Mark> marks_;
    std::vector<uint8_t> found_;  // by get(), among the changes
};

}  // namespace kv
