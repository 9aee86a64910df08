#include "query/match/bits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/decimal128.h"
#include "bson/json.h"
#include "sched/tick.h"

namespace query {

namespace {

using bson::Element;
using bson::Type;

struct Name {
    std::string_view name;
    bool all, set;
};
constexpr Name kNames[] = {{"$bitsAllSet", true, true},
                           {"$bitsAllClear", true, false},
                           {"$bitsAnySet", false, true},
                           {"$bitsAnyClear", false, false}};

// A decimal by its digits, of which a double would lose some.
std::optional<int64_t> whole_decimal(const Element& e) {
    if (!bson::decimal128_is_finite(e.value())) return std::nullopt;
    const bson::Digits number = bson::digits_of(bson::decimal128_text(e.value()));
    if (number.digits.empty()) return 0;
    constexpr int kDigitsOfInt64 = 19;
    const int count = number.exponent + 1;
    if (count > kDigitsOfInt64 || std::ssize(number.digits) > count) return std::nullopt;
    std::string text = (number.negative ? "-" : "") + number.digits;
    text.append(static_cast<size_t>(count - std::ssize(number.digits)), '0');
    int64_t whole = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return whole;
}

// None of a fraction, NaN, or what 64 bits do not hold.
std::optional<int64_t> whole_number(const Element& e) {
    if (e.type() == Type::decimal128) return whole_decimal(e);
    if (e.type() != Type::number_double) return e.to_int64();
    constexpr double kLimit = 9223372036854775808.0;
    const double real = e.as_double();
    if (!(real >= -kLimit && real < kLimit) || real != std::trunc(real)) return std::nullopt;
    return static_cast<int64_t>(real);
}

// The bits of a value: of bytes, and what lies behind them.
class Bits {
  public:
    explicit Bits(int64_t number) : beyond_(number < 0 ? 0xff : 0) {
        for (uint8_t& byte : own_) {
            byte = static_cast<uint8_t>(number & 0xff);
            number >>= 8;
        }
        bytes_ = own_;
    }
    explicit Bits(std::span<const uint8_t> binary) : bytes_(binary) {}
    Bits(const Bits&) = delete;
    Bits& operator=(const Bits&) = delete;

    size_t size() const { return bytes_.size(); }
    uint8_t byte(size_t i) const { return i < bytes_.size() ? bytes_[i] : beyond_; }
    bool is_set(uint32_t position) const {
        return ((byte(position / 8) >> (position % 8)) & 1) != 0;
    }

  private:
    std::array<uint8_t, 8> own_ = {};
    std::span<const uint8_t> bytes_;
    uint8_t beyond_ = 0;
};

template <typename Use>
bool use_bits(const Element& e, Use&& use) {
    if (e.type() == Type::binary) return use(Bits(e.binary_data()));
    if (!e.is_number()) return false;
    const std::optional<int64_t> number = whole_number(e);
    return number && use(Bits(*number));
}

void check_mask(const Element& operand) {
    const std::optional<int64_t> mask = whole_number(operand);
    if (!mask || *mask < 0)
        base::fail(base::kFailedToParse,
                   "the mask of {} has to be a whole number from 0 on, of at most 63 bits: {}",
                   operand.name(), bson::to_text(operand));
}

uint32_t position_of(std::string_view name, const Element& e) {
    const std::optional<int64_t> position = e.is_number() ? whole_number(e) : std::nullopt;
    if (!position || *position < 0 || *position > std::numeric_limits<int32_t>::max())
        base::fail(base::kBadValue,
                   "bit positions in {} have to be whole numbers from 0 on, of 32 bits: {}", name,
                   bson::to_text(e));
    return static_cast<uint32_t>(*position);
}

}  // namespace

bool BitTest::is_one(std::string_view name) {
    return std::ranges::find(kNames, name, &Name::name) != std::end(kNames);
}

BitTest::BitTest(const Element& operand) : operand_(operand) {
    const Name* const found = std::ranges::find(kNames, operand.name(), &Name::name);
    DCHECK(found != std::end(kNames));
    all_ = found->all;
    set_ = found->set;
    if (operand.is_array()) {
        for (const Element& e : sched::ticked(operand.as_doc()))
            positions_.push_back(position_of(operand.name(), e));
    } else if (operand.is_number()) {
        check_mask(operand);
    } else if (operand.type() != Type::binary) {
        base::fail(base::kBadValue, "{} takes an Array, a number, or a BinData", operand.name());
    }
}

bool BitTest::matches(const Element& value) const {
    const bool has_bits = use_bits(value, [](const Bits&) { return true; });
    if (!has_bits) return false;
    return all_ ? !finds(!set_, value) : finds(set_, value);
}

// Whether one of those asked for is so.
bool BitTest::finds(bool set, const Element& value) const {
    return use_bits(value, [&](const Bits& bits) {
        if (operand_.is_array())
            return std::ranges::any_of(positions_, sched::ticking([&](uint32_t position) {
                                           return bits.is_set(position) == set;
                                       }));
        return use_bits(operand_, [&](const Bits& mask) {
            sched::tick_bytes(mask.size(), sched::PerTick::walked);
            const uint8_t turned = set ? 0 : 0xff;
            for (size_t i = 0; i < mask.size(); ++i)
                if ((mask.byte(i) & (bits.byte(i) ^ turned)) != 0) return true;
            return false;
        });
    });
}

bool BitTest::operator==(const BitTest& other) const {
    return all_ == other.all_ && set_ == other.set_ && operand_.type() == other.operand_.type() &&
           std::ranges::equal(operand_.value_bytes(), other.operand_.value_bytes());
}

}  // namespace query
