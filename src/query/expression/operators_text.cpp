// Texts as later servers know them: places in them, their length, parts, trimming, replacing.

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/expression/operators.h"
#include "query/value/array_writer.h"
#include "query/value/characters.h"

namespace query {

using bson::Type;

namespace {

// Finds as std::string_view::find does, which may compare the whole of `part` at each place.
size_t find_text(std::string_view text, std::string_view part, size_t from) {
    if (from > text.size()) return std::string_view::npos;
    if (part.empty()) return from;
    constexpr size_t kPiece = 4096;
    for (size_t at = from;; at += kPiece) {
        if (at >= text.size() || text.size() - at < part.size()) return std::string_view::npos;
        sched::tick_bytes(kPiece + part.size(), sched::PerTick::walked);
        const size_t found = text.substr(at, kPiece + part.size() - 1).find(part);
        if (found != std::string_view::npos) return at + found;
    }
}

// A place in a text: a whole number that is not negative.
int64_t place_of(const Call& call, const Value& v, std::string_view which) {
    if (!v.is_number() || v.to_double() != static_cast<double>(v.to_int32()))
        base::fail(40096, "{} requires an integral {} index, found a value of type: {}", call.name,
                   which, bson::name_of(v.type()));
    if (v.to_int32() < 0)
        base::fail(40097, "{} requires a nonnegative {} index, found: {}", call.name, which,
                   v.to_int32());
    return v.to_int32();
}

// Codes: of what is searched, and of what it is searched for.
template <bool Characters, int TextCode, int PartCode>
Value index_of(const Call& call, Values v) {
    if (is_nullish(v[0])) return null_value();
    if (!v[0].is_string())
        base::fail(TextCode, "{} requires a string as the first argument, found: {}", call.name,
                   bson::name_of(v[0].type()));
    if (!v[1].is_string())
        base::fail(PartCode, "{} requires a string as the second argument, found: {}", call.name,
                   bson::name_of(v[1].type()));
    const std::string_view text = v[0].as_string();
    const int64_t size = Characters ? count_characters(text) : static_cast<int64_t>(text.size());
    const int64_t start = v.size() > 2 ? place_of(call, v[2], "starting") : 0;
    const int64_t end = v.size() > 3 ? std::min(size, place_of(call, v[3], "ending")) : size;
    if (start > size || end < start) return make_int(call.arena, -1);
    const auto byte_of = [&](int64_t place) {
        return Characters ? byte_of_character(text, place) : static_cast<size_t>(place);
    };
    const size_t found = find_text(text.substr(0, byte_of(end)), v[1].as_string(), byte_of(start));
    if (found == std::string_view::npos) return make_int(call.arena, -1);
    const int64_t place =
        Characters ? count_characters(text.substr(0, found)) : static_cast<int64_t>(found);
    return make_int_or_long(call.arena, place);
}

Value length_in_bytes(const Call& call, Values v) {
    if (!v[0].is_string())
        base::fail(34473, "$strLenBytes requires a string argument, found: {}",
                   bson::name_of(v[0].type()));
    return make_int_or_long(call.arena, static_cast<int64_t>(v[0].as_string().size()));
}

Value length_in_characters(const Call& call, Values v) {
    if (!v[0].is_string())
        base::fail(34471, "$strLenCP requires a string argument, found: {}",
                   bson::name_of(v[0].type()));
    return make_int_or_long(call.arena, count_characters(v[0].as_string()));
}

int64_t count_of(const Value& v, std::string_view what, int type_code, int whole_code,
                 int negative_code) {
    if (!v.is_number())
        base::fail(type_code, "$substrCP: {} must be a numeric type (is BSON type {})", what,
                   bson::name_of(v.type()));
    if (v.to_double() != static_cast<double>(v.to_int32()))
        base::fail(whole_code, "$substrCP: {} cannot be represented as a 32-bit integral value",
                   what);
    if (v.to_int32() < 0)
        base::fail(negative_code, "$substrCP: {} must be a nonnegative integer", what);
    return v.to_int32();
}

Value substr_characters(const Call& call, Values v) {
    const sched::String text = text_of(v[0], dialect::kToday);
    const int64_t start = count_of(v[1], "starting index", 34450, 34451, 34455);
    const int64_t count = count_of(v[2], "length", 34452, 34453, 34454);
    const std::string_view rest = std::string_view(text).substr(byte_of_character(text, start));
    return make_string(call.arena, rest.substr(0, byte_of_character(rest, count)));
}

Value split(const Call& call, Values v) {
    if (is_nullish(v[0]) || is_nullish(v[1])) return null_value();
    if (!v[0].is_string())
        base::fail(40085,
                   "$split requires an expression that evaluates to a string as a first argument, "
                   "found: {}",
                   bson::name_of(v[0].type()));
    if (!v[1].is_string())
        base::fail(40086,
                   "$split requires an expression that evaluates to a string as a second argument, "
                   "found: {}",
                   bson::name_of(v[1].type()));
    const std::string_view text = v[0].as_string();
    const std::string_view separator = v[1].as_string();
    if (separator.empty()) base::fail(40087, "$split requires a non-empty separator");
    ArrayWriter parts;
    Arena one;  // part after part
    for (size_t at = 0;;) {
        const size_t end = std::min(find_text(text, separator, at), text.size());
        parts.push(make_string(one, text.substr(at, end - at)));
        one.clear();
        if (end == text.size()) break;
        at = end + separator.size();
        if (at == text.size()) {  // it ends with a separator
            parts.push(make_string(one, ""));
            break;
        }
    }
    return parts.value(call.arena);
}

constexpr std::string_view kWhitespace[] = {std::string_view("\0", 1),
                                            " ",
                                            "\t",
                                            "\n",
                                            "\v",
                                            "\f",
                                            "\r",
                                            "\u00A0",
                                            "\u1680",
                                            "\u2000",
                                            "\u2001",
                                            "\u2002",
                                            "\u2003",
                                            "\u2004",
                                            "\u2005",
                                            "\u2006",
                                            "\u2007",
                                            "\u2008",
                                            "\u2009",
                                            "\u200A"};

sched::Vector<std::string_view> characters_of(std::string_view text) {
    sched::Vector<std::string_view> characters;
    while (!text.empty()) {
        sched::tick();
        const size_t bytes = character_bytes(text);
        characters.push_back(text.substr(0, bytes));
        text.remove_prefix(bytes);
    }
    return characters;
}

// How many bytes at the front are of those characters; or at the back.
size_t bytes_to_trim(std::string_view text, std::span<const std::string_view> characters,
                     bool at_front) {
    size_t bytes = 0;
    for (;;) {
        sched::tick(1 + static_cast<int64_t>(characters.size() / 8));
        const std::string_view rest =
            at_front ? text.substr(bytes) : text.substr(0, text.size() - bytes);
        const auto found = std::ranges::find_if(characters, [&](std::string_view c) {
            return at_front ? rest.starts_with(c) : rest.ends_with(c);
        });
        if (found == characters.end()) return bytes;
        DCHECK(!found->empty());
        bytes += found->size();
    }
}

template <bool Left, bool Right>
Value trim(const Call& call, Values v) {
    if (is_nullish(v[0])) return null_value();
    if (!v[0].is_string())
        base::fail(50699, "{} requires its input to be a string, got {} (of type {}) instead.",
                   call.name, bson::to_text(v[0]), bson::name_of(v[0].type()));
    std::string_view text = v[0].as_string();
    std::span<const std::string_view> characters = kWhitespace;
    sched::Vector<std::string_view> given;
    if (call.has(1)) {
        if (is_nullish(v[1])) return null_value();
        if (!v[1].is_string())
            base::fail(50700, "{} requires 'chars' to be a string, got {} (of type {}) instead.",
                       call.name, bson::to_text(v[1]), bson::name_of(v[1].type()));
        given = characters_of(v[1].as_string());
        characters = given;
    }
    if (Left) text.remove_prefix(bytes_to_trim(text, characters, true));
    if (Right) text.remove_suffix(bytes_to_trim(text, characters, false));
    return make_string(call.arena, text);
}

void require_text(const Call& call, const Value& v, int code, std::string_view which) {
    if (!v.is_string())
        base::fail(code, "{} requires that '{}' be a string, found: {}", call.name, which,
                   bson::to_text(v));
}

template <bool All>
Value replace(const Call& call, Values v) {
    constexpr std::string_view kNames[] = {"input", "find", "replacement"};
    constexpr int kCodes[] = {51746, 51745, 51744};
    bool is_null = false;
    for (size_t i = 0; i < std::size(kCodes); ++i) {
        if (is_nullish(v[i]))
            is_null = true;
        else
            require_text(call, v[i], kCodes[i], kNames[i]);
    }
    if (is_null) return null_value();
    const std::string_view text = v[0].as_string();
    const std::string_view wanted = v[1].as_string();
    const std::string_view replacement = v[2].as_string();
    sched::String out;
    size_t at = 0;
    for (;;) {
        const size_t found = find_text(text, wanted, at);
        if (found == std::string_view::npos) break;
        sched::tick_bytes(replacement.size(), sched::PerTick::walked);
        out += text.substr(at, found - at);
        out += replacement;
        at = found + wanted.size();
        if (!All) break;
        if (!wanted.empty()) continue;
        if (at == text.size()) break;
        // An empty text is found before each character, and at the end.
        const size_t bytes = character_bytes(text.substr(at));
        out += text.substr(at, bytes);
        at += bytes;
    }
    out += text.substr(at);
    return make_string(call.arena, out);
}

Value bytes_of_binary(const Call& call, Values v) {
    if (v[0].is_string())
        return make_int_or_long(call.arena, static_cast<int64_t>(v[0].as_string().size()));
    if (v[0].type() != Type::binary)
        base::fail(51276, "$binarySize requires a string or BinData argument, found: {}",
                   bson::name_of(v[0].type()));
    return make_int_or_long(call.arena, static_cast<int64_t>(v[0].binary_data().size()));
}

constexpr NamedOperand kTrim[] = {{"input", 50695}, {"chars"}};
constexpr NamedOperand kReplace[] = {{"input", 51749}, {"find", 51748}, {"replacement", 51747}};

constexpr Operator index_operator(std::string_view name, Operator::Compute compute) {
    return {.name = name, .least = 2, .most = 4, .arity_code = 28667, .compute = compute};
}

constexpr Operator trim_operator(std::string_view name, Operator::Compute compute) {
    return {.name = name, .by_name = {kTrim, 50696, 50694}, .compute = compute};
}

constexpr Operator replace_operator(std::string_view name, Operator::Compute compute) {
    return {.name = name, .by_name = {kReplace, 51751, 51750}, .compute = compute};
}

}  // namespace

std::span<const Operator> text_operators() {
    static constexpr Operator kTable[] = {
        index_operator("$indexOfBytes", index_of<false, 40091, 40092>),
        index_operator("$indexOfCP", index_of<true, 40093, 40094>),
        {.name = "$strLenBytes", .compute = length_in_bytes},
        {.name = "$strLenCP", .compute = length_in_characters},
        {.name = "$substrCP", .least = 3, .most = 3, .compute = substr_characters},
        {.name = "$split", .least = 2, .most = 2, .compute = split},
        trim_operator("$trim", trim<true, true>),
        trim_operator("$ltrim", trim<true, false>),
        trim_operator("$rtrim", trim<false, true>),
        replace_operator("$replaceOne", replace<false>),
        replace_operator("$replaceAll", replace<true>),
        {.name = "$binarySize", .null_gives_null = true, .compute = bytes_of_binary},
    };
    return kTable;
}

}  // namespace query
