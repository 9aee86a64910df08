// storage/kv/long_transaction.h - a transaction over several requests, of the store.
//
// Its work is one of the store's transactions, which a thread that enters it has as its own. While
// it is parked nothing of the library is in it but a session with a snapshot.
#pragma once

#include <memory>

#include "storage/kv/store.h"

namespace kv {

class Store::Long final : public storage::Transaction {
  public:
    explicit Long(Store& store) : store_(store), work_(store.take_idle()) {
        store_.longs_.fetch_add(1, std::memory_order_acq_rel);
    }
    ~Long() override;
    void enter() override;
    void leave() override;
    bool sees(std::string_view ns) override;
    void settle() override;
    bool is_wounded() const override { return locks_->is_wounded(); }
    size_t memory_bytes() const override { return of_thread().session.memory_bytes(); }

  private:
    const Store::Transaction& of_thread() const {
        return work_ != nullptr ? *work_ : *t_held.transaction;
    }

    Store& store_;
    std::unique_ptr<Store::Transaction> work_;  // null: a thread has it, or it was settled
    const RowLocks::Held* const locks_ = &work_->row_locks;
    bool is_settled_ = false;
};

}  // namespace kv
