// storage/write_unit.h - one change of a document, its indexes and its entry in the log of changes:
// it is kept as a whole, or taken back.
//
//   WriteUnit unit(durability);                   nothing interrupts the thread from here on
//   ...                                           admission; whatever may refuse the change
//   const RecordId id = records.insert(doc);
//   const WriteUnit::OnUndo gone(unit, [&] { records.remove(id); });
//   WriteUnit::EngineUndo undo(unit);
//   ...                                           removals, replacements, further insertions
//   unit.keep();
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

    // The change is whole: nothing of it is taken back any more.
    void keep() { is_kept_ = true; }
    bool is_kept() const { return is_kept_; }

    // Calls `undo` at the end of its scope, unless the unit was kept.
    template <typename Undo>
    class OnUndo {
      public:
        OnUndo(const WriteUnit& unit, Undo undo) : unit_(unit), undo_(std::move(undo)) {}
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
    Durability& durability_;
    const sched::Uninterruptible whole_;
    bool is_kept_ = false;
};

}  // namespace storage
