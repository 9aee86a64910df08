// The operators that compute an expression for each element of an array: $map $filter $reduce.

#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "query/expression/operators.h"
#include "query/value/array_writer.h"

namespace query {

namespace {

// Puts CURRENT back, the one variable that a loop may set and that is not its own.
class KeptCurrent {
  public:
    explicit KeptCurrent(Scope& scope)
        : scope_(scope), current_(scope.variables[Scope::kCurrent]) {}
    ~KeptCurrent() { scope_.variables[Scope::kCurrent] = current_; }
    KeptCurrent(const KeptCurrent&) = delete;
    KeptCurrent& operator=(const KeptCurrent&) = delete;

  private:
    Scope& scope_;
    const Scope::Variable current_;
};

// A loop over `input`, whose elements are the variable in `slot` while `in` is computed.
class Loop : public Expression {
  public:
    Loop(size_t slot, ExpressionPtr input, ExpressionPtr in)
        : slot_(slot), input_(std::move(input)), in_(std::move(in)) {}

    void add_needs(Needs& needs) const override {
        input_->add_needs(needs);
        in_->add_needs(needs);
        if (slot_ == Scope::kCurrent) needs.whole_document = true;
    }
    ExpressionPtr simplified() override {
        simplify(input_);
        simplify(in_);
        return nullptr;
    }

  protected:
    Value input(Scope& scope) const { return input_->evaluate(scope); }
    Value of_element(Scope& scope, const Value& element) const {
        DCHECK(slot_ < scope.variables.size());
        scope.variables[slot_] = {element};
        return in_->evaluate(scope);
    }

  private:
    size_t slot_;
    ExpressionPtr input_;
    ExpressionPtr in_;
};

class Map : public Loop {
  public:
    using Loop::Loop;
    Value evaluate(Scope& scope) const override {
        const Value elements = input(scope);
        if (is_nullish(elements)) return null_value();
        if (!elements.is_array()) {
            base::fail(16883, "input to $map must be an array not {}",
                       bson::name_of(elements.type()));
        }
        const KeptCurrent kept(scope);
        const Arena::Mark mark = scope.arena.mark();
        ArrayWriter out;
        for (const Value& e : elements.as_doc()) {
            out.push(of_element(scope, e));
            scope.arena.release(mark);
        }
        return out.value(scope.arena);
    }
};

class Filter : public Loop {
  public:
    Filter(size_t slot, ExpressionPtr input, ExpressionPtr in, ExpressionPtr limit)
        : Loop(slot, std::move(input), std::move(in)), limit_(std::move(limit)) {}

    Value evaluate(Scope& scope) const override {
        const Value elements = input(scope);
        if (is_nullish(elements)) return null_value();
        if (!elements.is_array())
            base::fail(28651, "input to $filter must be an array not {}",
                       bson::name_of(elements.type()));
        const uint32_t limit = limit_of(scope);
        const KeptCurrent kept(scope);
        const Arena::Mark mark = scope.arena.mark();
        ArrayWriter out;
        for (const Value& e : elements.as_doc()) {
            if (out.size() == limit) break;
            sched::tick();
            if (is_true(of_element(scope, e))) out.push(e);
            scope.arena.release(mark);
        }
        return out.value(scope.arena);
    }
    void add_needs(Needs& needs) const override {
        Loop::add_needs(needs);
        if (limit_) limit_->add_needs(needs);
    }
    ExpressionPtr simplified() override {
        if (limit_) simplify(limit_);
        return Loop::simplified();
    }

  private:
    static constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();

    uint32_t limit_of(Scope& scope) const {
        if (!limit_) return kNoLimit;
        const Value v = limit_->evaluate(scope);
        if (is_nullish(v)) return kNoLimit;
        if (!v.is_number() || v.to_double() != v.to_int32())
            base::fail(327391, "$filter: limit must be a 32-bit integer, found {}",
                       bson::name_of(v.type()));
        if (v.to_int32() <= 0) base::fail(327392, "$filter: limit must be greater than 0");
        return static_cast<uint32_t>(v.to_int32());
    }

    ExpressionPtr limit_;  // null: none
};

class Reduce : public Loop {
  public:
    Reduce(size_t slot, size_t result_slot, ExpressionPtr input, ExpressionPtr initial,
           ExpressionPtr in)
        : Loop(slot, std::move(input), std::move(in)),
          result_slot_(result_slot),
          initial_(std::move(initial)) {}

    Value evaluate(Scope& scope) const override {
        const Value elements = input(scope);
        if (is_nullish(elements)) return null_value();
        if (!elements.is_array())
            base::fail(40080, "$reduce requires that 'input' be an array, found: {}",
                       bson::name_of(elements.type()));
        DCHECK(result_slot_ < scope.variables.size());
        Value result = initial_->evaluate(scope);
        const Arena::Mark mark = scope.arena.mark();
        for (const Value& e : sched::ticked(elements.as_doc())) {
            scope.variables[result_slot_] = {result};
            result = of_element(scope, e);
            result = without_others(scope.arena, mark, result);
        }
        return result;
    }
    void add_needs(Needs& needs) const override {
        Loop::add_needs(needs);
        initial_->add_needs(needs);
    }
    ExpressionPtr simplified() override {
        simplify(initial_);
        return Loop::simplified();
    }

  private:
    // A text that grows with each element would be there in all its lengths: once these take much
    // more than the result, it alone is kept.
    static Value without_others(Arena& arena, const Arena::Mark& mark, const Value& result) {
        constexpr size_t kFewBytes = 64 * 1024;
        const size_t bytes = result.missing() ? 0 : result.value_size();
        DCHECK(arena.used() >= mark.used);
        if (arena.used() - mark.used < kFewBytes + 4 * bytes) return result;
        Arena own;
        const Value copy = copy_value(own, result);
        arena.release(mark);
        return copy_value(arena, copy);
    }

    size_t result_slot_;
    ExpressionPtr initial_;
};

// The slot of a variable that the client may name.
size_t define_element(const Value& as, Names& names) {
    if (as.missing()) return names.define("this");
    return names.define(as.is_string() ? as.as_string() : std::string_view());
}

ExpressionPtr parse_map(const Operator& op, const Value& spec, Names& names) {
    const auto specs = named_specs(op, spec, op.by_name);
    ExpressionPtr input = parse_operand(specs[0], names);
    const size_t saved = names.save();
    const size_t slot = define_element(specs[1], names);
    ExpressionPtr in = parse_operand(specs[2], names);
    names.restore(saved);
    return std::make_unique<Map>(slot, std::move(input), std::move(in));
}

ExpressionPtr parse_filter(const Operator& op, const Value& spec, Names& names) {
    const auto specs = named_specs(op, spec, op.by_name);
    ExpressionPtr input = parse_operand(specs[0], names);
    ExpressionPtr limit = specs[3] ? parse_operand(specs[3], names) : nullptr;
    const size_t saved = names.save();
    const size_t slot = define_element(specs[1], names);
    ExpressionPtr in = parse_operand(specs[2], names);
    names.restore(saved);
    return std::make_unique<Filter>(slot, std::move(input), std::move(in), std::move(limit));
}

ExpressionPtr parse_reduce(const Operator& op, const Value& spec, Names& names) {
    const auto specs = named_specs(op, spec, op.by_name);
    ExpressionPtr input = parse_operand(specs[0], names);
    ExpressionPtr initial = parse_operand(specs[1], names);
    const size_t saved = names.save();
    const size_t slot = names.define("this");
    const size_t result_slot = names.define("value");
    ExpressionPtr in = parse_operand(specs[2], names);
    names.restore(saved);
    return std::make_unique<Reduce>(slot, result_slot, std::move(input), std::move(initial),
                                    std::move(in));
}

constexpr NamedOperand kOldMap[] = {{"input", 16880}, {"as", 16881}, {"in", 16882}};
constexpr NamedOperand kMap[] = {{"input", 16880}, {"as"}, {"in", 16882}};
constexpr NamedOperand kFilter[] = {{"input", 28648}, {"as"}, {"cond", 28650}, {"limit"}};
constexpr NamedOperand kReduce[] = {{"input", 40077}, {"initialValue", 40078}, {"in", 40079}};

}  // namespace

std::span<const Operator> loop_operators() {
    static constexpr Operator kTable[] = {
        {.name = "$map",
         .dialects = Dialects::v26,
         .by_name = {kOldMap, 16878, 16879},
         .parse = parse_map},
        {.name = "$map", .by_name = {kMap, 16878, 16879}, .parse = parse_map},
        {.name = "$filter", .by_name = {kFilter, 28646, 28647}, .parse = parse_filter},
        {.name = "$reduce", .by_name = {kReduce, 40075, 40076}, .parse = parse_reduce},
    };
    return kTable;
}

}  // namespace query
