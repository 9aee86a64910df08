#include "query/aggregation/accumulator.h"

#include <map>
#include <unordered_set>

#include "bson/element_writer.h"

namespace query {

using bson::Type;

namespace {

// The type widens with what comes in; int64 wraps around.
class Sum : public Accumulator {
  public:
    void add(const Value& v) override {
        if (!v.is_number()) return;
        if (v.type() == Type::decimal128) refuse_decimal("$sum");
        if (v.type() == Type::number_double) {
            type_ = Type::number_double;
            real_ += v.as_double();
            return;
        }
        if (v.type() == Type::int64 && type_ == Type::int32) type_ = Type::int64;
        whole_ += static_cast<uint64_t>(v.to_int64());
        real_ += v.to_double();
    }
    void write(std::string_view name, bson::Buffer& out) const override {
        const auto whole = static_cast<int64_t>(whole_);
        if (type_ == Type::number_double) {
            write_fixed(out, type_, name, real_);
        } else if (type_ == Type::int32 && whole == static_cast<int32_t>(whole)) {
            write_fixed(out, Type::int32, name, static_cast<int32_t>(whole));
        } else {
            write_fixed(out, Type::int64, name, whole);
        }
    }

  private:
    Type type_ = Type::int32;
    uint64_t whole_ = 0;
    double real_ = 0;
};

class Average : public Accumulator {
  public:
    void add(const Value& v) override {
        if (!v.is_number()) return;
        if (v.type() == Type::decimal128) refuse_decimal("$avg");
        total_ += v.to_double();
        ++count_;
    }
    void write(std::string_view name, bson::Buffer& out) const override {
        write_fixed(out, Type::number_double, name,
                    count_ == 0 ? 0.0 : total_ / static_cast<double>(count_));
    }

  private:
    double total_ = 0;
    int64_t count_ = 0;
};

// Keeps one value; null if there is none.
class Keeper : public Accumulator {
  public:
    void write(std::string_view name, bson::Buffer& out) const override {
        const Value v = value();
        write_value(out, name, v.missing() ? null_value() : v);
    }
    int64_t bytes() const override { return static_cast<int64_t>(kept_.capacity()); }

  protected:
    Value value() const { return kept_.size() == 0 ? Value() : Value(kept_.data()); }
    void keep(const Value& v) {
        kept_.clear();
        if (!v.missing()) write_value(kept_, "", v);
    }

  private:
    bson::Buffer kept_;
};

template <int Sign>
class Extreme : public Keeper {
  public:
    void add(const Value& v) override {
        if (is_nullish(v)) return;
        if (value().missing() || compare_pipeline_values(v, value()) * Sign > 0) keep(v);
    }
};

class First : public Keeper {
  public:
    void add(const Value& v) override {
        if (seen_) return;
        seen_ = true;
        keep(v);
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
    void write(std::string_view name, bson::Buffer& out) const override {
        write_header(out, Type::array, name);
        const size_t start = open_doc(out);
        out.append(elements_.data(), elements_.size());
        close_doc(out, start);
    }
    int64_t bytes() const override { return static_cast<int64_t>(elements_.capacity()); }

  private:
    bson::Buffer elements_;
    uint32_t count_ = 0;
};

class AddToSet : public Accumulator {
  public:
    void add(const Value& v) override {
        if (v.missing() || seen_.contains(v)) return;
        const Value copy = copy_value(arena_, v);
        seen_.insert(copy);
        values_.push_back(copy);
    }
    void write(std::string_view name, bson::Buffer& out) const override {
        write_header(out, Type::array, name);
        const size_t start = open_doc(out);
        uint32_t index = 0;
        for (const Value& v : values_)
            write_value(out, bson::IndexName(index++).view(), v);
        close_doc(out, start);
    }
    int64_t bytes() const override {
        return static_cast<int64_t>(arena_.used() + values_.size() * 4 * sizeof(Value));
    }

  private:
    struct Hash {
        size_t operator()(const Value& v) const { return hash_value(v); }
    };
    struct Equal {
        bool operator()(const Value& a, const Value& b) const {
            return compare_pipeline_values(a, b) == 0;
        }
    };
    Arena arena_;
    std::unordered_set<Value, Hash, Equal> seen_;
    std::vector<Value> values_;
};

template <typename T>
std::unique_ptr<Accumulator> make() {
    return std::make_unique<T>();
}

}  // namespace

AccumulatorMaker find_accumulator(std::string_view name) {
    static const std::map<std::string_view, AccumulatorMaker> kTable = {
        {"$sum", make<Sum>},        {"$avg", make<Average>},      {"$min", make<Extreme<-1>>},
        {"$max", make<Extreme<1>>}, {"$first", make<First>},      {"$last", make<Last>},
        {"$push", make<Push>},      {"$addToSet", make<AddToSet>}};
    const auto found = kTable.find(name);
    return found == kTable.end() ? nullptr : found->second;
}

}  // namespace query
