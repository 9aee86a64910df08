// command/login_delays.h - what failed logins cost those that follow: how often a user name, and a
// client's address, has failed lately, on whichever connection.
//
// A few mistakes cost nothing more than on the connection itself (command/login.h). After more, the
// answers to further failures come later; and who still goes on waits for his turn before the
// password is looked at, right or wrong, so that it helps nobody to leave before the answer. Nobody
// is locked out: no wait is longer than kWaitMax.
//
// Memory is bounded: names and addresses are counted in cells that they share with others by
// chance, two cells each, of which the smaller count is right. Which ones is secret. Thread-safe.
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
    // So many failures are for free; and after so many there are turns.
    static constexpr int kFreeOfUser = 4, kFreeOfAddress = 16;
    static constexpr int kTurnsOfUser = 8, kTurnsOfAddress = 32;
    // From one turn to the next one.
    static constexpr std::chrono::milliseconds kTurn{100};

    LoginDelays();

    // When the password that somebody sends may be looked at: now, or at the next turn, which then
    // is his. `user`: "db.name"; `remote`: "address:port".
    Clock::time_point take_turn(std::string_view user, std::string_view remote,
                                Clock::time_point now);
    // It was wrong. How many failures that makes, beyond those for free; 0: none.
    int failed(std::string_view user, std::string_view remote, Clock::time_point now);

  private:
    struct Cell {
        double failures = 0;
        Clock::time_point counted{};  // when that was
        Clock::time_point free_at{};  // the next turn
    };
    static constexpr size_t kCells = 4096;
    static constexpr size_t kRows = 2;
    using Table = std::array<std::array<Cell, kCells>, kRows>;
    using Cells = std::array<Cell*, kRows>;

    Cells cells(Table& table, std::string_view key) const;
    static double failures(const Cells& cells, Clock::time_point now);
    static double count(const Cells& cells, Clock::time_point now);
    static Clock::time_point turn(const Cells& cells, int free, Clock::time_point now);

    std::array<uint64_t, kRows> secrets_;
    std::mutex mutex_;
    Table users_;      // guarded by mutex_
    Table addresses_;  // guarded by mutex_
};

}  // namespace command
