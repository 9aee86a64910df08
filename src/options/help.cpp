#include "options/help.h"

#include <fmt/format.h>

#include "options/catalogue.h"

namespace options {

namespace {

constexpr Heading kGeneral{"General", ""};
constexpr Heading kNetwork{"Network", ""};
constexpr Heading kSecurity{"Access", ""};
constexpr Heading kStorage{"Data files", ""};
constexpr Heading kJournal{"Journal",
                           "What is acknowledged with j: true is on the disk. The other writes "
                           "follow with the next group commit."};
constexpr Heading kFollowers{"Replication", ""};
constexpr Heading kLogging{"Log", ""};
constexpr Heading kProcess{"Process", ""};

// `text` in lines of at most `width`, each after the first indented.
void append_wrapped(std::string& out, std::string_view text, size_t indent, size_t width) {
    size_t column = indent;
    while (!text.empty()) {
        const size_t space = text.find(' ');
        const std::string_view word = text.substr(0, space);
        text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
        if (column != indent && column + 1 + word.size() > width) {
            out.append(1, '\n').append(indent, ' ');
            column = indent;
        }
        if (column != indent) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
    out += '\n';
}

void append_option(std::string& out, const Option& option) {
    constexpr size_t kIndent = 28;
    constexpr size_t kWidth = 80;
    const Description& d = option.description();
    std::string head = d.letter != 0 ? fmt::format("  -{}, --{}", d.letter, d.name)
                                     : fmt::format("  --{}", d.name);
    const std::string value = value_name(option);
    if (!value.empty()) head += " " + value;
    if (head.size() + 2 > kIndent) {
        out += head + "\n";
        head.clear();
    }
    out += head;
    out.append(kIndent - head.size(), ' ');
    std::string help = fill_in(option, d.help);
    if (!d.yaml.empty()) help += fmt::format(" [{}]", d.yaml.front());
    append_wrapped(out, help, kIndent, kWidth);
}

}  // namespace

const Heading* heading_of(Group group) {
    switch (group) {
        case Group::general:
            return &kGeneral;
        case Group::network:
            return &kNetwork;
        case Group::security:
            return &kSecurity;
        case Group::storage:
            return &kStorage;
        case Group::journal:
        case Group::added_to_journal:
            return &kJournal;
        case Group::replication:
            return &kFollowers;
        case Group::logging:
            return &kLogging;
        case Group::process:
            return &kProcess;
        case Group::parameters:
        case Group::absent:
            break;
    }
    return nullptr;
}

std::string help_text() {
    std::string out =
        "mongod [options]\n\n"
        "A document server that MongoDB clients can talk to, with memory-mapped data\n"
        "files and a journal. Without options it keeps its data in /data/db and serves\n"
        "programs on this machine at port 27017. In a configuration file the options\n"
        "have the names in brackets.\n";
    const Heading* heading = nullptr;
    for (const Option* option : all()) {
        const Heading* its = heading_of(option->description().group);
        if (its == nullptr || option->description().hidden) continue;
        if (its != heading) {
            heading = its;
            out += fmt::format("\n{}:\n", heading->title);
            if (*heading->introduction != '\0') {
                out += "  ";
                append_wrapped(out, heading->introduction, 2, 80);
            }
        }
        append_option(out, *option);
    }
    return out;
}

}  // namespace options
