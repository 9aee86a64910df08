// The operators that replace one value by another: $set $unset $inc $mul $min $max $bit
// $currentDate and the writing half of $rename.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/milliseconds.h"
#include "bson/compare.h"
#include "bson/decimal.h"
#include "bson/decimal_number.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "query/update/document_check.h"
#include "query/update/update.h"
#include "query/update/update_modifier.h"
#include "sched/tick.h"

namespace query {

using bson::Element;
using bson::Type;

namespace {

// A decimal has a scale: 1.5 and 1.50 compare as equal, but either is meant to be kept.
bool same_decimals(const Element& a, const Element& b) {
    if (!bson::has_decimal(a) && !bson::has_decimal(b)) return true;
    return a.type() == b.type() && std::ranges::equal(a.value_bytes(), b.value_bytes());
}

[[noreturn]] void refuse_decimal(bool multiply) {
    base::fail(
        base::kTypeMismatch,
        "{} is not supported for decimal128 in the opcodes of 2.6, which stores and compares "
        "such numbers only; OP_MSG calculates with them",
        multiply ? "$mul" : "$inc");
}

bool is_identical(const Element& a, const Element& b) {
    const uint32_t size = a.value_size();
    return a.type() == b.type() && size == b.value_size() &&
           std::memcmp(a.value(), b.value(), size) == 0;
}

class Set : public Modifier {
  public:
    Set(const Element& operand, bool keeps_equal)
        : operand_(operand), keeps_equal_(keeps_equal), clean_(names_are_clean(operand)) {}
    Effect apply(const Element& old, std::string_view name, bson::Buffer& out) override {
        // To the old server an equal value was left alone even where its type differs (1 and 1.0).
        if (old && (keeps_equal_ ? bson::equal_values(old, operand_) && same_decimals(old, operand_)
                                 : is_identical(old, operand_)))
            return Effect::none;
        write_value(out, name, operand_);
        return Effect::write;
    }
    bool scalar() const override { return true; }
    bool writes_clean() const override { return clean_; }

  private:
    Element operand_;
    bool keeps_equal_;
    bool clean_;
};

class Unset : public Modifier {
  public:
    Effect apply(const Element& old, std::string_view, bson::Buffer&) override {
        return old ? Effect::remove : Effect::none;
    }
    bool creates() const override { return false; }
    bool tolerates_bad_path() const override { return true; }
    bool writes_clean() const override { return true; }
};

// A number with its BSON type; whole numbers keep 64 bits.
struct Number {
    Type type;
    int64_t whole = 0;
    double real = 0;
};

Number number_of(const Element& e) {
    return {e.type(), e.to_int64(), e.to_double()};
}

Effect write_number(const Number& n, const Element& old, std::string_view name, bson::Buffer& out) {
    const size_t start = out.size();
    switch (n.type) {
        case Type::number_double:
            write_fixed(out, n.type, name, n.real);
            break;
        case Type::int32:
            write_fixed(out, n.type, name, static_cast<int32_t>(n.whole));
            break;
        default:
            write_fixed(out, Type::int64, name, n.whole);
            break;
    }
    const Element now(out.data() + start);
    // NaN is never equal to what was there, the two zeros are.
    const bool same =
        old && old.type() == now.type() &&
        (n.type == Type::number_double ? old.as_double() == n.real : old.to_int64() == n.whole);
    if (same) {
        out.truncate(start);
        return Effect::none;
    }
    return Effect::write;
}

// $inc and $mul. Two int32 that do not fit give an int64; an int64 that does not fit is refused.
// A decimal makes a decimal of the other number.
class Arithmetic : public Modifier {
  public:
    Arithmetic(const Element& operand, bool multiply, bool decimals)
        : given_(operand), operand_(number_of(operand)), multiply_(multiply), decimals_(decimals) {
        if (operand.type() == Type::decimal128 && !decimals) refuse_decimal(multiply);
    }

    Effect apply(const Element& old, std::string_view name, bson::Buffer& out) override {
        if (old.type() == Type::decimal128 || operand_.type == Type::decimal128)
            return apply_decimal(old, name, out);
        if (!old) {
            const Number n = multiply_ ? combine({Type::int32, 0, 0}) : operand_;
            return write_number(n, old, name, out);
        }
        require_old_number(old);
        return write_number(combine(number_of(old)), old, name, out);
    }
    bool scalar() const override { return true; }
    bool writes_clean() const override { return true; }

  private:
    void require_old_number(const Element& old) const {
        if (old.is_number()) return;
        base::fail(base::kTypeMismatch, "Cannot apply {} to a value of non-numeric type. {}",
                   multiply_ ? "$mul" : "$inc", bson::to_text(old));
    }
    Effect apply_decimal(const Element& old, std::string_view name, bson::Buffer& out) const {
        using bson::DecimalNumber;
        if (!decimals_) refuse_decimal(multiply_);
        if (old) require_old_number(old);
        const DecimalNumber a = old ? DecimalNumber::of(old) : DecimalNumber();
        const DecimalNumber b = DecimalNumber::of(given_);
        // A missing number is what it is given, with its exponent.
        const DecimalNumber now = multiply_ ? a * b : (old ? a + b : b);
        if (old.type() == Type::decimal128 && std::ranges::equal(old.value_bytes(), now.bytes()))
            return Effect::none;
        write_header(out, Type::decimal128, name);
        out.append(now.bytes().data(), now.bytes().size());
        return Effect::write;
    }
    Number combine(const Number& a) const {
        if (a.type == Type::number_double || operand_.type == Type::number_double) {
            return {Type::number_double, 0,
                    multiply_ ? a.real * operand_.real : a.real + operand_.real};
        }
        int64_t result = 0;
        const bool overflow = multiply_ ? __builtin_mul_overflow(a.whole, operand_.whole, &result)
                                        : __builtin_add_overflow(a.whole, operand_.whole, &result);
        if (overflow) {
            base::fail(base::kBadValue, "Failed to apply {} operations to current value ({})",
                       multiply_ ? "$mul" : "$inc", a.whole);
        }
        const bool narrow = a.type == Type::int32 && operand_.type == Type::int32 &&
                            result >= std::numeric_limits<int32_t>::min() &&
                            result <= std::numeric_limits<int32_t>::max();
        return {narrow ? Type::int32 : Type::int64, result, 0};
    }

    Element given_;
    Number operand_;
    bool multiply_;
    bool decimals_;  // whether the client's dialect calculates with them
};

class Extreme : public Modifier {
  public:
    Extreme(const Element& operand, int sign, const ValueOrder& order)
        : operand_(operand), sign_(sign), order_(order), clean_(names_are_clean(operand)) {}
    Effect apply(const Element& old, std::string_view name, bson::Buffer& out) override {
        if (old && order_.compare(operand_, old) * sign_ <= 0) return Effect::none;
        write_value(out, name, operand_);
        return Effect::write;
    }
    bool scalar() const override { return true; }
    bool writes_clean() const override { return clean_; }

  private:
    Element operand_;
    int sign_;  // 1: the larger wins
    ValueOrder order_;
    bool clean_;
};

class Bit : public Modifier {
  public:
    explicit Bit(bson::Doc operations) : operations_(operations) {}
    Effect apply(const Element& old, std::string_view name, bson::Buffer& out) override {
        if (old && old.type() != Type::int32 && old.type() != Type::int64) {
            base::fail(base::kBadValue, "Cannot apply $bit to a value of non-integral type. {}",
                       bson::to_text(old));
        }
        Number n{old ? old.type() : Type::int32, old ? old.to_int64() : 0, 0};
        for (const Element& e : sched::ticked(operations_)) {
            const int64_t v = e.to_int64();
            if (e.type() == Type::int64) n.type = Type::int64;
            const std::string_view op = e.name();
            n.whole = op == "and" ? n.whole & v : (op == "or" ? n.whole | v : n.whole ^ v);
        }
        return write_number(n, old, name, out);
    }
    bool scalar() const override { return true; }
    bool writes_clean() const override { return true; }

  private:
    bson::Doc operations_;
};

class CurrentDate : public Modifier {
  public:
    explicit CurrentDate(bool timestamp) : timestamp_(timestamp) {}
    Effect apply(const Element&, std::string_view name, bson::Buffer& out) override {
        if (timestamp_) {
            write_fixed(out, Type::timestamp, name, next_timestamp());
        } else {
            write_fixed(out, Type::date, name, base::ms_since_1970());
        }
        return Effect::write;
    }
    bool scalar() const override { return true; }
    bool writes_clean() const override { return true; }

  private:
    bool timestamp_;
};

void require_number(const Element& operand, const char* verb) {
    if (!operand.is_number()) {
        base::fail(base::kTypeMismatch, "Cannot {} with non-numeric argument: {}", verb,
                   bson::to_text(operand));
    }
}

}  // namespace

Effect MovedValue::apply(const Element&, std::string_view name, bson::Buffer& out) {
    write_value(out, name, value_);
    return Effect::write;
}

std::unique_ptr<Modifier> make_set(const Element& operand, bool keeps_equal) {
    return std::make_unique<Set>(operand, keeps_equal);
}

std::unique_ptr<Modifier> make_unset() {
    return std::make_unique<Unset>();
}

std::unique_ptr<Modifier> make_inc(const Element& operand, bool decimals) {
    require_number(operand, "increment");
    return std::make_unique<Arithmetic>(operand, false, decimals);
}

std::unique_ptr<Modifier> make_mul(const Element& operand, bool decimals) {
    require_number(operand, "multiply");
    return std::make_unique<Arithmetic>(operand, true, decimals);
}

std::unique_ptr<Modifier> make_min(const Element& operand, const ValueOrder& order) {
    return std::make_unique<Extreme>(operand, -1, order);
}

std::unique_ptr<Modifier> make_max(const Element& operand, const ValueOrder& order) {
    return std::make_unique<Extreme>(operand, 1, order);
}

std::unique_ptr<Modifier> make_bit(const Element& operand) {
    if (!operand.is_object()) {
        base::fail(base::kBadValue, "The $bit modifier is not compatible with {}",
                   bson::to_text(operand));
    }
    const bson::Doc operations = operand.as_doc();
    for (const Element& e : operations) {
        const std::string_view op = e.name();
        if (op != "and" && op != "or" && op != "xor") {
            base::fail(base::kBadValue,
                       "The $bit modifier only supports 'and', 'or', and 'xor', "
                       "not '{}'",
                       op);
        }
        if (e.type() != Type::int32 && e.type() != Type::int64) {
            base::fail(base::kBadValue,
                       "The $bit modifier field must be an Integer(32/64 bit); "
                       "a '{}' is not supported here",
                       bson::to_text(e));
        }
    }
    return std::make_unique<Bit>(operations);
}

std::unique_ptr<Modifier> make_current_date(const Element& operand) {
    if (operand.type() == Type::boolean) return std::make_unique<CurrentDate>(false);
    if (operand.is_object()) {
        const bson::Doc spec = operand.as_doc();
        const Element kind = spec["$type"];
        for (const Element& e : spec) {
            if (e.name() != "$type") {
                base::fail(base::kBadValue, "Unrecognized $currentDate option: {}", e.name());
            }
        }
        if (kind.is_string() && kind.as_string() == "date") {
            return std::make_unique<CurrentDate>(false);
        }
        if (kind.is_string() && kind.as_string() == "timestamp") {
            return std::make_unique<CurrentDate>(true);
        }
    }
    base::fail(base::kBadValue,
               "The argument of $currentDate must be a bool or a document with "
               "$type 'date' or 'timestamp', not {}",
               bson::to_text(operand));
}

}  // namespace query
