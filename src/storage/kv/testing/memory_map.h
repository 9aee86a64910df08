// storage/kv/testing/memory_map.h - the map in memory, for tests of the engine over it. Committed
// rows outlive the map: another one can be made of the same rows, as after a restart.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "storage/kv/map.h"

namespace kv {

class MemoryMap final : public Map {
  public:
    using Row = std::vector<uint8_t>;
    using Place = std::pair<Table, Row>;
    struct Rows {
        std::mutex mutex;
        std::map<Place, Row> all;  // guarded by mutex
        std::set<Table> tables;    // guarded by mutex
        // The rows as they were before the commits since, for snapshots. Guarded by mutex.
        uint64_t commits = 0;
        int snapshots = 0;
        std::map<Place, std::map<uint64_t, std::optional<Row>>> before;
    };

    explicit MemoryMap(std::shared_ptr<Rows> rows = std::make_shared<Rows>())
        : rows_(std::move(rows)) {}

    std::unique_ptr<kv::Session> session() override {
        return std::make_unique<Session>(*rows_, *this);
    }
    void add_table(Table table, Kind) override {
        const std::lock_guard lock(rows_->mutex);
        rows_->tables.insert(table);
    }
    bool has_table(Table table) const override {
        const std::lock_guard lock(rows_->mutex);
        return rows_->tables.contains(table);
    }
    void keep_only(const std::set<Table>& tables) override {
        const std::lock_guard lock(rows_->mutex);
        std::erase_if(rows_->tables, [&](Table table) { return !tables.contains(table); });
    }
    void copy_to(const std::string&, const std::function<void()>&) override {
        base::fail(base::kCommandNotSupported, "the memory has no files");
    }
    void drop(Table table) override {
        ++drops;
        const std::lock_guard lock(rows_->mutex);
        rows_->tables.erase(table);
        std::erase_if(rows_->all, [table](const auto& row) { return row.first.first == table; });
        std::erase_if(rows_->before, [table](const auto& row) { return row.first.first == table; });
    }
    void sync_log() override {
        ++syncs;
        on_sync();
        if (is_paused) ++syncs_while_paused;
    }
    void checkpoint(bool) override { ++checkpoints; }
    void pause() override { is_paused = true; }
    void resume() override { is_paused = false; }
    void check_space(uint64_t begun) override {
        begun_bytes = begun;
        if (is_full) base::fail(base::kOutOfDiskSpace, "the disk is full");
    }

    int64_t commit_bytes_max() const override { return commit_bytes; }

    int64_t commit_bytes = std::numeric_limits<int64_t>::max();
    std::atomic<int> commits{0}, drops{0}, syncs{0}, syncs_while_paused{0}, checkpoints{0};
    std::atomic<int> looks{0};             // gets and cursors of all sessions
    std::atomic<uint64_t> begun_bytes{0};  // at the last check of space
    std::atomic<bool> is_paused{false}, is_full{false};
    // Called by each commit before it shows anything.
    std::function<void()> on_commit = [] {};
    // Called by each sync before it ends.
    std::function<void()> on_sync = [] {};

  private:
    static Row copied(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

    class Cursor;

    class Session final : public kv::Session {
      public:
        Session(Rows& rows, MemoryMap& map) : rows_(rows), map_(map) {}
        ~Session() override { end_snapshot(); }
        void begin_snapshot() override {
            DCHECK(changes_.empty() && !snapshot_at_);
            const std::lock_guard lock(rows_.mutex);
            ++rows_.snapshots;
            snapshot_at_ = rows_.commits;
        }
        void end_snapshot() override {
            if (!std::exchange(snapshot_at_, std::nullopt)) return;
            const std::lock_guard lock(rows_.mutex);
            if (--rows_.snapshots == 0) rows_.before.clear();
        }
        bool get(Table table, Bytes key, Bytes* value) override {
            ++map_.looks;
            auto found = find({table, copied(key)});
            // A view that is kept for too long shows something else.
            std::ranges::fill(found_, uint8_t{0xdb});
            if (!found) return false;
            found_.swap(*found);
            *value = found_;
            return true;
        }
        std::optional<size_t> size_of(Table table, Bytes key) override {
            ++map_.looks;
            const auto found = find({table, copied(key)});
            return found ? std::optional(found->size()) : std::nullopt;
        }
        void put(Table table, Bytes key, Bytes value) override {
            DCHECK(has(table) && !snapshot_at_);
            changed_bytes_ += key.size() + value.size() + 1;
            changes_[{table, copied(key)}] = copied(value);
        }
        void erase(Table table, Bytes key) override {
            changed_bytes_ += key.size() + 1;
            changes_[{table, copied(key)}] = std::nullopt;
        }
        std::unique_ptr<kv::Cursor> cursor(Table table) override {
            ++map_.looks;
            return std::make_unique<Cursor>(*this, table);
        }
        size_t changed_bytes() const override { return changed_bytes_; }
        void mark() override { marks_.emplace_back(changes_, changed_bytes_); }
        void roll_back() override {
            std::tie(changes_, changed_bytes_) = std::move(marks_.back());
            marks_.pop_back();
        }
        void forget_mark() override { marks_.pop_back(); }
        void commit() override {
            DCHECK(!snapshot_at_ && marks_.empty());
            map_.on_commit();
            const std::lock_guard lock(rows_.mutex);
            ++rows_.commits;
            for (auto& [place, row] : changes_) {
                if (rows_.snapshots > 0) {
                    const auto there = rows_.all.find(place);
                    rows_.before[place].emplace(rows_.commits,
                                                there == rows_.all.end()
                                                    ? std::nullopt
                                                    : std::optional<Row>(there->second));
                }
                if (row)
                    rows_.all[place] = std::move(*row);
                else
                    rows_.all.erase(place);
            }
            changes_.clear();
            changed_bytes_ = 0;
            ++map_.commits;
        }

      private:
        friend class MemoryMap::Cursor;
        using KeyAndValue = std::pair<Row, Row>;

        bool has(Table table) {
            const std::lock_guard lock(rows_.mutex);
            return rows_.tables.contains(table);
        }
        std::optional<Row> find(const Place& place) {
            if (const auto changed = changes_.find(place); changed != changes_.end())
                return changed->second;
            const std::lock_guard lock(rows_.mutex);
            if (const auto older = rows_.before.find(place);
                snapshot_at_ && older != rows_.before.end()) {
                const auto then = older->second.upper_bound(*snapshot_at_);
                if (then != older->second.end()) return then->second;
            }
            const auto there = rows_.all.find(place);
            if (there == rows_.all.end()) return std::nullopt;
            return there->second;
        }
        // The nearest row behind a place, or at it.
        std::optional<KeyAndValue> behind(Table table, Row key, bool included) {
            while (true) {
                const auto next = [&](const auto& map) -> std::optional<Row> {
                    const auto at = included ? map.lower_bound(Place{table, key})
                                             : map.upper_bound(Place{table, key});
                    if (at == map.end() || at->first.first != table) return std::nullopt;
                    return at->first.second;
                };
                std::optional<Row> nearest = next(changes_);
                for (const std::optional<Row>& there : in_rows(next))
                    if (there && (!nearest || *there < *nearest)) nearest = there;
                if (!nearest) return std::nullopt;
                key = *nearest;
                included = false;
                if (auto value = find({table, key})) return KeyAndValue(key, std::move(*value));
            }
        }
        // The nearest row before a place; before the end of the table.
        std::optional<KeyAndValue> before(Table table, std::optional<Row> key) {
            const Place end{Table{static_cast<uint32_t>(table) + 1}, {}};
            while (true) {
                const auto previous = [&](const auto& map) -> std::optional<Row> {
                    auto at = map.lower_bound(key ? Place{table, *key} : end);
                    if (at == map.begin()) return std::nullopt;
                    --at;
                    if (at->first.first != table) return std::nullopt;
                    return at->first.second;
                };
                std::optional<Row> nearest = previous(changes_);
                for (const std::optional<Row>& there : in_rows(previous))
                    if (there && (!nearest || *there > *nearest)) nearest = there;
                if (!nearest) return std::nullopt;
                key = *nearest;
                if (auto value = find({table, *key})) return KeyAndValue(*key, std::move(*value));
            }
        }
        // Among what is there, and what was there when the snapshot began.
        template <typename Look>
        std::array<std::optional<Row>, 2> in_rows(const Look& look) {
            const std::lock_guard lock(rows_.mutex);
            return {look(rows_.all), snapshot_at_ ? look(rows_.before) : std::nullopt};
        }

        Rows& rows_;
        MemoryMap& map_;
        std::map<Place, std::optional<Row>> changes_;  // nothing: erased
        size_t changed_bytes_ = 0;
        std::vector<std::pair<std::map<Place, std::optional<Row>>, size_t>> marks_;
        std::optional<uint64_t> snapshot_at_;  // the number of commits; nothing: no snapshot
        Row found_;
    };

    class Cursor final : public kv::Cursor {
      public:
        Cursor(Session& session, Table table) : session_(session), table_(table) {}
        void seek(Bytes key) override { at_ = session_.behind(table_, copied(key), true); }
        void seek_before(Bytes key) override { at_ = session_.before(table_, copied(key)); }
        void seek_to_last() override { at_ = session_.before(table_, std::nullopt); }
        bool at_end() const override { return !at_; }
        void next() override { at_ = session_.behind(table_, at_->first, false); }
        void previous() override { at_ = session_.before(table_, at_->first); }
        Bytes key() const override { return at_->first; }
        Bytes value() const override { return at_->second; }

      private:
        Session& session_;
        const Table table_;
        std::optional<std::pair<Row, Row>> at_;
    };

    const std::shared_ptr<Rows> rows_;
};

}  // namespace kv
