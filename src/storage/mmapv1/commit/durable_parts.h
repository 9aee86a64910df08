// storage/mmapv1/commit/durable_parts.h - what class Durable is made of; only its own files include
// this.
#pragma once

#include <thread>

#include "base/log.h"
#include "journal/commit_schedule.h"
#include "storage/mmapv1/commit/data_file_sync.h"
#include "storage/mmapv1/commit/durable.h"
#include "storage/mmapv1/commit/group_commit.h"
#include "storage/mmapv1/commit/write_admission.h"

namespace mmapv1 {

// Views over a FileSet, with declarations going to a WriteCollector when there is a journal.
class JournaledViews final : public Views {
  public:
    JournaledViews(FileSet& files, os::FileSystem& os_files, WriteCollector& collector,
                   storage::Durability& durability, bool journal)
        : files_(files),
          os_files_(os_files),
          collector_(collector),
          durability_(durability),
          journal_(journal) {}

    bool exists(const std::string& relative_path) const override;
    int64_t unused_bytes(const std::string& relative_path) const override;
    void remove(const std::string& relative_path) override;
    MappedFile& open(const std::string& relative_path) override;
    MappedFile& create(const std::string& relative_path, int64_t length) override;
    void note_created(const MappedFile& file) override;
    void close(MappedFile& file) override;
    void make_room(int64_t document_bytes) override { durability_.make_room(document_bytes); }
    void commit_if_needed() override { durability_.commit_if_needed(); }
    void check_room() const override;
    void declare(void* p, size_t bytes) override;

  private:
    FileSet& files_;
    os::FileSystem& os_files_;
    WriteCollector& collector_;
    storage::Durability& durability_;
    const bool journal_;
};

struct Durable::Parts {
    Parts(const DurableOptions& o, storage::LockManager& l, os::FileSystem& f, os::Clock& c,
          Durable& durable);
    bool over_limit() const { return collector.uncommitted_bytes() >= WriteCollector::kLimitBytes; }

    // A commit by a holder of w, at a point where its data is consistent. Every other holder of w
    // has to come to such a point, or to its end, before. What the thread has announced stays so.
    void commit_as_writer();
    void run_journal_thread();
    void stop_threads();

    const DurableOptions options;
    storage::LockManager& locks;
    os::FileSystem& os_files;
    os::Clock& clock;

    journal::Counters counters;
    journal::Journal journal;
    FileSet files;
    CommitGate gate;
    WriteCollector collector{gate};
    journal::CommitSchedule schedule;
    CommitNotifier notifier{counters, schedule};
    GroupCommit commit;
    JournaledViews views;
    DataFileSync data_file_sync;
    WriteAdmission admission;
    std::thread journal_thread;
    bool shut_down = false;
};

}  // namespace mmapv1
