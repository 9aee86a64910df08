#include "query/stage/foreign.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/field_path.h"
#include "query/stage/output.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

void append_leaf(const Value& v, sched::Vector<Value>& values) {
    if (v.missing()) return;
    if (!v.is_array()) return values.push_back(v);
    for (const Value& e : sched::ticked(v.as_doc()))
        values.push_back(e);
}

Value element_at(const Value& array, int64_t position) {
    for (const Value& e : sched::ticked(array.as_doc())) {
        if (position-- == 0) return e;
    }
    return {};
}

// Whether a value in the list of $in means more than to be equal to it.
bool means_more_under_in(const Value& v) {
    return v.type() == Type::regex || (v.is_object() && v.as_doc().first().name().starts_with('$'));
}

const Value& or_null(const Value& v) {
    static const Value kNull = null_value();
    return v.missing() || v.type() == Type::undefined ? kNull : v;
}

// {path: value}, or {path: {$eq: value}} where that would mean something else.
void append_equality(bson::Builder& out, std::string_view path, const Value& value) {
    if (value.is_object() || value.type() == Type::regex)
        out.sub_object(path).append_as("$eq", value);
    else
        out.append_as(path, value);
}

}  // namespace

std::string foreign_name(const Value& from, std::string_view stage) {
    if (!from.is_string())
        base::fail(base::kFailedToParse, "the collection of {} must be a string, but is {}", stage,
                   type_name(from.type()));
    const std::string_view name = from.as_string();
    constexpr std::string_view kNever("$\0", 2);
    if (name.empty() || name[0] == '.' || name.find_first_of(kNever) != std::string_view::npos)
        base::fail(base::kInvalidNamespace, "Invalid namespace specified for {}", stage);
    return std::string(name);
}

PipelineContext sub_pipeline_context(const PipelineContext& outer) {
    PipelineContext inner = outer;
    inner.find_first_stage = {};
    inner.reads_collection = true;  // or $documents, which comes before all
    if (++inner.outer_pipelines > kSubPipelinesMax)
        base::fail(base::kMaxSubPipelineDepthExceeded,
                   "Maximum number of nested sub-pipelines exceeded. Limit is {}",
                   kSubPipelinesMax);
    return inner;
}

bson::Object sub_pipeline(bson::Doc filter, bson::Doc stages) {
    bson::Builder holder;
    {
        bson::Builder list = holder.sub_array("p");
        const bool brings_documents = begins_with_documents(stages);
        if (brings_documents) list.push_element(stages.first());
        const Value first = stages.first();
        const Value match = first.is_object() ? first.as_doc()["$match"] : Value();
        // Both are one filter, so that the query can choose which one an index serves.
        const bool joins = match.is_object() && first.as_doc().field_count() == 1;
        if (!filter.empty()) {
            bson::Builder stage = list.sub_object(list.next().view());
            bson::Builder both = stage.sub_object("$match");
            if (joins) {
                bson::Builder parts = both.sub_array("$and");
                parts.push(filter);
                parts.push(match.as_doc());
            } else {
                both.append_all(filter);
            }
        }
        bool skip = brings_documents || (joins && !filter.empty());
        for (const Value& stage : stages) {
            if (!std::exchange(skip, false)) list.push_element(stage);
        }
    }
    return holder.object();
}

void check_sub_pipeline(bson::Doc stages, const PipelineContext& outer, std::string_view stage,
                        int code) {
    for (const Value& e : stages) {
        const std::string_view name =
            e.is_object() ? e.as_doc().first().name() : std::string_view();
        if (is_output_stage(name) || (outer.find_first_stage && outer.find_first_stage(name)))
            base::fail(code, "{} is not allowed within a {}'s sub-pipeline", name, stage);
    }
}

void append_values_at(bson::Doc doc, std::span<const std::string> path,
                      sched::Vector<Value>& values) {
    DCHECK(!path.empty());
    sched::tick_bytes(doc.size(), sched::PerTick::copied);
    Value v = doc[path.front()];
    path = path.subspan(1);
    while (!path.empty() && v.is_array()) {
        const int64_t position = bson::parse_array_index(path.front());
        if (position == bson::FieldPath::kNoIndex) break;
        v = element_at(v, position);
        path = path.subspan(1);
    }
    if (path.empty()) return append_leaf(v, values);
    if (v.is_object()) return append_values_at(v.as_doc(), path, values);
    if (!v.is_array()) return;
    for (const Value& e : sched::ticked(v.as_doc())) {
        if (e.is_object()) append_values_at(e.as_doc(), path, values);
    }
}

bson::Object one_of(std::string_view path, std::span<const Value> values) {
    DCHECK(!values.empty());
    bson::Builder filter;
    if (values.size() == 1) {
        append_equality(filter, path, or_null(values[0]));
    } else if (std::ranges::any_of(values, means_more_under_in)) {
        bson::Builder any = filter.sub_array("$or");
        for (const Value& v : values) {
            bson::Builder one = any.sub_object(any.next().view());
            append_equality(one, path, or_null(v));
        }
    } else {
        bson::Builder operators = filter.sub_object(path);
        bson::Builder list = operators.sub_array("$in");
        for (const Value& v : values) {
            list.push_element(or_null(v));
        }
    }
    return filter.object();
}

void write_with(bson::Doc doc, std::span<const std::string> path, const Value& value,
                bson::Buffer& out) {
    DCHECK(!path.empty());
    sched::tick_bytes(doc.size(), sched::PerTick::copied);
    const size_t start = open_doc(out);
    const auto write = [&](const Value& old) {
        if (path.size() == 1) return write_value(out, path.front(), value);
        write_header(out, Type::object, path.front());
        write_with(old.is_object() ? old.as_doc() : bson::Doc(), path.subspan(1), value, out);
    };
    bool written = false;
    for (const Value& e : doc) {
        if (written || e.name() != path.front()) {
            out.append(e.raw(), e.size());
            continue;
        }
        written = true;
        write(e);
    }
    if (!written) write(Value());
    close_doc(out, start);
}

}  // namespace query
