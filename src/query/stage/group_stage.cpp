// $group, and $sortByCount, which is made of it.

#include <algorithm>
#include <new>
#include <span>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/pipelines.h"
#include "query/expression/accumulator_spec.h"
#include "query/stage/computing_stage.h"
#include "query/stage/group_spill.h"
#include "query/value/value_set.h"
#include "sched/operation.h"

namespace query {

using bson::Type;

namespace {

// About how many bytes a group takes beside its id and its accumulators, and how many an
// accumulator takes.
constexpr size_t kBytesPerGroup = 112;
constexpr size_t kBytesPerAccumulator = 48;
// How much of the memory of one result is kept for the next one.
constexpr size_t kKeptBytes = size_t{1} << 20;

class Group : public Stage {
  public:
    Group(bson::Doc spec, const PipelineContext& context)
        : dialect_(context.dialect),
          collator_(context.collator),
          allow_disk_use_(context.allow_disk_use),
          scratch_directory_(context.scratch_directory) {
        Names names(context, dialect_);
        bool has_id = false;
        for (const Value& e : spec) {
            if (e.name() == "_id") {
                if (has_id) base::fail(15948, "a group's _id may only be specified once");
                has_id = true;
                parse_id(e, names);
            } else {
                fields_.push_back(parse_group_field(e, names));
            }
        }
        if (!has_id) base::fail(15955, "a group specification must include an _id");
        scope_.prepare(names);
    }
    void carry_score() override { carries_score_ = true; }
    // The `_id` is computed by what `parse_id` makes; `fields` has none.
    Group(bson::Doc fields, const PipelineContext& context,
          const std::function<ExpressionPtr(Names&)>& parse_id)
        : dialect_(context.dialect),
          collator_(context.collator),
          allow_disk_use_(context.allow_disk_use),
          scratch_directory_(context.scratch_directory) {
        Names names(context, dialect_);
        id_.emplace_back("", parse_id(names));
        for (const Value& e : fields)
            fields_.push_back(parse_group_field(e, names));
        scope_.prepare(names);
    }

    bool next(bson::Doc* out) override {
        if (!loaded_) load();
        // The groups on the disk came later: their first documents found no room any more.
        if (position_ == numbers_.size()) return on_disk_ != nullptr && on_disk_->next(out);
        const size_t group = position_++;
        out_.trim(kKeptBytes);
        const size_t start = open_doc(out_);
        write_value(out_, "_id", ids_.values()[group]);
        for (const size_t i : sched::rounds<size_t>(0, fields_.size())) {
            of_group(group)[i]->write(fields_[i].name, out_);
        }
        close_doc(out_, start);
        *out = bson::Doc(out_.data());
        check_document_bytes(*out);
        return true;
    }

    void add_needs(Needs& needs) const override {
        for (const auto& [name, expression] : id_)
            expression->add_needs(needs);
        for (const GroupField& field : fields_)
            field.accumulator.input->add_needs(needs);
    }
    void simplify_expressions() override {
        for (auto& [name, expression] : id_)
            simplify(expression);
        for (GroupField& field : fields_)
            simplify(field.accumulator.input);
    }

  private:
    static constexpr size_t kNoGroup = ValueSet::kNone;

    void parse_id(const Value& e, Names& names) {
        if (e.is_object() && !e.as_doc().empty()) {
            const bson::Doc doc = e.as_doc();
            if (doc.first().name().starts_with('$')) {
                id_.emplace_back("", parse_object(doc, ObjectRules(), names));
                return;
            }
            id_is_document_ = true;
            for (const Value& part : doc) {
                if (part.is_number() || part.type() == Type::boolean) {
                    base::fail(17390, "$group does not support inclusion-style expressions");
                }
                id_.emplace_back(part.name(), parse_operand(part, names));
            }
        } else if (e.is_string() && e.as_string().starts_with('$')) {
            id_.emplace_back("", FieldExpression::parse(e.as_string(), names));
        } else if (names.dialect.has(dialect::kListsAreExpressions)) {
            id_.emplace_back("", parse_operand(e, names));
        } else {
            id_.emplace_back("", std::make_unique<Constant>(e));
        }
    }

    // The `_id` of the document's group: one value, or a document of several. Lives in the arena
    // or in the document.
    Value id_of(Scope& scope) {
        if (!id_is_document_) {
            DCHECK(id_.size() == 1);
            const Value v = id_[0].second->evaluate(scope);
            return v.missing() ? null_value() : v;
        }
        key_.clear();
        const size_t start = open_doc(key_);
        for (const auto& [name, expression] : id_) {
            Value v = expression->evaluate(scope);
            if (v.missing() && id_.size() == 1) v = null_value();
            if (!v.missing()) write_value(key_, name, v);
        }
        close_doc(key_, start);
        return make_doc(scope.arena, Type::object, bson::Doc(key_.data()));
    }

    // kNoGroup: not in memory, and not to be.
    size_t group_of(const Value& id, uint64_t number) {
        const size_t found = ids_.position(id);
        if (found != ValueSet::kNone) return found;
        if (on_disk_ != nullptr) return kNoGroup;
        ids_.insert(copy_value(id_bytes_, id));
        numbers_.push_back(number);
        DCHECK(numbers_.size() == ids_.values().size());
        for (const GroupField& field : fields_)
            accumulators_.push_back(field.accumulator.maker());
        bytes_ += static_cast<int64_t>(id.size() + kBytesPerGroup +
                                       fields_.size() * kBytesPerAccumulator);
        return numbers_.size() - 1;
    }

    std::span<std::unique_ptr<Accumulator>> of_group(size_t group) {
        DCHECK(group < numbers_.size());
        DCHECK(accumulators_.size() == numbers_.size() * fields_.size());
        return std::span(accumulators_).subspan(group * fields_.size(), fields_.size());
    }

    // First no more groups come into memory. If those that are there go on growing, all leave.
    void spill_if_full() {
        DCHECK(allow_disk_use_);
        const int64_t limit = on_disk_ == nullptr ? kStageSpillBytes : 2 * kStageSpillBytes;
        if (!spill::is_full(bytes_, limit)) return;
        if (on_disk_ == nullptr) {
            std::vector<GroupSpill::Field> fields;
            for (const GroupField& field : fields_)
                fields.push_back({field.name, field.accumulator.maker});
            on_disk_ =
                std::make_unique<GroupSpill>(std::move(fields), collator_, scratch_directory_);
            return;
        }
        for (size_t group = 0; group < numbers_.size(); ++group) {
            on_disk_->add_group(numbers_[group], ids_.values()[group], of_group(group));
            std::ranges::for_each(of_group(group), [](auto& accumulator) { accumulator.reset(); });
        }
        numbers_ = {};
        accumulators_ = Accumulators();
        ids_ = no_ids();
        id_bytes_ = Arena();
        bytes_ = 0;
    }

    void load() {
        loaded_ = true;
        try {
            collect();
        } catch (const std::bad_alloc&) {
            if (allow_disk_use_) throw;
            fail_memory();
        }
    }

    ValueSet no_ids() const {
        return ValueSet(collator_.get(), dialect_.has(dialect::kTimesAreTwoClasses)
                                             ? Times::two_classes
                                             : Times::one_class);
    }

    [[noreturn]] void fail_memory() const {
        base::fail(dialect_.code(16945, base::kQueryExceededMemoryLimitNoDiskUseAllowed),
                   "Exceeded memory limit for $group, but didn't allow external sort. Pass "
                   "allowDiskUse:true to opt in.");
    }

    void collect() {
        bson::Doc doc;
        for (uint64_t seen = 1; previous_->next(&doc); ++seen) {
            arena_.clear();
            if (carries_score_)
                set_scored_root(scope_, doc);
            else
                scope_.set_root(doc);
            const Value id = id_of(scope_);
            if (const size_t group = group_of(id, seen); group != kNoGroup) {
                add_to(group);
            } else {
                DCHECK(on_disk_ != nullptr);
                values_.clear();
                for (const GroupField& field : fields_)
                    values_.push_back(field.accumulator.input->evaluate(scope_));
                on_disk_->add_document(seen, id, values_);
            }
            if (allow_disk_use_) {
                spill_if_full();
            } else if (bytes_ > kStageMemoryBytes) {
                fail_memory();
            }
            if ((seen & 127) == 0) sched::Operation::check();
        }
        arena_.clear();
        if (on_disk_ != nullptr) on_disk_->finish();
    }

    void add_to(size_t group) {
        for (size_t i = 0; i < fields_.size(); ++i) {
            Accumulator& accumulator = *of_group(group)[i];
            const int64_t before = accumulator.bytes();
            accumulator.add(fields_[i].accumulator.input->evaluate(scope_));
            bytes_ += accumulator.bytes() - before;
            sched::tick();
        }
    }

    const dialect::Dialect dialect_;
    const std::shared_ptr<const collation::Collator> collator_;
    const bool allow_disk_use_;
    const std::string scratch_directory_;
    std::vector<std::pair<std::string, ExpressionPtr>> id_;
    bool id_is_document_ = false;
    std::vector<GroupField> fields_;
    Arena arena_;
    Scope scope_{arena_};
    bool carries_score_ = false;
    bson::Buffer key_;
    bson::Buffer out_;
    // The groups in memory, in the order of their first documents.
    Arena id_bytes_;
    ValueSet ids_ = no_ids();
    sched::Vector<uint64_t> numbers_;      // of their first documents
    Accumulators accumulators_;            // one for each field of each group
    std::unique_ptr<GroupSpill> on_disk_;  // of others; null: there are none
    std::vector<Value> values_;
    bool loaded_ = false;
    size_t position_ = 0;
    int64_t bytes_ = 0;
};

// $group by an expression with a count, then the largest groups first.
class SortByCount : public Stage {
  public:
    SortByCount(const Value& spec, const PipelineContext& context) {
        bson::Builder group;
        group.append_as("_id", spec);
        {
            auto count = group.sub_object("count");
            count.append("$sum", 1);
        }
        group_ = std::make_unique<Group>(group.doc(), context);
        sort_ = std::make_unique<SortStage>(bson::make("count", -1), context);
        sort_->set_previous(group_.get());
    }
    bool next(bson::Doc* out) override {
        group_->set_previous(previous_);
        return sort_->next(out);
    }
    void add_needs(Needs& needs) const override { group_->add_needs(needs); }
    void simplify_expressions() override { group_->simplify_expressions(); }

  private:
    std::unique_ptr<Group> group_;
    std::unique_ptr<SortStage> sort_;
};

}  // namespace

StagePtr make_group_by(bson::Doc fields, const PipelineContext& context,
                       const std::function<ExpressionPtr(Names&)>& parse_id) {
    return std::make_unique<Group>(fields, context, parse_id);
}

StagePtr make_group(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object()) base::fail(15947, "a group's fields must be specified in an object");
    return std::make_unique<Group>(spec.as_doc(), context);
}

StagePtr make_sort_by_count(const Value& spec, const PipelineContext& context) {
    if (spec.is_object()) {
        if (!spec.as_doc().first().name().starts_with('$'))
            base::fail(40147,
                       "the sortByCount field must be defined as a $-prefixed path or an "
                       "expression inside an object");
    } else if (spec.is_string()) {
        if (!spec.as_string().starts_with('$'))
            base::fail(40148, "the sortByCount field must be defined as a $-prefixed path");
    } else {
        base::fail(40149, "the sortByCount field must be specified as a string or as an object");
    }
    return std::make_unique<SortByCount>(spec, context);
}

}  // namespace query
