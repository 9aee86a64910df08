// dialect/dialect.h - the dialect that a client speaks. The opcodes of 2.6 (OP_QUERY, OP_INSERT,
// ...) mean what they meant to a server 2.6; OP_MSG, which only drivers of today send, means what
// servers of today document (docs/differences.md). The reader of a message makes the value; it is
// handed on to whatever reads a part of the request, down to a single operator.
#pragma once

#include "dialect/difference.h"

namespace dialect {

class Dialect {
  public:
    static constexpr Dialect v26() { return Dialect(false); }
    static constexpr Dialect today() { return Dialect(true); }

    // Returns whether the client gets what the difference says of today: the dialect is asked by
    // the name of what differs, which has its row in docs/differences.md.
    constexpr bool has(const Difference& /*difference*/) const { return is_today_; }

    // For the choice of a table, where each entry is a difference.
    constexpr bool is_today() const { return is_today_; }

    // Returns the dialect's code of an error that both have.
    constexpr int code(int of_v26, int of_today) const { return is_today_ ? of_today : of_v26; }

    constexpr bool operator==(const Dialect&) const = default;

  private:
    constexpr explicit Dialect(bool is_today) : is_today_(is_today) {}

    bool is_today_;
};

inline constexpr Dialect kV26 = Dialect::v26();
inline constexpr Dialect kToday = Dialect::today();

}  // namespace dialect
