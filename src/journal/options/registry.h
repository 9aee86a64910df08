// journal/options/registry.h - the options of the journal, each described by a file of its own.
//
// A file in this folder holds one option: its value, its description, and a static Registration.
// The server reads the registry for --help, the command line, YAML, getParameter and setParameter;
// the code the option steers asks the option's file for the value. Adding an option therefore means
// adding a file and a small hook, and no two options touch the same lines.
//
// The registry is filled before main() and does not change afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace journal::options {

enum class Type { flag, integer, text };

// One figure, or a group of figures.
struct Figure {
    std::string name;
    int64_t value = 0;
    std::vector<Figure> group = {};
};

struct Descriptor {
    std::string name;       // on the command line after "--", and as a parameter
    std::string yaml_name;  // dotted: "storage.journal.padKB"
    Type type = Type::flag;
    std::string values;  // for people: "none | snappy", "50..2000 microseconds"
    std::string default_value;
    std::string help;      // one or more sentences; what it costs and what can be lost
    bool runtime = false;  // may be changed by setParameter
    // Checks and stores. Throws base::Error (kBadValue) with a text that names the option, the
    // value and what is allowed. For a flag the text is "true" or "false".
    std::function<void(std::string_view)> set;
    std::function<std::string()> get;  // the value in force, in the form that set accepts
    // Figures that show the option at work, for serverStatus().dur; may be empty.
    std::function<std::vector<Figure>()> status = {};
    std::string status_name = {};  // of the sub-document; empty: the option's name
};

class Registration {
  public:
    explicit Registration(Descriptor descriptor);
};

// Sorted by name.
std::vector<const Descriptor*> all();
// Null if there is none of that name.
const Descriptor* find(std::string_view name);

}  // namespace journal::options
