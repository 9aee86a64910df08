// $percentile and $median: of all numbers, sorted, the one at a place.

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/type_names.h"
#include "query/aggregation/accumulator.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

class Percentile : public Accumulator {
  public:
    Percentile(std::shared_ptr<const sched::Vector<double>> ps, bool is_median)
        : ps_(std::move(ps)), is_median_(is_median) {}

    void add(const Value& v) override {
        if (!v.is_number()) return;
        if (v.type() == Type::decimal128) refuse_decimal("a percentile");
        numbers_.push_back(v.to_double());
    }
    void write(std::string_view name, bson::Buffer& out) override {
        sort();
        if (is_median_) return write_one(name, ps_->front(), out);
        write_header(out, Type::array, name);
        const size_t start = open_doc(out);
        uint32_t index = 0;
        for (const double p : *ps_) {
            sched::tick();
            write_one(bson::IndexName(index++).view(), p, out);
        }
        close_doc(out, start);
    }
    int64_t bytes() const override {
        return static_cast<int64_t>(numbers_.capacity() * sizeof(double));
    }
    void save(bson::Buffer& out) const override {
        out.append(numbers_.data(), numbers_.size() * sizeof(double));
    }
    void restore(std::span<const uint8_t> saved) override {
        numbers_.resize(saved.size() / sizeof(double));
        if (!saved.empty()) std::memcpy(numbers_.data(), saved.data(), saved.size());
    }

  private:
    void sort() {
        // NaN is below all other numbers.
        std::ranges::sort(numbers_, [](double a, double b) {
            sched::tick();
            return std::isnan(a) ? !std::isnan(b) : a < b;
        });
    }
    // The smallest number that so many of them are not above.
    void write_one(std::string_view name, double p, bson::Buffer& out) const {
        if (numbers_.empty()) return write_null(out, name);
        const double rank = std::ceil(p * static_cast<double>(numbers_.size()));
        const size_t place = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
        write_fixed(out, Type::number_double, name, numbers_[std::min(place, numbers_.size() - 1)]);
    }

    const std::shared_ptr<const sched::Vector<double>> ps_;
    const bool is_median_;
    sched::Vector<double> numbers_;
};

template <bool IsMedian>
AccumulatorSpec parse(const Value& op, Names& names) {
    sched::Vector<double> ps = percentiles_of(op, op.name(), IsMedian);
    return {percentile_maker(std::move(ps), IsMedian), parse_operand(op.as_doc()["input"], names)};
}

}  // namespace

AccumulatorMaker percentile_maker(sched::Vector<double> ps, bool is_median) {
    auto shared = std::make_shared<const sched::Vector<double>>(std::move(ps));
    return [shared, is_median] { return std::make_unique<Percentile>(shared, is_median); };
}

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
    for (const Value& p : doc["p"].as_doc()) {
        sched::tick();
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
    return ps;
}

AccumulatorParser find_percentile_accumulator(std::string_view name) {
    if (name == "$percentile") return parse<false>;
    return name == "$median" ? parse<true> : nullptr;
}

}  // namespace query
