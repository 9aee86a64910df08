// $fill, written as the stages that do it: $setWindowFields with $locf and $linearFill, and
// $addFields for values.

#include "base/error.h"
#include "bson/type_names.h"
#include "query/stage/stage.h"

namespace query {

namespace {

struct Fill {
    Value partition_by, partition_by_fields, sort_by, output;
};

Fill read(const Value& spec) {
    if (!spec.is_object())
        base::fail(base::kFailedToParse,
                   "the $fill stage specification must be an object, found {}",
                   bson::name_of(spec.type()));
    Fill fill;
    for (const Value& e : spec.as_doc()) {
        if (e.name() == "partitionBy" && (e.is_object() || e.is_string()))
            fill.partition_by = e;
        else if (e.name() == "partitionByFields" && e.is_array())
            fill.partition_by_fields = e;
        else if (e.name() == "sortBy" && e.is_object())
            fill.sort_by = e;
        else if (e.name() == "output" && e.is_object())
            fill.output = e;
        else
            base::fail(40415,
                       "BSON field '$fill.{}' is an unknown field, or of the wrong type '{}'",
                       e.name(), bson::name_of(e.type()));
    }
    if (!fill.output)
        base::fail(40414, "BSON field '$fill.output' is missing but a required field");
    if (fill.output.as_doc().empty())
        base::fail(6050203, "the output of $fill must have at least one field");
    if (fill.partition_by && fill.partition_by_fields)
        base::fail(6050204, "$fill takes 'partitionBy' or 'partitionByFields', not both");
    return fill;
}

void append_partition(const Fill& fill, bson::Builder& out) {
    if (fill.partition_by) out.append_as("partitionBy", fill.partition_by);
    if (!fill.partition_by_fields || fill.partition_by_fields.as_doc().empty()) return;
    bson::Builder fields = out.sub_object("partitionBy");
    for (const Value& path : fill.partition_by_fields.as_doc()) {
        if (!path.is_string() || path.as_string().starts_with('$'))
            base::fail(base::kTypeMismatch,
                       "'partitionByFields' of $fill must be an array of paths without '$'");
        fields.append(path.name(), "$" + std::string(path.as_string()));
    }
}

// What fills a field: one of {value: expression} and {method: "linear"}.
Value filling(const Value& field) {
    const Value how = field.is_object() ? field.as_doc().first() : Value();
    const bool is_one = how && field.as_doc().field_count() == 1;
    if (!is_one || (how.name() != "value" && how.name() != "method"))
        base::fail(6050202, "$fill needs a 'value' or a 'method' for the field '{}'", field.name());
    if (how.name() == "value") return how;
    const std::string_view method = how.is_string() ? how.as_string() : std::string_view();
    if (method != "linear" && method != "locf")
        base::fail(6050202, "the method of $fill must be 'linear' or 'locf', for the field '{}'",
                   field.name());
    return how;
}

}  // namespace

bson::Object fill_stages(const Value& spec) {
    const Fill fill = read(spec);
    bson::Builder computed;
    bson::Builder given;
    for (const Value& field : fill.output.as_doc()) {
        const Value how = filling(field);
        const std::string path = "$" + std::string(field.name());
        if (how.name() == "method") {
            bson::Builder function = computed.sub_object(field.name());
            function.append(how.as_string() == "locf" ? "$locf" : "$linearFill", path);
        } else {
            bson::Builder expression = given.sub_object(field.name());
            bson::Builder operands = expression.sub_array("$ifNull");
            operands.append("0", path).append_as("1", how);
        }
    }
    const bool computes = !computed.doc().empty();
    if (computes && !fill.sort_by)
        base::fail(base::kFailedToParse, "a method of $fill needs 'sortBy'");
    bson::Builder holder;
    {
        bson::Builder stages = holder.sub_array("p");
        if (computes) {
            bson::Builder stage = stages.sub_object(stages.next().view());
            bson::Builder window = stage.sub_object("$setWindowFields");
            append_partition(fill, window);
            window.append_as("sortBy", fill.sort_by).append("output", computed.doc());
        }
        if (!given.doc().empty()) {
            bson::Builder stage = stages.sub_object(stages.next().view());
            stage.append("$addFields", given.doc());
        }
    }
    return holder.object();
}

}  // namespace query
