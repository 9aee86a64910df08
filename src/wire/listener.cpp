#include "wire/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/spare_descriptors.h"
#include "wire/connection.h"
#include "wire/event_loop.h"
#include "wire/loop_threads.h"

namespace wire {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// The next attempt to accept is made after this, when descriptors or memory have run out.
constexpr std::chrono::milliseconds kAcceptPause{100};
// How many connections are accepted before existing ones are served.
constexpr int kAcceptsPerPass = 64;

std::string endpoint_text(const sockaddr_storage& address) {
    asio::ip::tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), &address, endpoint.capacity());
    return fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
}

bool is_loopback(const sockaddr_storage& address) {
    asio::ip::tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), &address, endpoint.capacity());
    return endpoint.address().is_loopback();
}

[[noreturn]] void fail_bind(const char* step, int error, const std::string& what) {
    base::fail(base::kExitNetError, "listen(): {}() failed errno:{} {} for socket: {}", step, error,
               std::strerror(error), what);
}

// A listening socket.
struct ListeningSocket {
    explicit ListeningSocket(asio::io_context& io, int fd, int family_)
        : descriptor(io, fd), pause(io), family(family_) {}
    asio::posix::stream_descriptor descriptor;
    asio::steady_timer pause;
    int family;
};

int open_socket(int family, const std::string& what) {
    const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) fail_bind("socket", errno, what);
    return fd;
}

void bind_socket(int fd, const sockaddr* address, socklen_t size, const std::string& what) {
    const auto check = [&](const char* step, int result) {
        if (result == 0) return;
        const int error = errno;
        ::close(fd);
        fail_bind(step, error, what);
    };
    check("bind", ::bind(fd, address, size));
    check("listen", ::listen(fd, SOMAXCONN));
}

// Removes a socket file that a killed server left, which is in the way of a new one. The file of a
// server that listens stays: the bind then fails.
void remove_stale_socket(const std::string& path, const sockaddr_un& address) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
    const int fd = open_socket(AF_UNIX, path);
    const int result = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int error = errno;
    ::close(fd);
    if (result != 0 && error == ECONNREFUSED) ::unlink(path.c_str());
}

}  // namespace

struct Listener::Impl {
    Impl(Handler& h, Options o)
        : handler(h), options(std::move(o)), table(options.max_connections) {
        DCHECK(options.loops > 0);
        for (int i = 0; i < options.loops; ++i)
            loops.push_back(std::make_unique<EventLoop>());
        sweeper = std::make_unique<asio::steady_timer>(front_loop().io());
        port = options.port;
        table.receiving().set_limits(options.receive);
    }

    EventLoop& front_loop() { return *loops.front(); }

    void bind_tcp(const asio::ip::tcp::endpoint& wanted);
    void bind_names();
    void bind_unix();
    void remove_unix();
    void wait_for_clients(ListeningSocket& socket);
    void accept_some(ListeningSocket& socket);
    void accept_later(ListeningSocket& socket);
    bool accept_one(ListeningSocket& socket);
    void take(int fd, int family, const sockaddr_storage& remote);
    void make(int fd, int family, const sockaddr_storage& remote, int64_t number);
    void describe(ConnectionInfo& info, int fd, int family, const sockaddr_storage& remote);
    void sweep_later();
    EventLoop& next_loop() { return *loops[next++ % loops.size()]; }

    Handler& handler;
    const Options options;
    std::unique_ptr<TlsContext> tls;  // null: no TLS
    ConnectionTable table;
    std::vector<std::unique_ptr<EventLoop>> loops;
    std::vector<std::unique_ptr<ListeningSocket>>
        sockets;                                  // after start only touched on the front loop
    std::unique_ptr<asio::steady_timer> sweeper;  // only the front loop
    LoopThreads threads;
    int port;
    size_t next = 0;  // only the front loop
    std::string socket_path;
    struct stat socket_file {};  // which file it was
    std::atomic<bool> socket_exists{false};
    bool accepting = false;  // only the front loop
};

void Listener::Impl::bind_tcp(const asio::ip::tcp::endpoint& wanted) {
    const asio::ip::tcp::endpoint endpoint(wanted.address(), static_cast<uint16_t>(port));
    const int family = endpoint.protocol().family();
    const std::string what = fmt::format("{}:{}", endpoint.address().to_string(), port);
    const int fd = open_socket(family, what);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    bind_socket(fd, endpoint.data(), static_cast<socklen_t>(endpoint.size()), what);
    sockets.push_back(std::make_unique<ListeningSocket>(front_loop().io(), fd, family));
    if (port == 0) {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
        asio::ip::tcp::endpoint bound;
        std::memcpy(bound.data(), &address, bound.capacity());
        port = bound.port();
    }
}

void Listener::Impl::bind_names() {
    std::vector<std::string> names = options.addresses;
    if (options.ipv6 && names == std::vector<std::string>{"127.0.0.1"}) names.push_back("::1");
    std::set<asio::ip::address> addresses;
    for (const std::string& name : names) {
        error_code error;
        asio::ip::tcp::resolver resolver(front_loop().io());
        const auto found =
            resolver.resolve(name, std::to_string(port), asio::ip::tcp::resolver::passive, error);
        bool bound = false;
        for (const auto& entry : found) {
            const asio::ip::address address = entry.endpoint().address();
            if (address.is_v6() && !options.ipv6) continue;
            // Two names may be one: "127.0.0.1,localhost".
            if (addresses.insert(address).second) bind_tcp(entry.endpoint());
            bound = true;
        }
        if (!bound) {
            base::fail(base::kExitNetError, "bind_ip: cannot use address '{}': {}", name,
                       error ? error.message() : "an IPv6 address needs --ipv6");
        }
    }
}

void Listener::Impl::bind_unix() {
    const std::string path = fmt::format("{}/mongodb-{}.sock", options.unix_socket_prefix, port);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        base::fail(base::kExitNetError, "the path of the Unix socket is too long: {}", path);
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    remove_stale_socket(path, address);
    const int fd = open_socket(AF_UNIX, path);
    // The file has this mode, less the umask, when the bind makes it visible.
    ::fchmod(fd, options.unix_socket_mode);
    bind_socket(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address, path);
    sockets.push_back(std::make_unique<ListeningSocket>(front_loop().io(), fd, AF_UNIX));
    socket_path = path;
    socket_exists = ::lstat(path.c_str(), &socket_file) == 0;
    // The umask may have taken rights away; only the owner can replace the file by another one.
    if (::chmod(path.c_str(), options.unix_socket_mode) != 0) fail_bind("chmod", errno, path);
}

// Removes only our own file: if it was removed, another server may have made one in its place.
void Listener::Impl::remove_unix() {
    if (!socket_exists.exchange(false)) return;
    struct stat there {};
    if (::lstat(socket_path.c_str(), &there) == 0 && there.st_dev == socket_file.st_dev &&
        there.st_ino == socket_file.st_ino)
        ::unlink(socket_path.c_str());
}

void Listener::Impl::wait_for_clients(ListeningSocket& socket) {
    socket.descriptor.async_wait(
        asio::posix::stream_descriptor::wait_read,
        kept(front_loop().handler_memory(), [this, &socket](error_code error) {
            if (!error && accepting) accept_some(socket);
        }));
}

// Whatever goes wrong, the server continues to accept.
void Listener::Impl::accept_some(ListeningSocket& socket) {
    base::log::set_context("initandlisten");
    // The same wait reports the next ones: the socket stays readable.
    for (int i = 0; i < kAcceptsPerPass; ++i) {
        if (accept_one(socket)) continue;
        const int error = errno;
        if (error == EAGAIN || error == EWOULDBLOCK) break;
        // A socket that stays readable must not keep the loop busy.
        accept_later(socket);
        base::log::warning("cannot accept a connection: {}", std::strerror(error));
        return;
    }
    wait_for_clients(socket);
}

void Listener::Impl::accept_later(ListeningSocket& socket) {
    try {
        socket.pause.expires_after(kAcceptPause);
        socket.pause.async_wait(
            kept(front_loop().handler_memory(), [this, &socket](error_code error) {
                if (!error && accepting) accept_some(socket);
            }));
    } catch (const std::exception&) {
        wait_for_clients(socket);
    }
}

void Listener::Impl::sweep_later() {
    sweeper->expires_after(table.receiving().sweep_interval());
    sweeper->async_wait(kept(front_loop().handler_memory(), [this](error_code error) {
        if (error) return;
        sweep_later();
        table.receiving().sweep(Receiving::Clock::now());
        table.sending().enforce(Receiving::Clock::now());
    }));
}

// False, with errno, when there is no connection to accept.
bool Listener::Impl::accept_one(ListeningSocket& socket) {
    sockaddr_storage remote{};
    socklen_t size = sizeof remote;
    const int fd =
        ::accept4(socket.descriptor.native_handle(), reinterpret_cast<sockaddr*>(&remote), &size,
                  SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return errno == EINTR || errno == ECONNABORTED;
    take(fd, socket.family, remote);
    return true;
}

void Listener::Impl::take(int fd, int family, const sockaddr_storage& remote) {
    if (base::is_spare_descriptor(fd)) {
        base::log::warning(
            "connection refused because too few file descriptors are left (ulimit -n): {} "
            "connections are open",
            table.open());
        ::close(fd);
        return;
    }
    const int64_t number = table.admit();
    if (number == 0) {
        base::log::warning("connection refused because too many open connections: {}",
                           table.open());
        ::close(fd);
        return;
    }
    try {
        make(fd, family, remote, number);
    } catch (const std::exception& error) {
        base::log::warning("connection #{} closed: {}", number, error.what());
    }
}

// Takes the socket over, or closes it.
void Listener::Impl::make(int fd, int family, const sockaddr_storage& remote, int64_t number) {
    ConnectionInfo info;
    info.number = number;
    try {
        describe(info, fd, family, remote);
    } catch (...) {
        ::close(fd);
        table.dismiss();
        throw;
    }
    start_connection(next_loop(), table, handler, fd, family, std::move(info),
                     family == AF_UNIX ? nullptr : tls.get());
}

void Listener::Impl::describe(ConnectionInfo& info, int fd, int family,
                              const sockaddr_storage& remote) {
    if (family == AF_UNIX) {
        info.remote = "anonymous unix socket";
        info.local = socket_path;
    } else {
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        sockaddr_storage local{};
        socklen_t size = sizeof local;
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size);
        info.remote = endpoint_text(remote);
        info.local = endpoint_text(local);
        info.local_client = is_loopback(remote);
    }
    if (!base::log::quiet()) {
        base::log::info("connection accepted from {} #{} ({} connections now open)", info.remote,
                        info.number, table.open());
    }
}

Listener::Listener(Handler& handler, Options options)
    : impl_(std::make_unique<Impl>(handler, std::move(options))) {}

Listener::~Listener() {
    stop_accepting();
    impl_->threads.stop();
    if (impl_->tls) impl_->tls->stop_computing();
    impl_->table.clear();  // before the loops that their sockets belong to
}

void Listener::bind() {
    DCHECK(impl_->sockets.empty());
    if (impl_->options.tls.mode != TlsMode::disabled)
        impl_->tls = std::make_unique<TlsContext>(impl_->options.tls);
    impl_->bind_names();
    if (impl_->options.unix_socket) impl_->bind_unix();
}

void Listener::read_certificates() {
    DCHECK(impl_->tls != nullptr);
    impl_->tls->read_anew();
}

std::shared_ptr<ssl_ctx_st> Listener::tls_files() const {
    DCHECK(impl_->tls != nullptr);
    return impl_->tls->files();
}

void Listener::start() {
    Impl* impl = impl_.get();
    DCHECK(!impl->sockets.empty());
    asio::post(impl->front_loop().io(), [impl] {
        impl->accepting = true;
        impl->sweep_later();
        for (const auto& socket : impl->sockets)
            impl->accept_some(*socket);
    });
    std::vector<EventLoop*> loops;
    for (const auto& loop : impl->loops)
        loops.push_back(loop.get());
    impl->threads.start(std::move(loops));
}

void Listener::stop_accepting() {
    Impl* impl = impl_.get();
    asio::post(impl->front_loop().io(), [impl] {
        impl->accepting = false;
        error_code ignored;
        for (const auto& socket : impl->sockets) {
            socket->pause.cancel();
            socket->descriptor.close(ignored);
        }
    });
    impl->remove_unix();
}

bool Listener::stop(std::chrono::milliseconds limit) {
    stop_accepting();
    if (!impl_->table.end_all(limit)) return false;
    impl_->threads.stop();
    return true;
}

void Listener::set_receive_limits(const ReceiveLimits& limits) {
    impl_->table.receiving().set_limits(limits);
}

int Listener::port() const {
    return impl_->port;
}

const std::string& Listener::unix_socket_path() const {
    return impl_->socket_path;
}

Listener::Stats Listener::stats() const {
    Stats stats;
    stats.connections_open = impl_->table.open();
    stats.connections_available = impl_->table.max() - stats.connections_open;
    stats.connections_ever = impl_->table.ever();
    for (const auto& loop : impl_->loops) {
        EventLoop::Counters& counters = loop->counters();
        stats.bytes_in += counters.bytes_in.load(std::memory_order_relaxed);
        stats.bytes_out += counters.bytes_out.load(std::memory_order_relaxed);
        stats.requests += counters.requests.load(std::memory_order_relaxed);
    }
    return stats;
}

}  // namespace wire
