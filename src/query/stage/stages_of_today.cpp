// Stages that came after 2.6: $count $addFields $replaceRoot $sample.

#include <algorithm>
#include <random>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/stage/computing_stage.h"
#include "sched/tick.h"

namespace query {

namespace {

class Count : public Stage {
  public:
    explicit Count(std::string_view name) : name_(name) {}
    bool next(bson::Doc* out) override {
        if (done_) return false;
        done_ = true;
        int64_t n = 0;
        bson::Doc doc;
        while (previous_->next(&doc)) {
            sched::tick();
            ++n;
        }
        if (n == 0) return false;
        Arena arena;
        bson::Builder b;
        b.append_as(name_, make_int_or_long(arena, n));
        result_ = b.object();
        *out = result_;
        return true;
    }
    void add_needs(Needs&) const override {}

  private:
    std::string name_;
    bool done_ = false;
    bson::Object result_;
};

// $addFields: computed fields replace their namesakes or come last; a missing value, or $$REMOVE,
// takes its namesake away.
class AddFields : public Computing {
  public:
    AddFields(bson::Doc spec, const PipelineContext& context) {
        Names names(context, dialect::kToday);
        object_ = parse_added_fields(spec, names);
        prepare(names);
    }

    bool next(bson::Doc* out) override {
        bson::Doc doc;
        if (!previous_->next(&doc)) return false;
        sched::tick_bytes(doc.size(), sched::PerTick::copied);
        Scope& scope = scope_for(doc);
        out_.clear();
        const size_t start = open_doc(out_);
        object_->add_to(doc, scope, out_);
        close_doc(out_, start);
        *out = bson::Doc(out_.data());
        check_document_bytes(*out);
        return true;
    }

    void add_needs(Needs& needs) const override { object_->add_needs(needs); }
    Needs input_needs(Needs later) const override {
        add_needs(later);
        // Below a path a value is computed for each element of an array: not at all for none.
        object_->add_names_with_parts(later);
        return later;
    }

  private:
    std::unique_ptr<ObjectExpression> object_;
};

class ReplaceRoot : public Computing {
  public:
    ReplaceRoot(const Value& root, const PipelineContext& context) {
        Names names(context, dialect::kToday);
        root_ = parse_operand(root, names);
        prepare(names);
    }
    bool next(bson::Doc* out) override {
        bson::Doc doc;
        if (!previous_->next(&doc)) return false;
        const Value v = root_->evaluate(scope_for(doc));
        if (!v.is_object()) {
            base::fail(40228, "'newRoot' expression must evaluate to an object, but is of type {}",
                       type_name(v.type()));
        }
        *out = v.as_doc();
        if (carries_score_) {
            out_.clear();
            const size_t start = open_doc(out_);
            for (const Value& e : sched::ticked(*out))
                if (e.name() != kScoreField) write_value(out_, e.name(), e);
            append_score(doc, out_);
            close_doc(out_, start);
            *out = bson::Doc(out_.data());
        }
        check_document_bytes(*out);
        return true;
    }
    void add_needs(Needs& needs) const override {
        root_->add_needs(needs);
        if (carries_score_) needs.fields.emplace(kScoreField);
    }
    void simplify_expressions() override { simplify(root_); }

  private:
    ExpressionPtr root_;
};

// A random choice of so many documents.
class Sample : public Stage {
  public:
    explicit Sample(int64_t size) : size_(static_cast<size_t>(size)) {}
    bool next(bson::Doc* out) override {
        if (!loaded_) load();
        if (position_ == chosen_.size()) return false;
        *out = chosen_[position_++];
        return true;
    }
    void add_needs(Needs&) const override {}
    bool passes_documents_on() const override { return true; }
    bool holds_documents() const override { return true; }

  private:
    void load() {
        loaded_ = true;
        DCHECK(size_ > 0);
        std::mt19937_64 random{std::random_device{}()};
        bson::Doc doc;
        int64_t bytes = 0;
        for (uint64_t seen = 0; previous_->next(&doc); ++seen) {
            if (chosen_.size() < size_) {
                chosen_.emplace_back(doc);
                bytes += doc.size();
            } else {
                const uint64_t at = std::uniform_int_distribution<uint64_t>(0, seen)(random);
                if (at >= size_) continue;
                bytes += doc.size() - chosen_[at].size();
                chosen_[at] = bson::Object(doc);
            }
            if (bytes > kStageMemoryBytes) {
                base::fail(16820, "$sample exceeded memory limit of {} bytes", kStageMemoryBytes);
            }
        }
        DCHECK(chosen_.size() <= size_);
        for (size_t left = chosen_.size(); left > 1; --left) {
            sched::tick();
            const auto at = std::uniform_int_distribution<size_t>(0, left - 1)(random);
            std::swap(chosen_[left - 1], chosen_[at]);
        }
    }

    size_t size_;
    bool loaded_ = false;
    size_t position_ = 0;
    std::vector<bson::Object> chosen_;
};

}  // namespace

bool is_field_name(std::string_view name) {
    constexpr std::string_view kNever(".\0", 2);
    return !name.empty() && name[0] != '$' && name.find_first_of(kNever) == std::string_view::npos;
}

StagePtr make_count(const Value& spec) {
    if (!spec.is_string()) base::fail(40156, "the count field must be a non-empty string");
    const std::string_view name = spec.as_string();
    if (name.empty()) base::fail(40157, "the count field must be a non-empty string");
    if (name.starts_with('$')) base::fail(40158, "the count field cannot be a $-prefixed path");
    if (name.find('\0') != std::string_view::npos)
        base::fail(40159, "the count field cannot contain a null byte");
    if (name.find('.') != std::string_view::npos)
        base::fail(40160, "the count field cannot contain '.'");
    return std::make_unique<Count>(name);
}

StagePtr make_add_fields(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object())
        base::fail(40272, "$addFields specification stage must be an object, got {}",
                   bson::name_of(spec.type()));
    if (spec.as_doc().empty())
        base::fail(40177, "$addFields specification must have at least one field");
    return std::make_unique<AddFields>(spec.as_doc(), context);
}

StagePtr make_replace_root(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object())
        base::fail(40229, "expected an object as specification for $replaceRoot");
    Value root;
    for (const Value& option : spec.as_doc()) {
        if (option.name() != "newRoot")
            base::fail(40230, "unrecognized option to $replaceRoot stage: {}", option.name());
        root = option;
    }
    if (!root) base::fail(40231, "no newRoot specified for the $replaceRoot stage");
    return std::make_unique<ReplaceRoot>(root, context);
}

StagePtr make_replace_with(const Value& spec, const PipelineContext& context) {
    return std::make_unique<ReplaceRoot>(spec, context);
}

StagePtr make_sample(const Value& spec) {
    if (!spec.is_object()) base::fail(28745, "the $sample stage specification must be an object");
    Value size;
    for (const Value& option : spec.as_doc()) {
        if (option.name() != "size")
            base::fail(28748, "unrecognized option to $sample: {}", option.name());
        if (!option.is_number()) base::fail(28746, "size argument to $sample must be a number");
        size = option;
    }
    if (!size) base::fail(28749, "$sample stage must specify a size");
    if (size.to_int64() <= 0)
        base::fail(28747, "size argument to $sample must be a positive integer");
    return std::make_unique<Sample>(size.to_int64());
}

}  // namespace query
