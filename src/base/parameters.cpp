#include "base/parameters.h"

#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"

namespace base {

namespace {

using Registry = std::map<std::string, Parameter, std::less<>>;

// Never destroyed: other files' static objects may add to it, and threads may outlive main().
Registry& registry() {
    static Registry* instance = new Registry;
    return *instance;
}

[[noreturn]] void wrong_type(const Parameter& parameter) {
    static constexpr const char* kNames[] = {"a boolean", "an integer", "a number", "a string"};
    fail(kTypeMismatch, "parameter {} takes {}", parameter.name,
         kNames[static_cast<size_t>(parameter.type)]);
}

// The number in `given`, if it is one.
std::optional<double> number_in(const ParameterValue& given) {
    if (const bool* v = std::get_if<bool>(&given)) return *v ? 1 : 0;
    if (const int32_t* v = std::get_if<int32_t>(&given)) return *v;
    if (const double* v = std::get_if<double>(&given)) return *v;
    return std::nullopt;
}

bool fits_int32(double v) {
    return v == std::trunc(v) && v >= std::numeric_limits<int32_t>::min() &&
           v <= std::numeric_limits<int32_t>::max();
}

}  // namespace

void add_parameter(Parameter parameter) {
    const std::string name = parameter.name;
    if (!registry().emplace(name, std::move(parameter)).second)
        fatal(0, fmt::format("parameter {} is added twice", name));
}

const Parameter* find_parameter(std::string_view name) {
    const auto found = registry().find(name);
    return found == registry().end() ? nullptr : &found->second;
}

std::vector<const Parameter*> all_parameters() {
    std::vector<const Parameter*> result;
    for (const auto& [name, parameter] : registry())
        result.push_back(&parameter);
    return result;
}

void remove_all_parameters() {
    registry().clear();
}

ParameterValue convert_parameter(const Parameter& parameter, const ParameterValue& given) {
    if (parameter.type == Parameter::Type::text) {
        if (!std::holds_alternative<std::string>(given)) wrong_type(parameter);
        return given;
    }
    const std::optional<double> number = number_in(given);
    if (!number) wrong_type(parameter);
    switch (parameter.type) {
        case Parameter::Type::boolean:
            return *number != 0;
        case Parameter::Type::integer:
            if (!fits_int32(*number)) wrong_type(parameter);
            return static_cast<int32_t>(*number);
        default:
            return *number;
    }
}

ParameterValue parse_parameter(const Parameter& parameter, std::string_view text) {
    if (parameter.type == Parameter::Type::text) return std::string(text);
    if (parameter.type == Parameter::Type::boolean) {
        if (text == "true" || text == "1") return true;
        if (text == "false" || text == "0") return false;
    } else {
        const std::string copy(text);
        char* end = nullptr;
        const double value = std::strtod(copy.c_str(), &end);
        const bool whole = !copy.empty() && *end == '\0' && std::isfinite(value);
        if (whole && parameter.type == Parameter::Type::number) return value;
        if (whole && fits_int32(value)) return static_cast<int32_t>(value);
    }
    fail(kBadValue, "bad value '{}' for parameter {}", text, parameter.name);
}

std::string parameter_text(const ParameterValue& value) {
    if (const bool* v = std::get_if<bool>(&value)) return *v ? "true" : "false";
    if (const int32_t* v = std::get_if<int32_t>(&value)) return std::to_string(*v);
    if (const double* v = std::get_if<double>(&value)) return fmt::format("{}", *v);
    return std::get<std::string>(value);
}

void set_parameter_at_start(std::string_view name, std::string_view text) {
    const Parameter* parameter = find_parameter(name);
    if (parameter == nullptr) fail(kBadValue, "Illegal --setParameter parameter: \"{}\"", name);
    if (!parameter->at_start || !parameter->set)
        fail(kBadValue, "Cannot use --setParameter to set \"{}\" at startup", name);
    parameter->set(parse_parameter(*parameter, text));
}

}  // namespace base
