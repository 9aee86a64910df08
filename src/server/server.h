// server/server.h - one running server: engine, catalog, commands and listener, brought up and
// taken down in order.
//
// start(): engine (lock file, recovery, data files), interrupted index builds, listener, background
// threads. stop(): the reverse; every exchange that is under way ends first. The order is what
// makes a clean shutdown clean: no writer is left when the engine commits for the last time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "catalog/catalog.h"
#include "command/request/service.h"
#include "monitoring/port.h"
#include "oplog/log.h"
#include "query/expression/filter_expression.h"
#include "replica/elections.h"
#include "replica/heartbeats.h"
#include "replica/member.h"
#include "replica/reporter.h"
#include "replica/tailer.h"
#include "server/log_setup.h"
#include "server/options.h"
#include "server/periodic.h"
#include "storage/engine.h"
#include "wire/listener.h"

namespace server {

class Server {
  public:
    // `request_shutdown` may be called from any thread.
    Server(const CommandLine& command_line, LogSetup& log, std::function<void()> request_shutdown);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Opens the data. Throws base::Error; nothing needs to be stopped then.
    void open_data();
    // --repair: rewrites all databases. Throws base::Error, after the last one, when not all could
    // be repaired.
    void repair();
    // --replayOplog: brings the data to the end of that file. Throws base::Error where it cannot,
    // or, by a call again and again, once it is stopped; no start takes the directory then.
    void replay(const std::function<bool()>& is_stopped);
    // Accepts connections. Throws base::Error with code 48 (the exit code) when it cannot.
    void listen();
    // Reads the files of TLS anew, for the connections that follow; false: it speaks none. Throws
    // base::Error for a file that cannot be used; what was read before stays then. REQUIRES: it
    // listens.
    bool read_certificates();
    // Ends what open_data() and listen() began. False: an operation still waits for a lock, and no
    // lock is given any more. Its thread uses this object as long as the process lives.
    bool stop();

  private:
    command::ServerContext make_context(const CommandLine& command_line,
                                        std::function<void()> request_shutdown);
    void open_replication();
    void open_master_log();
    void open_member();
    void start_following();
    void warn_of_set();
    void follow_options();
    void set_memory_limits();
    void start_background();
    void bind_metrics_port();
    bool end_connections();

    LogSetup& log_;
    command::ServerContext context_;
    std::unique_ptr<storage::Engine> engine_;
    const query::FilterExpressions expressions_{query::OuterVariables()};  // of validators
    std::unique_ptr<oplog::Log> log_of_writes_;                            // null: there is none
    std::unique_ptr<catalog::Catalog> catalog_;
    peer::Identity identity_;                             // among the members of the set
    std::unique_ptr<election::Coordinator> coordinator_;  // until elections_ has it
    std::unique_ptr<replica::Member> member_;             // null: of no set
    std::unique_ptr<replica::Elections> elections_;       // null: it elects no primary
    std::unique_ptr<command::Service> service_;
    std::unique_ptr<wire::Listener> listener_;
    std::unique_ptr<monitoring::Port> metrics_;  // null: it has none
    std::vector<std::unique_ptr<Periodic>> background_;
    std::unique_ptr<replica::Heartbeats> heartbeats_;  // null: of no set, as the next
    std::unique_ptr<replica::Tailer> follower_;
    std::unique_ptr<replica::Reporter> reporter_;
};

}  // namespace server
