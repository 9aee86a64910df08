// crash/testing/live_server.h - a whole server on a simulated disk, but for its network: its
// clients' messages arrive one after the other, and no thread runs unless a step starts it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "bson/builder.h"
#include "catalog/catalog.h"
#include "command/request/server_context.h"
#include "command/request/service.h"
#include "crash/testing/setting.h"
#include "os/testing/step_clock.h"
#include "storage/mmapv1/engine.h"
#include "wire/handler.h"

namespace crash {

// A command of a client on a connection of its own, which may have to wait for a commit. Goes
// before its server.
class Exchange final : public wire::Waker {
  public:
    // Calls `committed` as soon as it is notified of its commit.
    Exchange(command::Service& service, int64_t connection, const std::string& db,
             const bson::Object& command, std::function<void()> committed);
    bool done() const { return step_.kind != wire::Step::Kind::suspend; }
    bool woken() const { return woken_; }
    // Goes on after the wait, or finds that it has to wait again.
    void resume() { step_ = session_->resume(reply_); }
    bson::Object reply() const;
    void wake() override {
        woken_ = true;
        committed_();
    }

  private:
    const std::function<void()> committed_;
    std::atomic<bool> woken_{false};
    bson::Buffer message_, reply_;
    std::unique_ptr<wire::Session> session_;
    wire::Step step_;
};

class LiveServer {
  public:
    // Recovers. Throws base::Error. The clock is made for it, by the same thread.
    LiveServer(os::SimFileSystem& disk, os::StepClock& clock, const mmapv1::EngineOptions& options);
    ~LiveServer();  // as by a kill

    // Does what a server does after its start and before it takes connections.
    void prepare();
    std::unique_ptr<Exchange> begin(const std::string& db, const bson::Object& command,
                                    std::function<void()> committed);
    // Finishes the exchange: the journal thread makes a commit that it waits for. `alive` is asked
    // after each step.
    void finish(Exchange& exchange, const std::function<bool()>& alive);
    // The journal thread's sleep ends, and it does what is due.
    void step_journal() {
        if (engine_->durability().journaling()) clock_.step(kJournalSleeper);
    }
    storage::Engine& engine() { return *engine_; }
    // Flushes the data files by the thread that does it once a minute.
    void flush() { clock_.step(kFlushSleeper); }
    // Flushes in the same way, but while `use` is called it waits to commit, with dataFileWrites
    // "flush" between copying and storing pages. `use` may write and flush, and wait for no commit.
    void flush_around(const std::function<void()>& use);
    // Whether so much was written that the thread is to flush early.
    bool wants_flush() const { return clock_.was_woken(kFlushSleeper); }
    // Stops the server cleanly.
    void stop();

  private:
    // The sleepers in the order in which an engine makes them.
    static constexpr size_t kJournalSleeper = 0;
    static constexpr size_t kFlushSleeper = 1;

    os::StepClock& clock_;
    std::unique_ptr<mmapv1::MmapEngine> engine_;
    std::unique_ptr<catalog::Catalog> catalog_;
    command::ServerContext context_;
    std::unique_ptr<command::Service> service_;
    int64_t connections_ = 0;
};

// Gives back the locks of the calling thread, which has ended in the middle of a commit. The engine
// may be ending, and waits for its threads then.
void give_locks_back(storage::Engine& engine);

// Whether a reply says that all went well.
bool succeeded(const bson::Object& reply);

}  // namespace crash
