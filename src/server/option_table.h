// server/option_table.h - every option the server knows: its names on the command line and in YAML,
// its kind, and the text of --help. The parsers (options.h) and the help are made from this table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace server {

enum class Kind {
    flag,
    integer,
    number,
    text,
    list,  // may be given several times
};

struct OptionSpec {
    std::string name;  // after "--", and in the old "key = value" files
    char letter = 0;   // after "-"
    Kind kind = Kind::flag;
    std::string group;                // heading in --help; empty: hidden
    std::string value_name;           // "PORT"; empty for flags
    std::string help;                 // what it does, unit and range, default, what it costs
    std::vector<std::string> yaml{};  // dotted names, the usual one first; none: command line only
    bool yaml_opposite = false;       // a flag whose YAML switch has the opposite sense
    std::string refused{};            // not empty: known, but not available, and why
};

struct OptionGroup {
    std::string name;
    std::string introduction;
};

// In the order of --help. The journal's registry (journal/options/registry.h) is part of it.
const std::vector<OptionSpec>& option_table();
const std::vector<OptionGroup>& option_groups();
const OptionSpec* find_option(std::string_view name);

// The text of --help, at most 80 columns wide.
std::string help_text();

}  // namespace server
