// $firstN $lastN $minN $maxN, and $top $topN $bottom $bottomN, which order by fields.

#include <algorithm>

#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/order_of_today.h"
#include "query/aggregation/accumulator.h"
#include "query/aggregation/top_values.h"
#include "query/plan/sort.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

// Where a new value goes, and which ones leave: all of them are kept in an order.
class Ranking {
  public:
    virtual ~Ranking() = default;
    // Whether `a` comes before `b`, the one that was there earlier.
    virtual bool comes_before(const Value& a, const Value& b) const = 0;
    // What the result shows of it.
    virtual Value shown(const Value& v) const { return v; }
    virtual bool takes(const Value&) const { return true; }
};

class AsTheyCome : public Ranking {
  public:
    explicit AsTheyCome(const std::shared_ptr<const collation::Collator>&) {}
    bool comes_before(const Value&, const Value&) const override { return false; }
};

// The smallest first, or the largest; null is no value.
template <int Sign>
class ByValue : public Ranking {
  public:
    explicit ByValue(std::shared_ptr<const collation::Collator> collator)
        : collator_(std::move(collator)) {}
    bool comes_before(const Value& a, const Value& b) const override {
        return compare_pipeline_values(a, b, collator_.get()) * Sign < 0;
    }
    bool takes(const Value& v) const override { return !is_nullish(v); }

  private:
    const std::shared_ptr<const collation::Collator> collator_;
};

// Values are arrays of a sort key and what is shown.
class ByFields : public Ranking {
  public:
    explicit ByFields(uint32_t descending) : descending_(descending) {}
    bool comes_before(const Value& a, const Value& b) const override {
        return bson::compare_keys_of_today(key_of(a), key_of(b), descending_) < 0;
    }
    Value shown(const Value& v) const override {
        auto at = v.as_doc().begin();
        return *++at;
    }

  private:
    static bson::Doc key_of(const Value& v) { return v.as_doc().first().as_doc(); }
    const uint32_t descending_;
};

struct Selection {
    std::shared_ptr<const Ranking> ranking;
    size_t count = 1;
    bool last = false;    // those at the end of the order stay
    bool single = false;  // the result is a value, no array
};

class Select : public Accumulator {
  public:
    explicit Select(const Selection& selection) : selection_(selection) {}

    void add(const Value& v) override {
        if (!selection_.ranking->takes(v)) return;
        const auto place =
            std::upper_bound(kept_.begin(), kept_.end(), v, [&](const Value& now, const Kept& old) {
                sched::tick();
                return selection_.ranking->comes_before(now, old.value());
            });
        const bool is_full = kept_.size() == selection_.count;
        if (is_full && place == (selection_.last ? kept_.begin() : kept_.end())) return;
        Kept kept(v);
        bytes_ += kept.bytes();
        sched::tick(static_cast<int64_t>(kept_.size() / 16));
        kept_.insert(place, std::move(kept));
        if (!is_full) return;
        const auto leaving = selection_.last ? kept_.begin() : kept_.end() - 1;
        bytes_ -= leaving->bytes();
        kept_.erase(leaving);
    }
    void write(std::string_view name, bson::Buffer& out) override {
        if (selection_.single)
            return write_value(out, name, shown(kept_.empty() ? Value() : kept_[0].value()));
        write_header(out, Type::array, name);
        const size_t start = open_doc(out);
        uint32_t index = 0;
        for (const Kept& kept : kept_) {
            sched::tick();
            write_value(out, bson::IndexName(index++).view(), shown(kept.value()));
        }
        close_doc(out, start);
    }
    int64_t bytes() const override { return bytes_; }
    void save(bson::Buffer& out) const override {
        for (const Kept& kept : kept_)
            out.append(kept.value().raw(), kept.value().size());
    }
    void restore(std::span<const uint8_t> saved) override {
        while (!saved.empty()) {
            const Value v(saved.data());
            kept_.emplace_back(v);
            bytes_ += kept_.back().bytes();
            saved = saved.subspan(v.size());
        }
    }

  private:
    // A value in memory of its own; a missing one is null.
    class Kept {
      public:
        explicit Kept(const Value& given) {
            const Value v = given.missing() ? null_value() : given;
            bytes_.resize(v.value_size() + 2);
            bytes_[0] = static_cast<uint8_t>(v.type());
            std::copy_n(v.value(), v.value_size(), bytes_.begin() + 2);
        }
        Value value() const { return Value(bytes_.data()); }
        int64_t bytes() const { return static_cast<int64_t>(bytes_.size() + sizeof *this); }

      private:
        sched::Vector<uint8_t> bytes_;
    };

    Value shown(const Value& v) const {
        const Value out = v.missing() ? v : selection_.ranking->shown(v);
        return out.missing() ? null_value() : out;
    }

    const Selection selection_;
    sched::Vector<Kept> kept_;  // in order
    int64_t bytes_ = 0;
};

AccumulatorMaker maker_of(const Selection& selection) {
    return [selection] { return std::make_unique<Select>(selection); };
}

// The sort key of a document and a value that is computed from it, as an array.
class KeyAndValue : public Expression {
  public:
    KeyAndValue(bson::Doc sort_by, ExpressionPtr output,
                std::shared_ptr<const collation::Collator> collator)
        : pattern_(
              std::make_shared<const SortPattern>(sort_by, nullptr, std::move(collator), true)),
          output_(std::move(output)) {}
    Value evaluate(Scope& scope) const override {
        const Scope::Variable& root = scope.variables[Scope::kRoot];
        bson::Buffer out;
        const size_t start = open_doc(out);
        write_header(out, Type::object, "0");
        pattern_->append_key(root.doc == nullptr ? root.value.as_doc() : bson::Doc(root.doc), out);
        const Value v = output_->evaluate(scope);
        write_value(out, "1", v.missing() ? null_value() : v);
        close_doc(out, start);
        return make_doc(scope.arena, Type::array, bson::Doc(out.data()));
    }
    void add_needs(Needs& needs) const override { needs.whole_document = true; }
    ExpressionPtr simplified() override {
        simplify(output_);
        return nullptr;
    }
    uint32_t descending() const { return pattern_->descending_bits(); }

  private:
    std::shared_ptr<const SortPattern> pattern_;
    ExpressionPtr output_;
};

struct TopOperands {
    Value n, input, sort_by, output;
};

TopOperands operands_of(const Value& op, bool has_n, bool by_fields) {
    if (!op.is_object())
        base::fail(5788001, "specification must be an object; found {}", op.name());
    TopOperands operands;
    for (const Value& e : op.as_doc()) {
        const std::string_view name = e.name();
        if (name == "n" && has_n)
            operands.n = e;
        else if (name == "input" && !by_fields)
            operands.input = e;
        else if (name == "sortBy" && by_fields)
            operands.sort_by = e;
        else if (name == "output" && by_fields)
            operands.output = e;
        else
            base::fail(5788002, "Unknown argument to {} '{}'", op.name(), name);
    }
    if (has_n && !operands.n) base::fail(5788003, "Missing value for 'n' of {}", op.name());
    if (by_fields && !operands.sort_by)
        base::fail(5788005, "Missing value for 'sortBy' of {}", op.name());
    if (by_fields && !operands.output)
        base::fail(5788004, "Missing value for 'output' of {}", op.name());
    if (!by_fields && !operands.input)
        base::fail(5787907, "Missing value for 'input' of {}", op.name());
    return operands;
}

size_t constant_count(const Value& n, std::string_view op, Names& names) {
    ExpressionPtr count = parse_operand(n, names);
    simplify(count);
    const auto constant = count->constant();
    if (!constant)
        base::fail(base::kInvalidPipelineOperator,
                   "{} by an 'n' that depends on the group is not supported by this server", op);
    return static_cast<size_t>(count_of_values(*constant));
}

template <typename Order, bool Last>
AccumulatorSpec parse_some(const Value& op, Names& names) {
    const TopOperands operands = operands_of(op, true, false);
    const size_t n = constant_count(operands.n, op.name(), names);
    return {maker_of({std::make_shared<Order>(names.collator), n, Last, false}),
            parse_operand(operands.input, names)};
}

template <bool HasCount, bool Last>
AccumulatorSpec parse_top(const Value& op, Names& names) {
    const TopOperands operands = operands_of(op, HasCount, true);
    if (!operands.sort_by.is_object())
        base::fail(10065, "invalid parameter: expected an object (sortBy)");
    if (operands.sort_by.as_doc().empty())
        base::fail(2942505, "sortBy of {} must have at least one key", op.name());
    const size_t n = HasCount ? constant_count(operands.n, op.name(), names) : 1;
    auto input = std::make_unique<KeyAndValue>(
        operands.sort_by.as_doc(), parse_operand(operands.output, names), names.collator);
    auto order = std::make_shared<ByFields>(input->descending());
    return {maker_of({std::move(order), n, Last, !HasCount}), std::move(input)};
}

struct Named {
    std::string_view name;
    AccumulatorParser parse;
};

constexpr Named kTable[] = {
    {"$firstN", parse_some<AsTheyCome, false>}, {"$lastN", parse_some<AsTheyCome, true>},
    {"$minN", parse_some<ByValue<1>, false>},   {"$maxN", parse_some<ByValue<-1>, false>},
    {"$top", parse_top<false, false>},          {"$topN", parse_top<true, false>},
    {"$bottom", parse_top<false, true>},        {"$bottomN", parse_top<true, true>},
};

}  // namespace

AccumulatorParser find_top_accumulator(std::string_view name) {
    const auto* const found = std::ranges::find(kTable, name, &Named::name);
    return found == std::end(kTable) ? nullptr : found->parse;
}

}  // namespace query
