#include "command/access/login_delays.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "base/dcheck.h"

namespace command {

namespace {

// Returns the address that counts as one client: an IPv4 address, or the first half of an IPv6
// address, which is what one customer of a provider has.
std::string address_of(std::string_view remote) {
    std::string text(remote.substr(0, remote.rfind(':')));
    unsigned char bytes[sizeof(in6_addr)];
    if (::inet_pton(AF_INET6, text.c_str(), bytes) != 1) return text;
    return std::string(reinterpret_cast<const char*>(bytes), sizeof bytes / 2);
}

}  // namespace

LoginDelays::LoginDelays() {
    std::random_device random;
    for (uint64_t& secret : secrets_)
        secret = uint64_t{random()} << 32 | random();
}

LoginDelays::Cells LoginDelays::cells(CountMinSketch& table, std::string_view key) const {
    Cells found{};
    for (size_t row = 0; row < kRows; ++row) {
        std::string secret_key(reinterpret_cast<const char*>(&secrets_[row]), sizeof(uint64_t));
        secret_key += key;
        found[row] = &table[row][std::hash<std::string>()(secret_key) % kCells];
    }
    return found;
}

double LoginDelays::failures(const Cells& cells, Clock::time_point now) {
    double least = std::numeric_limits<double>::infinity();
    for (const Cell* cell : cells) {
        const std::chrono::duration<double> age = now - cell->counted;
        const double half_lives = age / std::chrono::duration<double>(kHalfLife);
        least = std::min(least, cell->failures * std::exp2(-half_lives));
    }
    DCHECK(least >= 0 && std::isfinite(least));
    return least;
}

double LoginDelays::count(const Cells& cells, Clock::time_point now) {
    const double failed = failures(cells, now) + 1;
    for (Cell* cell : cells) {
        const double others = failures({cell, cell}, now);
        cell->failures = std::max(others, failed);
        cell->counted = now;
    }
    return failed;
}

LoginDelays::Clock::time_point LoginDelays::next_attempt(const Cells& cells, int free,
                                                         Clock::time_point now) {
    if (failures(cells, now) < free) return now;
    Clock::time_point mine = Clock::time_point::max();
    for (const Cell* cell : cells)
        mine = std::min(mine, cell->free_at);
    mine = std::clamp<Clock::time_point>(mine, now, now + kWaitMax);
    for (Cell* cell : cells)
        cell->free_at = std::max(cell->free_at, mine + kAttemptInterval);
    return mine;
}

LoginDelays::Clock::time_point LoginDelays::reserve_attempt(std::string_view user,
                                                            std::string_view remote,
                                                            Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    return std::max(next_attempt(cells(users_, user), kSpacedOfUser, now),
                    next_attempt(cells(addresses_, address_of(remote)), kSpacedOfAddress, now));
}

int LoginDelays::failed(std::string_view user, std::string_view remote, Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    const double of_user = count(cells(users_, user), now) - kFreeOfUser;
    const double of_address = count(cells(addresses_, address_of(remote)), now) - kFreeOfAddress;
    return static_cast<int>(std::max({of_user, of_address, 0.0}));
}

}  // namespace command
