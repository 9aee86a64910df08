#include "query/aggregation/accumulator.h"

#include <cstring>
#include <map>

#include "bson/element_writer.h"
#include "query/aggregation/value_set.h"

namespace query {

using bson::Type;

namespace {

// What an accumulator appended to its saved state at the beginning.
template <typename State>
void copy_state(std::span<const uint8_t> saved, State& to) {
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

// `Nothing`: what is written where there was no number, as the old server did or as today's do.
template <Type Nothing>
class Average : public Accumulator {
  public:
    void add(const Value& v) override {
        if (!v.is_number()) return;
        if (v.type() == Type::decimal128) refuse_decimal("$avg");
        now_.total += v.to_double();
        ++now_.count;
    }
    void write(std::string_view name, bson::Buffer& out) override {
        if (now_.count > 0)
            write_fixed(out, Type::number_double, name,
                        now_.total / static_cast<double>(now_.count));
        else if (Nothing == Type::null)
            write_header(out, Type::null, name);
        else
            write_fixed(out, Type::number_double, name, 0.0);
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

class AddToSet : public Accumulator {
  public:
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

template <typename T>
std::unique_ptr<Accumulator> make() {
    return std::make_unique<T>();
}

}  // namespace

AccumulatorMaker find_accumulator(std::string_view name, bool over_msg) {
    static const std::map<std::string_view, AccumulatorMaker> kTable = {
        {"$sum", make<Sum>},         {"$avg", make<Average<Type::number_double>>},
        {"$min", make<Extreme<-1>>}, {"$max", make<Extreme<1>>},
        {"$first", make<First>},     {"$last", make<Last>},
        {"$push", make<Push>},       {"$addToSet", make<AddToSet>}};
    if (over_msg && name == "$avg") return make<Average<Type::null>>;
    const auto found = kTable.find(name);
    return found == kTable.end() ? nullptr : found->second;
}

}  // namespace query
