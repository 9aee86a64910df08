// mongod: reads the options, goes into the background if asked to, runs the server until it is told
// to stop. Exit codes are those of wire spec 6.2.

#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <mutex>

#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "journal/debug_flags.h"
#include "server/daemon.h"
#include "server/log_setup.h"
#include "server/option_table.h"
#include "server/options.h"
#include "server/server.h"
#include "server/settings.h"
#include "server/signals.h"
#include "server/start_messages.h"
#include "server/version.h"

namespace server {
namespace {

// Set once, from any thread.
class StopRequest {
  public:
    void set() {
        const std::lock_guard guard(mutex_);
        is_set_ = true;
        changed_.notify_all();
    }
    bool is_set() {
        const std::lock_guard guard(mutex_);
        return is_set_;
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_set_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_set_ = false;
};

// The engine's errors end the start with 100; options it refuses and sockets have their own codes.
int exit_code_of(const base::Error& error) {
    return error.code() == base::kExitNetError ? base::kExitNetError : base::kExitUncaught;
}

// From the moment that data files may be touched until everything is closed.
int run(const Config& config, Settings& settings, LogSetup& log, Readiness& ready,
        StopRequest& stop) {
    Server server(config, settings, log, [&stop] { stop.set(); });
    try {
        server.open_data();
    } catch (const base::Error& error) {
        base::log::error("exception in initAndListen: {} {}, terminating", error.code(),
                         error.what());
        base::log::info("dbexit: ");
        return exit_code_of(error);
    }
    int code = base::kExitClean;
    try {
        if (config.repair) server.repair();
        const bool recover_only = (config.journal_options & ::journal::kRecoverOnly) != 0;
        if (!config.repair && !config.upgrade && !recover_only && !stop.is_set()) {
            server.listen();
            ready.tell();
            stop.wait();
            base::log::info("now exiting");
        }
    } catch (const base::Error& error) {
        base::log::error("{}", error.what());
        code = exit_code_of(error);
    }
    server.stop();
    return code;
}

// A signal has nobody to report to; the log goes on in the file it was in.
void try_rotate(LogSetup& log) {
    try {
        log.rotate();
    } catch (const base::Error& error) {
        base::log::error("{}; the log goes on where it was", error.what());
    }
}

int start(Config& config) {
    Settings settings(config);
    make_paths_absolute(config);
    if (!config.log_path.empty())
        std::cout << "all output going to: " << config.log_path << std::endl;
    base::log::set_context("initandlisten");
    // Before going into the background, so that whoever starts the server sees what is wrong.
    LogSetup log(config);
    Readiness ready;
    if (config.fork) ready = fork_into_background();
    log.capture_output();
    const base::SignalStack signal_stack;
    install_crash_handlers();
    StopRequest stop;
    const SignalThread signals(
        {.shut_down = [&stop](int) { stop.set(); }, .rotate_log = [&log] { try_rotate(log); }});
    try {
        const PidFile pid_file(config.pid_file);
        log_banner(config);
        log_start_warnings(config);
        return run(config, settings, log, ready, stop);
    } catch (const base::Error& error) {
        base::log::error("{}", error.what());
        return base::kExitError;
    }
}

int run_program(const std::vector<std::string>& argv) {
    Config config = parse_options(argv);
    if (config.help) {
        std::cout << help_text();
        return base::kExitClean;
    }
    if (config.version) {
        std::cout << version_text();
        return base::kExitClean;
    }
    if (config.print_dbpath) {
        std::cout << config.dbpath << '\n';
        return base::kExitClean;
    }
    if (config.shutdown) return stop_other_server(config.dbpath);
    return start(config);
}

}  // namespace
}  // namespace server

int main(int argc, char** argv) {
    int code = base::kExitUncaught;
    try {
        code = server::run_program({argv, argv + argc});
    } catch (const server::OptionError& error) {
        std::cerr << error.what() << std::endl;
        code = error.exit_code();
    } catch (const base::Error& error) {
        std::cerr << "ERROR: " << error.what() << std::endl;
        code = base::kExitError;
    } catch (const std::exception& error) {
        std::cerr << "ERROR: " << error.what() << std::endl;
    }
    std::cout.flush();
    // Whatever is still running (an operation that would not end) must not hold up the exit.
    std::_Exit(code);
}
