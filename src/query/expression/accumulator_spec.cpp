#include "query/expression/accumulator_spec.h"

#include "base/error.h"
#include "dialect/dialect.h"
#include "dialect/pipelines.h"

namespace query {

AccumulatorSpec parse_accumulator(const Value& op, Names& names) {
    const std::string_view name = op.name();
    if (names.dialect.has(dialect::kUnknownOperators)) {
        if (name == "$accumulator") return parse_script_accumulator(op, names);
        if (name == "$count") {
            if (!op.is_object() || !op.as_doc().empty())
                base::fail(base::kFailedToParse, "$count takes no arguments, i.e. $count:{{}}");
            return {count_maker(), std::make_unique<Constant>(null_value())};
        }
        if (const AccumulatorParser parse = find_top_accumulator(name)) return parse(op, names);
        if (const AccumulatorParser parse = find_percentile_accumulator(name))
            return parse(op, names);
    }
    AccumulatorMaker maker = find_accumulator(name, names.dialect, names.collator.get());
    if (!maker) base::fail(15952, "unknown group operator '{}'", name);
    if (op.is_array())
        base::fail(names.dialect.code(15953, 40237), "aggregating group operators are unary ({})",
                   name);
    return {std::move(maker), parse_operand(op, names)};
}

GroupField parse_group_field(const Value& e, Names& names) {
    const std::string_view name = e.name();
    const dialect::Dialect dialect = names.dialect;
    if (dialect.has(dialect::kStagesAreChecked) &&
        !(e.is_object() && e.as_doc().first().name().starts_with('$')))
        base::fail(40234, "The field '{}' must be an accumulator object", name);
    if (name.find('.') != std::string_view::npos) {
        base::fail(dialect.code(16414, 40235),
                   "the group aggregate field name '{}' cannot be used because $group's "
                   "field names cannot contain '.'",
                   name);
    }
    if (name.starts_with('$')) {
        base::fail(dialect.code(15950, 40236),
                   "the group aggregate field name '{}' cannot be an operator name", name);
    }
    if (!e.is_object()) {
        base::fail(15951,
                   "the group aggregate field '{}' must be defined as an expression "
                   "inside an object",
                   name);
    }
    GroupField field{std::string(name), {}};
    // Today's servers count them before they look at one.
    if (dialect.has(dialect::kStagesAreChecked) && e.as_doc().field_count() != 1)
        base::fail(40238, "The field '{}' must specify one accumulator", name);
    size_t count = 0;
    for (const Value& op : e.as_doc()) {
        field.accumulator = parse_accumulator(op, names);
        ++count;
    }
    if (count != 1) {
        base::fail(15954, "the computed aggregate '{}' must specify exactly one operator", name);
    }
    return field;
}

}  // namespace query
