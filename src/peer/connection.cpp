#include "peer/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "auth/scram_client.h"
#include "auth/user.h"
#include "base/error.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "wire/message.h"

namespace peer {

namespace {

constexpr size_t kBody = wire::kHeaderBytes + sizeof(uint32_t) + 1;  // flags, kind of section
// Buffers stay as large as that between calls.
constexpr size_t kUsualBytes = 1 << 20;

using Clock = std::chrono::steady_clock;
using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Returns the name without the port, and without the brackets of an IPv6 address.
std::string name_of(const std::string& host) {
    const size_t colon = host.rfind(':');
    if (colon == std::string::npos) base::fail(base::kHostUnreachable, "'{}' has no port", host);
    std::string name = host.substr(0, colon);
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    return name;
}

Addresses addresses_of(const std::string& host) {
    const std::string name = name_of(host);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int error =
        ::getaddrinfo(name.c_str(), host.c_str() + host.rfind(':') + 1, &hints, &list);
    if (error != 0)
        base::fail(base::kHostUnreachable, "no address of {} is known: {}", host,
                   ::gai_strerror(error));
    return {list, ::freeaddrinfo};
}

}  // namespace

Connection::Connection(std::string_view host, const Interrupt& interrupt, Milliseconds limit,
                       const Identity& identity)
    : host_(host), interrupt_(interrupt) {
    const Time until = Clock::now() + limit;
    const Addresses list = addresses_of(host_);
    int error = 0;
    try {
        for (const addrinfo* each = list.get(); each != nullptr; each = each->ai_next) {
            if (connect_to(each->ai_addr, each->ai_addrlen, each->ai_family, until)) {
                if (identity.tls != nullptr) begin_tls(*identity.tls, until);
                if (!identity.key.empty()) log_in(identity.key, until);
                return;
            }
            error = errno;
        }
    } catch (...) {
        ::close(socket_);
        throw;
    }
    const std::string what = fmt::format("cannot connect to {}: {}", host_, std::strerror(error));
    if (error == ECONNREFUSED) throw Refused(what);
    base::fail(base::kHostUnreachable, "{}", what);
}

void Connection::log_in(const std::string& key, Time until) {
    const auto left = [until] { return std::chrono::ceil<Milliseconds>(until - Clock::now()); };
    const auto payload_of = [](bson::Doc answer) {
        const auto bytes = answer["payload"].binary_data();
        return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    const auto with_payload = [](bson::Builder& command, const std::string& payload) {
        command.append_binary("payload", 0,
                              {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
    };
    constexpr auto kMechanism = auth::Mechanism::sha256;
    const auth::UserName who = auth::member_name();
    auth::ScramClient scram(kMechanism, who.name, key);
    bson::Builder start;
    start.append("saslStart", 1).append("mechanism", auth::name_of(kMechanism));
    with_payload(start, scram.first());
    start.append("options", bson::make("skipEmptyExchange", true));
    const bson::Doc first = run(who.db, start.doc(), left());
    bson::Builder go_on;
    go_on.append("saslContinue", 1).append("conversationId", first["conversationId"].to_int32());
    with_payload(go_on, scram.final(payload_of(first)));
    scram.check(payload_of(run(who.db, go_on.doc(), left())));
}

Connection::~Connection() {
    ::close(socket_);
}

// False: errno says why not.
bool Connection::connect_to(const void* address, unsigned size, int family, Time until) {
    socket_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_ < 0) return false;
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int error = 0;
    if (::connect(socket_, static_cast<const sockaddr*>(address), size) != 0) error = errno;
    if (error == EINPROGRESS) {
        await(POLLOUT, until);
        socklen_t length = sizeof error;
        if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    }
    if (error == 0) return true;
    ::close(socket_);
    socket_ = -1;
    errno = error;
    return false;
}

void Connection::lost(const char* how) const {
    base::fail(base::kHostUnreachable, "the connection to {} ended: {}", host_, how);
}

void Connection::await(short events, Time until) const {
    for (;;) {
        const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now());
        pollfd waited[] = {{socket_, events, 0}, {interrupt_.descriptor(), POLLIN, 0}};
        const int ready = ::poll(waited, 2, left.count() > 0 ? static_cast<int>(left.count()) : 0);
        if (ready < 0 && errno != EINTR) lost(std::strerror(errno));
        if (waited[1].revents != 0 && ready > 0)
            base::fail(base::kInterruptedAtShutdown, "the exchange with {} was interrupted", host_);
        if (ready > 0) return;
        if (ready == 0) base::fail(base::kNetworkTimeout, "{} did not answer in time", host_);
    }
}

void Connection::await(wire::TlsStream::Result wanted, Time until) const {
    using Result = wire::TlsStream::Result;
    if (wanted == Result::closed)
        lost(tls_->why().empty() ? "it was closed there" : tls_->why().c_str());
    await(wanted == Result::wants_read ? POLLIN : POLLOUT, until);
}

void Connection::begin_tls(const wire::TlsClient& tls, Time until) {
    tls_ = tls.open(socket_, name_of(host_));
    for (;;) {
        const auto result = tls_->shake_hands();
        if (result == wire::TlsStream::Result::done) return;
        await(result, until);
    }
}

void Connection::send(Time until) {
    size_t sent = 0;
    while (sent < request_.size()) {
        if (tls_ != nullptr) {
            size_t done = 0;
            const auto result = tls_->write(request_.data() + sent, request_.size() - sent, &done);
            if (result == wire::TlsStream::Result::done)
                sent += done;
            else
                await(result, until);
            continue;
        }
        const ssize_t done =
            ::send(socket_, request_.data() + sent, request_.size() - sent, MSG_NOSIGNAL);
        if (done >= 0)
            sent += static_cast<size_t>(done);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            await(POLLOUT, until);
        else if (errno != EINTR)
            lost(std::strerror(errno));
    }
}

void Connection::receive(uint8_t* into, size_t size, Time until) {
    size_t got = 0;
    while (got < size) {
        if (tls_ != nullptr) {
            size_t done = 0;
            const auto result = tls_->read(into + got, size - got, &done);
            if (result == wire::TlsStream::Result::done)
                got += done;
            else
                await(result, until);
            continue;
        }
        const ssize_t done = ::recv(socket_, into + got, size - got, 0);
        if (done > 0)
            got += static_cast<size_t>(done);
        else if (done == 0)
            lost("it was closed there");
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            await(POLLIN, until);
        else if (errno != EINTR)
            lost(std::strerror(errno));
    }
}

// Returns its number.
int32_t Connection::write_request(std::string_view db, bson::Doc command, uint32_t flags) {
    request_.clear();
    wire::MsgWriter writer(request_, 0, flags);
    {
        bson::Builder body = writer.body();
        body.append_all(command).append("$db", db);
    }
    writer.finish();
    return writer.request_id();
}

void Connection::tell(std::string_view db, bson::Doc command, Milliseconds limit) {
    write_request(db, command, wire::MsgMessage::kMoreToCome);
    send(Clock::now() + limit);
    request_.trim(kUsualBytes);
}

bson::Doc Connection::run(std::string_view db, bson::Doc command, Milliseconds limit) {
    const Time until = Clock::now() + limit;
    const int32_t number = write_request(db, command, 0);
    send(until);
    request_.trim(kUsualBytes);

    reply_.clear();
    reply_.trim(kUsualBytes);
    receive(reply_.extend(kBody), kBody, until);
    const wire::Header header = wire::read_header(reply_.data());
    const bool is_answer = header.opcode == wire::Opcode::msg && header.response_to == number &&
                           header.length > static_cast<int32_t>(kBody) &&
                           header.length <= wire::kMessageBytesMax && reply_.data()[kBody - 1] == 0;
    if (!is_answer) base::fail(base::kProtocolError, "{} sent what is no answer", host_);
    const size_t rest = static_cast<size_t>(header.length) - kBody;
    receive(reply_.extend(rest), rest, until);
    bytes_received_ += header.length;
    const uint8_t* const body = reply_.data() + kBody;
    if (const std::string fault = bson::validate(body, rest); !fault.empty())
        base::fail(base::kProtocolError, "{} sent a damaged answer: {}", host_, fault);
    const bson::Doc answer(body);
    if (answer["ok"].to_double() == 1) return answer;
    const bson::Element text = answer["errmsg"];
    const bson::Element code = answer["code"];
    throw base::Error(
        code.is_number() ? code.to_int32() : static_cast<int>(base::kInternalError),
        fmt::format("{} answers: {}", host_,
                    text.is_string() ? std::string(text.as_string()) : bson::to_text(answer)));
}

Cursor::Cursor(Connection& connection, std::string_view db, bson::Doc command,
               Connection::Milliseconds limit)
    : connection_(connection), db_(db), limit_(limit) {
    take(connection_.run(db_, command, limit_), "firstBatch");
}

void Cursor::take(bson::Doc reply, const char* field) {
    const bson::Element cursor = reply["cursor"];
    const bson::Doc fields = cursor.is_object() ? cursor.as_doc() : bson::Doc();
    const bson::Element ns = fields["ns"];
    const bson::Element batch = fields[field];
    if (!ns.is_string() || !batch.is_array())
        base::fail(base::kProtocolError, "{} sent no cursor: {}", connection_.host(),
                   bson::to_text(reply));
    for (const bson::Element& each : batch.as_doc())
        if (!each.is_object())
            base::fail(base::kProtocolError, "{} sent what is no document", connection_.host());
    const std::string_view name = ns.as_string();
    if (collection_.empty()) collection_ = name.substr(name.find('.') + 1);
    id_ = fields["id"].to_int64();
    reply_ = fields;
    batch_ = batch.as_doc();
}

void Cursor::fetch(Connection::Milliseconds await, bson::Doc more) {
    bson::Builder command;
    command.append("getMore", id_).append("collection", collection_);
    if (await.count() > 0) command.append("maxTimeMS", int64_t{await.count()});
    command.append_all(more);
    take(connection_.run(db_, command.doc(), limit_ + await), "nextBatch");
}

}  // namespace peer
