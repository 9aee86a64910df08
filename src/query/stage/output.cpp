#include "query/stage/output.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "dialect/pipelines.h"

namespace query {

namespace {

constexpr int kDuplicateField = 40413;
constexpr int kMissingField = 40414;
constexpr int kUnknownField = 40415;

// A name, or {db: name, coll: name}.
std::optional<OutputTarget> target_in(const Value& named) {
    if (named.is_string()) return OutputTarget{"", std::string(named.as_string())};
    if (!named.is_object()) return std::nullopt;
    const Value db = named.as_doc()["db"];
    const Value collection = named.as_doc()["coll"];
    if (!collection.is_string() || (db && !db.is_string())) return std::nullopt;
    return OutputTarget{db ? std::string(db.as_string()) : std::string(),
                        std::string(collection.as_string())};
}

// Throws the error for {db, coll} if target_in() found nothing or there are more fields.
void check_named(const Value& named, std::string_view where, bool needs_db) {
    bool has_db = false;
    bool has_collection = false;
    for (const Value& e : named.as_doc()) {
        bool& seen = e.name() == "db" ? has_db : has_collection;
        if (e.name() == "timeseries")
            base::fail(base::kInvalidOptions, "this server has no time series collections");
        if (e.name() != "db" && e.name() != "coll")
            base::fail(kUnknownField, "BSON field '{}.{}' is an unknown field.", where, e.name());
        if (seen)
            base::fail(kDuplicateField, "BSON field '{}.{}' is a duplicate field", where, e.name());
        if (!e.is_string())
            base::fail(base::kTypeMismatch,
                       "BSON field '{}.{}' is the wrong type '{}', expected type 'string'", where,
                       e.name(), bson::name_of(e.type()));
        seen = true;
    }
    if (!has_collection || (needs_db && !has_db))
        base::fail(kMissingField, "BSON field '{}.{}' is missing but a required field", where,
                   has_collection ? "db" : "coll");
}

std::unique_ptr<PipelineOutput> make_out(const Value& spec, const PipelineContext& context) {
    if (!spec.is_string() && !(spec.is_object() && context.dialect.has(dialect::kOutputsOfToday)))
        base::fail(16990, "$out only supports a string{} argument, not {}",
                   context.dialect.has(dialect::kOutputsOfToday) ? " or object" : "",
                   type_name(spec.type()));
    if (spec.is_object()) check_named(spec, "$out", true);
    DCHECK(target_in(spec).has_value());
    return std::make_unique<PipelineOutput>(PipelineOutput{*target_in(spec), nullptr});
}

std::unique_ptr<PipelineOutput> make_merge(const Value& spec, const PipelineContext& context) {
    if (!spec.is_string() && !spec.is_object())
        base::fail(51182, "$merge requires a string or object argument, but found {}",
                   bson::name_of(spec.type()));
    auto merge = std::make_unique<MergeSpec>(spec, context);
    const Value into = spec.is_object() ? spec.as_doc()["into"] : spec;
    if (into.missing())
        base::fail(kMissingField, "BSON field '$merge.into' is missing but a required field");
    if (!into.is_string() && !into.is_object())
        base::fail(51178, "$merge 'into' field must be either a string or an object, but found {}",
                   bson::name_of(into.type()));
    if (into.is_object()) check_named(into, "$merge.into", false);
    DCHECK(target_in(into).has_value());
    return std::make_unique<PipelineOutput>(PipelineOutput{*target_in(into), std::move(merge)});
}

}  // namespace

std::optional<OutputTarget> output_target(bson::Doc stage) {
    if (const Value out = stage["$out"]) return target_in(out);
    const Value merge = stage["$merge"];
    return target_in(merge.is_object() ? merge.as_doc()["into"] : merge);
}

bson::Object PipelineOutput::describe(std::string_view db) const {
    bson::Builder stage;
    {
        bson::Builder spec = stage.sub_object(merge == nullptr ? "$out" : "$merge");
        const auto append_target = [&](bson::Builder& out) {
            out.append("db", target.db.empty() ? db : std::string_view(target.db))
                .append("coll", target.collection);
        };
        if (merge == nullptr) {
            append_target(spec);
        } else {
            {
                bson::Builder into = spec.sub_object("into");
                append_target(into);
            }
            merge->describe(spec);
        }
    }
    return stage.object();
}

std::unique_ptr<PipelineOutput> make_output(bson::Doc stage, const PipelineContext& context) {
    const Value spec = stage.first();
    DCHECK(is_output_stage(spec.name()));
    return spec.name() == "$out" ? make_out(spec, context) : make_merge(spec, context);
}

}  // namespace query
