// $percentile and $median: what they ask for.

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "query/accumulator/percentile.h"
#include "query/expression/accumulator_spec.h"
#include "sched/tick.h"

namespace query {

namespace {

// p and method of a specification, {p: [..], method: ..}. Throws base::Error 7750301 to 7750303.
sched::Vector<double> percentiles_of(const Value& spec, std::string_view op, bool is_median) {
    if (!spec.is_object())
        base::fail(is_median ? 7436100 : 7429703, "specification of {} must be an object; found {}",
                   op, bson::name_of(spec.type()));
    for (const Value& e : spec.as_doc()) {
        const std::string_view name = e.name();
        if (name != "input" && name != "method" && (is_median || name != "p"))
            base::fail(40415, "{}.{} is an unknown field.", op, name);
    }
    const bson::Doc doc = spec.as_doc();
    if (!doc.has("input")) base::fail(40414, "{}.input is missing but a required field", op);
    if (!doc.has("method")) base::fail(40414, "{}.method is missing but a required field", op);
    const Value method = doc["method"];
    if (!method.is_string() || method.as_string() != "approximate")
        base::fail(base::kBadValue,
                   "Currently only 'approximate' can be used as the 'method' of {}", op);
    if (is_median) {
        sched::Vector<double> half;
        half.push_back(0.5);
        return half;
    }
    if (!doc.has("p")) base::fail(40414, "{}.p is missing but a required field", op);
    if (!doc["p"].is_array() || doc["p"].as_doc().empty())
        base::fail(7750301,
                   "The $percentile 'p' field must be an array of numbers from [0.0, 1.0]");
    sched::Vector<double> ps;
    for (const Value& p : sched::ticked(doc["p"].as_doc())) {
        if (!p.is_number())
            base::fail(7750302, "The $percentile 'p' field must be an array of numbers, found {}",
                       bson::name_of(p.type()));
        if (!(p.to_double() >= 0 && p.to_double() <= 1))
            base::fail(7750303,
                       "The $percentile 'p' field must be an array of numbers from "
                       "[0.0, 1.0], found {}",
                       p.to_double());
        ps.push_back(p.to_double());
    }
    DCHECK(!ps.empty());
    return ps;
}

template <bool kIsMedian>
AccumulatorSpec parse(const Value& op, Names& names) {
    sched::Vector<double> ps = percentiles_of(op, op.name(), kIsMedian);
    return {percentile_maker(std::move(ps), kIsMedian), parse_operand(op.as_doc()["input"], names)};
}

}  // namespace

AccumulatorParser find_percentile_accumulator(std::string_view name) {
    if (name == "$percentile") return parse<false>;
    return name == "$median" ? parse<true> : nullptr;
}

}  // namespace query
