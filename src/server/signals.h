// server/signals.h - what the operating system asks of the server.
//
// Asynchronous signals are blocked in all threads and taken by one thread (wire spec 6.3): SIGTERM,
// SIGINT, SIGHUP and SIGXCPU ask for a shutdown, SIGUSR1 for a rotation of the log; where TLS is
// spoken SIGHUP asks for its files to be read anew instead. SIGUSR2 is ignored (for others see
// prepare_process(), daemon.h). Signals of a crash write a stack trace to the log and end the
// process with exit code 14, touching nothing else: the lock file stays, the journal is what
// counts.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace server {

class SignalThread {
  public:
    struct Callbacks {
        std::function<void(int signal)> shut_down;  // may be called more than once
        std::function<void()> rotate_log;
        // SIGHUP: whether there was something else to do than to shut down, and it is done.
        std::function<bool()> hang_up;
    };
    // Construct it before any other thread is made: threads inherit what is blocked.
    explicit SignalThread(Callbacks callbacks);
    ~SignalThread();
    SignalThread(const SignalThread&) = delete;
    SignalThread& operator=(const SignalThread&) = delete;

  private:
    void run();

    Callbacks callbacks_;
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

// Installs them, and makes a failed exception (std::terminate) end that way.
void install_crash_handlers();

}  // namespace server
