// Documents: merged, taken apart, put together, one field of them; and $sortArray.

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/expression/operators.h"
#include "query/plan/sort.h"
#include "query/value/array_writer.h"
#include "query/value/merged_document.h"

namespace query {

using bson::Type;

namespace {

Value merge_objects(Scope& scope, const Operands& operands) {
    MergedDocument merged;
    for (const ExpressionPtr& operand : operands) {
        const Value v = operand->evaluate(scope);
        if (is_nullish(v)) continue;
        if (!v.is_object())
            base::fail(40400, "$mergeObjects requires object inputs, but input {} is of type {}",
                       bson::to_text(v), bson::name_of(v.type()));
        for (const Value& e : v.as_doc())
            merged.set(e.name(), e);
    }
    return merged.value(scope.arena);
}

Value object_to_array(const Call& call, Values v) {
    if (is_nullish(v[0])) return null_value();
    if (!v[0].is_object())
        base::fail(40390, "$objectToArray requires a document input, found: {}",
                   bson::name_of(v[0].type()));
    bson::Buffer out;
    const size_t start = open_doc(out);
    uint32_t index = 0;
    for (const Value& e : sched::ticked(v[0].as_doc())) {
        write_header(out, Type::object, bson::IndexName(index++).view());
        const size_t pair = open_doc(out);
        write_header(out, Type::string, "k");
        out.append_value(static_cast<int32_t>(e.name().size() + 1));
        out.append(e.name().data(), e.name().size());
        out.append_byte(0);
        write_value(out, "v", e);
        close_doc(out, pair);
    }
    close_doc(out, start);
    return make_doc(call.arena, Type::array, bson::Doc(out.data()));
}

std::string_view key_of(const Value& key, int type_code) {
    if (!key.is_string())
        base::fail(type_code,
                   "$arrayToObject requires an array of key-value pairs, where the key must be of "
                   "type string. Found key type: {}",
                   bson::name_of(key.type()));
    if (key.as_string().find('\0') != std::string_view::npos)
        base::fail(4940400, "Key field cannot contain an embedded null byte");
    return key.as_string();
}

void add_pair(const Value& pair, MergedDocument& merged) {
    DCHECK(pair.is_array() || pair.is_object());
    const bson::Doc doc = pair.as_doc();
    if (pair.is_array()) {
        if (doc.field_count() != 2)
            base::fail(40397,
                       "$arrayToObject requires an array of size 2 arrays, found array of size: {}",
                       doc.field_count());
        auto element = doc.begin();
        const std::string_view key = key_of(*element, 40395);
        return merged.set(key, *++element);
    }
    if (doc.field_count() != 2)
        base::fail(40392,
                   "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number "
                   "of keys: {}",
                   doc.field_count());
    if (!doc.has("k") || !doc.has("v"))
        base::fail(40393, "$arrayToObject requires an object with keys 'k' and 'v'");
    merged.set(key_of(doc["k"], 40394), doc["v"]);
}

Value array_to_object(const Call& call, Values v) {
    if (is_nullish(v[0])) return null_value();
    if (!v[0].is_array())
        base::fail(40386, "$arrayToObject requires an array input, found: {}",
                   bson::name_of(v[0].type()));
    MergedDocument merged;
    const Value first = v[0].as_doc().first();
    for (const Value& e : v[0].as_doc()) {
        if (!e.is_array() && !e.is_object())
            base::fail(40398, "Unrecognised input type format for $arrayToObject: {}",
                       bson::name_of(e.type()));
        if (e.type() != first.type())
            base::fail(e.is_array() ? 40391 : 40396,
                       "$arrayToObject requires a consistent input format. Found {} beside {}",
                       bson::name_of(e.type()), bson::name_of(first.type()));
        add_pair(e, merged);
    }
    return merged.value(call.arena);
}

Value bytes_of_document(const Call& call, Values v) {
    if (!v[0].is_object())
        base::fail(31393, "$bsonSize requires a document input, found: {}",
                   bson::name_of(v[0].type()));
    return make_int(call.arena, v[0].as_doc().size());
}

// Returns a field by its name, dots and $ being part of it; missing if the value is no document.
Value field_of(const Call& call, Values v) {
    if (!v[0].is_string())
        base::fail(5654602, "{} requires 'field' to evaluate to type String, but got {}", call.name,
                   bson::name_of(v[0].type()));
    if (is_nullish(v[1])) return v[1].missing() ? Value() : null_value();
    return v[1].is_object() ? v[1].as_doc()[v[0].as_string()] : Value();
}

constexpr NamedOperand kGetField[] = {{"field", 3041702}, {"input"}};
constexpr NamedOperand kSetField[] = {{"field", 4161102}, {"input", 4161109}, {"value", 4161103}};
constexpr NamedOperand kUnsetField[] = {{"field", 4161102}, {"input", 4161109}};

// The name alone, {field: .., input: ..}, or an expression for the name.
ExpressionPtr parse_get_field(const Operator& op, const Value& spec, Names& names) {
    Operands operands(2);
    Value field = spec;
    Value input;
    if (spec.is_object() && !spec.as_doc().first().name().starts_with('$')) {
        const auto specs = named_specs(op, spec, op.by_name);
        field = specs[0];
        input = specs[1];
        if (!input) base::fail(3041703, "$getField requires 'input' to be specified");
    }
    operands[0] = parse_operand(field, names);
    operands[1] = input ? parse_operand(input, names) : FieldExpression::parse("$$CURRENT", names);
    if (const auto constant = operands[0]->constant(); constant && !constant->is_string())
        base::fail(5654602, "$getField requires 'field' to evaluate to type String, but got {}",
                   bson::name_of(constant->type()));
    return make_operation(op, std::move(operands), names);
}

// A field of that name that is missing, is taken away.
Value with_field(const Call& call, Values v) {
    if (is_nullish(v[1])) return null_value();
    if (!v[1].is_object())
        base::fail(4161105, "{} requires 'input' to evaluate to type Object, but got {}", call.name,
                   bson::name_of(v[1].type()));
    DCHECK(v[0].is_string());  // parse_set_field() looked
    const std::string_view name = v[0].as_string();
    const Value now = v.size() > 2 ? v[2] : Value();
    bson::Buffer out;
    const size_t start = open_doc(out);
    bool done = false;
    for (const Value& e : sched::ticked(v[1].as_doc())) {
        if (e.name() != name)
            out.append(e.raw(), e.size());
        else if (!now.missing() && !done)
            write_value(out, name, now);
        done |= e.name() == name;
    }
    if (!done && !now.missing()) write_value(out, name, now);
    close_doc(out, start);
    return make_doc(call.arena, Type::object, bson::Doc(out.data()));
}

// The name has to be a constant text: a program could not be read otherwise.
ExpressionPtr parse_set_field(const Operator& op, const Value& spec, Names& names) {
    Operands operands;
    for (const Value& e : named_specs(op, spec, op.by_name))
        operands.push_back(parse_operand(e, names));
    simplify(operands[0]);
    const auto name = operands[0]->constant();
    if (!name || !name->is_string())
        base::fail(4161106, "{} requires 'field' to evaluate to a constant string", op.name);
    if (name->as_string().find('\0') != std::string_view::npos)
        base::fail(4161107, "{} requires a 'field' without a null byte", op.name);
    return make_operation(op, std::move(operands), names);
}

constexpr NamedOperand kSortArray[] = {{"input", 2942502}, {"sortBy", 2942503}};

// Sorts by whole values, 1 or -1, or by fields of documents.
class SortArray : public Expression {
  public:
    SortArray(ExpressionPtr input, const Value& sort_by,
              std::shared_ptr<const collation::Collator> collator)
        : input_(std::move(input)) {
        if (sort_by.is_object()) {
            for (const Value& e : sort_by.as_doc()) {
                if (!is_direction(e))
                    base::fail(15975,
                               "$sort key ordering must be 1 (for ascending) or -1 (for "
                               "descending)");
                split_path(e.name(), dialect::kToday);  // throws where it is none
            }
            if (sort_by.as_doc().empty())
                base::fail(2942505, "sortBy of $sortArray must have at least one key");
            fields_ = std::make_unique<SortPattern>(sort_by.as_doc(), nullptr, std::move(collator),
                                                    dialect::kToday);
        } else if (is_direction(sort_by)) {
            direction_ = sort_by.to_int32();
        } else {
            base::fail(2942507, "sortBy of $sortArray must be 1, -1 or an object");
        }
    }

    Value evaluate(Scope& scope) const override {
        const Value input = input_->evaluate(scope);
        if (is_nullish(input)) return null_value();
        if (!input.is_array())
            base::fail(2942504,
                       "The input argument to $sortArray must be an array, but was of type: {}",
                       bson::name_of(input.type()));
        DCHECK(fields_ != nullptr || direction_ == 1 || direction_ == -1);
        sched::Vector<Item> items;
        bson::Buffer keys;
        for (const Value& e : sched::ticked(input.as_doc())) {
            items.push_back({e, keys.size()});
            if (fields_) fields_->append_key(e.is_object() ? e.as_doc() : bson::Doc(), keys);
        }
        std::stable_sort(
            items.begin(), items.end(), sched::ticking([&](const Item& a, const Item& b) {
                if (!fields_)
                    return compare_pipeline_values(a.value, b.value, scope.collator) * direction_ <
                           0;
                return fields_->compare(bson::Doc(keys.data() + a.key),
                                        bson::Doc(keys.data() + b.key)) < 0;
            }));
        ArrayWriter out;
        for (const Item& item : items)
            out.push(item.value);
        return out.value(scope.arena);
    }
    void add_needs(Needs& needs) const override { input_->add_needs(needs); }
    ExpressionPtr simplified() override {
        simplify(input_);
        return nullptr;
    }

  private:
    struct Item {
        Value value;
        size_t key;  // where it begins
    };
    static bool is_direction(const Value& v) {
        return v.is_number() && (v.to_double() == 1 || v.to_double() == -1);
    }
    ExpressionPtr input_;
    std::unique_ptr<SortPattern> fields_;  // null: whole values
    int direction_ = 1;
};

ExpressionPtr parse_sort_array(const Operator& op, const Value& spec, Names& names) {
    const auto specs = named_specs(op, spec, op.by_name);
    return std::make_unique<SortArray>(parse_operand(specs[0], names), specs[1], names.collator);
}

}  // namespace

std::span<const Operator> object_operators() {
    static constexpr Operator kTable[] = {
        {.name = "$mergeObjects", .least = 0, .most = Operator::kAny, .apply = merge_objects},
        {.name = "$objectToArray", .compute = object_to_array},
        {.name = "$arrayToObject", .compute = array_to_object},
        {.name = "$bsonSize", .null_gives_null = true, .compute = bytes_of_document},
        {.name = "$getField",
         .by_name = {kGetField, 3041700, 3041701},
         .compute = field_of,
         .parse = parse_get_field},
        {.name = "$setField",
         .by_name = {kSetField, 4161100, 4161101},
         .compute = with_field,
         .parse = parse_set_field},
        {.name = "$unsetField",
         .by_name = {kUnsetField, 4161110, 4161111},
         .compute = with_field,
         .parse = parse_set_field},
        {.name = "$sortArray",
         .by_name = {kSortArray, 2942500, 2942501},
         .parse = parse_sort_array},
    };
    return kTable;
}

}  // namespace query
