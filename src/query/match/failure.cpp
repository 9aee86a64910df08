#include "query/match/failure.h"

#include <algorithm>
#include <string>

#include "bson/type_names.h"
#include "query/match/match_tree.h"
#include "sched/tick.h"

namespace query {

using bson::Builder;
using bson::Doc;
using bson::Element;

namespace {

struct Reason {
    std::string_view op;
    std::string_view unfulfilled, fulfilled;
};
constexpr std::string_view kBitsFailed = "bitwise operator failed to match";
constexpr std::string_view kBitsMatched = "bitwise operator matched successfully";
constexpr Reason kReasons[] = {
    {"$exists", "path does not exist", "path does exist"},
    {"$type", "type did not match", "type did match"},
    {"$in", "no matching value found in array", "matching value found in array"},
    {"$nin", "no matching value found in array", "matching value found in array"},
    {"$regex", "regular expression did not match", "regular expression did match"},
    {"$mod", "$mod did not evaluate to expected remainder",
     "$mod did evaluate to expected remainder"},
    {"$bitsAllSet", kBitsFailed, kBitsMatched},
    {"$bitsAllClear", kBitsFailed, kBitsMatched},
    {"$bitsAnySet", kBitsFailed, kBitsMatched},
    {"$bitsAnyClear", kBitsFailed, kBitsMatched},
    {"$size", "array length was not equal to given size", "array length was equal to given size"},
    {"$all", "array did not contain all specified values",
     "array did contain all specified values"},
    {"$elemMatch", "array did not satisfy the child predicate",
     "array did satisfy the child predicate"},
};

std::string_view reason(std::string_view op, bool fulfilled) {
    const auto found = std::ranges::find(kReasons, op, &Reason::op);
    if (found == std::end(kReasons))
        return fulfilled ? "comparison succeeded" : "comparison failed";
    return fulfilled ? found->fulfilled : found->unfulfilled;
}

bool is_negative(std::string_view op) {
    return op == "$ne" || op == "$nin";
}

sched::Vector<Element> values_at(std::string_view path, Doc doc) {
    sched::Vector<Element> values;
    visit_values(FieldPath(path), doc, LeafArrays::keep, [&](const PathValue& found) {
        if (!found.value.missing()) values.push_back(found.value);
        return false;
    });
    return values;
}

void append_considered(const sched::Vector<Element>& values, std::string_view op, Builder& out) {
    size_t bytes = out.buffer().size();
    for (const Element& value : values)
        bytes += value.size();
    if (values.empty() || bytes > kFailureBytesMax) return;
    if (values.size() == 1) {
        out.append_as("consideredValue", values.front());
        if (op == "$type") out.append("consideredType", bson::name_of(values.front().type()));
        return;
    }
    Builder list = out.sub_array("consideredValues");
    for (const Element& value : values)
        list.push_element(value);
}

bool has_operators(const Element& e) {
    if (!e.is_object() || e.name().starts_with('$')) return false;
    const std::string_view first = e.as_doc().first().name();
    return first.starts_with('$') && first != "$ref" && first != "$id" && first != "$db";
}

class Explainer {
  public:
    Explainer(const ExpressionParser* expressions, Doc doc,
              std::shared_ptr<const collation::Collator> collator)
        : expressions_(expressions), doc_(doc), collator_(std::move(collator)) {}

    // Why `filter` does not match, or where `fulfilled`, does.
    void explain(Doc filter, bool fulfilled, Builder& out) {
        const std::vector<bson::Object> clauses = clauses_of(filter);
        if (clauses.size() == 1) return clause(clauses.front(), fulfilled, out);
        out.append("operatorName", "$and");
        explain_each(clauses, fulfilled, out);
    }

  private:
    bool matches(Doc filter) const {
        return Matcher::parse(filter, expressions_, collator_)->matches(doc_);
    }

    // Each operator by itself. $regex and $options are one.
    static std::vector<bson::Object> clauses_of(Doc filter) {
        std::vector<bson::Object> clauses;
        for (const Element& e : sched::ticked(filter)) {
            if (!has_operators(e)) {
                clauses.push_back(single(e));
                continue;
            }
            for (const Element& op : e.as_doc()) {
                if (op.name() == "$options") continue;
                Builder made;
                Builder operators = made.sub_object(e.name());
                operators.append(op);
                if (op.name() == "$regex") operators.append(e.as_doc()["$options"]);
                operators.finish();
                clauses.push_back(made.object());
            }
        }
        return clauses;
    }
    static bson::Object single(const Element& e) {
        Builder made;
        return made.append(e).object();
    }

    // Explains those of several filters that match, or those that do not.
    void explain_each(const std::vector<bson::Object>& filters, bool fulfilled, Builder& out) {
        Builder list = out.sub_array(fulfilled ? "clausesSatisfied" : "clausesNotSatisfied");
        int32_t index = 0;
        for (const bson::Object& filter : filters) {
            const int32_t at = index++;
            if (list.buffer().size() > kFailureBytesMax) return;
            if (matches(filter) != fulfilled) continue;
            Builder entry = list.sub_object(list.next().view());
            entry.append("index", at);
            Builder details = entry.sub_object("details");
            explain(filter, fulfilled, details);
        }
    }

    void logical(const Element& e, bool fulfilled, Builder& out) {
        out.append("operatorName", e.name());
        std::vector<bson::Object> filters;
        for (const Element& each : e.as_doc())
            filters.emplace_back(each.as_doc());
        explain_each(filters, e.name() == "$nor" ? !fulfilled : fulfilled, out);
    }

    void clause(const bson::Object& filter, bool fulfilled, Builder& out) {
        const Element e = filter.doc().first();
        const std::string_view name = e.name();
        if (name == "$and" || name == "$or" || name == "$nor") return logical(e, fulfilled, out);
        if (name == "$jsonSchema") return schema(filter, fulfilled, out);
        if (name == "$expr") return expression(filter, fulfilled, out);
        if (name == "$alwaysTrue" || name == "$alwaysFalse") return constant(filter, out);
        if (has_operators(e) && e.as_doc().first().name() == "$not")
            return negation(e, fulfilled, out);
        leaf(filter, fulfilled, out);
    }

    void negation(const Element& e, bool fulfilled, Builder& out) {
        out.append("operatorName", "$not");
        Builder inner;
        inner.append_as(e.name(), e.as_doc().first());
        Builder details = out.sub_object("details");
        explain(inner.doc(), !fulfilled, details);
    }

    void leaf(const bson::Object& filter, bool fulfilled, Builder& out) {
        const Element e = filter.doc().first();
        const Element first = has_operators(e) ? e.as_doc().first() : Element();
        std::string_view op = first ? first.name() : "$eq";
        if (e.type() == bson::Type::regex) op = "$regex";
        out.append("operatorName", op);
        specified(filter, out);
        const sched::Vector<Element> values = values_at(e.name(), doc_);
        if (op == "$exists") {
            // {$exists: false} is fulfilled by what is not there.
            out.append("reason", reason(op, first.truthy() == fulfilled));
        } else if (values.empty()) {
            out.append("reason", "field was missing");
        } else {
            out.append("reason", reason(op, is_negative(op) ? !fulfilled : fulfilled));
        }
        append_considered(values, op, out);
    }

    void schema(const bson::Object& filter, bool fulfilled, Builder& out) {
        const Doc schema = filter.doc().first().as_doc();
        out.append("operatorName", "$jsonSchema");
        if (fulfilled) {
            specified(filter, out);
            out.append("reason", "schema matched");
            return;
        }
        out.append(schema["title"]).append(schema["description"]);
        Builder rules = out.sub_array("schemaRulesNotSatisfied");
        explain_schema(schema, doc_, rules);
    }

    void expression(const bson::Object& filter, bool fulfilled, Builder& out) {
        out.append("operatorName", "$expr");
        specified(filter, out);
        out.append("reason", fulfilled ? "expression matched" : "expression did not match");
        const auto parsed = Matcher::parse(filter, expressions_, collator_);
        parsed->root().children.front()->expression->append_result(doc_, "expressionResult", out);
    }

    static void constant(const bson::Object& filter, Builder& out) {
        const std::string_view name = filter.doc().first().name();
        out.append("operatorName", name);
        specified(filter, out);
        out.append("reason", name == "$alwaysTrue" ? "expression always evaluates to true"
                                                   : "expression always evaluates to false");
    }

    static void specified(const bson::Object& filter, Builder& out) {
        if (out.buffer().size() + static_cast<size_t>(filter.size()) <= kFailureBytesMax)
            out.append("specifiedAs", filter);
    }

    const ExpressionParser* expressions_;
    const Doc doc_;
    const std::shared_ptr<const collation::Collator> collator_;
};

}  // namespace

bson::Object explain_failure(Doc filter, const ExpressionParser* expressions, Doc doc,
                             std::shared_ptr<const collation::Collator> collator) {
    Builder out;
    Explainer(expressions, doc, std::move(collator)).explain(filter, false, out);
    return out.object();
}

}  // namespace query
