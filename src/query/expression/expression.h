// query/expression/expression.h - expressions of pipelines, parsed into trees.
//
// After parsing a whole pipeline, simplify() computes constants: a part that depends on no document
// is computed, and fails, before the first document, even in a branch that is never taken
// (semantics 4).
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "bson/view.h"
#include "dialect/dialect.h"
#include "query/match/field_index.h"
#include "query/value/value.h"
#include "sched/tick.h"

namespace query {

class Names;
struct PipelineContext;

// The variables that expressions see, ROOT and CURRENT first, and the arena for their results.
struct Scope {
    static constexpr size_t kRoot = 0;
    static constexpr size_t kCurrent = 1;
    // A value, or (ROOT and CURRENT) a whole document in place.
    struct Variable {
        Value value;
        const uint8_t* doc = nullptr;
    };

    explicit Scope(Arena& a, const collation::Collator* order = nullptr)
        : arena(a), collator(order), variables(2) {}
    // Makes room for the variables of expressions that were parsed with these names.
    void prepare(const Names& names);
    void set_root(bson::Doc doc) { variables[kRoot] = variables[kCurrent] = {Value(), doc.data()}; }

    Arena& arena;
    const collation::Collator* collator;  // under which texts are compared; null: by their bytes
    std::vector<Variable> variables;
};

// The names that a $let or $map brings in, while parsing; every name gets its own slot in Scope.
class Names {
  public:
    // `outer` lives longer than this object. Its variables need no slot. `later`, `collator`: see
    // below.
    explicit Names(const OuterVariables& outer, dialect::Dialect dialect = dialect::kV26,
                   std::shared_ptr<const collation::Collator> collator = nullptr);
    // Takes these from the context of a stage.
    explicit Names(const PipelineContext& context, dialect::Dialect dialect = dialect::kV26);
    // Returns the slot of a name that may be read. Throws base::Error 16869, 16870, 16871, 17276.
    size_t read(std::string_view name) const;
    // Returns the value of a name of `outer`; null if it is none of these, or was defined since.
    const Value* outer_value(std::string_view name) const;
    // Makes a new slot for a name. Throws base::Error 16866, 16867, 16868.
    size_t define(std::string_view name);
    size_t save() const { return known_.size(); }
    void restore(size_t saved) { known_.resize(saved); }
    size_t slots() const { return slots_; }
    // $redact knows DESCEND, PRUNE and KEEP. Gives the slot.
    size_t define_system(std::string_view name) {
        known_.emplace_back(name, slots_);
        return slots_++;
    }

    int depth = 0;             // nesting of the expression that is being parsed
    bool has_scripts = false;  // that were parsed so far
    // Set for a later client than one of 2.6, or in a later stage: documents and arrays are
    // computed part by part, a value that is no expression stands for itself, there are the later
    // operators (operators.h) and the variables REMOVE and NOW.
    const dialect::Dialect dialect;
    // The collation of the parsed expressions, which must live as long; null: texts are compared by
    // their bytes.
    const std::shared_ptr<const collation::Collator> collator;

  private:
    const size_t* find(std::string_view name) const;

    const OuterVariables& outer_;
    std::vector<std::pair<std::string, size_t>> known_;
    size_t slots_ = 0;
};

// Fields of the document that an expression reads.
struct Needs {
    bool whole_document = false;
    sched::Set<sched::String> fields;  // paths

    bool operator==(const Needs&) const = default;
};

class Expression : public sched::Counted {
  public:
    virtual ~Expression() = default;
    virtual Value evaluate(Scope& scope) const = 0;
    // The value, if it depends on no document.
    virtual std::optional<Value> constant() const { return std::nullopt; }
    virtual void add_needs(Needs& needs) const = 0;
    // Computes constant parts below; the result, if any, takes this one's place.
    virtual std::unique_ptr<Expression> simplified() { return nullptr; }
};
using ExpressionPtr = std::unique_ptr<Expression>;

inline void simplify(ExpressionPtr& e) {
    if (ExpressionPtr simple = e->simplified()) e = std::move(simple);
}

// A constant that owns its value.
class Constant : public Expression {
  public:
    explicit Constant(const Value& v);
    // Counted: of many constants beside each other nothing else is.
    Value evaluate(Scope&) const override {
        sched::tick();
        return value_;
    }
    std::optional<Value> constant() const override { return value_; }
    void add_needs(Needs&) const override {}

  private:
    Arena arena_;
    Value value_;
};

// A variable from outside of the pipeline, and what its path leads to. It is not computed before
// the first document: where the pipeline is only checked, there is no value.
class OuterVariable : public Expression {
  public:
    OuterVariable(const Value& value, std::vector<std::string> path)
        : value_(value), path_(std::move(path)) {}
    Value evaluate(Scope& scope) const override {
        sched::tick();
        return value_below(scope.arena, value_, path_, 0);
    }
    void add_needs(Needs&) const override {}

  private:
    const Value value_;
    const std::vector<std::string> path_;
};

// "$a.b" and "$$variable.a".
class FieldExpression : public Expression {
  public:
    // May be an OuterVariable. Throws base::Error 16872, 16873, 15998, 16410 and those of
    // Names::read.
    static ExpressionPtr parse(std::string_view text, const Names& names);
    FieldExpression(size_t variable, std::vector<std::string> path)
        : variable_(variable), path_(std::move(path)) {
        for (const std::string& part : path_)
            charge_.add(sizeof part + part.capacity());
    }
    Value evaluate(Scope& scope) const override;
    void add_needs(Needs& needs) const override;

  private:
    size_t variable_;
    std::vector<std::string> path_;
    sched::Charge charge_;  // of path_
};

// Splits a dotted field path. Throws base::Error 15998 (empty part), 16410 ("$" first, but for the
// fields of a DBRef), 16411 (NUL), 15 (too many parts).
std::vector<std::string> split_path(std::string_view text, dialect::Dialect dialect);

// A document built of expressions and, in $project, of fields taken over from the input.
class ObjectExpression : public Expression {
  public:
    Value evaluate(Scope& scope) const override;
    void add_needs(Needs& needs) const override;
    ExpressionPtr simplified() override;
    // Puts an expression, or an inclusion (null), at a path. Throws base::Error 16400, 16401.
    void add(const std::vector<std::string>& path, ExpressionPtr expression, size_t from = 0);
    // The object at a path, made where it is missing; fields are added to it without comparing the
    // names above them, which may be as long as a request. Throws base::Error 16401.
    ObjectExpression& below(const std::vector<std::string>& path);

    // Appends the fields for `input` to an open document.
    void project(bson::Doc input, Scope& scope, bson::Buffer& out) const;
    // Projects as later servers do: fields that are taken over come in the order of `input`, and
    // computed ones after them, but for `_id`; below a path they are computed for each element of
    // an array.
    void project_as_today(bson::Doc input, Scope& scope, bson::Buffer& out) const;
    // Projects for $addFields: a field that is not named stays, and a missing value takes its field
    // away.
    void add_to(bson::Doc input, Scope& scope, bson::Buffer& out) const;
    void exclude_id() { exclude_id_ = true; }
    void set_root() { at_root_ = true; }
    size_t field_count() const { return fields_.size(); }
    // Adds the fields that it takes over from the input, `prefix` being the path of this object. It
    // is the same afterwards: one for all, since it may be as long as a request.
    void add_needs_below(std::string& prefix, Needs& needs) const;
    bool computes_something() const;
    // Adds the first parts of paths that have more.
    void add_names_with_parts(Needs& needs) const;

  private:
    struct Field {
        std::string name;
        ExpressionPtr expression;  // null: inclusion, or `object`
        std::unique_ptr<ObjectExpression> object;
    };
    Field* find(std::string_view name);
    // Throws base::Error 16401 if an expression applies to the whole field.
    static void require_object(const Field& field);
    size_t position(std::string_view name) const;
    // Appends one field; nothing for a missing value or an empty computed document.
    static void write_field(const Field& field, Scope& scope, bson::Buffer& out);
    void project_field(const Field& field, const Value& old, Scope& scope, bson::Buffer& out) const;
    static void project_below(const Field& field, const Value& old, std::string_view name,
                              Scope& scope, bson::Buffer& out);
    static void add_field(const Field& field, const Value& old, std::string_view name, Scope& scope,
                          bson::Buffer& out);

    sched::Vector<Field> fields_;  // as given
    FieldIndex index_;
    bool exclude_id_ = false;
    bool at_root_ = false;
};

// The syntax that an object may have at the place where it stands.
struct ObjectRules {
    bool top_level = false;  // of $project: dotted names, no operator
    bool documents = false;  // {a: <expression>} besides {$operator: ...}
    bool inclusion = false;  // 1 and true
};

// An operand: "$field", {$operator: ..}, {a: ..} or a constant.
ExpressionPtr parse_operand(const Value& spec, Names& names);
// An object by the rules; throws base::Error 15983, 15990, 15992, 15999, 16404, 16405, 16406,
// 16420.
ExpressionPtr parse_object(bson::Doc spec, const ObjectRules& rules, Names& names);
// {$project} specification as a whole; throws base::Error 16403 besides.
std::unique_ptr<ObjectExpression> parse_projection(bson::Doc spec, Names& names);
// Parses as later servers read it: a value that is no number and no boolean is computed. Throws
// base::Error 31249, 31250, 31252 to 31254, 51270 and 51272.
std::unique_ptr<ObjectExpression> parse_projection_of_today(bson::Doc spec, Names& names);
// {$addFields} specification as a whole; throws base::Error 40176, 40180, 40183 besides.
std::unique_ptr<ObjectExpression> parse_added_fields(bson::Doc spec, Names& names);
// {$operator: operands}; throws base::Error 15999 for an unknown one.
ExpressionPtr parse_operator(std::string_view name, const Value& operands, Names& names);

using Operands = sched::Vector<ExpressionPtr>;

inline void Scope::prepare(const Names& names) {
    variables.resize(names.slots());
    collator = names.collator.get();
}

}  // namespace query
