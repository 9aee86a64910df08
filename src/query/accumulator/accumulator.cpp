#include "query/accumulator/accumulator.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/decimal_number.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/value/exact_sum.h"
#include "query/value/merged_document.h"
#include "query/value/value_set.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

// Copies the state that an accumulator appended at the beginning of what it saved.
template <typename State>
void copy_state(std::span<const uint8_t> saved, State& to) {
    DCHECK(saved.size() >= sizeof to);
    std::memcpy(&to, saved.data(), sizeof to);
}

// The type widens with what comes in; int64 wraps around.
class Sum : public Accumulator {
  public:
    void add(const Value& v) override {
        if (!v.is_number()) return;
        if (v.type() == Type::decimal128) refuse_decimal("$sum");
        if (v.type() == Type::number_double) {
            now_.type = Type::number_double;
            now_.real += v.as_double();
            return;
        }
        if (v.type() == Type::int64 && now_.type == Type::int32) now_.type = Type::int64;
        now_.whole += static_cast<uint64_t>(v.to_int64());
        now_.real += v.to_double();
    }
    void write(std::string_view name, bson::Buffer& out) override {
        const auto whole = static_cast<int64_t>(now_.whole);
        if (now_.type == Type::number_double) {
            write_fixed(out, now_.type, name, now_.real);
        } else if (now_.type == Type::int32 && whole == static_cast<int32_t>(whole)) {
            write_fixed(out, Type::int32, name, static_cast<int32_t>(whole));
        } else {
            write_fixed(out, Type::int64, name, whole);
        }
    }
    void save(bson::Buffer& out) const override { out.append_value(now_); }
    void restore(std::span<const uint8_t> saved) override { copy_state(saved, now_); }

  private:
    struct State {
        uint64_t whole = 0;
        double real = 0;
        Type type = Type::int32;
    };
    State now_;
};

// Sums as later servers do: integers that do not fit become doubles.
class LaterSum : public Accumulator {
  public:
    void add(const Value& v) override {
        if (!v.is_number()) return;
        now_.add(v);
    }
    void write(std::string_view name, bson::Buffer& out) override {
        Arena arena;
        write_value(out, name, now_.value(arena));
    }
    void save(bson::Buffer& out) const override { out.append_value(now_); }
    void restore(std::span<const uint8_t> saved) override { copy_state(saved, now_); }

  private:
    ExactSum now_;
};

// The average of no numbers was 0.
class Average : public Accumulator {
  public:
    void add(const Value& v) override {
        if (!v.is_number()) return;
        if (v.type() == Type::decimal128) refuse_decimal("$avg");
        now_.total += v.to_double();
        ++now_.count;
    }
    void write(std::string_view name, bson::Buffer& out) override {
        const double average = now_.count == 0 ? 0.0 : now_.total / static_cast<double>(now_.count);
        write_fixed(out, Type::number_double, name, average);
    }
    void save(bson::Buffer& out) const override { out.append_value(now_); }
    void restore(std::span<const uint8_t> saved) override { copy_state(saved, now_); }

  private:
    struct State {
        double total = 0;
        int64_t count = 0;
    };
    State now_;
};

class LaterAverage : public Accumulator {
  public:
    void add(const Value& v) override {
        if (!v.is_number()) return;
        now_.total.add(v);
        ++now_.count;
    }
    void write(std::string_view name, bson::Buffer& out) override {
        if (now_.count == 0) return write_null(out, name);
        if (now_.total.has_decimals()) {
            Arena arena;
            const auto count = bson::DecimalNumber::of_integer(now_.count);
            return write_value(out, name, make_decimal(arena, now_.total.as_decimal() / count));
        }
        write_fixed(out, Type::number_double, name,
                    now_.total.as_double() / static_cast<double>(now_.count));
    }
    void save(bson::Buffer& out) const override { out.append_value(now_); }
    void restore(std::span<const uint8_t> saved) override { copy_state(saved, now_); }

  private:
    struct State {
        ExactSum total;
        int64_t count = 0;
    };
    State now_;
};

// The standard deviation of all numbers (Missing 0), or of a sample of them (Missing 1): a double,
// of decimals too.
template <int Missing>
class Deviation : public Accumulator {
  public:
    void add(const Value& v) override {
        if (!v.is_number()) return;
        ++now_.count;
        const double from_mean = v.to_double() - now_.mean;
        now_.mean += from_mean / static_cast<double>(now_.count);
        now_.squares += from_mean * (v.to_double() - now_.mean);
    }
    void write(std::string_view name, bson::Buffer& out) override {
        const int64_t n = now_.count - Missing;
        if (n <= 0 || std::isnan(now_.squares)) return write_null(out, name);
        write_fixed(out, Type::number_double, name,
                    std::sqrt(now_.squares / static_cast<double>(n)));
    }
    void save(bson::Buffer& out) const override { out.append_value(now_); }
    void restore(std::span<const uint8_t> saved) override { copy_state(saved, now_); }

  private:
    struct State {
        int64_t count = 0;
        double mean = 0;
        double squares = 0;  // of the distances from the mean
    };
    State now_;
};

class Count : public Accumulator {
  public:
    void add(const Value&) override { ++count_; }
    void write(std::string_view name, bson::Buffer& out) override {
        Arena arena;
        write_value(out, name, make_int_or_long(arena, count_));
    }
    void save(bson::Buffer& out) const override { out.append_value(count_); }
    void restore(std::span<const uint8_t> saved) override { copy_state(saved, count_); }

  private:
    int64_t count_ = 0;
};

// Keeps one value; null if there is none.
class Keeper : public Accumulator {
  public:
    void write(std::string_view name, bson::Buffer& out) override {
        const Value v = value();
        write_value(out, name, v.missing() ? null_value() : v);
    }
    int64_t bytes() const override { return static_cast<int64_t>(kept_.capacity()); }
    void save(bson::Buffer& out) const override { out.append(kept_.data(), kept_.size()); }
    void restore(std::span<const uint8_t> saved) override {
        DCHECK(kept_.size() == 0);
        kept_.append(saved.data(), saved.size());
    }

  protected:
    Value value() const { return kept_.size() == 0 ? Value() : Value(kept_.data()); }
    void keep(const Value& v) {
        kept_.clear();
        if (!v.missing()) write_value(kept_, "", v);
    }

  private:
    bson::Buffer kept_;
};

template <int Sign, Times kTimes>
class Extreme : public Keeper {
  public:
    explicit Extreme(const collation::Collator* collator) : collator_(collator) {}
    void add(const Value& v) override {
        if (is_nullish(v)) return;
        if (value().missing() || compare_pipeline_values(v, value(), collator_, kTimes) * Sign > 0)
            keep(v);
    }

  private:
    const collation::Collator* const collator_;
};

class First : public Keeper {
  public:
    void add(const Value& v) override {
        if (seen_) return;
        seen_ = true;
        keep(v);
    }
    void save(bson::Buffer& out) const override {
        out.append_byte(seen_ ? 1 : 0);
        Keeper::save(out);
    }
    void restore(std::span<const uint8_t> saved) override {
        seen_ = saved.front() != 0;
        Keeper::restore(saved.subspan(1));
    }

  private:
    bool seen_ = false;
};

class Last : public Keeper {
  public:
    void add(const Value& v) override { keep(v); }
};

class Push : public Accumulator {
  public:
    void add(const Value& v) override {
        if (!v.missing()) write_value(elements_, bson::IndexName(count_++).view(), v);
    }
    void write(std::string_view name, bson::Buffer& out) override {
        write_header(out, Type::array, name);
        const size_t start = open_doc(out);
        append_moved(elements_, out);
        close_doc(out, start);
    }
    int64_t bytes() const override { return static_cast<int64_t>(elements_.capacity()); }
    void save(bson::Buffer& out) const override {
        out.append_value(count_);
        out.append(elements_.data(), elements_.size());
    }
    void restore(std::span<const uint8_t> saved) override {
        DCHECK(count_ == 0 && elements_.size() == 0);
        copy_state(saved, count_);
        elements_.append(saved.data() + sizeof count_, saved.size() - sizeof count_);
    }

  private:
    // Appends what may be too large to be there twice.
    static void append_moved(bson::Buffer& from, bson::Buffer& out) {
        constexpr size_t kLargeBytes = size_t{8} << 20;
        const size_t before = out.size();
        const size_t bytes = from.size();
        if (bytes < kLargeBytes || before > bytes) {
            out.append(from.data(), bytes);
            return;
        }
        from.extend(before);
        std::memmove(from.data() + before, from.data(), bytes);
        std::memcpy(from.data(), out.data(), before);
        out = std::move(from);
    }

    bson::Buffer elements_;
    uint32_t count_ = 0;
};

template <Times kTimes>
class AddToSet : public Accumulator {
  public:
    explicit AddToSet(const collation::Collator* collator) : set_(collator, kTimes) {}
    void add(const Value& v) override {
        if (!v.missing() && !set_.contains(v)) set_.insert(copy_value(arena_, v));
    }
    void write(std::string_view name, bson::Buffer& out) override {
        write_header(out, Type::array, name);
        const size_t start = open_doc(out);
        uint32_t index = 0;
        for (const Value& v : set_.values())
            write_value(out, bson::IndexName(index++).view(), v);
        close_doc(out, start);
    }
    int64_t bytes() const override {
        return static_cast<int64_t>(arena_.used() + set_.values().size() * 4 * sizeof(Value));
    }
    void save(bson::Buffer& out) const override {
        for (const Value& v : set_.values())
            write_value(out, "", v);
    }
    void restore(std::span<const uint8_t> saved) override {
        while (!saved.empty()) {
            const Value v(saved.data());
            add(v);
            saved = saved.subspan(v.size());
        }
    }

  private:
    Arena arena_;
    ValueSet set_;  // of values in arena_
};

class MergeObjects : public Accumulator {
  public:
    void add(const Value& v) override {
        if (is_nullish(v)) return;
        if (!v.is_object())
            base::fail(40400, "$mergeObjects requires object inputs, but input {} is of type {}",
                       bson::to_text(v), bson::name_of(v.type()));
        for (const Value& e : v.as_doc())
            merged_.set(e.name(), copy_value(arena_, e));
        drop_replaced();
    }
    void write(std::string_view name, bson::Buffer& out) override {
        write_header(out, Type::object, name);
        const size_t start = open_doc(out);
        merged_.write_fields(out);
        close_doc(out, start);
    }
    int64_t bytes() const override { return static_cast<int64_t>(arena_.used()); }
    void save(bson::Buffer& out) const override { merged_.write_fields(out); }
    void restore(std::span<const uint8_t> saved) override {
        while (!saved.empty()) {
            const Value v(saved.data());
            merged_.set(v.name(), copy_value(arena_, v));
            saved = saved.subspan(v.size());
        }
    }

  private:
    // Values that others took the places of.
    void drop_replaced() {
        constexpr size_t kFewBytes = 64 * 1024;
        if (arena_.used() < kFewBytes + 4 * kept_bytes_) return;
        bson::Buffer fields;
        save(fields);
        arena_ = Arena();
        merged_ = MergedDocument();
        kept_bytes_ = fields.size();
        restore({fields.data(), fields.size()});
    }

    Arena arena_;
    MergedDocument merged_;  // of values in arena_
    size_t kept_bytes_ = 0;  // when it was looked at last
};

using PlainMaker = std::unique_ptr<Accumulator> (*)(const collation::Collator* collator);

template <typename T>
std::unique_ptr<Accumulator> make(const collation::Collator*) {
    return std::make_unique<T>();
}
template <typename T>
std::unique_ptr<Accumulator> make_comparing(const collation::Collator* collator) {
    return std::make_unique<T>(collator);
}

struct Named {
    std::string_view name;
    PlainMaker v26;  // null: not in 2.6
    PlainMaker today;
};

constexpr Named kTable[] = {
    {"$sum", make<Sum>, make<LaterSum>},
    {"$avg", make<Average>, make<LaterAverage>},
    {"$min", make_comparing<Extreme<-1, Times::one_class>>,
     make_comparing<Extreme<-1, Times::two_classes>>},
    {"$max", make_comparing<Extreme<1, Times::one_class>>,
     make_comparing<Extreme<1, Times::two_classes>>},
    {"$first", make<First>, make<First>},
    {"$last", make<Last>, make<Last>},
    {"$push", make<Push>, make<Push>},
    {"$addToSet", make_comparing<AddToSet<Times::one_class>>,
     make_comparing<AddToSet<Times::two_classes>>},
    {"$stdDevPop", nullptr, make<Deviation<0>>},
    {"$stdDevSamp", nullptr, make<Deviation<1>>},
    {"$mergeObjects", nullptr, make<MergeObjects>},
};

}  // namespace

AccumulatorMaker find_accumulator(std::string_view name, dialect::Dialect dialect,
                                  const collation::Collator* collator) {
    const auto* const found = std::ranges::find(kTable, name, &Named::name);
    if (found == std::end(kTable)) return {};
    const PlainMaker maker = dialect.is_today() ? found->today : found->v26;
    if (maker == nullptr) return {};
    return [maker, collator] { return maker(collator); };
}

AccumulatorMaker count_maker() {
    return [] { return std::make_unique<Count>(); };
}

Value accumulated(Arena& arena, Accumulator& accumulator, std::span<const Value> values) {
    for (const Value& v : sched::ticked(values))
        accumulator.add(v);
    bson::Buffer out;
    accumulator.write("", out);
    DCHECK(out.size() != 0 && out.size() == Value(out.data()).size());
    return copy_value(arena, Value(out.data()));
}

}  // namespace query
