// command/streams/stream_source.h - a change stream as the source of a cursor: the entries of the
// log of a set from some place on, as events, through the stages of a pipeline.
//
// The room streams: what $changeStream asks for, events, resume tokens. It reads the log under the
// lock of `local`, some entries at a time; events are made and stages work without a lock.
//
// Events are not to be taken back: a reply leaves once a majority has the entry of its
// resume_token().
#pragma once

#include <memory>
#include <vector>

#include "bson/builder.h"
#include "catalog/collection.h"
#include "command/cursor/cursors.h"
#include "command/streams/change_events.h"
#include "command/streams/stream_request.h"
#include "oplog/log.h"
#include "query/stage/pipeline.h"

namespace command {

class StreamSource final : public CursorSource {
  public:
    // No lock. Throws base::Error 280, 286 where the log has not what the request begins with.
    StreamSource(OperationContext& context, const oplog::Log& log, StreamRequest request,
                 std::shared_ptr<query::Pipeline> stages);
    ~StreamSource() override;

    bool next(bson::Buffer& out) override;
    bool put_back() override;
    bool at_end() const override { return has_ended_; }
    bool has_ended() const override { return has_ended_ && !again_; }
    void set_context(OperationContext& context) override { context_ = &context; }
    bool wake_on_data(DataWait& wait) override;
    bson::Object resume_token() const override { return token_.object(); }

  private:
    void start(CollectionLock& lock);
    void check_history(catalog::Collection& ring) const;
    void check_resumed(const oplog::EntryFields& entry);
    bool pull(bson::Doc* doc);
    void find_events();
    bool read();
    bool fill();
    bool look_up(std::string_view ns, bson::Doc key, bson::Buffer& out) const;

    const StreamRequest request_;
    const oplog::Log& log_;
    const ChangeEvents events_{request_};
    const std::shared_ptr<query::Pipeline> stages_;
    const ChangeEvents::LookUp look_up_;
    OperationContext* context_;
    std::unique_ptr<query::Executor> executor_;  // saved between two reads
    uint64_t from_ts_ = 0;                       // entries before it are none of the stream
    bool is_checked_ = false;                    // the entry of the token to go on behind
    oplog::Position read_;                       // the last entry that was read
    bool has_read_ = false;                      // some since the last wait
    bson::Buffer entries_;                       // read, one after the other
    size_t next_entry_ = 0;                      // the first of them whose events are not known
    oplog::EntryFields entry_;                   // the one before it
    std::vector<ChangeEvent> coming_;            // its events
    size_t next_event_ = 0;
    bson::Buffer event_;        // the last one that the stages were given
    bson::Buffer last_;         // the last result
    ResumeToken token_;         // behind the last result, or what was read since
    ResumeToken token_before_;  // before it
    bool again_ = false;        // the last result comes again
    bool has_ended_ = false;
};

}  // namespace command
