#include <fmt/format.h>

#include "options/catalogue.h"
#include "options/documents.h"
#include "options/help.h"
#include "options/series.h"

namespace options {

namespace {

// "a `b`, `c`" of dotted names.
std::string yaml_names(const Description& d) {
    std::string out;
    for (const char* name : d.yaml)
        out += fmt::format("{}`{}`", out.empty() ? "" : ", ", name);
    if (d.yaml_opposite) out += " with the opposite sense";
    if (!d.yaml_words.empty()) {
        std::string words;
        for (const auto& [word, value] : d.yaml_words)
            words += fmt::format("{}{}", words.empty() ? "" : ", ", word);
        out += fmt::format(" ({})", words);
    }
    return out;
}

// Returns the old names of an option, those that stand for a value with that value.
std::string old_names(const Description& d) {
    std::string out;
    for (const OldName& old : d.old_names) {
        out += fmt::format("{}`--{}`", out.empty() ? "" : ", ", old.name);
        if (*old.switch_for != '\0') out += fmt::format(" for {}", old.switch_for);
        out += fmt::format(" (`{}`)", old.yaml);
    }
    return out;
}

void append_fact(std::string& out, const char* title, const std::string& fact) {
    if (!fact.empty()) out += fmt::format("- {}: {}\n", title, fact);
}

std::string patches_of(const Description& d) {
    std::string out;
    for (const SeriesPatch& patch : series()) {
        if (patch.applied && std::string_view(patch.option) == d.name)
            out += fmt::format("{}`{}`", out.empty() ? "" : ", ", patch.slug);
    }
    return out;
}

void append_block(std::string& out, const Option& option) {
    const Description& d = option.description();
    const std::string value = value_name(option);
    out += option.is_on_command_line() ? fmt::format("\n### --{}", d.name)
                                       : fmt::format("\n### {}", d.name);
    out += "\n\n";
    if (*d.help != '\0') out += fmt::format("{}\n\n", fill_in(option, d.help));
    if (option.is_on_command_line()) {
        append_fact(out, "Command line",
                    fmt::format("`{}--{}{}{}`", d.letter != 0 ? fmt::format("-{}, ", d.letter) : "",
                                d.name, value.empty() ? "" : " ", value));
        append_fact(out, "YAML", yaml_names(d));
    }
    append_fact(out, "Old names", old_names(d));
    append_fact(out, "Values", values_text(option));
    append_fact(out, "Default", default_text(option));
    if (d.parameter != Parameter::no) append_fact(out, "Can be changed", change_text(option));
    append_fact(out, "Can be lost", d.loss);
    append_fact(out, "No effect", d.ignored);
    append_fact(out, "Patch", patches_of(d));
    if (d.hidden) out += "- Not in `--help`\n";
}

// Appends the options of what this server does not have, one row each.
void append_absent(std::string& out, bool refused) {
    out += "\n| option | YAML | why |\n|---|---|---|\n";
    for (const Option* option : all()) {
        const Description& d = option->description();
        if (d.group != Group::absent || (*d.refused != '\0') != refused) continue;
        out += fmt::format("| `--{}` | {} | {} |\n", d.name, yaml_names(d),
                           refused ? d.refused : d.help);
    }
}

bool is_unused_parameter(const Option& option) {
    return option.description().group == Group::parameters && option.description().hidden;
}

void append_unused_parameters(std::string& out) {
    out += "\n| parameter | default | what for |\n|---|---|---|\n";
    for (const Option* option : all()) {
        if (!is_unused_parameter(*option)) continue;
        const Description& d = option->description();
        out += fmt::format("| `{}` | {} | {} |\n", d.name, default_text(*option), d.help);
    }
}

}  // namespace

std::string markdown() {
    std::string out =
        "# Options of mongod\n\n"
        "Made by `./lab docs` from the descriptions in `src/options/` and `src/journal/options/`. "
        "The command\nline wins over the configuration file; `--help` prints the same texts.\n";
    const Heading* heading = nullptr;
    for (const Option* option : all()) {
        const Heading* const its = heading_of(option->description().group);
        if (its == nullptr) continue;
        if (its != heading) out += fmt::format("\n## {}\n", its->title);
        if (its != heading && *its->introduction != '\0')
            out += fmt::format("\n{}\n", its->introduction);
        heading = its;
        append_block(out, *option);
    }
    out +=
        "\n## Server parameters\n\nOnly `--setParameter` and the command setParameter set them.\n";
    for (const Option* option : all()) {
        if (option->description().group == Group::parameters && !is_unused_parameter(*option))
            append_block(out, *option);
    }
    out += "\n## Options about what this server does not have\n\nAccepted:\n";
    append_absent(out, false);
    out += "\nRefused, unless they have their default, with exit code 2:\n";
    append_absent(out, true);
    out += "\nParameters that keep what they are set to; nothing reads it:\n";
    append_unused_parameters(out);
    return out;
}

}  // namespace options
