#include "options/parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "options/journal.h"
#include "options/series.h"
#include "options/storage.h"

namespace options {

namespace {

[[noreturn]] void wrong_type(const Option& parameter) {
    static constexpr const char* kNames[] = {"a boolean", "an integer", "a number", "a string",
                                             "a list"};
    base::fail(base::kTypeMismatch, "parameter {} takes {}", parameter.parameter_name(),
               kNames[static_cast<size_t>(parameter.type())]);
}

// The number in `given`, if it is one.
std::optional<double> number_in(const Value& given) {
    if (const bool* v = std::get_if<bool>(&given)) return *v ? 1 : 0;
    if (const int64_t* v = std::get_if<int64_t>(&given)) return static_cast<double>(*v);
    if (const double* v = std::get_if<double>(&given)) return *v;
    return std::nullopt;
}

// Returns why there is no such parameter in this configuration; empty: there is.
std::string absence(const Option& option) {
    const Description& d = option.description();
    const bool of_journal = d.needs_journal || d.group == Group::added_to_journal;
    if (of_journal && !journal_enabled()) return "journaling is off";
    const std::string_view engine = option.engine();
    if (engine.empty() || engine == storage_engine.get()) return "";
    return fmt::format("{} is a parameter of storage engine {}, and not of {}",
                       option.parameter_name(), engine, storage_engine.get());
}

void check_exists(const Option& option) {
    const std::string why = absence(option);
    if (!why.empty()) throw base::Error(base::kBadValue, why);
}

bool fits_int32(double v) {
    return v == std::trunc(v) && v >= std::numeric_limits<int32_t>::min() &&
           v <= std::numeric_limits<int32_t>::max();
}

// Beyond 32 bits only where the option's range goes beyond them.
bool is_whole(const Description& d, double v) {
    if (fits_int32(v)) return true;
    return d.range && v == std::trunc(v) && v >= d.range->low && v <= d.range->high;
}

Value convert(const Option& parameter, const Value& given) {
    if (parameter.type() == Type::text) {
        if (!std::holds_alternative<std::string>(given)) wrong_type(parameter);
        return given;
    }
    const std::optional<double> number = number_in(given);
    if (!number) wrong_type(parameter);
    switch (parameter.type()) {
        case Type::flag:
            return *number != 0;
        case Type::integer:
            if (!is_whole(parameter.description(), *number)) wrong_type(parameter);
            return static_cast<int64_t>(*number);
        default:
            return *number;
    }
}

}  // namespace

Option* find_parameter(std::string_view name) {
    if (name.empty()) return nullptr;
    for (Option* option : all()) {
        if (option->parameter_name() == name) return option;
    }
    return nullptr;
}

std::vector<Option*> all_parameters() {
    std::vector<Option*> result = all();
    std::erase_if(result, [](const Option* option) { return option->parameter_name().empty(); });
    std::sort(result.begin(), result.end(), [](const Option* a, const Option* b) {
        return a->parameter_name() < b->parameter_name();
    });
    return result;
}

std::optional<Value> parameter_value(const Option& parameter) {
    const Description& d = parameter.description();
    if (!absence(parameter).empty()) return std::nullopt;
    Value value = parameter.value();
    if (const std::string* text = std::get_if<std::string>(&value)) {
        for (const OldName& old : d.old_names) {
            if (old.name != parameter.parameter_name()) continue;
            for (const auto& [word, meaning] : old.words)
                if (*text == meaning) return Value(std::string(word));
        }
    }
    const double* number = std::get_if<double>(&value);
    if (d.shown_whole && number != nullptr && fits_int32(*number))
        return static_cast<int64_t>(*number);
    return value;
}

bool settable_at_runtime(const Option& parameter) {
    const Parameter when = parameter.description().parameter;
    return when == Parameter::at_runtime || when == Parameter::always;
}

void set_parameter(Option& parameter, const Value& given) {
    const Value value = convert(parameter, given);
    check_exists(parameter);
    parameter.set(value, Source::parameter);
}

void set_parameter_at_start(std::string_view name, std::string_view text) {
    Option* const parameter = find_parameter(name);
    if (parameter == nullptr)
        base::fail(base::kBadValue, "Illegal --setParameter parameter: \"{}\"{}", name,
                   missing_patch(name));
    const Description& d = parameter->description();
    if (d.parameter != Parameter::at_start && d.parameter != Parameter::always)
        base::fail(base::kBadValue, "Cannot use --setParameter to set \"{}\" at startup", name);
    check_exists(*parameter);
    parameter->set_text(text, Source::parameter);
}

}  // namespace options
