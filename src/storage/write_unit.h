// storage/write_unit.h - one change of a document, its indexes and its entry in the log of changes:
// it is kept as a whole, or taken back.
//
//   WriteUnit unit(durability);                   nothing interrupts the thread from here on
//   ...                                           whatever may refuse the change
//   unit.admit(bytes);                            what was written before may be committed here
//   const RecordId id = records.insert(doc);
//   const WriteUnit::OnUndo gone(unit, [&] { records.remove(id); });
//   WriteUnit::EngineUndo undo(unit);
//   ...                                           removals, replacements, further insertions
//   unit.keep([&] { log.inserted(ns, doc); });    the change and its entry are one
//
// Admission is asked for here only: a unit asks once, before its first byte. Work that needs no
// unit, and may be committed in pieces, asks by between().
//
// A unit that goes without keep() is taken back in reverse order, by kind. An insertion is undone
// by its removal, which the caller says (OnUndo) and which needs no space. Removals and
// replacements are undone by the engine (EngineUndo), which has copied what was there: that needs
// neither space in the data files nor room in the commit. Until then the engine commits nothing.
//
// An EngineUndo may enclose whole units: they are taken back with it, whether kept or not.
//
// REQUIRES: the thread holds a write lock for as long as the unit lives, and makes it, its OnUndo
// and its EngineUndo as local variables, in the order in which it changes things. No unit throws
// while it is taken back: a step that fails is logged, since only damaged data can refuse it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "base/dcheck.h"
#include "base/log.h"
#include "sched/tick.h"
#include "storage/durability.h"
#include "storage/lock.h"

namespace storage {

class WriteUnit {
  public:
    explicit WriteUnit(Durability& durability) : durability_(durability) {
        DCHECK(LockManager::may_write());
    }
    WriteUnit(const WriteUnit&) = delete;
    WriteUnit& operator=(const WriteUnit&) = delete;

    ~WriteUnit() { end(); }

    // Commits what was written before, if that is much, so that there is room for a change of so
    // many bytes, with its entry. Throws base::Error 96 for more than one commit can carry.
    void admit(int64_t bytes) {
        DCHECK(!has_begun_);
        durability_.make_room(bytes);
    }
    // Between two changes: commits what was written before, if that is much; returns whether it
    // thought so.
    static bool between(Durability& durability) { return durability.commit_if_needed(); }
    // The first byte is about to change: until keep() has written the entry nothing may commit, or
    // a stop of the server leaves the change without it, or the entry without the change. An OnUndo
    // says so by itself.
    void begin() {
        if (!base::kDebugChecks || has_begun_) return;
        has_begun_ = true;
        count_begun(1);
    }
    // Whether no unit of the calling thread has begun; builds without checks do not know it.
    static bool none_has_begun();
    // Counts an entry of an index, and its work, before it is added or taken away. Throws
    // base::Error 96 before the first one, and once they are many, where no commit could carry much
    // more.
    void count_entry() {
        sched::tick(kTicksPerEntry);
        if (entries_ == 0 || entries_ >= kFewEntries) durability_.check_room();
        ++entries_;
    }
    size_t entries() const { return entries_; }
    // So many entries write a megabyte at most.
    static constexpr size_t kFewEntries = 32;
    static constexpr int64_t kTicksPerEntry = 8;

    // The change is whole: nothing of it is taken back any more. `write_entry` writes its entry in
    // the log of changes.
    void keep() {
        keep([] {});
    }
    template <typename WriteEntry>
    void keep(WriteEntry write_entry) {
        is_kept_ = true;
        write_entry();
        end();
    }
    bool is_kept() const { return is_kept_; }

    // Calls `undo` at the end of its scope, unless the unit was kept.
    template <typename Undo>
    class OnUndo {
      public:
        OnUndo(WriteUnit& unit, Undo undo) : unit_(unit), undo_(std::move(undo)) { unit.begin(); }
        ~OnUndo() {
            if (unit_.is_kept()) return;
            try {
                undo_();
            } catch (const std::exception& error) {
                base::log::error("a change could not be taken back: {}", error.what());
            }
        }
        OnUndo(const OnUndo&) = delete;
        OnUndo& operator=(const OnUndo&) = delete;

      private:
        const WriteUnit& unit_;
        const Undo undo_;
    };

    // Takes back everything that the thread changes while it lives, unless the unit was kept.
    class EngineUndo {
      public:
        explicit EngineUndo(const WriteUnit& unit) : unit_(unit) { unit_.durability_.begin_undo(); }
        ~EngineUndo() {
            if (has_ended_) return;
            if (unit_.is_kept())
                unit_.durability_.end_undo();
            else
                unit_.durability_.undo();
        }
        EngineUndo(const EngineUndo&) = delete;
        EngineUndo& operator=(const EngineUndo&) = delete;

        // Ends it before its scope does: the last step of the unit follows, which is done or fails
        // as a whole by itself, and is not worth a copy.
        void end() {
            DCHECK(!has_ended_);
            unit_.durability_.end_undo();
            has_ended_ = true;
        }

      private:
        const WriteUnit& unit_;
        bool has_ended_ = false;
    };

  private:
    static void count_begun(int by);  // in lock.cpp, beside the locks of the thread
    void end() {
        if (base::kDebugChecks && std::exchange(has_begun_, false)) count_begun(-1);
    }

    Durability& durability_;
    const sched::Uninterruptible whole_;
    size_t entries_ = 0;
    bool has_begun_ = false;
    bool is_kept_ = false;
};

}  // namespace storage
