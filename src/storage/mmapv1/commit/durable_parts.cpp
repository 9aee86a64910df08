#include "storage/mmapv1/commit/durable_parts.h"

#include "base/dcheck.h"
#include "base/signal_stack.h"

namespace mmapv1 {

DurableParts::DurableParts(const DurableOptions& o, storage::LockManager& l, os::FileSystem& f,
                           os::Clock& c, storage::Durability& durable)
    : options(o),
      locks(l),
      os_files(f),
      clock(c),
      journal(f, c, counters,
              {.directory = os::join(o.dbpath, "journal"),
               .limit_bytes = o.journal_file_bytes != 0 ? o.journal_file_bytes
                              : o.small_files           ? journal::kSmallLimitBytes
                                                        : journal::kLimitBytes,
               .preallocation_allowed = !o.no_prealloc_journal,
               .check_space = (o.journal_options & kNoCheckSpace) == 0}),
      files(f, o.dbpath),
      schedule(c, collector),
      commit(l, files, collector, gate, notifier, schedule, journal, counters, c,
             {.always_remap = (o.journal_options & kAlwaysRemap) != 0,
              .paranoid = base::kDebugChecks || (o.journal_options & kParanoid) != 0}),
      views(files, f, collector, durable, o.journal),
      data_file_sync(c, o.sync_delay_seconds, [&durable] { return durable.flush_all(true); }) {
    schedule.set_interval(o.commit_interval);
}

void DurableParts::commit_as_writer() {
    const uint64_t announced = admission.leave();
    collector.unspool();
    do {
        base::log::debug(1, "commitIfNeeded upgrading from shared write to exclusive write state");
        if (!locks.w_to_X()) continue;  // somebody else has committed
        if (collector.has_written()) {
            counters.record(journal::Metric::early_commits);
            commit.commit_in_lock();
        }
        locks.X_to_w();
    } while (!admission.enter_again(announced, collector.uncommitted_bytes()));
}

void DurableParts::run_journal_thread() {
    const base::SignalStack signal_stack;
    base::log::set_context("journal");
    while (!schedule.stopping()) {
        counters.rotate_if_due(clock.monotonic_us());
        schedule.wait();
        commit.run_cycle();
    }
}

void DurableParts::stop_threads() {
    data_file_sync.stop();
    schedule.stop();
    if (journal_thread.joinable()) journal_thread.join();
}

}  // namespace mmapv1
