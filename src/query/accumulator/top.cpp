#include "query/accumulator/top.h"

#include <algorithm>

#include "base/dcheck.h"
#include "bson/element_writer.h"
#include "bson/order_of_today.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

// Decides where a new value goes, and which ones leave: all of them are kept in an order.
class Ranking {
  public:
    virtual ~Ranking() = default;
    // Whether `a` comes before `b`, the one that was there earlier.
    virtual bool comes_before(const Value& a, const Value& b) const = 0;
    // Returns the part of a value that the result shows.
    virtual Value shown(const Value& v) const { return v; }
    virtual bool takes(const Value&) const { return true; }
};

class AsTheyCome : public Ranking {
  public:
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
        DCHECK(v.is_array() && v.as_doc().field_count() == 2);
        auto at = v.as_doc().begin();
        return *++at;
    }

  private:
    static bson::Doc key_of(const Value& v) {
        DCHECK(v.is_array() && v.as_doc().first().is_object());
        return v.as_doc().first().as_doc();
    }
    const uint32_t descending_;
};

struct Selection {
    std::shared_ptr<const Ranking> ranking;
    Extremes extremes;
};

class Select : public Accumulator {
  public:
    explicit Select(const Selection& selection) : selection_(selection) {
        DCHECK(selection_.ranking != nullptr && selection_.extremes.count > 0);
        DCHECK(!selection_.extremes.single || selection_.extremes.count == 1);
    }

    void add(const Value& v) override {
        DCHECK(kept_.size() <= selection_.extremes.count);
        if (!selection_.ranking->takes(v)) return;
        const auto place = std::upper_bound(
            kept_.begin(), kept_.end(), v, sched::ticking([&](const Value& now, const Kept& old) {
                return selection_.ranking->comes_before(now, old.value());
            }));
        const bool is_full = kept_.size() == selection_.extremes.count;
        if (is_full && place == (selection_.extremes.last ? kept_.begin() : kept_.end())) return;
        Kept kept(v);
        bytes_ += kept.bytes();
        sched::tick(static_cast<int64_t>(kept_.size() / 16));
        kept_.insert(place, std::move(kept));
        if (!is_full) return;
        const auto leaving = selection_.extremes.last ? kept_.begin() : kept_.end() - 1;
        bytes_ -= leaving->bytes();
        kept_.erase(leaving);
    }
    void write(std::string_view name, bson::Buffer& out) override {
        if (selection_.extremes.single)
            return write_value(out, name, shown(kept_.empty() ? Value() : kept_[0].value()));
        write_header(out, Type::array, name);
        const size_t start = open_doc(out);
        uint32_t index = 0;
        for (const Kept& kept : sched::ticked(kept_))
            write_value(out, bson::IndexName(index++).view(), shown(kept.value()));
        close_doc(out, start);
    }
    int64_t bytes() const override { return bytes_; }
    void save(bson::Buffer& out) const override {
        for (const Kept& kept : kept_)
            out.append(kept.value().raw(), kept.value().size());
    }
    void restore(std::span<const uint8_t> saved) override {
        DCHECK(kept_.empty());
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

}  // namespace

AccumulatorMaker values_maker(ValueOrder order, std::shared_ptr<const collation::Collator> collator,
                              const Extremes& extremes) {
    std::shared_ptr<const Ranking> ranking;
    switch (order) {
        case ValueOrder::as_they_come:
            ranking = std::make_shared<AsTheyCome>();
            break;
        case ValueOrder::ascending:
            ranking = std::make_shared<ByValue<1>>(std::move(collator));
            break;
        case ValueOrder::descending:
            ranking = std::make_shared<ByValue<-1>>(std::move(collator));
            break;
    }
    return maker_of({std::move(ranking), extremes});
}

AccumulatorMaker keyed_values_maker(uint32_t descending, const Extremes& extremes) {
    return maker_of({std::make_shared<ByFields>(descending), extremes});
}

}  // namespace query
