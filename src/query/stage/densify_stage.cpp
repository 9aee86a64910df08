// $densify: documents in the gaps of a field, at steps, in each part of all documents.

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/field_path.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/expression/date_operands.h"
#include "query/stage/foreign.h"
#include "query/stage/stage.h"
#include "query/value/exact_sum.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

constexpr int kBadStep = 5733401;
constexpr int kBadBounds = 5733402;
constexpr int kBadArray = 5733403;

int compare(const Value& a, const Value& b) {
    return bson::compare_values(a, b);
}

// The values that are to be there: from the lower bound on, a step from each to the next.
struct Range {
    enum class Ends { full, partition, given };

    Arena arena;
    Value step;
    std::optional<TimeUnit> unit;
    Ends ends = Ends::full;
    Value lower, upper;  // where they are given; the upper one is not one of the values

    bool is_value(const Value& v) const { return unit ? v.type() == Type::date : v.is_number(); }
    // The value `count` steps behind `first`, one behind `last`.
    Value next(Arena& to, const Value& first, const Value& last, int64_t count) const {
        if (unit)  // counted from the first one, which has the day of the month
            return make_date(to, date_plus("$densify", first.as_date(), *unit,
                                           count * step.to_int64(), TimeZone::utc()));
        ExactSum sum;
        sum.add(last);
        sum.add(step);
        return sum.value(to);
    }
};

void read_step(const Value& step, Range& range) {
    if (!step.is_number() || !(step.to_double() > 0) || std::isinf(step.to_double()))
        base::fail(kBadStep, "the step of $densify must be a number above 0: {}",
                   bson::to_text(step));
    const bool is_whole = step.to_double() == static_cast<double>(step.to_int32());
    if (range.unit && !is_whole)
        base::fail(6586400, "the step of $densify must be a whole number where there is a unit: {}",
                   bson::to_text(step));
    range.step = copy_value(range.arena, step);
}

void read_ends(const Value& bounds, bool has_partitions, Range& range) {
    if (bounds.is_string() && bounds.as_string() == "full") return;
    if (bounds.is_string() && bounds.as_string() == "partition") {
        if (!has_partitions)
            base::fail(5733408,
                       "the bounds of $densify can be 'partition' only with 'partitionByFields'");
        range.ends = Range::Ends::partition;
        return;
    }
    if (!bounds.is_array())
        base::fail(kBadBounds,
                   "the bounds of $densify must be 'full', 'partition', or an array of two numbers "
                   "or two dates: {}",
                   bson::to_text(bounds));
    if (bounds.as_doc().field_count() != 2)
        base::fail(kBadArray, "the bounds of $densify must be an array of two elements: {}",
                   bson::to_text(bounds));
    range.ends = Range::Ends::given;
    auto e = bounds.as_doc().begin();
    range.lower = copy_value(range.arena, *e);
    ++e;
    range.upper = copy_value(range.arena, *e);
    if (!range.is_value(range.lower) || !range.is_value(range.upper) ||
        compare(range.lower, range.upper) > 0)
        base::fail(kBadBounds,
                   "the bounds of $densify must be ascending numbers, or with a unit dates: {}",
                   bson::to_text(bounds));
}

void read_range(const Value& spec, bool has_partitions, Range& range) {
    if (!spec.is_object())
        base::fail(base::kTypeMismatch, "the range of $densify must be an object, not {}",
                   bson::name_of(spec.type()));
    Value step;
    Value bounds;
    for (const Value& e : spec.as_doc()) {
        if (e.name() == "step")
            step = e;
        else if (e.name() == "bounds")
            bounds = e;
        else if (e.name() == "unit")
            range.unit = unit_of(e, "$densify", base::kTypeMismatch);
        else
            base::fail(40415, "BSON field '$densify.range.{}' is an unknown field.", e.name());
    }
    for (const auto& [value, name] : {std::pair(step, "step"), std::pair(bounds, "bounds")})
        if (!value)
            base::fail(40414, "BSON field '$densify.range.{}' is missing but a required field",
                       name);
    read_step(step, range);
    read_ends(bounds, has_partitions, range);
}

class Densify : public Stage {
  public:
    Densify(bson::Doc spec, const PipelineContext& context) : collator_(context.collator) {
        Value range;
        for (const Value& e : spec) {
            if (e.name() == "field") {
                field_ = path_of(e);
            } else if (e.name() == "partitionByFields") {
                if (!e.is_array())
                    base::fail(base::kTypeMismatch,
                               "'partitionByFields' of $densify must be an array of paths");
                for (const Value& each : e.as_doc())
                    partition_by_.push_back(path_of(each));
            } else if (e.name() == "range") {
                range = e;
            } else {
                base::fail(40415, "BSON field '$densify.{}' is an unknown field.", e.name());
            }
        }
        if (field_.empty() || !range)
            base::fail(40414, "BSON field '$densify.{}' is missing but a required field",
                       field_.empty() ? "field" : "range");
        read_range(range, !partition_by_.empty(), range_);
    }

    bool next(bson::Doc* out) override {
        if (!loaded_) load();
        for (;;) {
            if (wants_value()) {
                *out = made();
                return true;
            }
            if (at_ == entries_.size()) return false;
            const Entry& entry = entries_[at_];
            if (!opens_ && begins_partition(at_)) {
                opens_ = true;
                begin_partition();
                continue;
            }
            opens_ = false;
            if (value_ && entry.value && compare(value_, entry.value) == 0) step();
            *out = entry.document;
            ++at_;
            return true;
        }
    }

    void add_needs(Needs& needs) const override {
        needs.fields.emplace(field_.front());
        for (const Path& path : partition_by_)
            needs.fields.emplace(path.front());
    }
    Needs input_needs(Needs later) const override {
        add_needs(later);
        return later;
    }
    bool holds_documents() const override { return true; }
    int further_levels() const override {
        size_t most = field_.size();
        for (const Path& path : partition_by_)
            most = std::max(most, path.size());
        return static_cast<int>(most);
    }

  private:
    using Path = std::vector<std::string>;
    static constexpr int64_t kMadeMax = 500000;

    struct Entry {
        bson::Object document;
        Value key;    // of its partition: the fields, by their positions in partition_by_
        Value value;  // missing: there is none
    };

    static Path path_of(const Value& e) {
        if (!e.is_string())
            base::fail(base::kTypeMismatch, "a path of $densify must be a string, not {}",
                       bson::name_of(e.type()));
        return split_path(e.as_string(), dialect::kToday);
    }

    void load() {
        loaded_ = true;
        bson::Doc doc;
        int64_t bytes = 0;
        Arena arena;
        while (previous_->next(&doc)) {
            sched::tick();
            Entry entry{bson::Object(doc), {}, {}};
            arena.clear();
            const Value v = value_at(arena, entry.document, field_);
            if (!is_nullish(v)) {
                if (!range_.is_value(v))
                    base::fail(
                        5733201, "$densify needs {} in the field '{}', not values of type {}",
                        range_.unit ? "dates" : "numbers", field_.back(), bson::name_of(v.type()));
                entry.value = copy_value(values_, v);
            }
            bson::Builder key;
            for (size_t i = 0; i < partition_by_.size(); ++i)
                if (const Value part = value_at(arena, entry.document, partition_by_[i]))
                    key.append_as(std::to_string(i), part);
            entry.key = make_doc(values_, Type::object, key.doc());
            bytes += doc.size() + static_cast<int64_t>(entry.key.value_size()) +
                     static_cast<int64_t>(sizeof(Entry));
            if (bytes > kStageMemoryBytes)
                base::fail(base::kExceededMemoryLimit, "$densify exceeded memory limit of {} bytes",
                           kStageMemoryBytes);
            entries_.push_back(std::move(entry));
        }
        std::stable_sort(entries_.begin(), entries_.end(),
                         sched::ticking([this](const Entry& a, const Entry& b) {
                             const int c = compare_keys(a.key, b.key);
                             if (c != 0) return c < 0;
                             if (!a.value || !b.value)
                                 return a.value.missing() && !b.value.missing();
                             return compare(a.value, b.value) < 0;
                         }));
        for (const Entry& entry : entries_) {
            if (!entry.value) continue;
            if (!least_ || compare(entry.value, least_) < 0) least_ = entry.value;
            if (!most_ || compare(entry.value, most_) > 0) most_ = entry.value;
        }
        // Without partitions the bounds alone say what is to be there.
        if (entries_.empty() && partition_by_.empty() && range_.ends == Range::Ends::given)
            begin_values(range_.lower, range_.upper);
    }

    int compare_keys(const Value& a, const Value& b) const {
        return compare_pipeline_values(a, b, collator_.get());
    }
    bool begins_partition(size_t at) const {
        return at == 0 || compare_keys(entries_[at - 1].key, entries_[at].key) != 0;
    }

    void begin_partition() {
        partition_end_ = at_ + 1;
        while (partition_end_ < entries_.size() && !begins_partition(partition_end_))
            ++partition_end_;
        key_ = entries_[at_].key;
        value_ = Value();
        if (range_.ends == Range::Ends::given) return begin_values(range_.lower, range_.upper);
        if (range_.ends == Range::Ends::full && least_) return begin_values(least_, most_);
        // Those without a value come first.
        for (size_t i = at_; i < partition_end_; ++i) {
            if (!entries_[i].value) continue;
            return begin_values(entries_[i].value, entries_[partition_end_ - 1].value);
        }
    }
    void begin_values(const Value& first, const Value& end) {
        made_arena_.clear();
        first_ = value_ = first;
        end_ = end;
        steps_ = 0;
    }
    void step() {
        if (made_arena_.used() > size_t{1} << 20) {  // of old values
            Arena fresh;
            value_ = copy_value(fresh, value_);
            made_arena_ = std::move(fresh);
        }
        value_ = range_.next(made_arena_, first_, value_, ++steps_);
    }
    // Whether the next value is to be made before the next document, or behind the last one.
    bool wants_value() const {
        if (!value_) return false;
        const int to_end = compare(value_, end_);
        if (to_end > 0 || (to_end == 0 && range_.ends == Range::Ends::given)) return false;
        if (at_ == partition_end_) return true;
        const Value& next = entries_[at_].value;
        return next && compare(value_, next) < 0;
    }

    bson::Doc made() {
        sched::tick();
        if (++made_ > kMadeMax)
            base::fail(5897900, "$densify would make more than {} documents", kMadeMax);
        document_ = bson::Object();
        if (key_) {
            for (const Value& part : key_.as_doc())
                write(partition_by_[static_cast<size_t>(bson::parse_array_index(part.name()))],
                      part);
        }
        write(field_, value_);
        step();
        return document_;
    }
    void write(const Path& path, const Value& v) {
        bson::Buffer out;
        write_with(document_, path, v, out);
        document_ = bson::Object(bson::Doc(out.data()));
    }

    Path field_;
    std::vector<Path> partition_by_;
    Range range_;
    const std::shared_ptr<const collation::Collator> collator_;
    bool loaded_ = false;
    sched::Vector<Entry> entries_;
    Arena values_;
    Value least_, most_;  // of all documents
    // The partition that is handed out, and what is next in it.
    size_t at_ = 0;
    size_t partition_end_ = 0;
    bool opens_ = false;
    Value key_;
    Arena made_arena_;
    Value first_, value_, end_;  // the next value to be there; missing: there are none
    int64_t steps_ = 0;
    int64_t made_ = 0;
    bson::Object document_;
};

}  // namespace

StagePtr make_densify(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object())
        base::fail(base::kFailedToParse,
                   "the $densify stage specification must be an object, found {}",
                   bson::name_of(spec.type()));
    return std::make_unique<Densify>(spec.as_doc(), context);
}

}  // namespace query
