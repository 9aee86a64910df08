#include "query/expression/expression.h"

#include <algorithm>
#include <chrono>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/thread_scratch.h"
#include "bson/element_writer.h"
#include "bson/field_path.h"
#include "dialect/dialect.h"
#include "dialect/pipelines.h"
#include "query/expression/pipeline_context.h"
#include "query/match/match_operands.h"
#include "sched/operation.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

bool is_other_name_char(unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c >= 0x80;
}

void check_name_rest(std::string_view name, int code) {
    DCHECK(!name.empty());
    for (const char c : name.substr(1)) {
        if (!is_other_name_char(static_cast<unsigned char>(c))) {
            base::fail(code, "'{}' contains an invalid character for a variable name: '{}'", name,
                       c);
        }
    }
}

// Returns the time in milliseconds since 1970, the same wherever an operation asks.
int64_t operation_time() {
    struct Reading {
        const sched::Operation* operation = nullptr;
        uint32_t id = 0;
        int64_t ms = 0;
    };
    Reading& last = base::thread_scratch<Reading>();
    const auto* operation = sched::Operation::current();
    const uint32_t id = operation == nullptr ? 0 : operation->id();
    if (operation == nullptr || operation != last.operation || id != last.id) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        last = {operation, id, std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
    }
    return last.ms;
}

}  // namespace

Names::Names(const PipelineContext& context, dialect::Dialect dialect)
    : Names(context.variables, dialect, context.collator) {}

Names::Names(const OuterVariables& outer, dialect::Dialect dialect,
             std::shared_ptr<const collation::Collator> order)
    : dialect(dialect), collator(std::move(order)), outer_(outer) {
    define_system("ROOT");
    define_system("CURRENT");
    DCHECK(known_[0].second == Scope::kRoot && known_[1].second == Scope::kCurrent);
    if (dialect.has(dialect::kVariablesOfToday))
        define_system("REMOVE");  // its variable is never set
}

size_t Names::read(std::string_view name) const {
    if (name.empty()) base::fail(16869, "empty variable names are not allowed");
    const auto first = static_cast<unsigned char>(name[0]);
    if (std::isalpha(first) == 0 && first < 0x80) {
        base::fail(16870, "'{}' starts with an invalid character for a variable name", name);
    }
    check_name_rest(name, 16871);
    const size_t* slot = find(name);
    if (slot == nullptr && dialect.has(dialect::kVariablesOfToday) && name == "CLUSTER_TIME")
        base::fail(51144, "Builtin variable '$$CLUSTER_TIME' is not available on a single server");
    if (slot == nullptr) base::fail(17276, "Use of undefined variable: {}", name);
    DCHECK(*slot < slots_);
    return *slot;
}

const size_t* Names::find(std::string_view name) const {
    for (auto it = known_.rbegin(); it != known_.rend(); ++it) {
        sched::tick();
        if (it->first == name) return &it->second;
    }
    return nullptr;
}

const Value* Names::outer_value(std::string_view name) const {
    if (outer_.empty() || find(name) != nullptr) return nullptr;
    for (auto it = outer_.rbegin(); it != outer_.rend(); ++it) {
        sched::tick();
        if (it->first == name) return &it->second;
    }
    return nullptr;
}

size_t Names::define(std::string_view name) {
    if (name.empty()) base::fail(16866, "empty variable names are not allowed");
    const auto first = static_cast<unsigned char>(name[0]);
    if (std::islower(first) == 0 && first < 0x80 && name != "CURRENT") {
        base::fail(16867, "'{}' starts with an invalid character for a user variable name", name);
    }
    check_name_rest(name, 16868);
    // CURRENT is where plain field paths start, so it keeps its slot.
    const size_t slot = name == "CURRENT" ? Scope::kCurrent : slots_++;
    known_.emplace_back(name, slot);
    return slot;
}

Constant::Constant(const Value& v) : value_(copy_value(arena_, v)) {}

std::vector<std::string> split_path(std::string_view text, dialect::Dialect dialect) {
    bson::check_path_parts(text);
    std::vector<std::string> path;
    for (size_t at = 0; at <= text.size();) {
        const size_t dot = std::min(text.find('.', at), text.size());
        const std::string_view part = text.substr(at, dot - at);
        if (part.empty()) base::fail(15998, "FieldPath field names may not be empty strings.");
        if (part[0] == '$' && !(dialect.has(dialect::kReferencesArePaths) && is_dbref_name(part))) {
            base::fail(16410, "FieldPath field names may not start with '$'.");
        }
        if (part.find('\0') != std::string_view::npos) {
            base::fail(16411, "FieldPath field names may not contain a NUL.");
        }
        path.emplace_back(part);
        at = dot + 1;
    }
    DCHECK(!path.empty());
    return path;
}

ExpressionPtr FieldExpression::parse(std::string_view text, const Names& names) {
    if (text.empty() || text[0] != '$') {
        base::fail(16873, "FieldPath '{}' doesn't start with $", text);
    }
    if (text.size() < 2) base::fail(16872, "'$' by itself is not a valid FieldPath");
    if (text[1] != '$') {
        return std::make_unique<FieldExpression>(names.read("CURRENT"),
                                                 split_path(text.substr(1), names.dialect));
    }
    const std::string_view rest = text.substr(2);
    const size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    if (names.dialect.has(dialect::kVariablesOfToday) && name == "NOW") {
        const bool whole = dot == std::string_view::npos;
        Arena arena;
        return std::make_unique<Constant>(whole ? make_date(arena, operation_time()) : Value());
    }
    const Value* outer = names.outer_value(name);
    const size_t variable = outer == nullptr ? names.read(name) : 0;
    std::vector<std::string> path;
    if (dot != std::string_view::npos) path = split_path(rest.substr(dot + 1), names.dialect);
    if (outer != nullptr) return std::make_unique<OuterVariable>(*outer, std::move(path));
    return std::make_unique<FieldExpression>(variable, std::move(path));
}

Value FieldExpression::evaluate(Scope& scope) const {
    sched::tick();
    DCHECK(variable_ < scope.variables.size());  // Scope::prepare() was called
    const Scope::Variable& v = scope.variables[variable_];
    if (v.doc == nullptr) return value_below(scope.arena, v.value, path_, 0);
    if (path_.empty() && !v.value.missing()) return v.value;  // the document without its score
    const bson::Doc doc(v.doc);
    return path_.empty() ? make_doc(scope.arena, Type::object, doc)
                         : value_at(scope.arena, doc, path_);
}

void FieldExpression::add_needs(Needs& needs) const {
    if (variable_ != Scope::kRoot && variable_ != Scope::kCurrent) return;
    if (path_.empty()) {
        needs.whole_document = true;
        return;
    }
    std::string text;
    for (const std::string& part : path_) {
        if (!text.empty()) text += '.';
        text += part;
    }
    needs.fields.emplace(text);
}

ObjectExpression::Field* ObjectExpression::find(std::string_view name) {
    const size_t at = position(name);
    return at == FieldIndex::kNone ? nullptr : &fields_[at];
}

size_t ObjectExpression::position(std::string_view name) const {
    return index_.find(
        name, fields_.size(), [this](size_t i) -> const auto& { return fields_[i].name; });
}

void ObjectExpression::add(const std::vector<std::string>& path, ExpressionPtr expression,
                           size_t from) {
    DCHECK(from < path.size());
    const std::string& name = path[from];
    Field* field = find(name);
    auto* nested = dynamic_cast<ObjectExpression*>(expression.get());
    if (from + 1 == path.size() && field != nullptr) {
        // Two documents given for one field are merged.
        if (field->object == nullptr || nested == nullptr) {
            base::fail(16400,
                       "can't add an expression for field '{}': there already is an "
                       "expression for that field or one of its sub-fields.",
                       name);
        }
        for (Field& inner : nested->fields_) {
            ExpressionPtr e = inner.object ? std::move(inner.object) : std::move(inner.expression);
            field->object->add({inner.name}, std::move(e));
        }
        return;
    }
    if (field != nullptr) require_object(*field);
    if (field == nullptr) {
        index_.added(fields_.size(), name);
        fields_.push_back({name, nullptr, nullptr});
        field = &fields_.back();
        if (from + 1 == path.size()) {
            if (nested != nullptr) {
                static_cast<void>(expression.release());  // `nested` is the same object
                field->object.reset(nested);
            } else {
                field->expression = std::move(expression);
            }
            return;
        }
        field->object = std::make_unique<ObjectExpression>();
    }
    field->object->add(path, std::move(expression), from + 1);
}

ObjectExpression& ObjectExpression::below(const std::vector<std::string>& path) {
    DCHECK(!path.empty());
    ObjectExpression* object = this;
    for (const std::string& name : path) {
        Field* field = object->find(name);
        if (field != nullptr) {
            require_object(*field);
        } else {
            object->index_.added(object->fields_.size(), name);
            object->fields_.push_back({name, nullptr, std::make_unique<ObjectExpression>()});
            field = &object->fields_.back();
        }
        object = field->object.get();
    }
    return *object;
}

void ObjectExpression::require_object(const Field& field) {
    if (field.object != nullptr) return;
    base::fail(16401,
               "can't add an expression for a subfield of '{}': there already is an "
               "expression that applies to the whole field",
               field.name);
}

bool ObjectExpression::computes_something() const {
    return fields_.empty() || std::any_of(fields_.begin(), fields_.end(), [](const Field& f) {
               return f.object ? f.object->computes_something() : f.expression != nullptr;
           });
}

void ObjectExpression::add_names_with_parts(Needs& needs) const {
    for (const Field& field : sched::ticked(fields_)) {
        if (field.object) needs.fields.emplace(field.name);
    }
}

ExpressionPtr ObjectExpression::simplified() {
    for (Field& field : fields_) {
        if (field.object) field.object->simplified();
        if (field.expression) simplify(field.expression);
    }
    return nullptr;
}

Value ObjectExpression::evaluate(Scope& scope) const {
    bson::Buffer out;
    const size_t start = open_doc(out);
    for (const Field& field : fields_)
        write_field(field, scope, out);
    close_doc(out, start);
    return make_doc(scope.arena, Type::object, bson::Doc(out.data()));
}

void ObjectExpression::write_field(const Field& field, Scope& scope, bson::Buffer& out) {
    DCHECK(field.object == nullptr || field.expression == nullptr);
    sched::tick();
    if (field.object) {
        const Value v = field.object->evaluate(scope);
        if (!v.as_doc().empty()) write_value(out, field.name, v);
    } else if (field.expression) {
        const Value v = field.expression->evaluate(scope);
        if (!v.missing()) write_value(out, field.name, v);
    }
}

void ObjectExpression::project(bson::Doc input, Scope& scope, bson::Buffer& out) const {
    std::vector<bool> done(fields_.size());
    size_t left = fields_.size();
    for (const Value& old : input) {
        const std::string_view name = old.name();
        sched::tick();
        const size_t at = position(name);
        if (at == FieldIndex::kNone) {
            if (at_root_ && !exclude_id_ && name == "_id") out.append(old.raw(), old.size());
            continue;
        }
        if (!done[at]) --left;
        done[at] = true;
        project_field(fields_[at], old, scope, out);
    }
    for (size_t i = 0; left != 0 && i < fields_.size(); ++i) {
        if (done[i]) continue;
        --left;
        write_field(fields_[i], scope, out);
    }
    DCHECK(left == 0);
}

// A field that the input has: taken over, replaced, or gone into.
void ObjectExpression::project_field(const Field& field, const Value& old, Scope& scope,
                                     bson::Buffer& out) const {
    DCHECK(field.name == old.name());
    if (!field.object) {
        if (!field.expression) {
            out.append(old.raw(), old.size());
        } else {
            write_field(field, scope, out);
        }
        return;
    }
    if (!old.is_object() && !old.is_array()) {
        write_field(field, scope, out);
        return;
    }
    write_header(out, old.type(), field.name);
    const size_t start = open_doc(out);
    if (old.is_object()) {
        field.object->project(old.as_doc(), scope, out);
    } else {
        uint32_t index = 0;
        for (const Value& e : sched::ticked(old.as_doc())) {
            if (!e.is_object()) continue;
            write_header(out, Type::object, bson::IndexName(index++).view());
            const size_t inner = open_doc(out);
            field.object->project(e.as_doc(), scope, out);
            close_doc(out, inner);
        }
    }
    close_doc(out, start);
}

void ObjectExpression::project_as_today(bson::Doc input, Scope& scope, bson::Buffer& out) const {
    std::vector<bool> done(fields_.size());
    const size_t id = at_root_ ? position("_id") : FieldIndex::kNone;
    const bool computes_id = id != FieldIndex::kNone && fields_[id].expression;
    if (computes_id) write_field(fields_[id], scope, out);
    for (const Value& old : sched::ticked(input)) {
        const size_t at = position(old.name());
        if (at == FieldIndex::kNone) {
            if (at_root_ && !exclude_id_ && old.name() == "_id") out.append(old.raw(), old.size());
            continue;
        }
        const Field& field = fields_[at];
        if (field.expression || done[at]) continue;
        done[at] = true;
        if (field.object)
            project_below(field, old, field.name, scope, out);
        else
            out.append(old.raw(), old.size());
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
        if (computes_id && i == id) continue;
        if (fields_[i].expression)
            write_field(fields_[i], scope, out);
        else if (fields_[i].object && !done[i])
            project_below(fields_[i], Value(), fields_[i].name, scope, out);
    }
}

// A value that is no document leaves nothing over, but becomes a document if a field is computed in
// it.
void ObjectExpression::project_below(const Field& field, const Value& old, std::string_view name,
                                     Scope& scope, bson::Buffer& out) {
    DCHECK(field.object != nullptr);
    sched::tick();
    if (old.is_array()) {
        write_header(out, Type::array, name);
        const size_t start = open_doc(out);
        uint32_t index = 0;
        for (const Value& e : old.as_doc()) {
            if (!e.is_object() && !e.is_array()) continue;
            project_below(field, e, bson::IndexName(index++).view(), scope, out);
        }
        close_doc(out, start);
        return;
    }
    if (!old.is_object() && !field.object->computes_something()) return;
    write_header(out, Type::object, name);
    const size_t start = open_doc(out);
    field.object->project_as_today(old.is_object() ? old.as_doc() : bson::Doc(), scope, out);
    close_doc(out, start);
}

void ObjectExpression::add_to(bson::Doc input, Scope& scope, bson::Buffer& out) const {
    std::vector<bool> done(fields_.size());
    for (const Value& old : sched::ticked(input)) {
        const size_t at = position(old.name());
        if (at == FieldIndex::kNone || done[at]) {  // the first of several namesakes is replaced
            out.append(old.raw(), old.size());
            continue;
        }
        done[at] = true;
        add_field(fields_[at], old, old.name(), scope, out);
    }
    for (size_t i = 0; i < fields_.size(); ++i)
        if (!done[i]) add_field(fields_[i], Value(), fields_[i].name, scope, out);
}

// Adds a field; below a path a value that is no document becomes one, in every element of an array.
void ObjectExpression::add_field(const Field& field, const Value& old, std::string_view name,
                                 Scope& scope, bson::Buffer& out) {
    sched::tick();
    if (field.expression) {
        const Value v = field.expression->evaluate(scope);
        if (!v.missing()) write_value(out, name, v);
        return;
    }
    DCHECK(field.object != nullptr);  // $addFields takes no field over
    write_header(out, old.is_array() ? Type::array : Type::object, name);
    const size_t start = open_doc(out);
    if (old.is_array()) {
        for (const Value& e : old.as_doc())
            add_field(field, e, e.name(), scope, out);
    } else {
        field.object->add_to(old.is_object() ? old.as_doc() : bson::Doc(), scope, out);
    }
    close_doc(out, start);
}

void ObjectExpression::add_needs(Needs& needs) const {
    for (const Field& field : fields_) {
        if (field.object) field.object->add_needs(needs);
        if (field.expression) field.expression->add_needs(needs);
    }
}

void ObjectExpression::add_needs_below(std::string& prefix, Needs& needs) const {
    const size_t outer = prefix.size();
    for (const Field& field : sched::ticked(fields_)) {
        if (field.expression) {
            field.expression->add_needs(needs);
            continue;
        }
        if (outer != 0) prefix += '.';
        prefix += field.name;
        if (field.object)
            field.object->add_needs_below(prefix, needs);
        else
            needs.fields.emplace(prefix);
        prefix.resize(outer);
    }
    if (at_root_ && !exclude_id_) needs.fields.emplace("_id");
}

}  // namespace query
