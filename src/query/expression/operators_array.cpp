// Arrays: elements, parts, places, and arrays made of others.

#include <algorithm>
#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "query/accumulator/top_values.h"
#include "query/expression/operators.h"
#include "query/value/array_writer.h"

namespace query {

namespace {

Value array_from(Arena& arena, std::span<const Value> elements) {
    ArrayWriter out;
    for (const Value& e : elements)
        out.push(e);
    return out.value(arena);
}

void require_array(const Value& v, int code, std::string_view what) {
    if (!v.is_array())
        base::fail(code, "{} must be an array, but is {}", what, bson::name_of(v.type()));
}

// A whole number of 32 bits.
int32_t whole_of(const Value& v, int type_code, int whole_code, std::string_view what) {
    if (!v.is_number())
        base::fail(type_code, "{} must be a numeric value, but is {}", what,
                   bson::name_of(v.type()));
    if (v.to_double() != static_cast<double>(v.to_int32()))
        base::fail(whole_code, "{} must be representable as a 32-bit integer: {}", what,
                   bson::to_text(v));
    return v.to_int32();
}

// Returns the element of an array at a place, counted from its end if that is negative; missing
// beyond it.
Value element_at(const Value& array, int64_t place) {
    DCHECK(array.is_array());
    if (place < 0) place += array.as_doc().field_count();
    if (place < 0) return {};
    for (const Value& e : sched::ticked(array.as_doc())) {
        if (place-- == 0) return e;
    }
    return {};
}

Value array_elem_at(const Call&, Values v) {
    if (is_nullish(v[0]) || is_nullish(v[1])) return null_value();
    require_array(v[0], 28689, "$arrayElemAt's first argument");
    return element_at(v[0], whole_of(v[1], 28690, 28691, "$arrayElemAt's second argument"));
}

template <int Place>
Value element_at_end(const Call& call, Values v) {
    if (is_nullish(v[0])) return null_value();
    if (!v[0].is_array())
        base::fail(28689, "{}'s argument must be an array, but is {}", call.name,
                   bson::name_of(v[0].type()));
    return element_at(v[0], Place);
}

Value is_array(const Call&, Values v) {
    return bool_value(v[0].is_array());
}

Value is_in(const Call& call, Values v) {
    if (!v[1].is_array())
        base::fail(40081, "$in requires an array as a second argument, found: {}",
                   bson::name_of(v[1].type()));
    for (const Value& e : v[1].as_doc()) {
        if (compare_pipeline_values(v[0], e, call.collator) == 0) return bool_value(true);
    }
    return bool_value(false);
}

int32_t place_of(const Value& v, std::string_view which) {
    if (!v.is_number() || v.to_double() != static_cast<double>(v.to_int32()))
        base::fail(40096, "$indexOfArray requires an integral {} index, found a value of type: {}",
                   which, bson::name_of(v.type()));
    if (v.to_int32() < 0)
        base::fail(40097, "$indexOfArray requires a nonnegative {} index, found: {}", which,
                   v.to_int32());
    return v.to_int32();
}

Value index_of_array(const Call& call, Values v) {
    if (is_nullish(v[0])) return null_value();
    if (!v[0].is_array())
        base::fail(40090, "$indexOfArray requires an array as a first argument, found: {}",
                   bson::name_of(v[0].type()));
    const int32_t start = v.size() > 2 ? place_of(v[2], "starting") : 0;
    const int32_t end =
        v.size() > 3 ? place_of(v[3], "ending") : std::numeric_limits<int32_t>::max();
    int32_t at = 0;
    for (const Value& e : v[0].as_doc()) {
        if (at >= end) break;
        if (at >= start && compare_pipeline_values(e, v[1], call.collator) == 0)
            return make_int(call.arena, at);
        ++at;
    }
    return make_int(call.arena, -1);
}

Value concat_arrays(Scope& scope, const Operands& operands) {
    ArrayWriter out;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand->evaluate(scope);
        if (is_nullish(v)) return null_value();
        if (!v.is_array())
            base::fail(28664, "$concatArrays only supports arrays, not {}",
                       bson::name_of(v.type()));
        out.push_all(v);
    }
    return out.value(scope.arena);
}

Value reverse_array(const Call& call, Values v) {
    if (is_nullish(v[0])) return null_value();
    if (!v[0].is_array())
        base::fail(34435, "The argument to $reverseArray must be an array, but was of type: {}",
                   bson::name_of(v[0].type()));
    sched::Vector<Value> elements = elements_of(v[0]);
    std::ranges::reverse(elements);
    return array_from(call.arena, elements);
}

Value slice(const Call& call, Values v) {
    if (std::ranges::any_of(v, is_nullish)) return null_value();
    if (!v[0].is_array())
        base::fail(28724, "First argument to $slice must be an array, but is of type: {}",
                   bson::name_of(v[0].type()));
    const int64_t size = v[0].as_doc().field_count();
    const int64_t second = whole_of(v[1], 28725, 28726, "$slice's second argument");
    int64_t from = 0;
    int64_t count = second;
    if (v.size() == 2) {
        if (second < 0) {
            from = std::max<int64_t>(0, size + second);
            count = size - from;
        }
    } else {
        count = whole_of(v[2], 28727, 28728, "$slice's third argument");
        if (count <= 0) base::fail(28729, "Third argument to $slice must be positive: {}", count);
        from = second < 0 ? std::max<int64_t>(0, size + second) : second;
    }
    DCHECK(from >= 0 && count >= 0);
    ArrayWriter out;
    int64_t at = 0;
    for (const Value& e : sched::ticked(v[0].as_doc())) {
        if (at >= from + count) break;
        if (at++ >= from) out.push(e);
    }
    return out.value(call.arena);
}

Value range(const Call& call, Values v) {
    const int64_t start = whole_of(v[0], 34443, 34444, "$range's starting value");
    const int64_t end = whole_of(v[1], 34445, 34446, "$range's ending value");
    const int64_t step = v.size() > 2 ? whole_of(v[2], 34447, 34448, "$range's step value") : 1;
    if (step == 0) base::fail(34449, "$range requires a non-zero step value");
    ArrayWriter out;
    Arena one;
    for (int64_t i = start; step > 0 ? i < end : i > end; i += step) {
        one.clear();
        out.push(make_int(one, static_cast<int32_t>(i)));
    }
    return out.value(call.arena);
}

// The arrays, and in the same order what stands for elements that one of them has not.
struct Zipped {
    sched::Vector<sched::Vector<Value>> arrays;
    sched::Vector<Value> defaults;
};

Value zip_arrays(Arena& arena, const Zipped& zipped, bool longest) {
    DCHECK(!zipped.arrays.empty() && zipped.defaults.size() == zipped.arrays.size());
    size_t size = longest ? 0 : std::numeric_limits<size_t>::max();
    for (const auto& array : zipped.arrays)
        size = longest ? std::max(size, array.size()) : std::min(size, array.size());
    bson::Buffer out;
    const size_t start = open_doc(out);
    for (size_t i = 0; i < size; ++i) {
        write_header(out, bson::Type::array, bson::IndexName(static_cast<uint32_t>(i)).view());
        const size_t inner = open_doc(out);
        for (const size_t k : sched::rounds<size_t>(0, zipped.arrays.size())) {
            Value v = zipped.defaults[k];
            if (i < zipped.arrays[k].size()) v = zipped.arrays[k][i];
            write_value(out, bson::IndexName(static_cast<uint32_t>(k)).view(),
                        v.missing() ? null_value() : v);
        }
        close_doc(out, inner);
    }
    close_doc(out, start);
    return make_doc(arena, bson::Type::array, bson::Doc(out.data()));
}

// Operands: the arrays, and behind them as many defaults, if there are any.
class Zip : public Expression {
  public:
    Zip(Operands arrays, Operands defaults, bool longest)
        : arrays_(std::move(arrays)), defaults_(std::move(defaults)), longest_(longest) {
        DCHECK(defaults_.empty() || defaults_.size() == arrays_.size());
    }
    Value evaluate(Scope& scope) const override {
        Zipped zipped;
        for (const ExpressionPtr& operand : arrays_) {
            const Value v = operand->evaluate(scope);
            if (is_nullish(v)) return null_value();
            if (!v.is_array())
                base::fail(34468, "$zip found a non-array expression in input: {}",
                           bson::to_text(v));
            zipped.arrays.push_back(elements_of(v));
        }
        for (const ExpressionPtr& operand : defaults_)
            zipped.defaults.push_back(operand->evaluate(scope));
        zipped.defaults.resize(zipped.arrays.size());
        return zip_arrays(scope.arena, zipped, longest_);
    }
    void add_needs(Needs& needs) const override {
        for (const ExpressionPtr& e : arrays_)
            e->add_needs(needs);
        for (const ExpressionPtr& e : defaults_)
            e->add_needs(needs);
    }
    ExpressionPtr simplified() override {
        for (ExpressionPtr& e : arrays_)
            simplify(e);
        for (ExpressionPtr& e : defaults_)
            simplify(e);
        return nullptr;
    }

  private:
    Operands arrays_;
    Operands defaults_;
    bool longest_;
};

constexpr NamedOperand kZip[] = {{"inputs"}, {"useLongestLength"}, {"defaults"}};

ExpressionPtr parse_zip(const Operator& op, const Value& spec, Names& names) {
    const auto specs = named_specs(op, spec, op.by_name);
    if (!specs[0]) base::fail(34465, "$zip requires at least one input array");
    if (!specs[0].is_array())
        base::fail(34461, "inputs must be an array of expressions, found {}",
                   bson::name_of(specs[0].type()));
    if (specs[1] && specs[1].type() != bson::Type::boolean)
        base::fail(34463, "useLongestLength must be a bool, found {}",
                   bson::name_of(specs[1].type()));
    if (specs[2] && !specs[2].is_array())
        base::fail(34462, "defaults must be an array of expressions, found {}",
                   bson::name_of(specs[2].type()));
    Operands arrays;
    Operands defaults;
    for (const Value& e : specs[0].as_doc())
        arrays.push_back(parse_operand(e, names));
    if (specs[2]) {
        for (const Value& e : specs[2].as_doc())
            defaults.push_back(parse_operand(e, names));
    }
    const bool longest = specs[1] && specs[1].as_bool();
    if (arrays.empty()) base::fail(34465, "$zip requires at least one input array");
    if (!defaults.empty() && !longest)
        base::fail(34466, "cannot specify defaults unless useLongestLength is true");
    if (!defaults.empty() && defaults.size() != arrays.size())
        base::fail(34467, "defaults and inputs must have the same length");
    return std::make_unique<Zip>(std::move(arrays), std::move(defaults), longest);
}

// The first or last elements, as many as there are at most.
template <bool First>
Value some_elements(const Call& call, Values v) {
    const int64_t n = count_of_values(v[0]);
    if (!v[1].is_array())
        base::fail(5788200, "{} requires 'input' to be an array, found {}", call.name,
                   bson::name_of(v[1].type()));
    const sched::Vector<Value> elements = elements_of(v[1]);
    const auto count = static_cast<size_t>(std::min<int64_t>(n, elements.size()));
    const std::span<const Value> all(elements);
    return array_from(call.arena, First ? all.first(count) : all.last(count));
}

// The smallest or largest ones, these first; null is no value.
template <int Sign>
Value extreme_elements(const Call& call, Values v) {
    const int64_t n = count_of_values(v[0]);
    if (!v[1].is_array())
        base::fail(5788200, "{} requires 'input' to be an array, found {}", call.name,
                   bson::name_of(v[1].type()));
    sched::Vector<Value> elements;
    for (const Value& e : sched::ticked(v[1].as_doc())) {
        if (!is_nullish(e)) elements.push_back(e);
    }
    std::stable_sort(elements.begin(), elements.end(), [&call](const Value& a, const Value& b) {
        return compare_pipeline_values(a, b, call.collator) * Sign < 0;
    });
    if (static_cast<int64_t>(elements.size()) > n) elements.resize(static_cast<size_t>(n));
    return array_from(call.arena, elements);
}

constexpr NamedOperand kSome[] = {{"n", 5787906}, {"input", 5787907}};

constexpr Operator some_operator(std::string_view name, Operator::Compute compute) {
    return {.name = name, .by_name = {kSome, 5787900, 5787901}, .compute = compute};
}

constexpr Operator list_operator(std::string_view name, int least, int most,
                                 Operator::Compute compute) {
    return {.name = name, .least = least, .most = most, .arity_code = 28667, .compute = compute};
}

}  // namespace

std::span<const Operator> array_operators() {
    static constexpr Operator kTable[] = {
        {.name = "$arrayElemAt", .least = 2, .most = 2, .compute = array_elem_at},
        {.name = "$first", .compute = element_at_end<0>},
        {.name = "$last", .compute = element_at_end<-1>},
        {.name = "$isArray", .compute = is_array},
        {.name = "$in", .least = 2, .most = 2, .compute = is_in},
        list_operator("$indexOfArray", 2, 4, index_of_array),
        {.name = "$concatArrays", .least = 0, .most = Operator::kAny, .apply = concat_arrays},
        {.name = "$reverseArray", .compute = reverse_array},
        list_operator("$slice", 2, 3, slice),
        list_operator("$range", 2, 3, range),
        {.name = "$zip", .by_name = {kZip, 34460, 34464}, .parse = parse_zip},
        some_operator("$firstN", some_elements<true>),
        some_operator("$lastN", some_elements<false>),
        some_operator("$minN", extreme_elements<1>),
        some_operator("$maxN", extreme_elements<-1>),
    };
    return kTable;
}

}  // namespace query
