// query/match/bits.h - $bitsAllSet, $bitsAllClear, $bitsAnySet and $bitsAnyClear: whether bits
// of a number or of a binary are as asked.
//
// Bit 0 is the lowest. A number has as many bits as one likes, beyond the 64th all like its sign; a
// binary's first byte has bits 0 to 7, and the bits behind its end are clear. Numbers that are no
// whole ones of 64 bits, and values of other types, have no bits and are never as asked.
#pragma once

#include <string_view>

#include "bson/view.h"
#include "sched/counted.h"

namespace query {

class BitTest : public sched::Counted {
  public:
    static bool is_one(std::string_view name);
    // `operand`, which has the operator's name and must outlive this: a mask, as number or binary,
    // or an array of positions. Throws base::Error 2, or 9 for a number that is no mask.
    // REQUIRES: is_one(operand.name()).
    explicit BitTest(const bson::Element& operand);

    bool matches(const bson::Element& value) const;
    // Whether both ask for the same, written alike.
    bool operator==(const BitTest& other) const;

  private:
    bool finds(bool set, const bson::Element& value) const;

    bson::Element operand_;
    bool all_ = false;                   // or any
    bool set_ = false;                   // or clear
    sched::Vector<uint32_t> positions_;  // of an array
};

}  // namespace query
