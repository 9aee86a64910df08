// crash/testing/live_server.h - a whole server on a simulated disk, but for its network: one client
// after the other, and no thread does anything unless it is told to.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bson/builder.h"
#include "catalog/catalog.h"
#include "command/server_context.h"
#include "command/service.h"
#include "crash/testing/setting.h"
#include "os/testing/step_clock.h"
#include "storage/mmapv1/engine.h"

namespace crash {

class LiveServer {
  public:
    // Recovers. Throws base::Error. The clock is made for it, by the same thread.
    LiveServer(os::SimFileSystem& disk, os::StepClock& clock, const Setting& setting);
    ~LiveServer();  // as by a kill

    // What a server does after that and before it takes connections.
    void prepare();
    // A command and its reply. A commit that it waits for is made by the journal thread; as soon
    // as it is told of it, `committed` is called.
    bson::Object run(const std::string& db, const bson::Object& command,
                     const std::function<void()>& committed);
    // The journal thread's sleep ends, and it does what is due.
    void step_journal() { clock_.step(kJournalSleeper); }
    // All data files are flushed by the thread that does it once a minute.
    void flush() { clock_.step(kFlushSleeper); }
    // A clean stop.
    void stop();

  private:
    // In the order in which an engine makes them.
    static constexpr size_t kJournalSleeper = 0;
    static constexpr size_t kFlushSleeper = 1;

    os::StepClock& clock_;
    std::unique_ptr<mmapv1::MmapEngine> engine_;
    std::unique_ptr<catalog::Catalog> catalog_;
    command::ServerContext context_;
    std::unique_ptr<command::Service> service_;
    int connections_ = 0;
};

// Whether a reply says that all went well.
bool succeeded(const bson::Object& reply);

}  // namespace crash
