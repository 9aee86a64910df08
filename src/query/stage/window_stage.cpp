// $setWindowFields: fields computed from the documents around each one, in its part of all of them.

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/element_writer.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/plan/sort.h"
#include "query/stage/computing_stage.h"
#include "query/stage/window_function.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

// The value that a window function made for the document that is written.
class Computed : public Expression {
  public:
    explicit Computed(const Value& value) : value_(value) {}
    Value evaluate(Scope&) const override { return value_; }
    void add_needs(Needs&) const override {}

  private:
    const Value& value_;
};

class SetWindowFields : public Computing {
  public:
    SetWindowFields(bson::Doc spec, const PipelineContext& context) {
        Names names(context, dialect::kToday);
        Value output;
        for (const Value& e : spec) {
            if (e.name() == "partitionBy") {
                partition_by_ = parse_operand(e, names);
            } else if (e.name() == "sortBy") {
                parse_sort(e, names.collator);
            } else if (e.name() == "output") {
                output = e;
            } else {
                base::fail(40415, "BSON field '$setWindowFields.{}' is an unknown field.",
                           e.name());
            }
        }
        if (!output)
            base::fail(40414,
                       "BSON field '$setWindowFields.output' is missing but a required "
                       "field");
        if (!output.is_object())
            base::fail(base::kTypeMismatch,
                       "BSON field '$setWindowFields.output' is the wrong type '{}'",
                       bson::name_of(output.type()));
        parse_output(output.as_doc(), names);
        prepare(names);
    }

    bool next(bson::Doc* out) override {
        if (!loaded_) load();
        if (at_ == documents_.size()) return false;
        if (at_ == partition_end_) compute_partition();
        sched::tick_bytes(documents_[at_].size(), sched::PerTick::copied);
        DCHECK(at_ < partition_end_ && values_.size() == functions_.size());
        for (size_t i = 0; i < functions_.size(); ++i)
            now_[i] = values_[i][at_ - partition_begin_];
        Scope& scope = scope_for(documents_[at_]);
        out_.clear();
        const size_t start = open_doc(out_);
        fields_.add_to(documents_[at_], scope, out_);
        close_doc(out_, start);
        ++at_;
        *out = bson::Doc(out_.data());
        check_document_bytes(*out);
        return true;
    }

    void add_needs(Needs& needs) const override {
        if (partition_by_) partition_by_->add_needs(needs);
        for (const Value& e : sort_by_)
            needs.fields.emplace(split_path(e.name(), dialect::kToday).front());
        for (const auto& function : functions_)
            function->add_needs(needs);
    }
    Needs input_needs(Needs later) const override {
        add_needs(later);
        fields_.add_names_with_parts(later);
        return later;
    }
    void simplify_expressions() override {
        if (partition_by_) simplify(partition_by_);
        for (const auto& function : functions_)
            function->simplify_expressions();
    }
    bool holds_documents() const override { return true; }

  private:
    void parse_sort(const Value& e, const std::shared_ptr<const collation::Collator>& collator) {
        if (!e.is_object())
            base::fail(base::kTypeMismatch,
                       "BSON field '$setWindowFields.sortBy' is the wrong type '{}'",
                       bson::name_of(e.type()));
        for (const Value& field : e.as_doc())
            split_path(field.name(), dialect::kToday);  // throws where it is none
        sort_by_ = bson::Object(e.as_doc());
        if (!sort_by_.empty())
            pattern_ = std::make_unique<SortPattern>(sort_by_, nullptr, collator, dialect::kToday);
    }

    void parse_output(bson::Doc output, Names& names) {
        now_.resize(static_cast<size_t>(output.field_count()));
        for (const Value& e : output) {
            DCHECK(functions_.size() < now_.size());
            fields_.add(split_path(e.name(), dialect::kToday),
                        std::make_unique<Computed>(now_[functions_.size()]));
            functions_.push_back(parse_window_function(e, {sort_by_}, names));
        }
    }

    // A document beside what it is sorted by: its partition, and what the fields are.
    struct Entry {
        bson::Object document;
        bson::Object key;
    };

    int compare(const Entry& a, const Entry& b) const {
        const int c = compare_partitions(a, b);
        return c != 0 || pattern_ == nullptr ? c : compare_fields(a, b);
    }
    int compare_partitions(const Entry& a, const Entry& b) const {
        return compare_pipeline_values(a.key["p"], b.key["p"], scope_.collator);
    }
    int compare_fields(const Entry& a, const Entry& b) const {
        return pattern_->compare(a.key["s"].as_doc(), b.key["s"].as_doc());
    }

    void load() {
        loaded_ = true;
        sched::Vector<Entry> entries;
        bson::Doc doc;
        int64_t bytes = 0;
        while (previous_->next(&doc)) {
            sched::tick();
            entries.push_back({bson::Object(doc), key_of(doc)});
            bytes += doc.size() + entries.back().key.size() + static_cast<int64_t>(sizeof(Entry));
            if (bytes > kStageMemoryBytes)
                base::fail(base::kExceededMemoryLimit,
                           "$setWindowFields exceeded memory limit of {} bytes", kStageMemoryBytes);
        }
        std::stable_sort(
            entries.begin(), entries.end(),
            sched::ticking([this](const Entry& a, const Entry& b) { return compare(a, b) < 0; }));
        take(entries);
    }

    bson::Object key_of(bson::Doc doc) {
        bson::Buffer key;
        const size_t start = open_doc(key);
        if (partition_by_) {
            const Value v = partition_by_->evaluate(scope_for(doc));
            if (v.is_array())
                base::fail(base::kTypeMismatch,
                           "An expression used to partition cannot evaluate "
                           "to value of type array");
            write_value(key, "p", v.missing() ? null_value() : v);
        }
        if (pattern_) {
            write_header(key, Type::object, "s");
            pattern_->append_key(doc, key);
        }
        close_doc(key, start);
        return bson::Object(bson::Doc(key.data()));
    }

    void take(sched::Vector<Entry>& entries) {
        for (const size_t i : sched::rounds<size_t>(0, entries.size())) {
            const bool begins = i == 0 || compare_partitions(entries[i - 1], entries[i]) != 0;
            begins_.push_back(begins);
            same_.push_back(!begins && pattern_ != nullptr &&
                            compare_fields(entries[i - 1], entries[i]) == 0);
            if (sort_by_.doc().field_count() == 1)
                sort_values_.push_back(
                    copy_value(sort_arena_, entries[i].key["s"].as_doc().first()));
        }
        for (Entry& entry : sched::ticked(entries)) {
            documents_.push_back(std::move(entry.document));
            entry.key = bson::Object();
        }
        DCHECK(begins_.size() == documents_.size() && same_.size() == documents_.size());
    }

    void compute_partition() {
        partition_begin_ = at_;
        DCHECK(begins_[partition_begin_]);
        partition_end_ = at_ + 1;
        while (partition_end_ < documents_.size() && !begins_[partition_end_])
            ++partition_end_;
        const Partition partition{documents_, partition_begin_, partition_end_, same_,
                                  sort_values_};
        values_.clear();
        values_arena_.clear();
        for (const auto& function : functions_) {
            values_.emplace_back();
            function->compute(partition, scope_, values_arena_, values_.back());
            DCHECK(values_.back().size() == partition.size());
        }
    }

    ExpressionPtr partition_by_;  // null: all are one partition
    bson::Object sort_by_;
    std::unique_ptr<SortPattern> pattern_;  // null: not sorted
    std::vector<std::unique_ptr<WindowFunction>> functions_;
    ObjectExpression fields_;  // of what is in now_
    std::vector<Value> now_;   // of the document that is written; never grows
    bool loaded_ = false;
    // In order; which of them begin a partition, and which are sorted as the one before.
    sched::Vector<bson::Object> documents_;
    sched::Vector<bool> begins_;
    sched::Vector<bool> same_;
    sched::Vector<Value> sort_values_;
    Arena sort_arena_;
    size_t at_ = 0;
    size_t partition_begin_ = 0;
    size_t partition_end_ = 0;
    std::vector<sched::Vector<Value>> values_;  // of the partition, by function
    Arena values_arena_;
};

}  // namespace

StagePtr make_set_window_fields(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object())
        base::fail(base::kFailedToParse,
                   "the $setWindowFields stage specification must be an object, found {}",
                   bson::name_of(spec.type()));
    return std::make_unique<SetWindowFields>(spec.as_doc(), context);
}

}  // namespace query
