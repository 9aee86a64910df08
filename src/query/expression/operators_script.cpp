// $function, and the accumulator $accumulator: JavaScript in pipelines (script/script.h).

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "query/expression/accumulator_spec.h"
#include "query/expression/operators.h"
#include "script/script.h"

namespace query {

using bson::Type;

namespace {

// The functions of one operator, in a context of their own.
class Functions {
  public:
    Functions() : context_(script::open_context()) {}

    int compile(const Value& code) {
        DCHECK(code.is_string() || code.type() == Type::code ||
               code.type() == Type::code_with_scope);
        return context_->compile(code.type() == Type::code_with_scope ? code.code_text()
                                                                      : code.as_string());
    }
    // Returns a document whose one field is the result.
    std::string call(int function, bson::Doc arguments) {
        return context_->call(function, arguments.data(), script::Context::Result::field);
    }

  private:
    const std::unique_ptr<script::Context> context_;
};

bool is_code(const Value& v) {
    return v.is_string() || v.type() == Type::code || v.type() == Type::code_with_scope;
}

void check_language(const Value& language, std::string_view name) {
    if (!language.is_string() || language.as_string() != "js")
        base::fail(base::kFailedToParse, "{} needs lang: \"js\"", name);
}

void check_code(const Value& code, std::string_view name, std::string_view field) {
    if (!is_code(code)) base::fail(base::kFailedToParse, "{} needs a function in {}", name, field);
}

// The value of an expression for arguments, which has to be an array.
bson::Doc arguments_of(const Value& value, std::string_view name) {
    if (!value.is_array())
        base::fail(base::kBadValue, "{}: the arguments have to be an array", name);
    return value.as_doc();
}

class Function : public Expression {
  public:
    Function(const Value& body, ExpressionPtr arguments)
        : arguments_(std::move(arguments)), function_(functions_.compile(body)) {}
    Value evaluate(Scope& scope) const override {
        const Value arguments = arguments_->evaluate(scope);
        const std::string result = functions_.call(function_, arguments_of(arguments, "$function"));
        const Value value = bson::Doc(result.data()).first();
        if (value.type() == Type::undefined) return Value();
        return copy_value(scope.arena, value);
    }
    void add_needs(Needs& needs) const override { arguments_->add_needs(needs); }
    ExpressionPtr simplified() override {
        simplify(arguments_);
        return nullptr;
    }

  private:
    ExpressionPtr arguments_;
    mutable Functions functions_;
    const int function_;
};

constexpr NamedOperand kOperands[] = {{"body", 9}, {"args", 9}, {"lang", 9}};

ExpressionPtr parse_function(const Operator& op, const Value& spec, Names& names) {
    script::refuse_unless_allowed("$function");
    names.has_scripts = true;
    const auto specs = named_specs(op, spec, op.by_name);
    check_code(specs[0], op.name, "body");
    check_language(specs[2], op.name);
    return std::make_unique<Function>(specs[0], parse_operand(specs[1], names));
}

// What $accumulator asks for.
struct Script {
    Functions functions;
    int init = 0;
    int accumulate = 0;
    int finalize = -1;  // none
    bson::Object init_arguments;
};

// Its state is what the functions returned last.
class ScriptAccumulator : public Accumulator {
  public:
    explicit ScriptAccumulator(std::shared_ptr<Script> script)
        : script_(std::move(script)),
          state_(script_->functions.call(script_->init, script_->init_arguments)) {}

    void add(const Value& v) override {
        bson::Builder arguments;
        arguments.push_element(state());
        for (const Value& argument : arguments_of(v, "$accumulator"))
            arguments.push_element(argument);
        state_ = script_->functions.call(script_->accumulate, arguments.doc());
    }
    void write(std::string_view name, bson::Buffer& out) override {
        if (script_->finalize >= 0) {
            bson::Builder arguments;
            arguments.push_element(state());
            state_ = script_->functions.call(script_->finalize, arguments.doc());
        }
        const Value result = state();
        write_value(out, name, result.type() == Type::undefined ? null_value() : result);
    }
    int64_t bytes() const override { return static_cast<int64_t>(state_.size()); }
    void save(bson::Buffer& out) const override { out.append(state_.data(), state_.size()); }
    void restore(std::span<const uint8_t> saved) override {
        state_.assign(reinterpret_cast<const char*>(saved.data()),
                      static_cast<size_t>(bson::Doc(saved.data()).size()));
    }

  private:
    Value state() const {
        DCHECK(!state_.empty());
        return bson::Doc(state_.data()).first();
    }

    const std::shared_ptr<Script> script_;
    std::string state_;
};

}  // namespace

std::span<const Operator> script_operators() {
    static constexpr Operator kTable[] = {
        {.name = "$function", .by_name = {kOperands, 9, 9}, .parse = parse_function},
    };
    return kTable;
}

AccumulatorSpec parse_script_accumulator(const Value& op, Names& names) {
    script::refuse_unless_allowed("$accumulator");
    if (!op.is_object()) base::fail(base::kFailedToParse, "$accumulator takes an object");
    const bson::Doc spec = op.as_doc();
    for (const Value& e : spec) {
        constexpr std::string_view kFields[] = {"init",  "initArgs", "accumulate", "accumulateArgs",
                                                "merge", "finalize", "lang"};
        if (std::ranges::find(kFields, e.name()) == std::end(kFields))
            base::fail(base::kFailedToParse, "$accumulator has no field {}", e.name());
    }
    check_language(spec["lang"], "$accumulator");
    check_code(spec["init"], "$accumulator", "init");
    check_code(spec["accumulate"], "$accumulator", "accumulate");
    check_code(spec["merge"], "$accumulator", "merge");
    if (spec["accumulateArgs"].missing())
        base::fail(base::kFailedToParse, "$accumulator needs accumulateArgs");
    const auto script = std::make_shared<Script>();
    script->init = script->functions.compile(spec["init"]);
    script->accumulate = script->functions.compile(spec["accumulate"]);
    if (const Value finalize = spec["finalize"]) {
        check_code(finalize, "$accumulator", "finalize");
        script->finalize = script->functions.compile(finalize);
    }
    if (const Value given = spec["initArgs"]) {
        ExpressionPtr arguments = parse_operand(given, names);
        simplify(arguments);
        const auto constant = arguments->constant();
        if (!constant)
            base::fail(base::kInvalidPipelineOperator,
                       "$accumulator: initArgs that are no constants are not supported");
        script->init_arguments = bson::Object(arguments_of(*constant, "$accumulator"));
    }
    return {[script] { return std::make_unique<ScriptAccumulator>(script); },
            parse_operand(spec["accumulateArgs"], names)};
}

}  // namespace query
