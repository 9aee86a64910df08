// $bucket and $bucketAuto: groups of neighbouring values.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/expression/accumulator_spec.h"
#include "query/stage/computing_stage.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

void check_group_by(const Value& group_by, int code, std::string_view stage) {
    const bool expression =
        group_by.is_object() && group_by.as_doc().first().name().starts_with('$');
    const bool path = group_by.is_string() && group_by.as_string().starts_with('$');
    if (!expression && !path)
        base::fail(code,
                   "The {} 'groupBy' field must be defined as a $-prefixed path or an "
                   "expression, but found: {}",
                   stage, bson::to_text(group_by));
}

// A constant of the specification. Throws base::Error `code`.
Value constant_of(Arena& arena, const Value& spec, const PipelineContext& context, int code,
                  std::string_view what) {
    Names names(context, dialect::kToday);
    ExpressionPtr expression = parse_operand(spec, names);
    simplify(expression);
    const auto constant = expression->constant();
    if (!constant)
        base::fail(code, "The $bucket {} must be a constant, but found: {}", what,
                   bson::to_text(spec));
    return copy_value(arena, *constant);
}

struct BucketSpec {
    Value group_by;
    sched::Vector<Value> boundaries;
    Value otherwise;
    Value output;
};

BucketSpec bucket_spec(bson::Doc spec, const PipelineContext& context, Arena& arena) {
    BucketSpec bucket;
    bool has_boundaries = false;
    for (const Value& e : spec) {
        const std::string_view name = e.name();
        if (name == "groupBy") {
            check_group_by(e, 40202, "$bucket");
            bucket.group_by = e;
        } else if (name == "boundaries") {
            if (!e.is_array())
                base::fail(40200,
                           "The $bucket 'boundaries' field must be an array, but found "
                           "type: {}",
                           bson::name_of(e.type()));
            has_boundaries = true;
            for (const Value& boundary : e.as_doc())
                bucket.boundaries.push_back(
                    constant_of(arena, boundary, context, 40191, "'boundaries' field"));
        } else if (name == "default") {
            bucket.otherwise = constant_of(arena, e, context, 40195, "'default' field");
        } else if (name == "output") {
            if (!e.is_object())
                base::fail(40196,
                           "The $bucket 'output' field must be an object, but found type: "
                           "{}",
                           bson::name_of(e.type()));
            bucket.output = e;
        } else {
            base::fail(40197, "Unrecognized option to $bucket: {}.", name);
        }
    }
    if (!bucket.group_by || !has_boundaries)
        base::fail(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified.");
    return bucket;
}

void check_boundaries(const BucketSpec& bucket, const collation::Collator* collator) {
    const auto& boundaries = bucket.boundaries;
    if (boundaries.size() < 2)
        base::fail(40192,
                   "The $bucket 'boundaries' field must have at least 2 values, but found "
                   "{}",
                   boundaries.size());
    for (size_t i = 1; i < boundaries.size(); ++i) {
        if (boundaries[i - 1].canonical() != boundaries[i].canonical())
            base::fail(40193,
                       "All values in the 'boundaries' option to $bucket must have the same "
                       "type. Found conflicting types {} and {}.",
                       bson::name_of(boundaries[i - 1].type()),
                       bson::name_of(boundaries[i].type()));
        if (compare_pipeline_values(boundaries[i - 1], boundaries[i], collator) >= 0)
            base::fail(40194,
                       "The 'boundaries' option to $bucket must be sorted, but elements {} "
                       "and {} are not in ascending order.",
                       i - 1, i);
    }
    const Value& otherwise = bucket.otherwise;
    if (!otherwise.missing() &&
        compare_pipeline_values(otherwise, boundaries.front(), collator) >= 0 &&
        compare_pipeline_values(otherwise, boundaries.back(), collator) < 0)
        base::fail(40199,
                   "The $bucket 'default' field must be less than the lowest boundary or "
                   "greater than or equal to the highest boundary.");
}

// Computes the lower boundary of the bucket that a value is in. A value that is in no bucket has
// the default.
class Bucket : public Expression {
  public:
    Bucket(BucketSpec spec, ExpressionPtr group_by)
        : spec_(std::move(spec)), group_by_(std::move(group_by)) {
        DCHECK(spec_.boundaries.size() >= 2);  // and in ascending order
    }
    Value evaluate(Scope& scope) const override {
        const Value v = group_by_->evaluate(scope);
        const auto& boundaries = spec_.boundaries;
        const auto above = std::upper_bound(
            boundaries.begin(), boundaries.end(), v, [&scope](const Value& a, const Value& b) {
                return compare_pipeline_values(a, b, scope.collator) < 0;
            });
        if (above != boundaries.begin() && above != boundaries.end()) return *(above - 1);
        if (spec_.otherwise.missing())
            base::fail(40066,
                       "$bucket could not find a bucket for an input, and no default was "
                       "specified.");
        return spec_.otherwise;
    }
    void add_needs(Needs& needs) const override { group_by_->add_needs(needs); }
    ExpressionPtr simplified() override {
        simplify(group_by_);
        return nullptr;
    }

  private:
    const BucketSpec spec_;
    ExpressionPtr group_by_;
};

// The groups of a $group, in the order of their ids.
class BucketStage : public Stage {
  public:
    BucketStage(bson::Doc spec, const PipelineContext& context) {
        BucketSpec bucket = bucket_spec(spec, context, constants_);
        check_boundaries(bucket, context.collator.get());
        bson::Builder group;
        if (bucket.output)
            group.append_all(bucket.output.as_doc());
        else
            group.sub_object("count").append("$sum", 1);
        const Value group_by = bucket.group_by;
        group_ = make_group_by(group.doc(), context, [&](Names& names) {
            return std::make_unique<Bucket>(std::move(bucket), parse_operand(group_by, names));
        });
        sort_ = std::make_unique<SortStage>(bson::make("_id", 1), context);
        sort_->set_previous(group_.get());
    }
    bool next(bson::Doc* out) override {
        group_->set_previous(previous_);
        return sort_->next(out);
    }
    void add_needs(Needs& needs) const override { group_->add_needs(needs); }
    void simplify_expressions() override { group_->simplify_expressions(); }

  private:
    Arena constants_;
    StagePtr group_;
    std::unique_ptr<SortStage> sort_;
};

// Makes a given number of groups of about as many documents each.
class BucketAuto : public Computing {
  public:
    BucketAuto(bson::Doc spec, const PipelineContext& context) {
        Names names(context, dialect::kToday);
        Value output;
        for (const Value& e : spec) {
            const std::string_view name = e.name();
            if (name == "groupBy") {
                check_group_by(e, 40239, "$bucketAuto");
                group_by_ = parse_operand(e, names);
            } else if (name == "buckets") {
                set_count(e);
            } else if (name == "output") {
                if (!e.is_object())
                    base::fail(40244,
                               "The $bucketAuto 'output' field must be an object, but found "
                               "type: {}",
                               bson::name_of(e.type()));
                output = e;
            } else if (name == "granularity") {
                base::fail(base::kInvalidPipelineOperator,
                           "'granularity' of $bucketAuto is not supported by this server");
            } else {
                base::fail(40245, "Unrecognized option to $bucketAuto: {}.", name);
            }
        }
        if (group_by_ == nullptr || count_ == 0)
            base::fail(40246, "$bucketAuto requires 'groupBy' and 'buckets' to be specified");
        const bson::Object counted = bson::make("count", bson::make("$sum", 1));
        for (const Value& e : output ? output.as_doc() : counted.doc())
            fields_.push_back(parse_group_field(e, names));
        prepare(names);
    }

    bool next(bson::Doc* out) override {
        if (!loaded_) load();
        if (at_ == entries_.size()) return false;
        DCHECK(made_ < count_);
        const size_t begin = at_;
        const size_t end = end_of_bucket();
        DCHECK(begin < end && end <= entries_.size());
        std::vector<std::unique_ptr<Accumulator>> accumulators;
        for (const GroupField& field : fields_)
            accumulators.push_back(field.accumulator.maker());
        for (; at_ < end; ++at_) {
            Scope& scope = scope_for(entries_[at_].doc);
            for (const size_t i : sched::rounds<size_t>(0, fields_.size())) {
                accumulators[i]->add(fields_[i].accumulator.input->evaluate(scope));
            }
        }
        ++made_;
        write(begin, accumulators);
        *out = bson::Doc(out_.data());
        check_document_bytes(*out);
        return true;
    }
    void add_needs(Needs& needs) const override {
        group_by_->add_needs(needs);
        for (const GroupField& field : fields_)
            field.accumulator.input->add_needs(needs);
    }
    void simplify_expressions() override {
        simplify(group_by_);
        for (GroupField& field : fields_)
            simplify(field.accumulator.input);
    }
    bool holds_documents() const override { return true; }

  private:
    struct Entry {
        bson::Object doc;
        sched::Vector<uint8_t> value;  // an element without a name

        Value key() const { return Value(value.data()); }
    };

    void set_count(const Value& e) {
        if (!e.is_number())
            base::fail(40241,
                       "The $bucketAuto 'buckets' field must be a numeric value, but found "
                       "type: {}",
                       bson::name_of(e.type()));
        if (e.to_double() != static_cast<double>(e.to_int32()))
            base::fail(40242,
                       "The $bucketAuto 'buckets' field must be representable as a 32-bit "
                       "integer, but found {}",
                       bson::to_text(e));
        if (e.to_int32() <= 0)
            base::fail(40243,
                       "The $bucketAuto 'buckets' field must be greater than 0, but found: "
                       "{}",
                       e.to_int32());
        count_ = static_cast<size_t>(e.to_int32());
    }

    void load() {
        loaded_ = true;
        bson::Doc doc;
        int64_t bytes = 0;
        while (previous_->next(&doc)) {
            Value v = group_by_->evaluate(scope_for(doc));
            if (v.missing()) v = null_value();
            Entry entry{bson::Object(doc), {}};
            bson::Buffer value;
            write_value(value, "", v);
            entry.value.assign(value.data(), value.data() + value.size());
            bytes += doc.size() + static_cast<int64_t>(entry.value.size() + sizeof entry);
            entries_.push_back(std::move(entry));
            if (bytes > kStageMemoryBytes)
                base::fail(16819, "$bucketAuto exceeded memory limit of {} bytes",
                           kStageMemoryBytes);
        }
        std::stable_sort(entries_.begin(), entries_.end(), [this](const Entry& a, const Entry& b) {
            return compare_pipeline_values(a.key(), b.key(), scope_.collator) < 0;
        });
        const double size =
            std::round(static_cast<double>(entries_.size()) / static_cast<double>(count_));
        bucket_size_ = std::max<size_t>(1, static_cast<size_t>(size));
    }

    // Equal values are in one bucket; what is left over is in the last one.
    size_t end_of_bucket() const {
        if (made_ + 1 == count_) return entries_.size();
        size_t end = std::min(at_ + bucket_size_, entries_.size());
        while (end < entries_.size() &&
               compare_pipeline_values(entries_[end - 1].key(), entries_[end].key(),
                                       scope_.collator) == 0)
            ++end;
        return end;
    }

    void write(size_t begin, std::span<const std::unique_ptr<Accumulator>> accumulators) {
        DCHECK(begin < at_ && accumulators.size() == fields_.size());
        out_.clear();
        const size_t start = open_doc(out_);
        write_header(out_, Type::object, "_id");
        const size_t id = open_doc(out_);
        write_value(out_, "min", entries_[begin].key());
        const bool is_last = at_ == entries_.size();
        write_value(out_, "max", entries_[is_last ? at_ - 1 : at_].key());
        close_doc(out_, id);
        for (size_t i = 0; i < fields_.size(); ++i)
            accumulators[i]->write(fields_[i].name, out_);
        close_doc(out_, start);
    }

    ExpressionPtr group_by_;
    size_t count_ = 0;
    std::vector<GroupField> fields_;
    bool loaded_ = false;
    sched::Vector<Entry> entries_;
    size_t bucket_size_ = 1;
    size_t at_ = 0;
    size_t made_ = 0;
};

}  // namespace

StagePtr make_bucket(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object())
        base::fail(40201, "Argument to $bucket stage must be an object, but found type: {}.",
                   bson::name_of(spec.type()));
    return std::make_unique<BucketStage>(spec.as_doc(), context);
}

StagePtr make_bucket_auto(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object())
        base::fail(40240, "The argument to $bucketAuto must be an object, but found type: {}.",
                   bson::name_of(spec.type()));
    return std::make_unique<BucketAuto>(spec.as_doc(), context);
}

}  // namespace query
