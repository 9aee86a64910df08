// storage/contract/memory_durability.h - durability of what is in memory, for tests: there is
// nothing to commit, and a test can see who asks for a commit.
#pragma once

#include <functional>

#include "storage/contract/memory_undo.h"
#include "storage/durability.h"
#include "storage/write_unit.h"

namespace storage::contract {

class MemoryDurability : public Durability {
  public:
    // Called wherever an engine could commit what was written so far.
    std::function<void()> may_commit;

    explicit MemoryDurability(bool journal) : journal_(journal) {}
    bool journaling() const override { return journal_; }
    // Notifies the waiter before the call returns, with a journal, as the interface allows.
    bool await_commit(CommitWaiter* waiter) override {
        if (journal_) waiter->done(waiter);
        return !journal_;
    }
    void await_commit_blocking() override {}
    void commit_now() override {}
    bool commit_if_needed() override {
        DCHECK(WriteUnit::none_has_begun());
        if (keeps_undo()) return false;
        if (may_commit) may_commit();
        return false;
    }
    void begin_undo() override { MemoryUndo::of_thread().begin(); }
    void undo() override { MemoryUndo::of_thread().undo(); }
    void end_undo() override { MemoryUndo::of_thread().end(); }
    bool keeps_undo() const override { return MemoryUndo::of_thread().is_kept(); }
    void on_undo(std::function<void()> call) override {
        MemoryUndo::of_thread().note(std::move(call));
    }
    int flush_all(bool) override { return 0; }
    void sync_and_truncate_journal() override {}
    void lock_commits() override {}
    void unlock_commits() override {}

  private:
    const bool journal_;
};

}  // namespace storage::contract
