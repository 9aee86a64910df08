// options/parameters.h - server parameters: the options that setParameter sets, at the start
// (--setParameter) or while running (the command), and getParameter reads.
//
// BSON stays outside: commands convert (wire spec 2.2, journal spec 5.3).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "options/option.h"

namespace options {

// Null if there is none of that name.
Option* find_parameter(std::string_view name);
// Returns them sorted by name.
std::vector<Option*> all_parameters();

// Returns nothing if the parameter does not exist in this configuration, and is not listed.
std::optional<Value> parameter_value(const Option& parameter);
bool settable_at_runtime(const Option& parameter);
// Sets a parameter at run time. Numbers become each other where nothing is lost, and numbers and
// booleans where a switch is meant; throws base::Error 14 for other types, 2 for a value that is
// not possible.
void set_parameter(Option& parameter, const Value& given);
// Takes --setParameter name=text. Throws base::Error 2 with a text that names the parameter:
// unknown, not settable at start, bad value.
void set_parameter_at_start(std::string_view name, std::string_view text);

}  // namespace options
