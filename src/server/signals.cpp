#include "server/signals.h"

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>

#include "base/damage.h"
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

// The functions below make only async-signal-safe calls; backtrace() is one once it has been called
// before.
void say(const char* text) {
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text, std::strlen(text));
}

void say_number(uintptr_t number) {
    char text[] = "0x0000000000000000";
    for (size_t at = sizeof text - 2; number != 0; --at, number >>= 4)
        text[at] = "0123456789abcdef"[number & 15];
    say(text);
}

void say_address(const void* address) {
    say("SEVERE: Invalid access at address: ");
    say_number(reinterpret_cast<uintptr_t>(address));
    say("\n");
}

uintptr_t read_number(const char*& at) {
    uintptr_t number = 0;
    for (;; ++at) {
        const int digit = *at >= '0' && *at <= '9'   ? *at - '0'
                          : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10
                                                     : -1;
        if (digit < 0) return number;
        number = number << 4 | static_cast<uintptr_t>(digit);
    }
}

// A line of /proc/self/maps: "begin-end rights offset device inode   path". Whether the address is
// in there; then it says where in the file.
bool say_place(const char* line, uintptr_t address) {
    const uintptr_t begin = read_number(line);
    if (*line++ != '-' || address < begin || address >= read_number(line)) return false;
    const char* const path = std::strchr(line, '/');
    if (path == nullptr) return true;
    line = std::strchr(line + 1, ' ');
    if (line == nullptr) return true;
    const uintptr_t offset = read_number(++line);
    say("SEVERE: It lies in ");
    say(path);
    say(" at ");
    say_number(offset + (address - begin));
    say(": the device does not give that page, or the file was cut. dbpath_check names what is "
        "damaged");
    say(base::damage_advice().c_str());
    say("\n");
    return true;
}

// Says which file is mapped at the address, with system calls only.
void say_file(const void* address) {
    const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return;
    char buffer[512], line[1024];
    size_t length = 0;
    for (ssize_t n = 0; (n = ::read(maps, buffer, sizeof buffer)) > 0;) {
        for (const char c : std::string_view(buffer, static_cast<size_t>(n))) {
            if (c != '\n') {
                if (length + 1 < sizeof line) line[length++] = c;
                continue;
            }
            line[length] = 0;
            length = 0;
            if (say_place(line, reinterpret_cast<uintptr_t>(address))) return;
        }
    }
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
    if (signal == SIGBUS && !from_kill) say_file(info->si_addr);
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
    thread_ = std::thread([this] { run(); });
}

SignalThread::~SignalThread() {
    ending_.store(true);
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
        // Any process may send that one; the others have to be handled afterwards as before.
        if (signal == kEndThread) {
            if (ending_.load()) return;
        } else if (signal == kRotate) {
            callbacks_.rotate_log();
        } else if (signal == SIGHUP && callbacks_.hang_up && callbacks_.hang_up()) {
            continue;
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
    // The handler runs on the alternate stack: the thread's own may be what is used up
    // (base/signal_stack.h).
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int signal : kCrashSignals)
        ::sigaction(signal, &action, nullptr);
    std::set_terminate(on_terminate);
}

}  // namespace server
