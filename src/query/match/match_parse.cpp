// Parsing filters into match trees: every operator with its operand checks (wire spec 4.2,
// semantics 1).
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "query/match/clause_order.h"
#include "query/match/int64_range.h"
#include "query/match/match_tree.h"
#include "query/match/times.h"
#include "sched/tick.h"

namespace query {

namespace {

using bson::Doc;
using bson::Element;
using bson::Type;
using NodePtr = std::unique_ptr<MatchNode>;

// How deep $and, $or, $nor, $not and $elemMatch may be nested.
constexpr int kNestingMax = 100;

template <typename... Args>
[[noreturn]] void bad(fmt::format_string<Args...> format, Args&&... args) {
    base::fail(base::kBadValue, format, std::forward<Args>(args)...);
}

// The parser's place in the filter.
struct ParseContext {
    bool top = true;  // not inside another operator
    int depth = 0;
    const ExpressionParser* expressions = nullptr;  // of $expr, which is about a whole document
    std::shared_ptr<const collation::Collator> collator = {};
    // Whether the client means the filter as later servers do, which take no odd operands.
    dialect::Dialect dialect() const {
        return expressions != nullptr ? dialect::kToday : dialect::kV26;
    }
    ParseContext deeper() const {
        if (depth >= kNestingMax) bad("the query is nested more than {} levels deep", kNestingMax);
        return {false, depth + 1, expressions, collator};
    }
};

void parse_filter(Doc filter, const ParseContext& context, MatchNode& into);
void parse_field_operators(std::string_view path, Doc operators, const ParseContext& context,
                           MatchNode& into);

bool starts_with_dollar(std::string_view name) {
    return !name.empty() && name[0] == '$';
}

bool is_dbref_name(std::string_view name) {
    return name == "$ref" || name == "$id" || name == "$db";
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

// A document of operators ({$gt: 1}) as opposed to one to be equal to.
bool is_operators(const Element& e, bool partial_dbref_is_value = false) {
    return e.is_object() && starts_with_dollar(e.as_doc().first().name()) &&
           !is_dbref(e.as_doc(), partial_dbref_is_value);
}

// About how many bytes a part of a path takes.
constexpr size_t kPartBytes = 16;

void set_path(MatchNode& node, std::string path, FieldPath steps) {
    node.charge.add(2 * path.size() + steps.size() * kPartBytes);
    node.path = std::move(path);
    node.steps = std::move(steps);
}

NodePtr make_node(MatchKind kind, std::string_view path = {}) {
    sched::tick();
    auto node = std::make_unique<MatchNode>();
    node->kind = kind;
    if (path.data() != nullptr) set_path(*node, std::string(path), FieldPath(path));
    return node;
}

NodePtr negate(NodePtr child) {
    NodePtr node = make_node(MatchKind::negation);
    set_path(*node, child->path, child->steps);
    node->children.push_back(std::move(child));
    return node;
}

// One child stands for itself.
NodePtr unwrap(NodePtr conjunction) {
    if (conjunction->children.size() != 1) return conjunction;
    return std::move(conjunction->children[0]);
}

NodePtr parse_comparison(MatchKind kind, std::string_view path, const Element& operand) {
    if (operand.type() == Type::regex && kind != MatchKind::eq)
        bad("Can't have RegEx as arg to predicate over field '{}'.", path);
    if (operand.type() == Type::undefined) bad("cannot compare to undefined");
    NodePtr node = make_node(kind, path);
    node->operand = operand;
    return node;
}

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

NodePtr parse_value(std::string_view path, const Element& value, dialect::Dialect dialect) {
    if (value.type() == Type::regex)
        return make_regex(path, value.regex_pattern(), value.regex_flags(), dialect);
    return parse_comparison(MatchKind::eq, path, value);
}

// Sorts values, and leaves one of each.
void put_in_order(sched::Vector<Element>& values, bool of_today = false) {
    const auto compare = of_today ? bson::compare_values_of_today : bson::compare_values;
    std::stable_sort(values.begin(), values.end(), [=](const Element& a, const Element& b) {
        sched::tick();
        return compare(a, b) < 0;
    });
    const auto equal = [=](const Element& a, const Element& b) { return compare(a, b) == 0; };
    values.erase(std::unique(values.begin(), values.end(), equal), values.end());
}

NodePtr parse_in(std::string_view name, std::string_view path, const Element& operand,
                 dialect::Dialect dialect) {
    if (!operand.is_array()) bad("{} needs an array", name);
    NodePtr node = make_node(MatchKind::in, path);
    bool of_today = false;
    for (const Element& e : operand.as_doc()) {
        sched::tick();
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

// Throws base::Error 2 for a part of $mod that the old server made a number of.
void check_part_of_mod(const Element& part, std::string_view name) {
    if (!part.is_number()) bad("malformed mod, {} is not a number", name);
    if (!fits_int64(part)) bad("malformed mod, {} value is invalid", name);
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

bool comes_first(Doc operators, std::string_view name) {
    for (const Element& e : operators)
        if (e.name() == "$regex" || e.name() == "$options") return e.name() == name;
    return false;
}

// $regex and $options stand side by side, in any order; `operators` is the document of both.
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

NodePtr parse_not(std::string_view path, const Element& operand, const ParseContext& context) {
    if (operand.type() == Type::regex) return negate(parse_value(path, operand, context.dialect()));
    if (!operand.is_object()) bad("$not needs a regex or a document");
    const Doc operators = operand.as_doc();
    if (operators.empty()) bad("$not cannot be empty");
    if (!context.dialect().has(dialect::kNotTakesRegex) && operators.has("$regex"))
        bad("$not cannot have a regex");
    NodePtr all = make_node(MatchKind::conjunction, path);
    parse_field_operators(path, operators, context.deeper(), *all);
    return negate(unwrap(std::move(all)));
}

// Whether the operator stands for a document, not for a value of a field.
bool is_of_document(std::string_view name) {
    return name == "$and" || name == "$or" || name == "$nor" || name == "$where" ||
           name == "$jsonSchema" || name == "$expr" || name == "$sampleRate" ||
           name == "$alwaysTrue" || name == "$alwaysFalse";
}

NodePtr parse_elem_match(std::string_view path, const Element& operand,
                         const ParseContext& context) {
    if (!operand.is_object()) bad("$elemMatch needs an Object");
    const Doc criteria = operand.as_doc();
    ParseContext inside = context.deeper();
    static const RefusedExpressions kRefused(base::kBadValue,
                                             "$expr can only be applied to the top-level document");
    if (inside.expressions != nullptr) inside.expressions = &kRefused;
    if (is_operators(operand, true) && !is_of_document(criteria.first().name())) {
        NodePtr node = make_node(MatchKind::elem_match_value, path);
        parse_field_operators({}, criteria, inside, *node);
        return node;
    }
    NodePtr node = make_node(MatchKind::elem_match_object, path);
    NodePtr all = make_node(MatchKind::conjunction);
    parse_filter(criteria, inside, *all);
    node->children.push_back(std::move(all));
    return node;
}

bool is_elem_match(const Element& e) {
    return e.is_object() && e.as_doc().first().name() == "$elemMatch";
}

NodePtr parse_all(std::string_view path, const Element& operand, const ParseContext& context) {
    if (!operand.is_array()) bad("$all needs an array");
    NodePtr node = make_node(MatchKind::all, path);
    const Doc wanted = operand.as_doc();
    const bool elem_matches = is_elem_match(wanted.first());
    for (const Element& e : wanted) {
        if (elem_matches) {
            if (!is_elem_match(e)) bad("$all/$elemMatch has to be consistent");
            node->children.push_back(parse_elem_match(path, e.as_doc().first(), context));
        } else if (is_operators(e)) {
            bad("no $ expressions in $all");
        } else {
            node->children.push_back(parse_value(path, e, context.dialect()));
        }
    }
    return node;
}

bool is_geo(std::string_view name) {
    static constexpr std::string_view kNames[] = {"$near",        "$nearSphere", "$geoNear",
                                                  "$geoWithin",   "$within",     "$geoIntersects",
                                                  "$maxDistance", "$minDistance"};
    return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

struct Comparison {
    std::string_view name;
    MatchKind kind;
};
constexpr Comparison kComparisons[] = {
    {"$eq", MatchKind::eq}, {"$lt", MatchKind::lt},   {"$lte", MatchKind::lte},
    {"$gt", MatchKind::gt}, {"$gte", MatchKind::gte},
};

NodePtr parse_operator(std::string_view path, const Element& e, const ParseContext& context) {
    const std::string_view name = e.name();
    for (const Comparison& c : kComparisons) {
        if (name != c.name) continue;
        NodePtr node = parse_comparison(c.kind, path, e);
        node->nan_apart =
            context.dialect().has(dialect::kNaNIsApart) && c.kind != MatchKind::eq && e.is_number();
        return node;
    }
    if (name == "$ne") {
        if (e.type() == Type::regex) bad("Can't have regex as arg to $ne.");
        return negate(parse_comparison(MatchKind::eq, path, e));
    }
    if (name == "$in") return parse_in(name, path, e, context.dialect());
    if (name == "$nin") return negate(parse_in(name, path, e, context.dialect()));
    if (name == "$exists") {
        NodePtr node = make_node(MatchKind::exists, path);
        return e.truthy() ? std::move(node) : negate(std::move(node));
    }
    if (name == "$not") return parse_not(path, e, context);
    if (name == "$elemMatch") return parse_elem_match(path, e, context);
    if (name == "$all") return parse_all(path, e, context);
    if (name == "$size") return parse_size(path, e, context.dialect());
    if (name == "$type") return parse_type(path, e, context.dialect());
    if (name == "$mod") return parse_mod(path, e, context.dialect());
    if (BitTest::is_one(name) && context.dialect().has(dialect::kBitTests))
        return parse_bits(path, e);
    if (is_geo(name)) bad("geospatial queries are not supported: {}", name);
    bad("unknown operator: {}", name);
}

// Parses an operator of later servers; the context decides whether it may stand there.
NodePtr parse_sample(const Element& rate, const ParseContext& context) {
    if (!context.expressions->is_here()) bad("$sampleRate is not allowed in this context");
    if (!rate.is_number()) bad("argument to $sampleRate must be a numeric type");
    const double chance = rate.to_double();
    if (!(chance >= 0 && chance <= 1)) bad("numeric argument to $sampleRate must be in [0, 1]");
    if (chance == 0) return make_node(MatchKind::always_false);
    if (chance == 1) return make_node(MatchKind::always_true);
    NodePtr node = make_node(MatchKind::sample);
    node->operand = rate;
    return node;
}

// Parses an operator that a program writes if it has to write some filter. Later servers take it
// anywhere.
NodePtr parse_constant(MatchKind kind, const Element& e) {
    if (!e.is_number() || e.to_double() != 1)
        base::fail(base::kFailedToParse, "{} must be an integer value of 1", e.name());
    return make_node(kind);
}

NodePtr parse_expression(const Element& spec, const ParseContext& context) {
    NodePtr node = make_node(MatchKind::expression);
    node->expression = context.expressions->parse(spec, context.collator);
    for (const Element& e : node->expression->implied())
        node->children.push_back(parse_comparison(MatchKind::eq, e.name(), e));
    for (const Element& range : node->expression->implied_ranges()) {
        NodePtr ends = make_node(MatchKind::ends, range.name());
        for (const Element& e : range.as_doc())
            ends->children.push_back(parse_operator(range.name(), e, context));
        node->children.push_back(std::move(ends));
    }
    return node;
}

void parse_field_operators(std::string_view path, Doc operators, const ParseContext& context,
                           MatchNode& into) {
    bool regex_done = false;
    for (const Element& e : operators) {
        if (!starts_with_dollar(e.name())) bad("unknown operator: {}", e.name());
        if (e.name() == "$regex" || e.name() == "$options") {
            if (!regex_done)
                into.children.push_back(parse_regex(path, operators, context.dialect()));
            regex_done = true;
        } else {
            into.children.push_back(parse_operator(path, e, context));
        }
    }
}

NodePtr parse_logical(MatchKind kind, const Element& e, const ParseContext& context) {
    if (!e.is_array()) bad("{} needs an array", e.name());
    if (e.as_doc().empty()) bad("$and/$or/$nor must be a nonempty array");
    const ParseContext inside = context.deeper();
    NodePtr node = make_node(kind);
    for (const Element& member : e.as_doc()) {
        if (!member.is_object()) bad("$or/$and/$nor entries need to be full objects");
        if (kind == MatchKind::conjunction) {
            parse_filter(member.as_doc(), inside, *node);
        } else {
            NodePtr all = make_node(MatchKind::conjunction);
            parse_filter(member.as_doc(), inside, *all);
            node->children.push_back(unwrap(std::move(all)));
        }
    }
    return node;
}

void parse_top_operator(const Element& e, const ParseContext& context, MatchNode& into) {
    const std::string_view name = e.name();
    if (name == "$and") {
        NodePtr all = parse_logical(MatchKind::conjunction, e, context);
        for (NodePtr& child : all->children)
            into.children.push_back(std::move(child));
    } else if (name == "$or") {
        NodePtr any = parse_logical(MatchKind::disjunction, e, context);
        // An $or of one clause is that clause, also for the positional index.
        if (any->children.size() == 1) any = std::move(any->children[0]);
        into.children.push_back(std::move(any));
    } else if (name == "$nor") {
        into.children.push_back(parse_logical(MatchKind::nor, e, context));
    } else if (name == "$comment") {
        into.children.push_back(make_node(MatchKind::always_true));
    } else if ((name == "$isolated" || name == "$atomic") &&
               !context.dialect().has(dialect::kIsolatedIsRefused)) {
        if (!context.top) bad("{} has to be at the top level", name);
        into.children.push_back(make_node(MatchKind::always_true));
    } else if (name == "$jsonSchema") {
        if (!e.is_object()) base::fail(base::kTypeMismatch, "$jsonSchema must be an object");
        NodePtr node = make_node(MatchKind::schema);
        node->schema = std::make_unique<const JsonSchema>(e.as_doc());
        into.children.push_back(std::move(node));
    } else if (is_dbref_name(name)) {
        into.children.push_back(parse_comparison(MatchKind::eq, name, e));
    } else if (name == "$expr" && context.dialect().has(dialect::kExpressionsInFilters)) {
        into.children.push_back(parse_expression(e, context));
    } else if (name == "$sampleRate" && context.dialect().has(dialect::kConstantFilters)) {
        into.children.push_back(parse_sample(e, context));
    } else if (name == "$alwaysTrue" && context.dialect().has(dialect::kConstantFilters)) {
        into.children.push_back(parse_constant(MatchKind::always_true, e));
    } else if (name == "$alwaysFalse" && context.dialect().has(dialect::kConstantFilters)) {
        into.children.push_back(parse_constant(MatchKind::always_false, e));
    } else if (name == "$where") {
        bad("$where is not supported: this server runs no JavaScript");
    } else if (name == "$text") {
        bad("$text is not supported: this server has no text indexes");
    } else {
        bad("unknown top level operator: {}", name);
    }
}

// See query/match/times.h.
void part_times(MatchNode& node) {
    sched::tick();
    if (node.kind == MatchKind::in) {
        node.nan_apart = std::ranges::any_of(node.values, bson::has_time);
        if (node.nan_apart) put_in_order(node.values, true);
    } else if (bson::has_time(node.operand)) {
        node.nan_apart = true;
    }
    for (const NodePtr& child : node.children)
        part_times(*child);
}

void parse_filter(Doc filter, const ParseContext& context, MatchNode& into) {
    for (const Element& e : filter) {
        if (starts_with_dollar(e.name()))
            parse_top_operator(e, context, into);
        else if (is_operators(e))
            parse_field_operators(e.name(), e.as_doc(), context, into);
        else
            into.children.push_back(parse_value(e.name(), e, context.dialect()));
    }
}

}  // namespace

void Matcher::put_under_collation(MatchNode& node) {
    sched::tick();
    const auto key_of = [this](const Element& value) {
        keys_.push_back(collator_->key_of(value));
        keys_charge_.add(sizeof(bson::Object));
        return keys_.back().doc().first();
    };
    if (collation::has_text(node.operand) || std::ranges::any_of(node.values, collation::has_text))
        node.collator = collator_.get();
    if (node.collator != nullptr) {
        node.stated = node.operand;
        if (node.operand) node.operand = key_of(node.operand);
        for (Element& value : node.values)
            value = key_of(value);
        put_in_order(node.values, parts_times(node));
    }
    for (const NodePtr& child : node.children)
        put_under_collation(*child);
}

std::unique_ptr<Matcher> Matcher::parse(Doc filter, const ExpressionParser* expressions,
                                        std::shared_ptr<const collation::Collator> collator) {
    std::unique_ptr<Matcher> matcher(new Matcher);
    matcher->filter_ = bson::Object(filter);
    matcher->root_ = make_node(MatchKind::conjunction);
    ParseContext context;
    context.expressions = expressions;
    context.collator = collator;
    parse_filter(matcher->filter_.doc(), context, *matcher->root_);
    put_clauses_in_order(*matcher->root_);
    if (expressions != nullptr && expressions != &kNoExpressionsInIndexes) {
        part_times(*matcher->root_);
        matcher->root_->nan_apart = true;  // see dialect_of()
    }
    if (collator != nullptr) {
        matcher->collator_ = std::move(collator);
        matcher->put_under_collation(*matcher->root_);
    }
    return matcher;
}

}  // namespace query
