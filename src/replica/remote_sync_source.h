// replica/remote_sync_source.h - a primary on the network.
#pragma once

#include <memory>
#include <optional>

#include "peer/connection.h"
#include "replica/member.h"
#include "replica/sync_source.h"

namespace replica {

// Reads another member over two connections, one of them for the log. The other arguments outlive
// this object. Throws what peer::Connection does.
class RemoteSyncSource final : public SyncSource {
  public:
    // `member`: whose reports it sends.
    RemoteSyncSource(std::string_view host, const Member& member, const peer::Interrupt& interrupt,
                     const peer::Identity& identity);

    const std::string& host() const override { return data_.host(); }
    bson::Object oldest_entry() override { return end_of_log(1); }
    bson::Object newest_entry() override { return end_of_log(-1); }
    void read_log(uint64_t from) override;
    bson::Doc next_entries() override;
    int64_t term_led() override;
    int32_t rollbacks() override;
    oplog::Position committed() const override { return committed_; }
    void report(const Reached& reached) override;
    std::vector<std::string> databases() override;
    void read(std::string_view ns, const std::function<void(bson::Doc batch)>& visit) override;
    bson::Object find(std::string_view ns, bson::Doc which) override;

  private:
    bson::Object end_of_log(int direction);
    void await_commit();

    const Member& member_;
    peer::Connection data_;
    peer::Connection log_;
    std::optional<peer::Cursor> entries_;
    uint64_t from_ = 0;
    oplog::Position committed_;
    bool is_first_batch_ = false;
    bool is_visiting_ = false;  // read() shows documents that `data_` holds
    bool is_journaling_ = false;
};

}  // namespace replica
