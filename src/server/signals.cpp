#include "server/signals.h"

#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>

#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"

namespace server {

namespace {

constexpr int kShutdownSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGXCPU};
constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT};
constexpr int kRotate = SIGUSR1;
constexpr int kEndThread = SIGUSR2;

constexpr unsigned kTraceSeconds = 10;  // only ends a process that hangs while it writes its trace

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

void say_address(const void* address) {
    char text[] = "SEVERE: Invalid access at address: 0x0000000000000000\n";
    auto rest = reinterpret_cast<uintptr_t>(address);
    for (size_t at = sizeof text - 3; rest != 0; --at, rest >>= 4)
        text[at] = "0123456789abcdef"[rest & 15];
    say(text);
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

// The thread that ends the process; 0: none does.
std::atomic<pid_t> g_crashing{0};

// The first thread that crashes writes its trace and ends the process; others wait for that.
void on_crash(int signal, siginfo_t* info, void*) {
    const pid_t self = ::gettid();
    pid_t other = 0;
    if (!g_crashing.compare_exchange_strong(other, self)) {
        if (other == self) ::_exit(base::kExitAbrupt);  // crashed again while writing the trace
        for (;;)
            ::pause();
    }
    ::alarm(kTraceSeconds);
    const bool from_kill = info->si_code <= 0;
    if ((signal == SIGSEGV || signal == SIGBUS) && !from_kill) say_address(info->si_addr);
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
    const base::SignalStack signal_stack;
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
    action.sa_sigaction = on_crash;
    // On the alternate stack: the thread's own may be what is used up (base/signal_stack.h).
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int signal : kCrashSignals)
        ::sigaction(signal, &action, nullptr);
    std::set_terminate(on_terminate);
}

}  // namespace server
