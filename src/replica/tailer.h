// replica/tailer.h - follows the primary, by a thread of its own: copies its data once, then reads
// its log from the last own entry on and does what it says, each entry in the commit of its change.
// This member therefore has at every moment the data that the primary had at an earlier one.
//
// The place of the last own entry in the primary's log decides. If that log has it, or the entry
// that was written directly after it, which has overwritten it, the tailer goes on from there. If
// it is older than all of that log, the member is too stale: it stays RECOVERING until its
// directory is emptied, or filled from another member. If it is in neither, the histories have
// parted, and the member stays RECOVERING too, since only a rollback would help.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "oplog/apply.h"
#include "peer/interrupt.h"
#include "replica/member.h"
#include "replica/sync_source.h"

namespace replica {

class Tailer {
  public:
    // Throws base::Error where there is no such source. The interrupt, which outlives it, ends all
    // that waits for it.
    using Connect = std::function<std::unique_ptr<SyncSource>(const std::string& host,
                                                              const peer::Interrupt& interrupt)>;
    // Hears of an entry that has been applied; of an empty one when a copy has been made. The lock
    // of the database may be held.
    using Applied = std::function<void(bson::Doc entry)>;
    // The arguments outlive this object.
    Tailer(
        catalog::Catalog& catalog, Member& member, oplog::Applier::RunCommand run, Connect connect,
        Applied applied = [](bson::Doc) {});
    ~Tailer() { stop(); }
    Tailer(const Tailer&) = delete;
    Tailer& operator=(const Tailer&) = delete;

    void start();
    // Waits for the thread.
    void stop();

    // Does one step of what the thread does, on the calling thread, for tests. It connects if it
    // has to; then it copies, or decides, or applies one batch of entries. Returns false if there
    // is nothing to do, or something has failed, and a pause is due.
    bool step();

  private:
    void run();
    std::chrono::milliseconds pause() const;
    bool begin();
    void complete_copy();
    void show_whether_complete();
    bool roll_back();
    void check_leads(int64_t term);
    void stay_behind(const std::string& why);
    int64_t known_term() const;
    int64_t last_hash() const;
    void apply(bson::Doc batch);
    void apply(std::span<const bson::Doc> entries);
    size_t apply_run(std::span<const bson::Doc> entries);
    void note_applied(bson::Doc entry);

    catalog::Catalog& catalog_;
    Member& member_;
    oplog::Applier applier_;
    const Connect connect_;
    const Applied applied_;
    peer::Interrupt end_;
    std::shared_ptr<const peer::Interrupt> source_end_;
    std::unique_ptr<SyncSource> source_;  // null: to be connected
    bool reads_log_ = false;
    int64_t copied_term_ = 0;  // of the primary that had that entry; 0: none was asked
    oplog::Position copied_until_;
    std::string last_error_;
    std::thread thread_;
};

}  // namespace replica
