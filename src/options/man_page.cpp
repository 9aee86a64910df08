#include <fmt/format.h>

#include "base/applied_patches.h"
#include "base/program_version.h"
#include "options/catalogue.h"
#include "options/documents.h"
#include "options/help.h"

namespace options {

namespace {

// Returns the text for troff: its escape and dashes that are to be typed as they are; a dot or
// quote at the start of a line would be a request.
std::string escaped(std::string_view text) {
    std::string out;
    if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

void append_option(std::string& out, const Option& option) {
    const Description& d = option.description();
    const std::string value = value_name(option);
    out += ".TP\n";
    if (d.letter != 0) out += fmt::format("\\fB\\-{}\\fR, ", d.letter);
    out += fmt::format("\\fB\\-\\-{}\\fR", escaped(d.name));
    if (!value.empty()) out += fmt::format(" \\fI{}\\fR", escaped(value));
    out += fmt::format("\n{}\n", escaped(fill_in(option, d.help)));
    if (!d.yaml.empty()) out += fmt::format("In YAML: {}.\n", escaped(d.yaml.front()));
    if (d.parameter != Parameter::no)
        out += fmt::format("Can be changed {}.\n", escaped(change_text(option)));
    if (*d.loss != '\0') out += fmt::format("Can be lost: {}.\n", escaped(d.loss));
}

}  // namespace

std::string man_page() {
    std::string out = fmt::format(".TH MONGOD 1 \"\" \"mongod\\-dur {}\" \"mongod\\-dur\"\n",
                                  base::kProgramVersion);
    out +=
        ".SH NAME\n"
        "mongod \\- document server with memory\\-mapped data files and a journal\n"
        ".SH SYNOPSIS\n"
        ".B mongod\n"
        "[\\fIoption\\fR ...]\n"
        ".SH DESCRIPTION\n"
        "A document server that MongoDB clients can talk to. Without options it keeps its data in\n"
        "/data/db and serves programs on this machine at port 27017. Options on the command line\n"
        "win over those of the configuration file.\n";
    const Heading* heading = nullptr;
    for (const Option* option : all()) {
        const Heading* const its = heading_of(option->description().group);
        if (its == nullptr || option->description().hidden) continue;
        if (its != heading) {
            heading = its;
            out += fmt::format(".SH \"{}\"\n", its->title);
            if (*its->introduction != '\0') out += escaped(its->introduction) + "\n";
        }
        append_option(out, *option);
    }
    out +=
        ".SH \"SERVER PARAMETERS\"\n"
        "Set by \\fB\\-\\-setParameter\\fR \\fINAME=VALUE\\fR or by the command setParameter.\n";
    for (const Option* option : all()) {
        const Description& d = option->description();
        if (d.group != Group::parameters || d.hidden) continue;
        out += fmt::format(".TP\n\\fB{}\\fR\n{}\nDefault {}. Can be changed {}.\n", escaped(d.name),
                           escaped(fill_in(*option, d.help)), escaped(default_text(*option)),
                           escaped(change_text(*option)));
    }
    out +=
        ".SH SIGNALS\n"
        "SIGTERM, SIGINT and SIGHUP end it cleanly; none makes it read its configuration anew.\n"
        "Where TLS is spoken SIGHUP reads the certificates anew instead.\n"
        "SIGUSR1 renames the log and begins a new one.\n"
        ".SH \"EXIT STATUS\"\n"
        "0 after a clean end, 2 for options that are refused, 14 after a fatal error, 48 when the\n"
        "port cannot be had, 100 when the data cannot be used, 1 for everything else.\n"
        ".SH PATCHES\n"
        "This program was built with: ";
    const auto patches = base::applied_patches();
    out += patches.empty() ? "none" : escaped(fmt::format("{}", fmt::join(patches, ", ")));
    out += ".\n";
    return out;
}

}  // namespace options
