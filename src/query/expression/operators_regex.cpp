// $regexFind $regexFindAll $regexMatch.

#include <memory>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/thread_scratch.h"
#include "bson/type_names.h"
#include "query/expression/operators.h"
#include "query/match/regex.h"
#include "query/value/array_writer.h"
#include "query/value/characters.h"

namespace query {

using bson::Type;

namespace {

enum RegexOperand { kInput, kRegex, kOptions };
constexpr NamedOperand kOperands[] = {{"input", 31022}, {"regex", 31023}, {"options"}};

// The pattern and the flags that two operands say.
struct Wanted {
    std::string pattern;
    std::string flags;
    bool operator==(const Wanted&) const = default;
};

Wanted wanted_of(const Value& regex, const Value& options, std::string_view op) {
    Wanted wanted;
    if (regex.type() == Type::regex) {
        wanted = {std::string(regex.regex_pattern()), std::string(regex.regex_flags())};
    } else {
        if (!regex.is_string())
            base::fail(51105, "{} needs 'regex' to be of type string or regex, found {}", op,
                       bson::name_of(regex.type()));
        wanted.pattern = regex.as_string();
        if (wanted.pattern.find('\0') != std::string::npos)
            base::fail(51109, "{}: regular expression cannot contain an embedded null byte", op);
    }
    if (!is_nullish(options)) {
        if (!options.is_string())
            base::fail(51106, "{} needs 'options' to be of type string, found {}", op,
                       bson::name_of(options.type()));
        if (!wanted.flags.empty())
            base::fail(51107,
                       "{}: found regex options specified in both 'regex' and 'options' "
                       "fields",
                       op);
        wanted.flags = options.as_string();
    }
    if (wanted.flags.find_first_not_of("imsxu") != std::string::npos)
        base::fail(51108, "{}: invalid flag in regex options: {}", op, wanted.flags);
    return wanted;
}

using Compiled = std::shared_ptr<const Regex>;

// The pattern usually is the same from document to document.
Compiled compiled(const Wanted& wanted, std::string_view op) {
    struct Last {
        Wanted wanted;
        std::weak_ptr<const Regex> compiled;
    };
    Last& last = base::thread_scratch<Last>();
    Compiled found = last.compiled.lock();
    if (found != nullptr && wanted == last.wanted) return found;
    try {
        found = std::make_shared<const Regex>(wanted.pattern, wanted.flags);
    } catch (const base::Error& e) {
        if (e.code() != base::kBadValue) throw;
        base::fail(51111, "Invalid Regex in {}: {}", op, e.what());
    }
    last = {wanted, found};
    return found;
}

// A match as a document; `idx` is in characters, of which `passed.second` end at byte
// `passed.first`.
void write_match(bson::Buffer& out, std::string_view text, const sched::Vector<Regex::Part>& parts,
                 std::pair<size_t, int64_t>& passed) {
    DCHECK(!parts.empty());
    const auto text_of_part = [&](const Regex::Part& part) {
        return text.substr(part.begin, part.end - part.begin);
    };
    passed.second += count_characters(text.substr(passed.first, parts[0].begin - passed.first));
    passed.first = parts[0].begin;
    bson::Builder match(out);
    match.append("match", text_of_part(parts[0]));
    match.append("idx", static_cast<int32_t>(passed.second));
    bson::Builder captures = match.sub_array("captures");
    for (const size_t i : sched::rounds<size_t>(1, parts.size())) {
        if (parts[i].begin == Regex::Part::kNowhere)
            captures.append_null(captures.next().view());
        else
            captures.push(text_of_part(parts[i]));
    }
}

enum class Find { first, all, whether };

class RegexExpression : public Expression {
  public:
    RegexExpression(const Operator& op, Find find, Operands operands)
        : op_(op), find_(find), operands_(std::move(operands)) {
        DCHECK(operands_.size() == std::size(kOperands));
    }

    Value evaluate(Scope& scope) const override {
        sched::tick();
        const Value input = operands_[kInput]->evaluate(scope);
        DCHECK(regex_ == nullptr || !is_null_regex_);
        Compiled regex = regex_;
        if (regex == nullptr && !is_null_regex_) {
            const Value pattern = operands_[kRegex]->evaluate(scope);
            const Value options =
                operands_[kOptions] ? operands_[kOptions]->evaluate(scope) : Value();
            if (!is_nullish(pattern))
                regex = compiled(wanted_of(pattern, options, op_.name), op_.name);
        }
        if (!is_nullish(input) && !input.is_string())
            base::fail(51104, "{} needs 'input' to be of type string, found {}", op_.name,
                       bson::name_of(input.type()));
        const bool nothing = is_nullish(input) || regex == nullptr;
        return nothing ? none(scope.arena) : found(scope.arena, *regex, input.as_string());
    }
    void add_needs(Needs& needs) const override {
        for (const ExpressionPtr& operand : operands_)
            if (operand) operand->add_needs(needs);
    }
    // A constant pattern is compiled, or refused, before the first document.
    ExpressionPtr simplified() override {
        for (ExpressionPtr& operand : operands_)
            if (operand) simplify(operand);
        const auto pattern = operands_[kRegex]->constant();
        const auto options =
            operands_[kOptions] ? operands_[kOptions]->constant() : std::optional(Value());
        if (!pattern || !options) return nullptr;
        is_null_regex_ = is_nullish(*pattern);
        if (!is_null_regex_) regex_ = compiled(wanted_of(*pattern, *options, op_.name), op_.name);
        return nullptr;
    }

  private:
    Value none(Arena& arena) const {
        if (find_ == Find::whether) return bool_value(false);
        return find_ == Find::first ? null_value() : ArrayWriter().value(arena);
    }

    Value found(Arena& arena, const Regex& regex, std::string_view text) const {
        sched::Vector<Regex::Part> parts;
        if (find_ == Find::whether) return bool_value(regex.find(text, 0, &parts));
        std::pair<size_t, int64_t> passed;
        bson::Buffer out;
        if (find_ == Find::first) {
            if (!regex.find(text, 0, &parts)) return null_value();
            write_match(out, text, parts, passed);
            return make_doc(arena, Type::object, bson::Doc(out.data()));
        }
        const size_t start = open_doc(out);
        uint32_t index = 0;
        // Behind the last character nothing is looked for, but in a text that has none.
        size_t at = 0;
        while ((at == 0 || at < text.size()) && regex.find(text, at, &parts)) {
            write_header(out, Type::object, bson::IndexName(index++).view());
            write_match(out, text, parts, passed);
            // An empty match would be found here again. \K may put a beginning behind its end.
            const bool is_empty = parts[0].begin >= parts[0].end;
            const size_t end = std::max(at, parts[0].end);
            const bool further = !is_empty && end > at;
            at = end;
            if (!further) at += at < text.size() ? character_bytes(text.substr(at)) : 1;
        }
        close_doc(out, start);
        return make_doc(arena, Type::array, bson::Doc(out.data()));
    }

    const Operator& op_;
    const Find find_;
    Operands operands_;
    Compiled regex_;  // of constants
    bool is_null_regex_ = false;
};

template <Find How>
ExpressionPtr parse_regex(const Operator& op, const Value& spec, Names& names) {
    Operands operands;
    for (const Value& e : named_specs(op, spec, op.by_name))
        operands.push_back(e ? parse_operand(e, names) : nullptr);
    return std::make_unique<RegexExpression>(op, How, std::move(operands));
}

constexpr Operator regex_operator(std::string_view name, Operator::Parser parse) {
    return {.name = name, .by_name = {kOperands, 51103, 31024}, .parse = parse};
}

}  // namespace

std::span<const Operator> regex_operators() {
    static constexpr Operator kTable[] = {
        regex_operator("$regexFind", parse_regex<Find::first>),
        regex_operator("$regexFindAll", parse_regex<Find::all>),
        regex_operator("$regexMatch", parse_regex<Find::whether>),
    };
    return kTable;
}

}  // namespace query
