#include "monitoring/port.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <thread>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "monitoring/visit.h"

namespace monitoring {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using boost::system::error_code;

struct Port::Impl {
    Impl(wire::Handler& its_handler, PortOptions its_options)
        : handler(its_handler), options(std::move(its_options)) {}

    void bind();
    void accept(Tcp::acceptor& acceptor);
    void admit(Tcp::socket socket);
    void run();

    wire::Handler& handler;
    const PortOptions options;
    // The visits that are under way belong to what they wait for.
    std::vector<Visit*> visits;
    asio::io_context io{1};
    std::vector<Tcp::acceptor> acceptors;
    asio::steady_timer pause{io};
    int port = 0;
    std::thread thread;
};

void Port::Impl::bind() {
    port = options.port;
    for (const std::string& address : options.addresses) {
        const auto check = [&](const error_code& error) {
            if (error)
                base::fail(base::kExitNetError, "metricsBindIp: cannot listen on {} port {}: {}",
                           address, port, error.message());
        };
        error_code error;
        Tcp::resolver resolver(io);
        const auto found = resolver.resolve(address, fmt::format("{}", port), error);
        check(error);
        const Tcp::endpoint endpoint = found.begin()->endpoint();
        Tcp::acceptor& acceptor = acceptors.emplace_back(io);
        acceptor.open(endpoint.protocol(), error);
        check(error);
        acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
        check(error);
        if (endpoint.protocol() == Tcp::v6()) {
            acceptor.set_option(asio::ip::v6_only(true), error);
            check(error);
        }
        acceptor.bind(endpoint, error);
        check(error);
        acceptor.listen(Tcp::acceptor::max_listen_connections, error);
        check(error);
        port = acceptor.local_endpoint().port();
    }
}

void Port::Impl::accept(Tcp::acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](error_code error, Tcp::socket socket) {
        if (!error) {
            admit(std::move(socket));
            return accept(acceptor);
        }
        // There are no descriptors left, most likely.
        pause.expires_after(std::chrono::milliseconds(100));
        pause.async_wait([this, &acceptor](error_code) { accept(acceptor); });
    });
}

void Port::Impl::admit(Tcp::socket socket) try {
    if (visits.size() == kConnectionsMax)
        (*std::ranges::min_element(visits, {}, &Visit::last_heard))->end();
    DCHECK(visits.size() < kConnectionsMax);
    error_code ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    const auto visit = std::make_shared<Visit>(
        std::move(socket), options.tls ? options.tls() : nullptr, handler, options,
        [this](const Visit& ended) { std::erase(visits, &ended); });
    visits.push_back(visit.get());
    visit->begin();
} catch (const std::exception& error) {
    base::log::warning("a connection to the port of metrics cannot be served: {}", error.what());
}

void Port::Impl::run() {
    const base::SignalStack signal_stack;
    base::log::set_context("metrics");
    ::pthread_setname_np(::pthread_self(), "metrics");
    for (;;) {
        try {
            io.run();
            return;
        } catch (const std::exception& error) {
            base::log::error("metrics: {}", error.what());
        }
    }
}

Port::Port(wire::Handler& handler, PortOptions options)
    : impl_(std::make_unique<Impl>(handler, std::move(options))) {
    impl_->bind();
}

void Port::start() {
    DCHECK(!impl_->thread.joinable());
    for (Tcp::acceptor& acceptor : impl_->acceptors)
        impl_->accept(acceptor);
    impl_->thread = std::thread([this] { impl_->run(); });
}

Port::~Port() {
    impl_->io.stop();
    if (impl_->thread.joinable()) impl_->thread.join();
}

int Port::port() const {
    return impl_->port;
}

}  // namespace monitoring
