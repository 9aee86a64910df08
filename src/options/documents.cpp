#include "options/documents.h"

#include <fmt/format.h>

#include "options/option.h"

namespace options {

namespace {

std::string range_text(const Range& range, const char* unit) {
    const std::string ends = range.high > 1e15
                                 ? fmt::format(" from {}", range.low)
                                 : fmt::format(" from {} to {}", range.low, range.high);
    return *unit == '\0' ? ends : fmt::format("{} {}", ends, unit);
}

}  // namespace

std::string values_text(const Option& option) {
    const Description& d = option.description();
    if (!d.choices.empty()) return fill_in(option, "{choices}");
    std::string text;
    switch (option.type()) {
        case Type::flag:
            return "on or off";
        case Type::integer:
            text = "a whole number";
            break;
        case Type::number:
            text = "a number";
            break;
        case Type::text:
            return "text";
        case Type::list:
            return "text, may be repeated";
    }
    if (d.range) text += range_text(*d.range, d.unit);
    if (d.parameter_range)
        text += fmt::format(";{} by setParameter", range_text(*d.parameter_range, d.unit));
    return text;
}

std::string change_text(const Option& option) {
    const std::string_view name = option.parameter_name();
    switch (option.description().parameter) {
        case Parameter::no:
            return "only at the start";
        case Parameter::read_only:
            return fmt::format("only at the start; getParameter shows {}", name);
        case Parameter::at_start:
            return fmt::format("only at the start, as parameter {}", name);
        case Parameter::at_runtime:
            return fmt::format("while the server runs, as parameter {}", name);
        case Parameter::always:
            break;
    }
    return fmt::format("at the start and while the server runs, as parameter {}", name);
}

}  // namespace options
