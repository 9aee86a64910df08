#include "query/stage/merge_spec.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/stage/foreign.h"
#include "query/stage/update_pipeline.h"
#include "sched/tick.h"

namespace query {

namespace {

using Matched = MergeSpec::Matched;
using NotMatched = MergeSpec::NotMatched;

// The names in the order of the enumerations; a pipeline has no name.
constexpr std::array<std::string_view, 4> kMatchedNames = {"replace", "keepExisting", "merge",
                                                           "fail"};
constexpr std::array<std::string_view, 3> kNotMatchedNames = {"insert", "discard", "fail"};
constexpr std::string_view kNew = "new";
constexpr int kDuplicateField = 40413;
constexpr int kUnknownField = 40415;

template <typename Mode, size_t count>
Mode mode_of(const Value& name, const std::array<std::string_view, count>& names) {
    const auto found = std::ranges::find(names, name.as_string());
    if (found == names.end())
        base::fail(base::kBadValue,
                   "Enumeration value '{}' for field '$merge.{}' is not a valid "
                   "value.",
                   name.as_string(), name.name());
    return static_cast<Mode>(found - names.begin());
}

std::string_view name_of(Matched mode) {
    return mode == Matched::pipeline ? "pipeline" : kMatchedNames[static_cast<size_t>(mode)];
}

std::string_view name_of(NotMatched mode) {
    return kNotMatchedNames[static_cast<size_t>(mode)];
}

// [{$replaceWith: expression}]
bson::Object replace_with(const bson::Element& expression) {
    bson::Builder stages;
    {
        bson::Builder stage = stages.sub_object("0");
        stage.append_as("$replaceWith", expression);
    }
    return stages.object();
}

// The stages of a mode that has a name.
bson::Object stages_of(Matched mode) {
    DCHECK(mode != Matched::pipeline);
    bson::Builder value;
    if (mode == Matched::replace) value.append("", "$$new");
    if (mode == Matched::merge) {
        bson::Builder merged = value.sub_object("");
        bson::Builder list = merged.sub_array("$mergeObjects");
        list.append("0", "$$ROOT").append("1", "$$new");
    }
    return value.doc().empty() ? bson::Object() : replace_with(value.doc().first());
}

// Arrays are not looked into.
Value value_at_path(bson::Doc doc, std::string_view path) {
    while (true) {
        const size_t dot = path.find('.');
        const Value value = doc[path.substr(0, dot)];
        if (dot == std::string_view::npos) return value;
        if (!value.is_object()) return {};
        doc = value.as_doc();
        path.remove_prefix(dot + 1);
    }
}

}  // namespace

MergeSpec::MergeSpec(const Value& spec, const PipelineContext& context) : outer_(context.let) {
    std::vector<std::string_view> seen;
    const bson::Doc fields = spec.is_object() ? spec.as_doc() : bson::Doc();
    for (const Value& e : sched::ticked(fields)) {
        if (std::ranges::find(seen, e.name()) != seen.end())
            base::fail(kDuplicateField, "BSON field '$merge.{}' is a duplicate field", e.name());
        parse_field(e);
        seen.push_back(e.name());  // not many: what is unknown has been refused
    }
    if (on_.empty()) on_.emplace_back("_id");
    check_modes();
    if (matched_ != Matched::pipeline) {
        made_ = stages_of(matched_);
        stages_ = made_;
    }
    parse_let(context);
    if (matched_ != Matched::pipeline) return;
    // Now, and not with the first result, for which it is parsed with the values of its variables.
    const std::shared_ptr<LetVariables> names = outer_variables();
    names->add(kNew, Value());
    for (const auto& [name, value] : let_)
        names->add(name, Value());
    parse_update(stages_, true, {.dialect = dialect::kToday, .collator = context.collator}, names);
}

void MergeSpec::parse_field(const Value& e) {
    const std::string_view name = e.name();
    if (name == "into") return;
    if (name == "on") {
        parse_on(e);
    } else if (name == "let") {
        if (!e.is_object())
            base::fail(base::kTypeMismatch,
                       "BSON field '$merge.let' is the wrong type '{}', expected type 'object'",
                       bson::name_of(e.type()));
        let_spec_ = e;
    } else if (name == "whenMatched") {
        parse_matched(e);
    } else if (name == "whenNotMatched") {
        if (!e.is_string())
            base::fail(base::kTypeMismatch,
                       "BSON field '$merge.whenNotMatched' is the wrong type '{}', expected type "
                       "'string'",
                       bson::name_of(e.type()));
        not_matched_ = mode_of<NotMatched>(e, kNotMatchedNames);
    } else {
        base::fail(kUnknownField, "BSON field '$merge.{}' is an unknown field.", name);
    }
}

void MergeSpec::parse_on(const Value& on) {
    const auto add = sched::ticking([&](const Value& path) {
        split_path(path.as_string(), dialect::kToday);
        if (is_on(path.as_string()))
            base::fail(31465, "Found a duplicate field '{}' in 'on'", path.as_string());
        on_.emplace_back(path.as_string());
    });
    if (on.is_string()) return add(on);
    if (!on.is_array())
        base::fail(51186,
                   "$merge 'on' field must be either a string or an array of strings, but found {}",
                   bson::name_of(on.type()));
    if (on.as_doc().empty())
        base::fail(51187, "If explicitly specifying $merge 'on', must include at least one field");
    for (const Value& path : on.as_doc()) {
        if (!path.is_string())
            base::fail(51134, "$merge 'on' array elements must be strings, but found {}",
                       bson::name_of(path.type()));
        add(path);
    }
}

void MergeSpec::parse_matched(const Value& mode) {
    if (mode.is_array()) {
        matched_ = Matched::pipeline;
        stages_ = mode.as_doc();
    } else if (mode.is_string()) {
        matched_ = mode_of<Matched>(mode, kMatchedNames);
    } else {
        base::fail(51191,
                   "$merge 'whenMatched' field must be either a string or an array, but found {}",
                   bson::name_of(mode.type()));
    }
}

void MergeSpec::check_modes() const {
    const bool leaves_found = matched_ == Matched::keep_existing || matched_ == Matched::fail;
    if (leaves_found && not_matched_ != NotMatched::insert)
        base::fail(51181,
                   "Combination of $merge modes 'whenMatched: {}' and 'whenNotMatched: {}' is not "
                   "supported",
                   name_of(matched_), name_of(not_matched_));
}

// Its values are computed from each result, and known to the pipeline alone.
void MergeSpec::parse_let(const PipelineContext& context) {
    if (!let_spec_) return;
    if (matched_ != Matched::pipeline)
        base::fail(51199, "Cannot use 'let' variables with 'whenMatched: {}' mode",
                   name_of(matched_));
    Names names(context, dialect::kToday);
    for (const Value& e : let_spec_.as_doc()) {
        if (e.name() == kNew) {
            if (!e.is_string() || e.as_string() != "$$ROOT")
                base::fail(51273,
                           "'let' may not define a value for the reserved 'new' variable other "
                           "than '$$ROOT'");
            continue;
        }
        if (e.name() == "CURRENT") base::fail(16867, "'CURRENT' cannot be a variable of $merge");
        Names(context.variables).define(e.name());
        let_.emplace_back(e.name(), parse_operand(e, names));
    }
    scope_.prepare(names);
}

bool MergeSpec::is_on(std::string_view path) const {
    return std::ranges::find(on_, path) != on_.end();
}

bson::Object MergeSpec::filter(bson::Doc result) const {
    DCHECK(!on_.empty());
    bson::Builder filter;
    for (const std::string& path : sched::ticked(on_)) {
        const Value value = value_at_path(result, path);
        if (value.is_array())
            base::fail(51185, "$merge write error: 'on' field '{}' is an array", path);
        if (is_nullish(value))
            base::fail(51132,
                       "$merge write error: 'on' field '{}' cannot be missing, null or undefined",
                       path);
        filter.append_all(one_of(path, {&value, 1}));
    }
    return filter.object();
}

std::shared_ptr<LetVariables> MergeSpec::outer_variables() const {
    return std::make_shared<LetVariables>(outer_);
}

std::shared_ptr<const LetVariables> MergeSpec::variables(bson::Doc result) {
    DCHECK(matched_ == Matched::pipeline || let_.empty());
    arena_.clear();
    scope_.set_root(result);
    const std::shared_ptr<LetVariables> variables = outer_variables();
    variables->add(kNew, make_doc(arena_, bson::Type::object, result));
    for (const auto& [name, value] : let_)
        variables->add(name, value->evaluate(scope_));
    return variables;
}

void MergeSpec::describe(bson::Builder& out) const {
    if (on_.size() == 1) {
        out.append("on", on_.front());
    } else {
        bson::Builder list = out.sub_array("on");
        for (const std::string& path : on_)
            list.push(path);
    }
    if (let_spec_) out.append(let_spec_);
    if (matched_ == Matched::pipeline)
        out.append_array("whenMatched", stages_);
    else
        out.append("whenMatched", name_of(matched_));
    out.append("whenNotMatched", name_of(not_matched_));
}

}  // namespace query
