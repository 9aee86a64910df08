// command/context/operation_contexts.h - all that works on the databases of a server
// (operation_context.h), and what these contexts share.
#pragma once

#include <mutex>
#include <set>

#include "base/dcheck.h"
#include "catalog/catalog.h"
#include "command/observe/counters.h"
#include "storage/lock.h"

namespace command {

class OperationContext;
class Transactions;

class OperationContexts {
  public:
    OperationContexts(catalog::Catalog& catalog, Metrics& metrics)
        : catalog_(catalog),
          locks_(catalog.engine().locks()),
          durability_(catalog.engine().durability()),
          metrics_(metrics) {}

    catalog::Catalog& catalog() const { return catalog_; }
    storage::LockManager& locks() const { return locks_; }
    storage::Durability& durability() const { return durability_; }
    // The counters of the operations.
    Metrics& metrics() const { return metrics_; }

    // The operations belong to these transactions; null: unknown. Set before the first operation.
    const Transactions* transactions() const { return transactions_; }
    void set_transactions(const Transactions* transactions) { transactions_ = transactions; }

    // Called by OperationContext alone.
    void add(OperationContext& context) {
        const std::lock_guard guard(mutex_);
        all_.insert(&context);
    }
    void remove(OperationContext& context) {
        const std::lock_guard guard(mutex_);
        DCHECK(all_.contains(&context));
        all_.erase(&context);
    }
    // Visits all that there are; none is destroyed during the visit.
    template <typename Visit>
    void each(Visit&& visit) {
        const std::lock_guard guard(mutex_);
        for (OperationContext* context : all_)
            visit(*context);
    }

  private:
    catalog::Catalog& catalog_;
    storage::LockManager& locks_;
    storage::Durability& durability_;
    Metrics& metrics_;
    const Transactions* transactions_ = nullptr;
    std::mutex mutex_;
    std::set<OperationContext*> all_;  // guarded by mutex_
};

}  // namespace command
