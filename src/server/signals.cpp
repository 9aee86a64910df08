#include "server/signals.h"

#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>

#include "base/error.h"
#include "base/log.h"

namespace server {

namespace {

constexpr int kShutdownSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGXCPU};
constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT};
constexpr int kRotate = SIGUSR1;
constexpr int kEndThread = SIGUSR2;

sigset_t waited_for() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : kShutdownSignals)
        sigaddset(&set, signal);
    sigaddset(&set, kRotate);
    sigaddset(&set, kEndThread);
    return set;
}

// Only async-signal-safe calls below; backtrace() is one once it has been called before.
void say(const char* text) {
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text, std::strlen(text));
}

const char* crash_name(int signal) {
    switch (signal) {
        case SIGSEGV:
            return "SEVERE: Got signal: 11 (Segmentation fault).\nBacktrace:\n";
        case SIGBUS:
            return "SEVERE: Got signal: 7 (Bus error).\nBacktrace:\n";
        case SIGILL:
            return "SEVERE: Got signal: 4 (Illegal instruction).\nBacktrace:\n";
        case SIGFPE:
            return "SEVERE: Got signal: 8 (Floating point exception).\nBacktrace:\n";
        case SIGABRT:
            return "SEVERE: Got signal: 6 (Aborted).\nBacktrace:\n";
        default:
            return "SEVERE: Got signal: 3 (Quit).\nBacktrace:\n";
    }
}

void on_crash(int signal) {
    say(crash_name(signal));
    void* frames[64];
    const int depth = ::backtrace(frames, 64);
    ::backtrace_symbols_fd(frames, depth, STDERR_FILENO);
    ::_exit(base::kExitAbrupt);
}

[[noreturn]] void on_terminate() {
    if (const std::exception_ptr error = std::current_exception()) {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& e) {
            base::log::write(base::log::Severity::severe,
                             fmt::format("unexpected exception: {}", e.what()));
        } catch (...) {
            base::log::write(base::log::Severity::severe, "unexpected exception");
        }
    }
    std::abort();
}

}  // namespace

SignalThread::SignalThread(Callbacks callbacks) : callbacks_(std::move(callbacks)) {
    const sigset_t set = waited_for();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    thread_ = std::thread([this] { run(); });
}

SignalThread::~SignalThread() {
    ::pthread_kill(thread_.native_handle(), kEndThread);
    thread_.join();
}

void SignalThread::run() {
    base::log::set_context("signalProcessingThread");
    ::pthread_setname_np(::pthread_self(), "signals");
    const sigset_t set = waited_for();
    for (;;) {
        int signal = 0;
        if (::sigwait(&set, &signal) != 0) continue;
        if (signal == kEndThread) return;
        if (signal == kRotate) {
            callbacks_.rotate_log();
        } else {
            base::log::info("got signal {} ({}), will terminate after current cmd ends", signal,
                            ::strsignal(signal));
            callbacks_.shut_down(signal);
        }
    }
}

void install_crash_handlers() {
    void* frame = nullptr;
    ::backtrace(&frame, 1);  // loads what it needs while that is still safe
    struct sigaction action {};
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (const int signal : kCrashSignals)
        ::sigaction(signal, &action, nullptr);
    std::set_terminate(on_terminate);
}

}  // namespace server
