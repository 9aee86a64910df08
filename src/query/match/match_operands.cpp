#include "query/match/match_operands.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "dialect/filters.h"
#include "query/match/int64_range.h"
#include "query/match/times.h"
#include "sched/tick.h"

namespace query {

using bson::Doc;
using bson::Element;
using bson::Type;

namespace {

template <typename... Args>
[[noreturn]] void bad(fmt::format_string<Args...> format, Args&&... args) {
    base::fail(base::kBadValue, format, std::forward<Args>(args)...);
}

// About how many bytes a part of a path takes.
constexpr size_t kPartBytes = 16;

std::shared_ptr<const Regex> compiled(std::string_view pattern, std::string_view flags,
                                      dialect::Dialect dialect) {
    try {
        return std::make_shared<const Regex>(pattern, flags);
    } catch (const base::Error& e) {
        const bool too_long = pattern.size() > Regex::kPatternBytesMax;
        if (!dialect.has(dialect::kRegexIsChecked) || too_long || e.code() != base::kBadValue)
            throw;
        throw base::Error(Regex::kInvalid, e.what());
    }
}

NodePtr make_regex(std::string_view path, std::string_view pattern, std::string_view flags,
                   dialect::Dialect dialect) {
    NodePtr node = make_node(MatchKind::regex, path);
    node->regexes.push_back(compiled(pattern, flags, dialect));
    return node;
}

// Whole numbers as int32; -1 for a fraction, NaN or what does not fit. A 64-bit integer loses its
// upper half, as it always did.
int32_t whole_number(const Element& e) {
    if (e.type() == Type::int64) return static_cast<int32_t>(e.as_int64());
    if (e.type() == Type::int32) return e.as_int32();
    const double d = e.to_double();
    const bool fits = d >= std::numeric_limits<int32_t>::min() &&
                      d <= std::numeric_limits<int32_t>::max() && d == std::trunc(d);
    return fits ? static_cast<int32_t>(d) : -1;
}

// Adds what one name, or one number in a list, stands for. However long the list is, there are few
// types.
void add_type(const Element& e, sched::Vector<int64_t>& types) {
    sched::tick();
    const auto add = [&types](int64_t type) {
        if (std::ranges::find(types, type) == types.end()) types.push_back(type);
    };
    if (e.is_string()) {
        const std::string_view name = e.as_string();
        if (name == "number") {
            for (const Type type :
                 {Type::number_double, Type::int32, Type::int64, Type::decimal128})
                add(static_cast<int64_t>(type));
            return;
        }
        const std::optional<Type> type = bson::type_of_name(name);
        if (!type) bad("Unknown type name alias: {}", name);
        add(static_cast<int64_t>(*type));
    } else if (e.is_number()) {
        const int64_t number = whole_number(e);
        // -1 stands for MinKey, and is what whole_number() makes of fractions.
        const bool known = number == -1 ? e.to_double() == -1 : bson::is_type(number);
        if (!known) bad("Invalid numerical type code: {}", e.to_double());
        add(number);
    } else {
        base::fail(base::kTypeMismatch, "type must be represented as a number or a string");
    }
}

// Throws base::Error 2 where no array has this size: the old server found nothing.
void check_size(const Element& operand) {
    const auto refuse = [&operand](std::string_view wanted) {
        bad("Failed to parse $size. Expected {} in: $size: {}", wanted, bson::to_text(operand));
    };
    if (!operand.is_number()) refuse("a number");
    const double size = operand.to_double();
    if (size < 0) refuse("a non-negative number");
    if (!(size <= std::numeric_limits<int32_t>::max())) refuse("a 32-bit integer");
    if (size != std::trunc(size)) refuse("an integer");
}

// Throws base::Error 2 for a part of $mod that the old server made a number of.
void check_part_of_mod(const Element& part, std::string_view name) {
    if (!part.is_number()) bad("malformed mod, {} is not a number", name);
    if (!fits_int64(part)) bad("malformed mod, {} value is invalid", name);
}

bool comes_first(Doc operators, std::string_view name) {
    for (const Element& e : operators)
        if (e.name() == "$regex" || e.name() == "$options") return e.name() == name;
    return false;
}

// {$ref, $id, ...} is a value, not operators. Inside $elemMatch a part of one already counts.
bool is_dbref(Doc doc, bool partial_counts) {
    bool ref = false;
    bool id = false;
    bool any = false;
    for (const Element& e : doc) {
        ref = ref || e.name() == "$ref";
        id = id || e.name() == "$id";
        any = any || is_dbref_name(e.name());
    }
    return partial_counts ? any : ref && id;
}

}  // namespace

bool starts_with_dollar(std::string_view name) {
    return !name.empty() && name[0] == '$';
}

bool is_dbref_name(std::string_view name) {
    return name == "$ref" || name == "$id" || name == "$db";
}

bool is_operators(const Element& e, bool partial_dbref_is_value) {
    return e.is_object() && starts_with_dollar(e.as_doc().first().name()) &&
           !is_dbref(e.as_doc(), partial_dbref_is_value);
}

void set_path(MatchNode& node, std::string path, FieldPath steps) {
    node.charge.add(2 * path.size() + steps.size() * kPartBytes);
    node.path = std::move(path);
    node.steps = std::move(steps);
}

NodePtr make_node(MatchKind kind, std::string_view path) {
    sched::tick();
    auto node = std::make_unique<MatchNode>();
    node->kind = kind;
    if (path.data() != nullptr) set_path(*node, std::string(path), FieldPath(path));
    return node;
}

NodePtr parse_comparison(MatchKind kind, std::string_view path, const Element& operand) {
    if (operand.type() == Type::regex && kind != MatchKind::eq)
        bad("Can't have RegEx as arg to predicate over field '{}'.", path);
    if (operand.type() == Type::undefined) bad("cannot compare to undefined");
    NodePtr node = make_node(kind, path);
    node->operand = operand;
    return node;
}

NodePtr parse_value(std::string_view path, const Element& value, dialect::Dialect dialect) {
    if (value.type() == Type::regex)
        return make_regex(path, value.regex_pattern(), value.regex_flags(), dialect);
    return parse_comparison(MatchKind::eq, path, value);
}

void put_in_order(sched::Vector<Element>& values, bool of_today) {
    const auto compare = of_today ? bson::compare_values_of_today : bson::compare_values;
    std::stable_sort(
        values.begin(), values.end(),
        sched::ticking([=](const Element& a, const Element& b) { return compare(a, b) < 0; }));
    const auto equal = [=](const Element& a, const Element& b) { return compare(a, b) == 0; };
    values.erase(std::unique(values.begin(), values.end(), equal), values.end());
}

NodePtr parse_in(std::string_view name, std::string_view path, const Element& operand,
                 dialect::Dialect dialect) {
    if (!operand.is_array()) bad("{} needs an array", name);
    NodePtr node = make_node(MatchKind::in, path);
    bool of_today = false;
    for (const Element& e : sched::ticked(operand.as_doc())) {
        of_today = of_today || (dialect.has(dialect::kTimesAreTwoClasses) && bson::has_time(e));
        if (is_operators(e)) bad("cannot nest $ under {}", name);
        if (e.type() == Type::undefined) bad("{} cannot have undefined in its array", name);
        if (e.type() == Type::regex)
            node->regexes.push_back(compiled(e.regex_pattern(), e.regex_flags(), dialect));
        else
            node->values.push_back(e);
    }
    put_in_order(node->values, of_today);
    if (node->values.empty() && node->regexes.empty()) node->kind = MatchKind::always_false;
    return node;
}

// A number is read as the old server did, unless the client is of today; names and lists as those
// servers that know them.
NodePtr parse_type(std::string_view path, const Element& operand, dialect::Dialect dialect) {
    NodePtr node = make_node(MatchKind::type, path);
    if (operand.is_number()) {
        node->number = whole_number(operand);
        if (!dialect.has(dialect::kTypesHaveNames)) return node;
        add_type(operand, node->types);
        // Both forms say the same of other types than arrays.
        if (node->number != static_cast<int64_t>(Type::array)) node->types.clear();
        return node;
    }
    if (operand.is_string()) {
        add_type(operand, node->types);
    } else if (operand.is_array()) {
        for (const Element& e : operand.as_doc())
            add_type(e, node->types);
        if (node->types.empty())
            base::fail(base::kFailedToParse, "{} must match at least one type", operand.name());
    } else {
        base::fail(dialect.code(base::kBadValue, base::kTypeMismatch),
                   "$type has to be a number, a name or a list of them");
    }
    std::ranges::sort(node->types);
    return node;
}

NodePtr parse_size(std::string_view path, const Element& operand, dialect::Dialect dialect) {
    if (dialect.has(dialect::kOperandsAreChecked)) check_size(operand);
    NodePtr node = make_node(MatchKind::size, path);
    // Only the lower half of a long counts, but the sign is that of the whole.
    const bool negative = operand.type() == Type::int64 && operand.as_int64() < 0;
    if (operand.is_number())
        node->number = negative ? -1 : std::max(-1, whole_number(operand));
    else if (!operand.is_string())
        bad("$size needs a number");
    return node;
}

NodePtr parse_mod(std::string_view path, const Element& operand, dialect::Dialect dialect) {
    if (!operand.is_array() || operand.as_doc().field_count() != 2)
        bad("malformed mod, needs to be an array of two numbers");
    auto part = operand.as_doc().begin();
    const Element divisor = *part;
    const Element remainder = *++part;
    if (!divisor.is_number()) bad("malformed mod, divisor is not a number");
    if (dialect.has(dialect::kOperandsAreChecked)) {
        check_part_of_mod(divisor, "divisor");
        check_part_of_mod(remainder, "remainder");
    }
    NodePtr node = make_node(MatchKind::mod, path);
    node->nan_apart = dialect.has(dialect::kModOfNaNMatchesNothing);
    node->number = divisor.to_int64();
    if (node->number == 0) bad("divisor cannot be 0");
    node->remainder = remainder.to_int64();
    if (remainder.type() == Type::number_double && std::isnan(remainder.as_double()))
        node->remainder = std::numeric_limits<int64_t>::min();  // no number leaves it
    return node;
}

NodePtr parse_bits(std::string_view path, const Element& operand) {
    NodePtr node = make_node(MatchKind::bits, path);
    node->bit_test = std::make_unique<const BitTest>(operand);
    return node;
}

NodePtr parse_regex(std::string_view path, Doc operators, dialect::Dialect dialect) {
    const Element regex = operators["$regex"];
    const Element options = operators["$options"];
    if (regex.missing()) bad("$options needs a $regex");
    std::string_view pattern;
    std::string_view flags;
    if (regex.type() == Type::regex) {
        pattern = regex.regex_pattern();
        flags = regex.regex_flags();
    } else if (regex.is_string()) {
        pattern = regex.as_string();
    } else {
        bad("$regex has to be a string");
    }
    if (options) {
        if (!options.is_string()) bad("$options has to be a string");
        if (dialect.has(dialect::kOperandsAreChecked) && !flags.empty() &&
            !options.as_string().empty())
            base::fail(comes_first(operators, "$options") ? 51074 : 51075,
                       "options set in both $regex and $options");
        flags = options.as_string();
    }
    if (dialect.has(dialect::kOperandsAreChecked) && pattern.find('\0') != std::string_view::npos)
        bad("Regular expression cannot contain an embedded null byte");
    return make_regex(path, pattern, flags, dialect);
}

}  // namespace query
