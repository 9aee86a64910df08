#include "storage/wiredtiger/session.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "base/dcheck.h"
#include "base/error_codes.h"
#include "storage/kv/bytes.h"

namespace wt {

using kv::Bytes;
using kv::Host;
using kv::Table;

namespace {

int make_change(WT_CURSOR* cursor, const kv::Change& change) {
    DCHECK(!change.key.empty());
    const WT_ITEM key = as_item(change.key);
    cursor->set_key(cursor, &key);
    if (!change.value) {
        const int status = cursor->remove(cursor);
        return status == WT_NOTFOUND ? 0 : status;
    }
    const WT_ITEM value = as_item(*change.value);
    cursor->set_value(cursor, &value);
    return cursor->insert(cursor);
}

// Copies key and value, so that the place in the library may be lost at any time.
class Cursor final : public kv::Cursor, Session::EndedWithTurn {
  public:
    Cursor(Session& session, Table table)
        : session_(&session),
          table_(table),
          cursor_(session.open(table)),
          resets_(session.resets()) {
        session.note(this);
    }
    ~Cursor() override {
        if (session_ != nullptr) session_->forget(this);
    }
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    void end() override {
        cursor_.reset();
        session_ = nullptr;
        is_at_row_ = false;
    }

    void seek(Bytes key) override {
        const std::string wanted = copied(key);  // it may lie in key_
        place([&] { return at_or_behind(wanted); });
    }
    void seek_before(Bytes key) override {
        const std::string wanted = copied(key);
        place([&] { return before(wanted); });
    }
    void seek_to_last() override {
        place([&] {
            const int status = cursor_->reset(cursor_.get());
            return status != 0 ? status : cursor_->prev(cursor_.get());
        });
    }
    bool at_end() const override { return !is_at_row_; }
    void next() override {
        DCHECK(is_at_row_);
        place([&] {
            if (has_place()) return cursor_->next(cursor_.get());
            const int status = at_or_behind(key_);
            return status == 0 && is_exact_ ? cursor_->next(cursor_.get()) : status;
        });
    }
    void previous() override {
        DCHECK(is_at_row_);
        place([&] { return has_place() ? cursor_->prev(cursor_.get()) : before(key_); });
    }
    Bytes key() const override {
        DCHECK(is_at_row_);
        return kv::as_bytes(key_);
    }
    Bytes value() const override {
        DCHECK(is_at_row_);
        return kv::as_bytes(value_);
    }

  private:
    static std::string copied(Bytes bytes) { return std::string(kv::as_text(bytes)); }

    bool has_place() const { return is_placed_ && resets_ == session_->resets(); }

    int search_near(const std::string& key, int* side) {
        const WT_ITEM item = as_item(kv::as_bytes(key));
        cursor_->set_key(cursor_.get(), &item);
        return cursor_->search_near(cursor_.get(), side);
    }
    int at_or_behind(const std::string& key) {
        if (key.empty()) {
            const int status = cursor_->reset(cursor_.get());
            return status != 0 ? status : cursor_->next(cursor_.get());
        }
        int side = 0;
        const int status = search_near(key, &side);
        is_exact_ = side == 0;
        return status == 0 && side < 0 ? cursor_->next(cursor_.get()) : status;
    }
    int before(const std::string& key) {
        if (key.empty()) return WT_NOTFOUND;
        int side = 0;
        const int status = search_near(key, &side);
        return status == 0 && side >= 0 ? cursor_->prev(cursor_.get()) : status;
    }

    template <typename Move>
    void place(const Move& move) {
        if (cursor_ == nullptr) {
            is_at_row_ = false;
            return;
        }
        const auto turn = session_->take_read_turn();
        const int status = session_->call(move);
        resets_ = session_->resets();
        is_at_row_ = status == 0;
        if (status == WT_NOTFOUND) return;
        check(session_->host(), status);
        WT_ITEM key{}, value{};
        check(session_->host(), cursor_->get_key(cursor_.get(), &key));
        check(session_->host(), cursor_->get_value(cursor_.get(), &value));
        key_.assign(static_cast<const char*>(key.data), key.size);
        value_.assign(static_cast<const char*>(value.data), value.size);
        session_->note_read(value.size);
        is_placed_ = !kv::LargeRow::is_large(value.size);
        if (!is_placed_) cursor_ = session_->open(table_);  // without the library's copies
    }

    Session* session_;  // null: ended
    const Table table_;
    CursorHandle cursor_;     // null: there is no such table
    uint64_t resets_;         // of the session when it had its place
    bool is_placed_ = false;  // the library's cursor is where this one is, unless it was reset
    bool is_at_row_ = false;
    bool is_exact_ = false;  // by at_or_behind()
    std::string key_, value_;
};

}  // namespace

void Session::back_off(int tries) {
    constexpr int kDoublings = 6;
    constexpr std::chrono::microseconds kShortest{50};
    std::this_thread::sleep_for(kShortest * (1 << std::min(tries, kDoublings)));
}

// Most live as long as a function.
void Session::forget(EndedWithTurn* cursor) {
    const auto found = std::find(cursors_.rbegin(), cursors_.rend(), cursor);
    DCHECK(found != cursors_.rend());
    cursors_.erase(std::next(found).base());
}

void Session::end_cursors() {
    for (EndedWithTurn* cursor : cursors_)
        cursor->end();
    cursors_.clear();
    if (!has_snapshot_ && std::exchange(has_read_large_, false)) give_buffers_back();
}

// The library's cursors and sessions keep what they have read a row into, compressed and whole, and
// there are as many sessions as there were threads at the same time. In a snapshot the library
// would lose no place.
void Session::give_buffers_back() {
    DCHECK(!has_snapshot_);
    found_ = std::string();
    lose_places();
}

CursorHandle Session::open(Table table) const {
    if (tables_.is_dropped(table)) return nullptr;
    WT_CURSOR* cursor = nullptr;
    const int status =
        session_->open_cursor(session_.get(), uri_of(table).c_str(), nullptr, nullptr, &cursor);
    if (status != ENOENT) check(host_, status);
    return CursorHandle(cursor);
}

std::optional<WT_ITEM> Session::find(WT_CURSOR* cursor, Bytes key) {
    if (cursor == nullptr) return std::nullopt;
    const WT_ITEM item = as_item(key);
    WT_ITEM value{};
    const auto turn = take_read_turn();
    const int status = call([&] {
        cursor->set_key(cursor, &item);
        return cursor->search(cursor);
    });
    if (status == WT_NOTFOUND) return std::nullopt;
    check(host_, status);
    check(host_, cursor->get_value(cursor, &value));
    note_read(value.size);
    return value;
}

bool Session::get(Table table, Bytes key, Bytes* value) {
    const CursorHandle cursor = open(table);
    const std::optional<WT_ITEM> there = find(cursor.get(), key);
    if (!there) return false;
    found_.assign(static_cast<const char*>(there->data), there->size);
    *value = kv::as_bytes(found_);
    return true;
}

std::optional<size_t> Session::size_of(Table table, Bytes key) {
    const CursorHandle cursor = open(table);
    const std::optional<WT_ITEM> there = find(cursor.get(), key);
    return there ? std::optional(there->size) : std::nullopt;
}

// Cursors that are at a row would keep the snapshot that they have read it in.
void Session::lose_places() {
    check(host_, session_->reset(session_.get()));
    ++resets_;
}

// A configuration, even of a word, would be checked against all that the library knows.
void Session::begin_transaction() const {
    check(host_, session_->begin_transaction(session_.get(), nullptr));
}

void Session::begin_snapshot() {
    DCHECK(!has_snapshot_);
    if (!cursors_.empty()) lose_places();
    begin_transaction();
    has_snapshot_ = true;
}

void Session::end_snapshot() {
    if (!std::exchange(has_snapshot_, false)) return;
    ++resets_;
    check(host_, session_->commit_transaction(session_.get(), nullptr));
}

void Session::fail_snapshot() {
    DCHECK(has_snapshot_);
    has_snapshot_ = false;
    ++resets_;
    check(host_, session_->rollback_transaction(session_.get(), nullptr));
    fail(host_, base::kWriteConflict,
         "WiredTiger has no room in its cache to read what was there when the operation began");
}

std::unique_ptr<kv::Cursor> Session::cursor(Table table) {
    return std::make_unique<Cursor>(*this, table);
}

// The locks above are given up whatever happens, and changes that cannot be kept cannot be undone
// there.
void Session::apply(kv::Batch& changes) try {
    constexpr int kManyTries = 1000;
    DCHECK(!has_snapshot_ && changes.bytes() > 0);
    if (!cursors_.empty()) lose_places();
    int status = 0;
    for (int tries = 0; (status = try_to_apply(changes)) == WT_ROLLBACK; ++tries) {
        if (tries == kManyTries)
            host_.log(Host::Severity::warning,
                      "WiredTiger cannot take changes: its cache is too small for them");
        back_off(tries);
    }
    ++resets_;
    check(host_, status);
    committed_(changes.bytes());
} catch (const std::exception& error) {
    end_process(host_, std::string("WiredTiger cannot commit: ") + error.what());
}

// After a change that has failed the library would refuse the commit and keep the transaction. A
// commit that fails ends it.
int Session::try_to_apply(const kv::Batch& changes) {
    int status = 0;
    begin_transaction();
    const bool are_made = changes.each([&](const kv::Change& change) {
        const CursorHandle cursor = open(change.table);
        if (cursor == nullptr)
            fail(host_, base::kInternalError, "there is no " + uri_of(change.table));
        status = call_once([&] { return make_change(cursor.get(), change); });
        return status == 0;
    });
    if (are_made) return session_->commit_transaction(session_.get(), nullptr);
    DCHECK(status != 0);
    check(host_, session_->rollback_transaction(session_.get(), nullptr));
    return status;
}

}  // namespace wt
