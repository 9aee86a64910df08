// storage/kv/testing/memory_map.h - the map in memory, for tests of the engine over it. Committed
// rows outlive the map: another one can be made of the same rows, as after a restart.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
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
    // The rows of a moment, once a commit has changed them since.
    struct Then {
        std::optional<std::map<Place, Row>> rows;  // nothing: those of now
    };
    struct Rows {
        std::mutex mutex;
        std::map<Place, Row> all;    // guarded by mutex
        std::set<Table> tables;      // guarded by mutex
        std::shared_ptr<Then> then;  // guarded by mutex: of snapshots since the last commit
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
    uint32_t tables_end() const override {
        const std::lock_guard lock(rows_->mutex);
        return rows_->tables.empty() ? 0 : static_cast<uint32_t>(*rows_->tables.rbegin()) + 1;
    }
    void keep_only(const std::set<Table>& tables) override {
        const std::lock_guard lock(rows_->mutex);
        std::erase_if(rows_->tables, [&](Table table) { return !tables.contains(table); });
    }
    void copy_to(const Copy&) override {
        base::fail(base::kCommandNotSupported, "the memory has no files");
    }
    void drop(Table table) override {
        ++drops;
        const std::lock_guard lock(rows_->mutex);
        rows_->tables.erase(table);
        std::erase_if(rows_->all, [table](const auto& row) { return row.first.first == table; });
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
        void begin_snapshot() override {
            DCHECK(then_ == nullptr);
            const std::lock_guard lock(rows_.mutex);
            if (rows_.then == nullptr) rows_.then = std::make_shared<Then>();
            then_ = rows_.then;
        }
        void end_snapshot() override {
            const std::lock_guard lock(rows_.mutex);
            then_.reset();
        }
        bool get(Table table, Bytes key, Bytes* value) override {
            ++map_.looks;
            const Place place(table, copied(key));
            // A view that is kept for too long shows something else.
            std::ranges::fill(found_, uint8_t{0xdb});
            const std::lock_guard lock(rows_.mutex);
            const auto there = rows().find(place);
            if (there == rows().end()) return false;
            *value = found_ = there->second;
            return true;
        }
        std::optional<size_t> size_of(Table table, Bytes key) override {
            ++map_.looks;
            const std::lock_guard lock(rows_.mutex);
            const auto there = rows().find({table, copied(key)});
            return there == rows().end() ? std::nullopt : std::optional(there->second.size());
        }
        std::unique_ptr<kv::Cursor> cursor(Table table) override {
            ++map_.looks;
            return std::make_unique<Cursor>(*this, table);
        }
        void apply(Batch& changes) override {
            DCHECK(then_ == nullptr && changes.bytes() > 0);
            map_.on_commit();
            const std::lock_guard lock(rows_.mutex);
            if (rows_.then.use_count() > 1) rows_.then->rows = rows_.all;
            rows_.then.reset();
            changes.take([this](const Change& change) {
                DCHECK(rows_.tables.contains(change.table) && !change.key.empty());
                const Place place(change.table, copied(change.key));
                if (change.value)
                    rows_.all[place] = copied(*change.value);
                else
                    rows_.all.erase(place);
            });
            ++map_.commits;
        }

      private:
        friend class MemoryMap::Cursor;

        // REQUIRES: rows_.mutex is held.
        const std::map<Place, Row>& rows() const {
            return then_ != nullptr && then_->rows ? *then_->rows : rows_.all;
        }

        Rows& rows_;
        MemoryMap& map_;
        std::shared_ptr<Then> then_;  // null: no snapshot
        Row found_;
    };

    class Cursor final : public kv::Cursor {
      public:
        Cursor(Session& session, Table table) : session_(session), table_(table) {}
        void seek(Bytes key) override { seek({table_, copied(key)}, false); }
        void seek_before(Bytes key) override { seek({table_, copied(key)}, true); }
        void seek_to_last() override { seek({Table{static_cast<uint32_t>(table_) + 1}, {}}, true); }
        bool at_end() const override { return !at_; }
        void next() override {
            Place behind = at_->first;
            behind.second.push_back(0);
            seek(behind, false);
        }
        void previous() override { seek(Place(at_->first), true); }
        Bytes key() const override { return at_->first.second; }
        Bytes value() const override { return at_->second; }

      private:
        // To the first row there or behind, or to the last one before.
        void seek(const Place& place, bool before) {
            at_.reset();
            const std::lock_guard lock(session_.rows_.mutex);
            const std::map<Place, Row>& rows = session_.rows();
            auto at = rows.lower_bound(place);
            if (before && at == rows.begin()) return;
            if (before) --at;
            if (at != rows.end() && at->first.first == table_) at_ = *at;
        }

        Session& session_;
        const Table table_;
        std::optional<std::pair<Place, Row>> at_;
    };

    const std::shared_ptr<Rows> rows_;
};

}  // namespace kv
