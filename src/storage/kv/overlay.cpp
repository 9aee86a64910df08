#include "storage/kv/overlay.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/dcheck.h"
#include "storage/kv/large_row.h"

namespace kv {

namespace {

int compare(Bytes a, Bytes b) {
    const size_t common = std::min(a.size(), b.size());
    const int c = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
    if (c != 0) return c;
    return a.size() < b.size() ? -1 : static_cast<int>(a.size() > b.size());
}

// Walks two orders of rows as one: of the same row the changed one counts.
class Merged final : public Cursor {
  public:
    Merged(std::unique_ptr<Cursor> rows, const Overlay::Rows& changed)
        : rows_(std::move(rows)), changed_(changed), at_(changed.end()) {}

    void seek(Bytes key) override { place(key, Way::forward); }
    void seek_before(Bytes key) override { place(key, Way::backward); }
    void seek_to_last() override {
        rows_->seek_to_last();
        at_ = before(changed_.end());
        settle(Way::backward);
    }
    bool at_end() const override { return !is_changed_ && rows_->at_end(); }
    void next() override { move(Way::forward); }
    void previous() override { move(Way::backward); }
    Bytes key() const override {
        DCHECK(!at_end());
        return is_changed_ ? at_->last->key() : rows_->key();
    }
    Bytes value() const override {
        DCHECK(!at_end());
        return is_changed_ ? *at_->last->value() : rows_->value();
    }

  private:
    enum class Way { forward, backward };

    // The place before the first row is that behind the last one.
    Overlay::Rows::const_iterator before(Overlay::Rows::const_iterator at) const {
        return at == changed_.begin() ? changed_.end() : std::prev(at);
    }
    void place(Bytes key, Way way) {
        at_ = changed_.lower_bound(key);
        if (way == Way::forward) {
            rows_->seek(key);
        } else {
            at_ = before(at_);
            rows_->seek_before(key);
        }
        settle(way);
    }
    void move(Way way) {
        DCHECK(!at_end());
        if (way != way_) return turn(way);
        if (!is_changed_ || hides_) move_rows(way);
        if (is_changed_) move_changed(way);
        settle(way);
    }
    // The other one of the two has gone past this row.
    void turn(Way way) {
        const Bytes here = key();
        std::vector<uint8_t> from(here.begin(), here.end());
        if (way == Way::forward) from.push_back(0);  // right behind it
        place(from, way);
    }
    void move_rows(Way way) { way == Way::forward ? rows_->next() : rows_->previous(); }
    void move_changed(Way way) { at_ = way == Way::forward ? std::next(at_) : before(at_); }

    // Goes on to the nearer one of both rows, past those that were erased.
    void settle(Way way) {
        way_ = way;
        for (is_changed_ = false; at_ != changed_.end(); move_changed(way)) {
            int c = -1;
            if (!rows_->at_end()) c = compare(at_->last->key(), rows_->key());
            hides_ = c == 0;
            if (!rows_->at_end() && (way == Way::forward ? c > 0 : c < 0)) return;
            is_changed_ = at_->last->value().has_value();
            if (is_changed_) return;
            if (hides_) move_rows(way);
        }
    }

    const std::unique_ptr<Cursor> rows_;
    const Overlay::Rows& changed_;
    Overlay::Rows::const_iterator at_;
    Way way_ = Way::forward;
    bool is_changed_ = false;  // at_ is where it stands, and not rows_
    bool hides_ = false;       // rows_ stands at the row of at_
};

}  // namespace

bool Overlay::ByKey::operator()(const Row& a, const Row& b) const {
    return compare(a.last->key(), b.last->key()) < 0;
}
bool Overlay::ByKey::operator()(const Row& a, Bytes b) const {
    return compare(a.last->key(), b) < 0;
}
bool Overlay::ByKey::operator()(Bytes a, const Row& b) const {
    return compare(a, b.last->key()) < 0;
}

void Overlay::begin_snapshot() {
    DCHECK(changes_.empty());
    rows_->begin_snapshot();
}

Overlay::Changed& Overlay::changed(Table table) {
    const auto there = std::ranges::find(changed_, table, &Changed::table);
    return there != changed_.end() ? *there : changed_.emplace_back(table);
}

const Overlay::Rows* Overlay::changed_rows(Table table) {
    if (changed_.empty()) return nullptr;
    const auto there = std::ranges::find(changed_, table, &Changed::table);
    if (there == changed_.end() || there->changes == 0) return nullptr;
    if (!there->is_sorted) sort(*there);
    return &there->rows;
}

void Overlay::sort(Changed& changed) {
    changed.rows.clear();
    changes_.each_made([&](Changes::Made& made) {
        if (made.table() == changed.table) add(changed, made);
    });
    changed.is_sorted = true;
}

void Overlay::add(Changed& changed, Changes::Made& made) {
    const auto [row, is_new] = changed.rows.insert(Row{&made});
    made.former = is_new ? nullptr : std::exchange(row->last, &made);
}

const Changes::Made* Overlay::last_of(Table table, Bytes key) {
    const Rows* const rows = changed_rows(table);
    if (rows == nullptr) return nullptr;
    const auto row = rows->find(key);
    return row == rows->end() ? nullptr : row->last;
}

bool Overlay::get(Table table, Bytes key, Bytes* value) {
    const Changes::Made* const made = last_of(table, key);
    if (made == nullptr) return rows_->get(table, key, value);
    const std::optional<Bytes> there = made->value();
    if (!there) return false;
    found_.assign(there->begin(), there->end());
    *value = found_;
    return true;
}

std::optional<size_t> Overlay::size_of(Table table, Bytes key) {
    const Changes::Made* const made = last_of(table, key);
    if (made == nullptr) return rows_->size_of(table, key);
    const std::optional<Bytes> value = made->value();
    return value ? std::optional(value->size()) : std::nullopt;
}

std::unique_ptr<Cursor> Overlay::cursor(Table table) {
    const Rows* const rows = changed_rows(table);
    auto committed = rows_->cursor(table);
    if (rows == nullptr) return committed;
    return std::make_unique<Merged>(std::move(committed), *rows);
}

void Overlay::change(Table table, Bytes key, const Bytes* value) {
    Changed& in = changed(table);
    Changes::Made& made = changes_.add(table, key, value);
    ++in.changes;
    if (!std::exchange(in.is_sorted, false)) return;
    add(in, made);  // if there is no memory for that it is not in order
    in.is_sorted = true;
}

// Needs no memory.
void Overlay::roll_back() {
    changes_.roll_back(marks_.back(), [this](Changes::Made& made) {
        Changed& in = changed(made.table());
        DCHECK(in.changes > 0);
        --in.changes;
        made.is_taken_back = true;
        // The first change since the mark brings the row back to where it was.
        if (!in.is_sorted || (made.former != nullptr && made.former->is_taken_back)) return;
        const auto row = in.rows.find(made.key());
        DCHECK(row != in.rows.end());
        if (made.former != nullptr)
            row->last = made.former;
        else
            in.rows.erase(row);
    });
    marks_.pop_back();
}

void Overlay::commit() {
    DCHECK(marks_.empty());
    if (changes_.empty()) return;
    rows_->apply(changes_);
    changes_.clear();
    changed_.clear();
}

void Overlay::clear() {
    marks_.clear();
    changed_.clear();
    changes_.clear();
}

size_t Overlay::memory_bytes() const {
    constexpr size_t kPerRow = 64;  // of a table in order
    size_t bytes = changes_.memory_bytes();
    for (const Changed& changed : changed_)
        bytes += sizeof changed + changed.rows.size() * kPerRow;
    return bytes;
}

void Overlay::end_cursors() {
    rows_->end_cursors();
    if (LargeRow::is_large(found_.capacity())) found_ = {};
}

}  // namespace kv
