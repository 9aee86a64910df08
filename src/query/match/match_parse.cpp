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
#include "query/match/match_operands.h"
#include "query/match/text_clause.h"
#include "query/match/times.h"
#include "sched/tick.h"

namespace query {

namespace {

using bson::Doc;
using bson::Element;
using bson::Type;

// How deep $and, $or, $nor, $not and $elemMatch may be nested.
constexpr int kNestingMax = 100;

template <typename... Args>
[[noreturn]] void bad(fmt::format_string<Args...> format, Args&&... args) {
    base::fail(base::kBadValue, format, std::forward<Args>(args)...);
}

// The parser's place in the filter.
struct ParseContext {
    bool& runs_scripts;  // of the filter
    bool top = true;     // not inside another operator
    bool in_and = true;  // nor inside another one than $and
    int depth = 0;
    const ExpressionParser* expressions = nullptr;  // of $expr, which is about a whole document
    std::shared_ptr<const collation::Collator> collator = {};
    const WhereParser* where = nullptr;  // of $where, which is about a whole document
    const TextClause** text = nullptr;   // the one of the filter; null: there may be none here
    // Whether the client means the filter as later servers do, which take no odd operands.
    dialect::Dialect dialect() const {
        return expressions != nullptr ? dialect::kToday : dialect::kV26;
    }
    ParseContext deeper() const {
        if (depth >= kNestingMax) bad("the query is nested more than {} levels deep", kNestingMax);
        return {runs_scripts, false, false, depth + 1, expressions, collator, where, text};
    }
    // The same for a place where $text may not be.
    ParseContext deeper_without_text() const {
        ParseContext inside = deeper();
        inside.text = nullptr;
        return inside;
    }
};

void parse_filter(Doc filter, const ParseContext& context, MatchNode& into);
void parse_field_operators(std::string_view path, Doc operators, const ParseContext& context,
                           MatchNode& into);

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
    ParseContext inside = context.deeper_without_text();
    static const RefusedExpressions kRefused(base::kBadValue,
                                             "$expr can only be applied to the top-level document");
    if (inside.expressions != nullptr) inside.expressions = &kRefused;
    inside.where = nullptr;
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

geo::Rules geo_rules(const ParseContext& context) {
    return context.expressions != nullptr ? geo::Rules::today : geo::Rules::old;
}

bool is_geo(std::string_view name) {
    return name == "$geoWithin" || name == "$within" || name == "$geoIntersects";
}

NodePtr parse_geo(std::string_view path, const Element& e, const ParseContext& context) {
    NodePtr node = make_node(MatchKind::geo, path);
    node->geo = geo::Predicate::parse(e.name() == "$geoIntersects" ? geo::Predicate::Ask::intersects
                                                                   : geo::Predicate::Ask::within,
                                      e, geo_rules(context));
    return node;
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
    if (is_geo(name)) return parse_geo(path, e, context);
    if (geo::Near::is_name(name)) bad("{} has to be the first operator of its field", name);
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
    context.runs_scripts |= node->expression->runs_scripts();
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
    if (geo::Near::is_name(operators.first().name())) {
        if (!context.in_and) bad("{} stands below another operator", operators.first().name());
        into.children.push_back(make_node(MatchKind::near, path));
        into.children.back()->near = geo::Near::parse(operators, geo_rules(context));
        return;
    }
    bool regex_done = false;
    const bool alone = context.expressions != nullptr || operators.field_count() == 1;
    for (const Element& e : operators) {
        if (!alone && is_geo(e.name())) bad("{} stands beside another operator", e.name());
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
    ParseContext inside = kind == MatchKind::nor ? context.deeper_without_text() : context.deeper();
    inside.in_and = context.in_and && kind == MatchKind::conjunction;
    NodePtr node = make_node(kind);
    for (const Element& member : e.as_doc()) {
        if (!member.is_object()) bad("$or/$and/$nor entries need to be full objects");
        if (kind == MatchKind::conjunction) {
            parse_filter(member.as_doc(), inside, *node);
        } else {
            NodePtr all = make_node(MatchKind::conjunction);
            parse_filter(member.as_doc(), inside, *all);
            node->has_text = node->has_text || all->has_text;
            node->children.push_back(unwrap(std::move(all)));
        }
    }
    return node;
}

NodePtr parse_text(const Element& e, const ParseContext& context) {
    if (context.text == nullptr) bad("$text is not allowed in this context");
    if (*context.text != nullptr) bad("a query can have one $text only");
    auto clause = std::make_unique<const TextClause>(e, context.dialect());
    *context.text = clause.get();
    NodePtr node = make_node(MatchKind::text);
    node->has_text = true;
    node->expression = std::move(clause);
    return node;
}

void parse_top_operator(const Element& e, const ParseContext& context, MatchNode& into) {
    const std::string_view name = e.name();
    if (name == "$and") {
        NodePtr all = parse_logical(MatchKind::conjunction, e, context);
        into.has_text = into.has_text || all->has_text;
        for (NodePtr& child : all->children)
            into.children.push_back(std::move(child));
    } else if (name == "$or") {
        NodePtr any = parse_logical(MatchKind::disjunction, e, context);
        // An $or of one clause is that clause, also for the positional index.
        into.has_text = into.has_text || any->has_text;
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
        if (context.where == nullptr) bad("$where is not allowed in this context");
        NodePtr node = make_node(MatchKind::expression);
        node->expression = context.where->parse(e);
        context.runs_scripts |= node->expression->runs_scripts();
        into.children.push_back(std::move(node));
    } else if (name == "$text") {
        into.children.push_back(parse_text(e, context));
        into.has_text = true;
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

void Matcher::look_near(std::string_view path, std::shared_ptr<const geo::Near> near) {
    if (near_ != nullptr) bad("a filter can have one $near");
    root_->children.push_back(make_node(MatchKind::near, path));
    root_->children.back()->near = std::move(near);
    near_ = root_->children.back().get();
}

std::unique_ptr<Matcher> Matcher::parse(Doc filter, const ExpressionParser* expressions,
                                        std::shared_ptr<const collation::Collator> collator,
                                        const WhereParser* where) {
    return make(filter, expressions, std::move(collator), where, false);
}

std::unique_ptr<Matcher> Matcher::parse_query(Doc filter, const ExpressionParser* expressions,
                                              std::shared_ptr<const collation::Collator> collator,
                                              const WhereParser* where) {
    return make(filter, expressions, std::move(collator), where, true);
}

std::unique_ptr<Matcher> Matcher::make(Doc filter, const ExpressionParser* expressions,
                                       std::shared_ptr<const collation::Collator> collator,
                                       const WhereParser* where, bool takes_text) {
    std::unique_ptr<Matcher> matcher(new Matcher);
    matcher->filter_ = bson::Object(filter);
    matcher->root_ = make_node(MatchKind::conjunction);
    ParseContext context{matcher->runs_scripts_};
    context.expressions = expressions;
    context.collator = collator;
    context.where = where;
    if (takes_text) context.text = &matcher->text_;
    parse_filter(matcher->filter_.doc(), context, *matcher->root_);
    put_clauses_in_order(*matcher->root_);
    for (const NodePtr& child : matcher->root_->children) {
        if (child->kind != MatchKind::near) continue;
        if (matcher->near_ != nullptr) bad("a filter can have one $near");
        matcher->near_ = child.get();
    }
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
