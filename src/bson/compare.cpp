#include "bson/compare.h"

#include <cmath>
#include <random>
#include <string_view>

#include "sched/tick.h"

#include "bson/decimal.h"
#include "bson/order_of_today.h"

namespace bson {

namespace {

template <typename T>
int three_way(const T& a, const T& b) {
    return a < b ? -1 : (b < a ? 1 : 0);
}

int compare_bytes(std::span<const uint8_t> a, std::span<const uint8_t> b) {
    const size_t common = std::min(a.size(), b.size());
    const int c = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
    return c != 0 ? c : three_way(a.size(), b.size());
}

int compare_text(std::string_view a, std::string_view b) {
    const int c = a.compare(b);
    return c < 0 ? -1 : (c > 0 ? 1 : 0);
}

// NaN equals NaN and is below every other number.
int compare_doubles(double a, double b) {
    if (a < b) return -1;
    if (a > b) return 1;
    if (a == b) return 0;
    return three_way(!std::isnan(a), !std::isnan(b));
}

// An int64 that meets a double becomes one, as in the trees of older servers.
int compare_numbers(const Element& a, const Element& b) {
    if (a.type() == Type::decimal128 || b.type() == Type::decimal128) return compare_decimal(a, b);
    if (a.type() == Type::number_double || b.type() == Type::number_double)
        return compare_doubles(a.to_double(), b.to_double());
    return three_way(a.to_int64(), b.to_int64());
}

// Dates are signed, timestamps unsigned; where they meet, a timestamp counts as it stands in
// memory.
int compare_times(const Element& a, const Element& b) {
    if (a.type() == Type::date && b.type() == Type::date)
        return three_way(a.as_date(), b.as_date());
    if (a.type() != b.type()) {
        const Element& date = a.type() == Type::date ? a : b;
        if (date.as_date() < 0) return a.type() == Type::date ? -1 : 1;
    }
    return three_way(a.as_timestamp(), b.as_timestamp());
}

int compare_binary(const Element& a, const Element& b) {
    const int32_t na = load<int32_t>(a.value());
    const int32_t nb = load<int32_t>(b.value());
    if (na != nb) return na < nb ? -1 : 1;
    return std::memcmp(a.value() + 4, b.value() + 4, static_cast<size_t>(na) + 1);
}

// kToday: Dates and Timestamps are two classes.
template <bool kToday>
int compare_fields(Doc a, Doc b, bool names);

template <bool kToday>
int compare_code_with_scope(const Element& a, const Element& b) {
    const int c = compare_text(a.code_text(), b.code_text());
    return c != 0 ? c : compare_fields<kToday>(a.code_scope(), b.code_scope(), true);
}

// 64-bit FNV-1a over bytes, mixed further by every part of a value.
size_t hash_bytes(size_t seed, const void* data, size_t size) {
    constexpr size_t kBytesPerTick = 128;
    sched::tick(static_cast<int64_t>(size / kBytesPerTick));
    const auto* p = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < size; ++i)
        seed = (seed ^ p[i]) * 1099511628211ULL;
    return seed;
}

size_t hash_text(size_t seed, std::string_view text) {
    return hash_bytes(seed, text.data(), text.size());
}

size_t hash_into(size_t seed, const Element& v) {
    sched::tick();
    const int canonical = v.canonical();
    seed = hash_bytes(seed, &canonical, sizeof canonical);
    switch (v.type()) {
        case Type::number_double:
        case Type::int32:
        case Type::int64:
        case Type::decimal128: {
            double d = v.to_double();
            if (std::isnan(d)) d = std::nan("");
            if (d == 0) d = 0;
            return hash_bytes(seed, &d, sizeof d);
        }
        case Type::boolean:
            return hash_text(seed, v.as_bool() ? "1" : "0");
        case Type::string:
        case Type::symbol:
            return hash_text(seed, v.as_string());
        case Type::code_with_scope:
            return hash_text(seed, v.code_text());
        case Type::object:
        case Type::array:
            for (const Element& e : v.as_doc()) {
                if (v.is_object()) seed = hash_text(seed, e.name());
                seed = hash_into(seed, e);
            }
            return seed;
        default:
            return v.missing() ? seed : hash_bytes(seed, v.value(), v.value_size());
    }
}

template <bool kToday>
int compare_any(const Element& a, const Element& b) {
    const int ca = a.canonical();
    const int cb = b.canonical();
    if (ca != cb) return ca < cb ? -1 : 1;
    switch (a.type()) {
        case Type::eoo:
        case Type::undefined:
        case Type::null:
        case Type::min_key:
        case Type::max_key:
            return 0;
        case Type::number_double:
        case Type::int32:
        case Type::int64:
        case Type::decimal128:
            return compare_numbers(a, b);
        case Type::string:
        case Type::symbol:
        case Type::code:
            return compare_text(a.as_string(), b.as_string());
        case Type::object:
            return compare_fields<kToday>(a.as_doc(), b.as_doc(), true);
        case Type::array:
            return compare_fields<kToday>(a.as_doc(), b.as_doc(), false);
        case Type::binary:
            return compare_binary(a, b);
        case Type::object_id:
            return std::memcmp(a.value(), b.value(), 12);
        case Type::boolean:
            return three_way(a.as_bool(), b.as_bool());
        case Type::date:
        case Type::timestamp:
            if constexpr (kToday) {
                if (a.type() != b.type()) return a.type() == Type::date ? -1 : 1;
            }
            return compare_times(a, b);
        case Type::regex: {
            const int c = compare_text(a.regex_pattern(), b.regex_pattern());
            return c != 0 ? c : compare_text(a.regex_flags(), b.regex_flags());
        }
        case Type::db_pointer: {
            const uint32_t na = a.value_size();
            const uint32_t nb = b.value_size();
            if (na != nb) return na < nb ? -1 : 1;
            return std::memcmp(a.value(), b.value(), na);
        }
        case Type::code_with_scope:
            return compare_code_with_scope<kToday>(a, b);
    }
    return compare_bytes(a.value_bytes(), b.value_bytes());
}

template <bool kToday>
int compare_fields(Doc a, Doc b, bool names) {
    // Elements compared in the time of so many ticks (sched/tick.h), about.
    constexpr uint32_t kPerCount = 64;
    constexpr int64_t kTicksPerCount = 8;
    auto ia = a.begin();
    auto ib = b.begin();
    const auto ea = a.end();
    const auto eb = b.end();
    for (uint32_t i = 1; ia != ea && ib != eb; ++ia, ++ib, ++i) {
        if (i % kPerCount == 0) sched::tick(kTicksPerCount);
        const int ca = ia->canonical();
        const int cb = ib->canonical();
        if (ca != cb) return ca < cb ? -1 : 1;
        if (names) {
            if (const int c = compare_text(ia->name(), ib->name()); c != 0) return c;
        }
        if (const int c = compare_any<kToday>(*ia, *ib); c != 0) return c;
    }
    if (ia == ea) return ib == eb ? 0 : -1;
    return 1;
}

template <bool kToday>
int compare_unnamed(Doc a, Doc b, uint32_t descending) {
    auto ia = a.begin();
    auto ib = b.begin();
    const auto ea = a.end();
    const auto eb = b.end();
    for (; ia != ea && ib != eb; ++ia, ++ib, descending >>= 1) {
        const int c = compare_any<kToday>(*ia, *ib);
        if (c != 0) return (descending & 1) != 0 ? -c : c;
    }
    if (ia == ea) return ib == eb ? 0 : -1;
    return 1;
}

}  // namespace

bool is_large_number(const Element& value) {
    if (!value.is_number()) return false;
    const double number = std::abs(value.to_double());
    // A decimal may only be too large for a double.
    return number >= kExactDoublesEnd &&
           (std::isfinite(number) || value.type() == Type::decimal128);
}

size_t hash_value(const Element& value) {
    // Random for each process: a client cannot choose values that all hash to the same.
    static const size_t secret = [] {
        std::random_device random;
        return size_t{random()} << 32 | random();
    }();
    return hash_into(14695981039346656037ULL ^ secret, value);
}

bool has_time(const Element& value) {
    switch (value.type()) {
        case Type::date:
        case Type::timestamp:
        case Type::code_with_scope:  // perhaps in its scope
            return true;
        case Type::object:
        case Type::array:
            for (const Element& e : sched::ticked(value.as_doc())) {
                if (has_time(e)) return true;
            }
            return false;
        default:
            return false;
    }
}

int compare_values(const Element& a, const Element& b) {
    return compare_any<false>(a, b);
}

int compare_docs(Doc a, Doc b, bool names) {
    return compare_fields<false>(a, b, names);
}

int compare_keys(Doc a, Doc b, uint32_t descending) {
    return compare_unnamed<false>(a, b, descending);
}

int compare_values_of_today(const Element& a, const Element& b) {
    return compare_any<true>(a, b);
}

int compare_keys_of_today(Doc a, Doc b, uint32_t descending) {
    return compare_unnamed<true>(a, b, descending);
}

}  // namespace bson
