#include "storage/mmapv1/commit/durable_parts.h"

#include <cmath>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/signal_stack.h"
#include "journal/figures.h"

namespace mmapv1 {

using journal::Metric;

bool JournaledViews::exists(const std::string& relative_path) const {
    return os_files_.exists(files_.full_path(relative_path));
}

int64_t JournaledViews::unused_bytes(const std::string& relative_path) const {
    const auto file = os_files_.open(files_.full_path(relative_path), {});
    uint64_t head = 0;
    file->read_at(0, {reinterpret_cast<uint8_t*>(&head), sizeof head});
    return head == 0 ? static_cast<int64_t>(file->length()) : 0;
}

void JournaledViews::remove(const std::string& relative_path) {
    files_.remove_on_disk(relative_path);
}

MappedFile& JournaledViews::open(const std::string& relative_path) {
    return files_.open(relative_path, journal_);
}

MappedFile& JournaledViews::create(const std::string& relative_path, int64_t length) {
    files_.create_on_disk(relative_path, length);
    return files_.open(relative_path, journal_);
}

void JournaledViews::note_created(const MappedFile& file) {
    if (journal_) collector_.note_created(file.path(), file.length());
}

void JournaledViews::declare(void* p, size_t bytes) {
    DCHECK(storage::LockManager::may_write());
    if (journal_) collector_.declare(p, static_cast<uint32_t>(bytes));
}

void JournaledViews::check_room() const {
    if (journal_ && collector_.changed_bytes() > WriteCollector::kMostBytes)
        base::fail(base::kOperationFailed,
                   "the operation changes more of the indexes than one commit can carry ({}MB); "
                   "make the document smaller, or drop an index",
                   WriteCollector::kMostBytes >> 20);
}

void JournaledViews::close(MappedFile& file) {
    durability_.commit_now();  // also waits for a commit that is still copying into this file
    const std::string path = file.path();
    // Later flushes no longer see the file, and they are what lets journal files go.
    static_cast<DurableFile&>(file).flush(true);
    files_.close(path);
}

Durable::Parts::Parts(const DurableOptions& o, storage::LockManager& l, os::FileSystem& f,
                      os::Clock& c, Durable& durable)
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

void Durable::Parts::commit_as_writer() {
    const uint64_t announced = admission.leave();
    collector.unspool();
    do {
        base::log::debug(1, "commitIfNeeded upgrading from shared write to exclusive write state");
        if (!locks.w_to_X()) continue;  // somebody else has committed
        if (collector.has_written()) {
            counters.record(Metric::early_commits);
            commit.commit_in_lock();
        }
        locks.X_to_w();
    } while (!admission.enter_again(announced, collector.uncommitted_bytes()));
}

void Durable::Parts::run_journal_thread() {
    const base::SignalStack signal_stack;
    base::log::set_context("journal");
    while (!schedule.stopping()) {
        counters.rotate_if_due(clock.monotonic_us());
        schedule.wait();
        commit.run_cycle();
    }
}

void Durable::Parts::stop_threads() {
    data_file_sync.stop();
    schedule.stop();
    if (journal_thread.joinable()) journal_thread.join();
}

namespace {

void append_figures(bson::Builder& out, std::string_view name,
                    const std::vector<journal::Figure>& figures) {
    if (figures.empty()) return;
    bson::Builder group = out.sub_object(name);
    for (const journal::Figure& figure : figures) {
        if (figure.group.empty()) {
            group.append(figure.name, figure.value);
        } else {
            append_figures(group, figure.name, figure.group);
        }
    }
}

// A whole number as an int, as it always was; a fraction as a double.
void append_milliseconds(bson::Builder& out, std::string_view name, int64_t us) {
    if (us % 1000 == 0) {
        out.append(name, static_cast<int32_t>(us / 1000));
    } else {
        out.append(name, static_cast<double>(us) / 1000.0);
    }
}

}  // namespace

// The megabyte figures are rounded to whole numbers, because some monitoring programs of today
// refuse fractions in them; the byte counts beside them are exact.
void Durable::append_dur_status(bson::Builder& out) const {
    if (!journaling()) return;
    const journal::Counters::Report report = parts_->counters.last_interval();
    const auto count = [&](const char* name, Metric metric) {
        out.append(name, static_cast<int32_t>(report[metric]));
    };
    const auto megabytes = [&](const char* name, Metric metric) {
        out.append(name, std::round(static_cast<double>(report[metric]) / 1e6));
    };
    const auto bytes = [&](const char* name, Metric metric) {
        out.append(name, static_cast<int64_t>(report[metric]));
    };
    count("commits", Metric::commits);
    megabytes("journaledMB", Metric::journaled_bytes);
    megabytes("writeToDataFilesMB", Metric::data_file_bytes);
    out.append("compression", std::round(report.compression()));
    count("commitsInWriteLock", Metric::commits_in_write_lock);
    count("earlyCommits", Metric::early_commits);
    {
        bson::Builder times = out.sub_object("timeMs");
        const auto ms = [&](const char* name, uint64_t us) {
            times.append(name, static_cast<int32_t>(us / 1000));
        };
        ms("dt", static_cast<uint64_t>(report.interval_us));
        ms("prepLogBuffer", report[Metric::prep_log_buffer_us]);
        ms("writeToJournal", report[Metric::write_to_journal_us]);
        ms("writeToDataFiles", report[Metric::write_to_data_files_us]);
        ms("remapPrivateView", report[Metric::remap_private_view_us]);
    }
    bytes("journaledBytes", Metric::journaled_bytes);
    bytes("uncompressedBytes", Metric::uncompressed_bytes);
    bytes("writeToDataFilesBytes", Metric::data_file_bytes);
    if (const journal::CommitInterval interval = commit_interval())
        append_milliseconds(out, "journalCommitIntervalMs", *interval);
    for (const journal::FigureSource& source : journal::figure_sources())
        append_figures(out, source.name, source.figures());
}

void Durable::append_flush_status(bson::Builder& out) const {
    parts_->data_file_sync.append_status(out);
}

}  // namespace mmapv1
