#include "options/option.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace options {

namespace {

// Never destroyed, and made at first use: options are other files' static objects.
std::vector<Option*>& registry() {
    static auto* instance = new std::vector<Option*>;
    return *instance;
}

// strtod and strtoll also take hexadecimal digits, "inf" and leading blanks.
bool is_decimal(const std::string& text) {
    return !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string::npos;
}

std::optional<bool> parse_flag(std::string_view text) {
    if (text == "true" || text == "1" || text.empty()) return true;
    if (text == "false" || text == "0") return false;
    return std::nullopt;
}

std::optional<int64_t> parse_integer(const std::string& text) {
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (!is_decimal(text) || *end != '\0' || errno != 0) return std::nullopt;
    return value;
}

std::optional<double> parse_number(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!is_decimal(text) || *end != '\0' || !std::isfinite(value)) return std::nullopt;
    return value;
}

template <typename T>
std::optional<Value> as_value(const std::optional<T>& found) {
    return found ? std::optional<Value>(*found) : std::nullopt;
}

// "a, b or c"
std::string spell_out(const std::vector<const char*>& choices) {
    std::string out;
    for (size_t i = 0; i < choices.size(); ++i) {
        if (i > 0) out += i + 1 < choices.size() ? ", " : " or ";
        out += choices[i];
    }
    return out;
}

double as_double(const Value& value) {
    const auto* whole = std::get_if<int64_t>(&value);
    return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

// The place among the choices; their number if it is none of them.
size_t place_in(const std::vector<const char*>& choices, const std::string& text) {
    return static_cast<size_t>(std::find(choices.begin(), choices.end(), text) - choices.begin());
}

}  // namespace

Option::Option(Description description)
    : description_(std::move(description)), value_(description_.default_value) {
    if (find(description_.name) != nullptr)
        base::fatal(0, fmt::format("option {} is described twice", description_.name));
    store(description_.default_value);
    registry().push_back(this);
}

// Only options of tests end before the process does.
Option::~Option() {
    std::erase(registry(), this);
}

std::string_view Option::parameter_name() const {
    if (description_.parameter == Parameter::no) return {};
    return *description_.parameter_name != '\0' ? description_.parameter_name : description_.name;
}

std::string_view Option::engine() const {
    const bool is_of_mmapv1 =
        description_.group == Group::added_to_journal && !description_.of_each_engine;
    return is_of_mmapv1 ? "mmapv1" : description_.engine;
}

Value Option::value() const {
    const std::lock_guard guard(mutex_);
    return value_;
}

void Option::check(const Value& value, Source source) const {
    const Description& d = description_;
    const std::string text = value_text(value);
    // A path would end there.
    if (text.find('\0') != std::string::npos)
        throw base::Error(base::kBadValue, fmt::format("--{} must not contain a NUL byte", d.name));
    if (!d.choices.empty() && place_in(d.choices, text) == d.choices.size()) {
        const bool usual = *d.choice_error == '\0';
        const char* const said =
            usual ? "{name} must be {choices}, not \"{value}\"" : d.choice_error;
        throw base::Error(base::kBadValue, fill_in(*this, said, text));
    }
    const bool parameter = source == Source::parameter;
    if (parameter && *d.parameter_error != '\0')
        throw base::Error(base::kBadValue, fill_in(*this, d.parameter_error));
    const std::optional<Range>& range =
        parameter && d.parameter_range ? d.parameter_range : d.range;
    // NaN, which is no number at all, is refused too.
    if (range && !(as_double(value) >= range->low && as_double(value) <= range->high)) {
        std::string said = parameter ? d.parameter_range_error : d.range_error;
        if (said.empty())
            said = fmt::format("{}{} must be between {} and {}", parameter ? "parameter " : "--",
                               parameter ? parameter_name() : d.name, range->low, range->high);
        throw base::Error(base::kBadValue, fill_in(*this, said, text));
    }
    if (d.check != nullptr) d.check(value);
}

void Option::set(const Value& value, Source source) {
    check(value, source);
    const std::lock_guard guard(follow_mutex_);
    store(value);
    is_set_ = true;
    if (told_) told_(value);
}

void Option::take_default_of(int64_t memory_bytes) {
    if (description_.default_of_memory == nullptr || is_set()) return;
    const Value value = description_.default_of_memory(memory_bytes);
    check(value, Source::start_up);
    const std::lock_guard guard(follow_mutex_);
    store(value);
    if (told_) told_(value);
}

void Option::set_text(std::string_view text, Source source) {
    std::optional<Value> value = parse_value(*this, text);
    const bool parameter = source == Source::parameter;
    if (parameter && type() == Type::flag && text.empty()) value.reset();
    if (!value && !description_.choices.empty()) value = std::string(text);
    if (!value) {
        if (parameter)
            base::fail(base::kBadValue, "bad value '{}' for parameter {}", text, parameter_name());
        base::fail(base::kBadValue, "the argument ('{}') for option '--{}' is invalid", text,
                   description_.name);
    }
    set(*value, source);
}

void Option::follow(std::function<void(const Value&)> told) {
    const std::lock_guard guard(follow_mutex_);
    told_ = std::move(told);
    if (told_) told_(value());
}

void Option::store(Value value) {
    if (const bool* v = std::get_if<bool>(&value)) whole_ = *v ? 1 : 0;
    if (const int64_t* v = std::get_if<int64_t>(&value)) whole_ = *v;
    if (const double* v = std::get_if<double>(&value)) real_ = *v;
    if (const std::string* v = std::get_if<std::string>(&value))
        whole_ = static_cast<int64_t>(place_in(description_.choices, *v));
    const std::lock_guard guard(mutex_);
    value_ = std::move(value);
}

std::vector<Option*> all() {
    std::vector<Option*> result = registry();
    std::stable_sort(result.begin(), result.end(), [](const Option* a, const Option* b) {
        const Description& x = a->description();
        const Description& y = b->description();
        if (x.group != y.group) return x.group < y.group;
        const bool by_name = x.group == Group::added_to_journal || x.group == Group::parameters;
        return by_name && std::string_view(x.name) < y.name;
    });
    return result;
}

void take_defaults_of(int64_t memory_bytes) {
    for (Option* option : registry())
        option->take_default_of(memory_bytes);
}

Option* find(std::string_view name) {
    for (Option* option : registry()) {
        if (option->description().name == name) return option;
    }
    return nullptr;
}

std::optional<Value> parse_value(const Option& option, std::string_view text) {
    const std::string copy(text);
    switch (option.type()) {
        case Type::flag:
            return as_value(parse_flag(text));
        case Type::integer:
            return as_value(parse_integer(copy));
        case Type::number:
            return as_value(parse_number(copy));
        case Type::text:
            return Value(copy);
        case Type::list:
            break;
    }
    return Value(std::vector<std::string>{copy});
}

std::string value_text(const Value& value) {
    if (const bool* v = std::get_if<bool>(&value)) return *v ? "true" : "false";
    if (const int64_t* v = std::get_if<int64_t>(&value)) return fmt::format("{}", *v);
    if (const double* v = std::get_if<double>(&value)) return fmt::format("{}", *v);
    if (const std::string* v = std::get_if<std::string>(&value)) return *v;
    return fmt::format("{}", fmt::join(std::get<std::vector<std::string>>(value), ", "));
}

std::string value_name(const Option& option) {
    const Description& d = option.description();
    if (*d.value_name != '\0') return d.value_name;
    return fmt::format("{}", fmt::join(d.choices, " | "));
}

std::string default_text(const Option& option) {
    const Description& d = option.description();
    if (*d.default_text != '\0') return d.default_text;
    if (option.type() == Type::flag) return std::get<bool>(d.default_value) ? "on" : "off";
    return value_text(d.default_value);
}

std::string fill_in(const Option& option, std::string_view text, std::string_view value) {
    const Description& d = option.description();
    const Range range = d.range.value_or(Range{0, 0});
    const std::pair<std::string_view, std::string> words[] = {
        {"{name}", d.name},
        {"{default}", default_text(option)},
        {"{choices}", spell_out(d.choices)},
        {"{low}", fmt::format("{}", range.low)},
        {"{high}", fmt::format("{}", range.high)},
        {"{value}", std::string(value)},
    };
    std::string out(text);
    for (const auto& [word, meaning] : words) {
        size_t at = 0;
        while ((at = out.find(word, at)) != std::string::npos) {
            out.replace(at, word.size(), meaning);
            at += meaning.size();
        }
    }
    return out;
}

}  // namespace options
