#include "query/accumulator/percentile.h"

#include <algorithm>
#include <cmath>

#include "base/dcheck.h"
#include "bson/element_writer.h"
#include "bson/type_names.h"
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
        numbers_.push_back(v.to_double());
    }
    void write(std::string_view name, bson::Buffer& out) override {
        sort();
        if (is_median_) return write_one(name, ps_->front(), out);
        write_header(out, Type::array, name);
        const size_t start = open_doc(out);
        uint32_t index = 0;
        for (const double p : sched::ticked(*ps_))
            write_one(bson::IndexName(index++).view(), p, out);
        close_doc(out, start);
    }
    int64_t bytes() const override {
        return static_cast<int64_t>(numbers_.capacity() * sizeof(double));
    }
    void save(bson::Buffer& out) const override {
        out.append(numbers_.data(), numbers_.size() * sizeof(double));
    }
    void restore(std::span<const uint8_t> saved) override {
        DCHECK(numbers_.empty() && saved.size() % sizeof(double) == 0);
        numbers_.resize(saved.size() / sizeof(double));
        if (!saved.empty()) std::memcpy(numbers_.data(), saved.data(), saved.size());
    }

  private:
    void sort() {
        // NaN is below all other numbers.
        std::ranges::sort(numbers_, sched::ticking([](double a, double b) {
                              return std::isnan(a) ? !std::isnan(b) : a < b;
                          }));
    }
    // The smallest number that so many of them are not above.
    void write_one(std::string_view name, double p, bson::Buffer& out) const {
        DCHECK(p >= 0 && p <= 1);
        if (numbers_.empty()) return write_null(out, name);
        const double rank = std::ceil(p * static_cast<double>(numbers_.size()));
        const size_t place = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
        write_fixed(out, Type::number_double, name, numbers_[std::min(place, numbers_.size() - 1)]);
    }

    const std::shared_ptr<const sched::Vector<double>> ps_;
    const bool is_median_;
    sched::Vector<double> numbers_;
};

}  // namespace

AccumulatorMaker percentile_maker(sched::Vector<double> ps, bool is_median) {
    DCHECK(is_median ? ps.size() == 1 : !ps.empty());
    auto shared = std::make_shared<const sched::Vector<double>>(std::move(ps));
    return [shared, is_median] { return std::make_unique<Percentile>(shared, is_median); };
}

}  // namespace query
