// base/parameters.h - server parameters: named values that setParameter sets, at start
// (--setParameter) or while running (the command), and getParameter reads.
//
// server/ and whoever owns a value add their parameters before the first connection; after that the
// list does not change. get and set may then be called from any thread, so what they touch is
// atomic or guarded. BSON stays outside: commands convert (wire spec 2.2, journal spec 5.3).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace base {

using ParameterValue = std::variant<bool, int32_t, double, std::string>;

struct Parameter {
    // The type of its values: the alternative of ParameterValue.
    enum class Type { boolean, integer, number, text };

    std::string name;
    Type type = Type::boolean;
    std::string help;  // one sentence
    bool at_start = true;
    bool at_runtime = true;
    bool tells_old_value = true;  // the reply of setParameter has `was`
    // Nothing: it does not exist in this configuration, and is not listed.
    std::function<std::optional<ParameterValue>()> get;
    // Gets a value of `type`; throws base::Error (kBadValue) when it is out of range. Empty: it can
    // only be read.
    std::function<void(const ParameterValue&)> set;
};

// Ends the process when the name is taken.
void add_parameter(Parameter parameter);
// Null if there is none of that name.
const Parameter* find_parameter(std::string_view name);
// Sorted by name.
std::vector<const Parameter*> all_parameters();
// Only for tests and a second start in one process.
void remove_all_parameters();

// `given` as a value of the parameter's type: numbers become each other where nothing is lost, and
// numbers and booleans where a switch is meant. Throws base::Error 14 otherwise.
ParameterValue convert_parameter(const Parameter& parameter, const ParameterValue& given);
// The text of a command line ("1", "true", "60.5", "abc") as a value of the parameter's type.
// Throws base::Error 2.
ParameterValue parse_parameter(const Parameter& parameter, std::string_view text);
std::string parameter_text(const ParameterValue& value);

// --setParameter name=text. Throws base::Error 2 with a text that names the parameter: unknown, not
// settable at start, bad value.
void set_parameter_at_start(std::string_view name, std::string_view text);

}  // namespace base
