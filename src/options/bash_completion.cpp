#include <fmt/format.h>

#include "options/catalogue.h"
#include "options/documents.h"
#include "options/parameters.h"

namespace options {

namespace {

bool is_value_name(const Option& option, std::string_view wanted) {
    return option.description().value_name == wanted;
}

// The patterns of a case for all options that `wanted` likes, "" if there are none.
template <typename Predicate>
std::string patterns(Predicate wanted) {
    std::string out;
    for (const Option* option : all()) {
        const Description& d = option->description();
        if (!option->is_on_command_line() || *d.refused != '\0' || !wanted(*option)) continue;
        if (d.letter != 0) out += fmt::format("{}-{}", out.empty() ? "" : " | ", d.letter);
        out += fmt::format("{}--{}", out.empty() ? "" : " | ", d.name);
    }
    return out;
}

void append_case(std::string& out, const std::string& pattern, const std::string& reply) {
    if (!pattern.empty())
        out += fmt::format("        {})\n            {}\n            return\n            ;;\n",
                           pattern, reply);
}

std::string words(const std::string& list) {
    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", list);
}

}  // namespace

std::string bash_completion() {
    std::string out =
        "# Completion of mongod for bash; printed by mongod --describe bash.\n"
        "_mongod()\n{\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
        "    case $prev in\n";
    for (const Option* option : all()) {
        const Description& d = option->description();
        if (d.choices.empty() || !option->is_on_command_line() || *d.refused != '\0') continue;
        append_case(out, fmt::format("--{}", d.name),
                    words(fmt::format("{}", fmt::join(d.choices, " "))));
    }
    append_case(out, patterns([](const Option& o) { return is_value_name(o, "FILE"); }),
                "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))");
    append_case(out, patterns([](const Option& o) { return is_value_name(o, "DIR"); }),
                "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"))");
    std::string parameters;
    for (const Option* option : all_parameters()) {
        const Parameter when = option->description().parameter;
        if (option->description().hidden) continue;  // nothing reads them
        if (when == Parameter::at_start || when == Parameter::always)
            parameters +=
                fmt::format("{}{}=", parameters.empty() ? "" : " ", option->parameter_name());
    }
    append_case(out, "--setParameter", "compopt -o nospace; " + words(parameters));
    append_case(out, patterns([](const Option& o) {
                    return o.type() != Type::flag && o.type() != Type::list &&
                           o.description().choices.empty() && !is_value_name(o, "FILE") &&
                           !is_value_name(o, "DIR");
                }),
                "COMPREPLY=()");
    std::string names;
    for (const Option* option : all()) {
        const Description& d = option->description();
        if (!option->is_on_command_line() || d.hidden) continue;
        names += fmt::format("{}--{}", names.empty() ? "" : " ", d.name);
    }
    out += fmt::format("    esac\n    {}\n}}\ncomplete -F _mongod mongod\n", words(names));
    return out;
}

}  // namespace options
