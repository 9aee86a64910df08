// mongod: reads the options, goes into the background if asked to, runs the server until it is
// stopped. Exit codes are those of wire spec 6.2.

#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <system_error>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/escape_control_chars.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "journal/debug_flags.h"
#include "options/catalogue.h"
#include "options/documents.h"
#include "options/help.h"
#include "server/daemon.h"
#include "server/engines.h"
#include "server/log_setup.h"
#include "server/options.h"
#include "server/secret_words.h"
#include "server/server.h"
#include "server/service_manager.h"
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

// Lets the thread of signals use the server while it listens.
class Listening {
  public:
    void set(Server* server) {
        const std::lock_guard guard(mutex_);
        server_ = server;
    }
    // Reads the files of TLS anew; false: nothing listens, or it speaks no TLS.
    bool read_certificates() {
        const std::lock_guard guard(mutex_);
        if (server_ == nullptr) return false;
        try {
            if (!server_->read_certificates()) return false;
        } catch (const base::Error& error) {
            base::log::error("{}; the certificates that were read before stay in use",
                             error.what());
        }
        return true;
    }

  private:
    std::mutex mutex_;
    Server* server_ = nullptr;
};

// The engine's errors end the start with 100; options it refuses and sockets have their own codes.
int exit_code_of(const base::Error& error) {
    return error.code() == base::kExitNetError ? base::kExitNetError : base::kExitUncaught;
}

// Most often the system gives no thread or descriptor.
void log_refusal(const std::exception& error) {
    base::log::error(
        "the server cannot start: {}; where the system refuses threads or files, look at its "
        "limits (ulimit -u, ulimit -n) and at the memory that is free",
        error.what());
}

// Runs the server from the moment that data files may be touched until everything is closed.
int run(const CommandLine& command_line, LogSetup& log, const PidFile& pid_file, Readiness& ready,
        StopRequest& stop, Listening& listening) {
    auto server = std::make_unique<Server>(command_line, log, [&stop] { stop.set(); });
    try {
        notify_service_manager("STATUS=opening the data; after a crash the journal is replayed");
        server->open_data();
    } catch (const base::Error& error) {
        base::log::error("exception in initAndListen: {} {}, terminating", error.code(),
                         error.what());
        base::log::info("dbexit: ");
        return exit_code_of(error);
    } catch (const std::exception& error) {
        log_refusal(error);
        base::log::info("dbexit: ");
        return base::kExitUncaught;
    }
    int code = base::kExitClean;
    try {
        pid_file.check();
        if (options::repair.get()) server->repair();
        if (options::replay_oplog.is_set()) server->replay([&stop] { return stop.is_set(); });
        const bool recover_only = (options::journal_options.get() & journal::kRecoverOnly) != 0;
        const bool only = options::repair.get() || options::upgrade.get() || recover_only ||
                          options::replay_oplog.is_set();
        if (!only && !stop.is_set()) {
            server->listen();
            listening.set(server.get());
            ready.tell();
            notify_service_manager("READY=1\nSTATUS=waiting for connections");
            stop.wait();
            base::log::info("now exiting");
        }
    } catch (const base::Error& error) {
        base::log::error("{}", error.what());
        code = exit_code_of(error);
    } catch (const std::exception& error) {
        log_refusal(error);
        code = base::kExitUncaught;
    }
    listening.set(nullptr);
    notify_service_manager("STOPPING=1\nSTATUS=flushing and closing the data files");
    if (!server->stop()) static_cast<void>(server.release());
    return code;
}

// A signal has no client to report to; logging continues in the file it was in.
void try_rotate(LogSetup& log) {
    try {
        log.rotate();
    } catch (const base::Error& error) {
        base::log::error("{}; logging continues in the old file", error.what());
    }
}

int start(const CommandLine& command_line) {
    make_paths_absolute();
    const std::string log_path = options::log_path.get();
    if (!log_path.empty()) std::cout << "all output going to: " << log_path << std::endl;
    base::log::set_context("initandlisten");
    // The log is opened before going into the background, so that the terminal or script that
    // starts the server gets the error.
    LogSetup log;
    Readiness ready;
    if (options::fork.get()) ready = fork_into_background();
    log.capture_output();
    const base::SignalStack signal_stack;
    install_crash_handlers();
    StopRequest stop;
    Listening listening;
    try {
        const SignalThread signals(
            {.shut_down = [&stop](int) { stop.set(); },
             .rotate_log = [&log] { try_rotate(log); },
             .hang_up = [&listening] { return listening.read_certificates(); }});
        const PidFile pid_file(options::pid_file.get());
        log_banner(command_line);
        log_memory();
        log_start_warnings(command_line);
        return run(command_line, log, pid_file, ready, stop, listening);
    } catch (const base::Error& error) {
        base::log::error("{}", error.what());
        return base::kExitError;
    } catch (const std::system_error& error) {
        log_refusal(error);
        return base::kExitUncaught;
    }
}

int run_salvage() {
    try {
        return salvage(std::cout) ? base::kExitClean : base::kExitError;
    } catch (const base::Error& error) {
        std::cout.flush();
        std::cerr << "ERROR: " << base::escape_control_chars(error.what()) << std::endl;
        return base::kExitUncaught;
    }
}

int run_program(const std::vector<std::string>& argv) {
    const CommandLine command_line = parse_options(argv);
    options::take_defaults_of(base::available_memory().bytes());
    if (options::help.get()) {
        std::cout << options::help_text();
        return base::kExitClean;
    }
    if (options::describe.is_set()) {
        constexpr std::string (*kDocuments[])() = {options::markdown, options::man_page,
                                                   options::bash_completion};
        std::cout << kDocuments[options::describe.choice()]();
        return base::kExitClean;
    }
    if (options::version.get()) {
        std::cout << version_text();
        return base::kExitClean;
    }
    if (command_line.print_dbpath) {
        std::cout << options::dbpath.get() << '\n';
        return base::kExitClean;
    }
    if (options::shutdown.get()) return stop_other_server(options::dbpath.get());
    if (options::salvage.is_set()) return run_salvage();
    return start(command_line);
}

}  // namespace
}  // namespace server

int main(int argc, char** argv) {
    int code = base::kExitUncaught;
    try {
        server::prepare_process();
        const std::vector<std::string> words(argv, argv + argc);
        server::hide_secrets(argc, argv);
        code = server::run_program(words);
    } catch (const server::OptionError& error) {
        std::cerr << error.what() << std::endl;
        code = error.exit_code();
    } catch (const base::Error& error) {
        std::cerr << "ERROR: " << base::escape_control_chars(error.what()) << std::endl;
        code = base::kExitError;
    } catch (const std::exception& error) {
        std::cerr << "ERROR: " << base::escape_control_chars(error.what()) << std::endl;
    }
    std::cout.flush();
    // Whatever is still running (an operation that would not end) must not hold up the exit.
    std::_Exit(code);
}
