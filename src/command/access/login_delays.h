// command/access/login_delays.h - what failed logins cost those that follow: how often a user name,
// and a client's address, has failed lately, on whichever connection.
//
// A few mistakes cost nothing more than on the connection itself (command/access/login.h). After
// more, the answers to further failures come later; and a client that still goes on waits before
// the password is checked, right or wrong, so that disconnecting before the answer gains nothing.
// No user is locked out: no wait is longer than kWaitMax.
//
// Memory is bounded: names and addresses are counted in a count-min sketch: each has one cell in
// each row, which others may share by chance, and the smallest count holds. The choice of the cells
// is secret. The class is thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace command {

class LoginDelays {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kWaitMax{3200};
    // Counts are halved so often.
    static constexpr std::chrono::seconds kHalfLife{30};
    // The failures that cost nothing, and those after which attempts are spaced.
    static constexpr int kFreeOfUser = 4, kFreeOfAddress = 16;
    static constexpr int kSpacedOfUser = 8, kSpacedOfAddress = 32;
    // The time from one attempt to the next one.
    static constexpr std::chrono::milliseconds kAttemptInterval{100};

    LoginDelays();

    // When the password that a client sends may be checked: now, or at the next free time, which is
    // then reserved for it. `user`: "db.name"; `remote`: "address:port".
    Clock::time_point reserve_attempt(std::string_view user, std::string_view remote,
                                      Clock::time_point now);
    // The attempt failed. Returns how many failures that makes, beyond those for free; 0: none.
    int failed(std::string_view user, std::string_view remote, Clock::time_point now);

  private:
    struct Cell {
        double failures = 0;
        Clock::time_point counted{};  // when that was
        Clock::time_point free_at{};  // the next attempt
    };
    static constexpr size_t kCells = 4096;
    static constexpr size_t kRows = 2;
    using CountMinSketch = std::array<std::array<Cell, kCells>, kRows>;
    using Cells = std::array<Cell*, kRows>;

    Cells cells(CountMinSketch& table, std::string_view key) const;
    static double failures(const Cells& cells, Clock::time_point now);
    static double count(const Cells& cells, Clock::time_point now);
    static Clock::time_point next_attempt(const Cells& cells, int free, Clock::time_point now);

    std::array<uint64_t, kRows> secrets_;
    std::mutex mutex_;
    CountMinSketch users_;      // guarded by mutex_
    CountMinSketch addresses_;  // guarded by mutex_
};

}  // namespace command
