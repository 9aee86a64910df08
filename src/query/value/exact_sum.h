// query/value/exact_sum.h - sums of numbers as later servers make them: integers exactly, and
// doubles with what each addition rounds off, so that the order of the numbers hardly matters.
// Decimals have a sum of their own, to which that of the others is added at the end.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/dcheck.h"
#include "bson/decimal_number.h"
#include "query/value/value.h"

namespace query {

// Plain data: $group writes it to the disk as it is.
class ExactSum {
  public:
    // REQUIRES: a number.
    void add(const Value& v) {
        DCHECK(v.is_number());
        if (v.type() == bson::Type::decimal128) {
            has_decimals_ = true;
            decimals_ = decimals_ + bson::DecimalNumber::of(v);
            return;
        }
        if (v.type() == bson::Type::number_double) {
            type_ = bson::Type::number_double;
            return add_double(v.as_double());
        }
        if (v.type() == bson::Type::int64 && type_ == bson::Type::int32) type_ = v.type();
        add_integer(v.to_int64());
    }
    void add_integer(int64_t v) { whole_ += v; }
    void add_double(double v) {
        const double sum = real_ + v;
        // The part that the addition lost (Knuth); infinities lose none.
        if (std::isfinite(sum)) {
            const double rest = sum - real_;
            lost_ += (real_ - (sum - rest)) + (v - rest);
        } else {
            lost_ = 0;
        }
        real_ = sum;
    }
    // REQUIRES: no decimals.
    double as_double() const {
        DCHECK(!has_decimals_);
        return real_ + (lost_ + static_cast<double>(whole_));
    }
    bool has_decimals() const { return has_decimals_; }
    bson::DecimalNumber as_decimal() const {
        using bson::DecimalNumber;
        // A decimal has room for a factor of 2^62 between the two.
        constexpr int kHalfBits = 62;
        constexpr int64_t kUnit = int64_t{1} << kHalfBits;
        DecimalNumber sum = decimals_;
        if (whole_ != 0)
            sum = sum + (DecimalNumber::of_integer(static_cast<int64_t>(whole_ / kUnit)) *
                             DecimalNumber::of_integer(kUnit) +
                         DecimalNumber::of_integer(static_cast<int64_t>(whole_ % kUnit)));
        if (type_ == bson::Type::number_double) sum = sum + DecimalNumber::of_double(real_ + lost_);
        return sum;
    }
    bool is_whole() const { return !has_decimals_ && type_ != bson::Type::number_double; }
    // A decimal if one was among them. Else an int32 if all were and it fits, else an int64; a
    // double if one was, or if it does not fit.
    Value value(Arena& arena) const {
        if (has_decimals_) return make_decimal(arena, as_decimal());
        const auto narrow = static_cast<int64_t>(whole_);
        if (!is_whole() || narrow != whole_) return make_double(arena, as_double());
        return type_ == bson::Type::int64 ? make_long(arena, narrow)
                                          : make_int_or_long(arena, narrow);
    }

  private:
    // Wide enough for any number of int64s that there can be.
    __extension__ using Wide = __int128;
    Wide whole_ = 0;
    double real_ = 0;
    double lost_ = 0;
    bson::DecimalNumber decimals_;
    bson::Type type_ = bson::Type::int32;
    bool has_decimals_ = false;
};

}  // namespace query
