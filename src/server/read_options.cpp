// Reading options: the command line by Boost.Program_options, configuration files as YAML by
// yaml-cpp or in the old form of "name = value" lines.

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <boost/program_options.hpp>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "options/catalogue.h"
#include "options/series.h"
#include "server/given_options.h"
#include "server/options.h"
#include "server/text_file.h"

namespace server {

namespace po = boost::program_options;
using options::Option;
using options::Type;
using options::Value;

namespace {

constexpr const char* kHint = "try 'mongod --help' for more information";
constexpr size_t kVerbosityMax = 5;

[[noreturn]] void fail(const char* what, const std::string& why) {
    throw OptionError(fmt::format("{}: {}\n{}", what, why, kHint));
}

// The library names an option in several ways; the old one named it without dashes.
std::string bare(std::string name) {
    name.erase(0, name.find_first_not_of('-'));
    return name;
}

// Names the option without a value that may stand behind the name.
std::string unknown_option(const po::unknown_option& error) {
    std::string name = bare(error.get_option_name());
    name.erase(std::min(name.find('='), name.size()));
    return "unknown option " + name + options::missing_patch(name);
}

// Runs `read`; what it throws, and the libraries do, becomes an OptionError that begins with
// `what`.
template <typename Read>
auto reading(const char* what, const Read& read) {
    try {
        return read();
    } catch (const po::unknown_option& error) {
        fail(what, unknown_option(error));
    } catch (const po::invalid_config_file_syntax& error) {
        // The rest of the line may be a secret without its equals sign.
        const std::string line = error.tokens();
        fail(what, fmt::format("the line '{} ...' is not of the form name = value",
                               line.substr(0, line.find_first_of(" \t"))));
    } catch (const po::error& error) {
        fail(what, error.what());
    } catch (const YAML::Exception& error) {
        fail(what, error.what());
    } catch (const base::Error& error) {
        fail(what, error.what());
    }
}

bool is_switch(const Option& option, const options::OldName& old) {
    return option.type() == Type::flag || *old.switch_for != '\0';
}

po::options_description describe(bool flags_take_values) {
    po::options_description all;
    for (const Option* option : options::all()) {
        if (!option->is_on_command_line()) continue;
        const options::Description& d = option->description();
        std::string names = d.name;
        if (d.letter != 0) names += fmt::format(",{}", d.letter);
        if (option->type() == Type::flag && !flags_take_values) {
            all.add_options()(names.c_str(), "");
        } else if (option->type() == Type::list) {
            all.add_options()(names.c_str(), po::value<std::vector<std::string>>()->composing(),
                              "");
        } else {
            all.add_options()(names.c_str(), po::value<std::string>(), "");
        }
        for (const options::OldName& old : d.old_names) {
            if (is_switch(*option, old) && !flags_take_values) {
                all.add_options()(old.name, "");
            } else {
                all.add_options()(old.name, po::value<std::string>(), "");
            }
        }
    }
    return all;
}

Value parse(const Option& option, const std::string& text) {
    if (&option == &options::verbose) {
        // -vvv, and the switch that it was in old configuration files.
        if (text == "true") return int64_t{1};
        if (text == "false") return int64_t{0};
        if (text.find_first_not_of('v') == std::string::npos)
            return static_cast<int64_t>(text.size());
    }
    std::optional<Value> value = options::parse_value(option, text);
    // One of several words or numbers: the option itself says which.
    if (!value && !option.description().choices.empty()) value = text;
    if (!value)
        base::fail(base::kBadValue, "the argument ('{}') for option '--{}' is invalid", text,
                   option.description().name);
    return *value;
}

// Returns the value that `text`, given by an old name, means; nothing where a switch is off.
std::optional<Value> parse_old(const Option& option, const options::OldName& old,
                               const std::string& text) {
    if (*old.switch_for != '\0') {
        const std::optional<Value> on = options::parse_value(options::quiet, text);
        if (!on)
            base::fail(base::kBadValue, "the argument ('{}') for option '--{}' is invalid", text,
                       old.name);
        return std::get<bool>(*on) ? std::optional<Value>(old.switch_for) : std::nullopt;
    }
    if (old.words.empty()) return parse(option, text);
    std::vector<std::string_view> known;
    for (const auto& [word, meaning] : old.words) {
        if (text == word) return Value(std::string(meaning));
        known.push_back(word);
    }
    base::fail(base::kBadValue, "{} has to be {}", old.name, fmt::join(known, ", "));
}

// Whichever comes first, what is said by both names has to be the same.
void add_old(GivenOptions& given, Option& option, const options::OldName& old, Value value) {
    const Value* const before = given.find(option);
    if (before != nullptr && *before != value)
        base::fail(base::kBadValue, "--{} and --{} say different things", option.description().name,
                   old.name);
    given.add(option, std::move(value));
}

void add_old_names(const po::variables_map& found, GivenOptions& given) {
    for (Option* option : options::all()) {
        for (const options::OldName& old : option->description().old_names) {
            const auto value = found.find(old.name);
            if (value == found.end()) continue;
            const auto* text = boost::any_cast<std::string>(&value->second.value());
            std::optional<Value> meant = parse_old(*option, old, text ? *text : "true");
            if (meant) add_old(given, *option, old, std::move(*meant));
        }
    }
}

void add_all(const po::variables_map& found, GivenOptions& given) {
    for (const auto& [name, value] : found) {
        Option* const option = options::find(name);
        if (option == nullptr) continue;  // positional words
        if (const auto* list = boost::any_cast<std::vector<std::string>>(&value.value())) {
            given.add(*option, *list);
        } else if (const auto* text = boost::any_cast<std::string>(&value.value())) {
            given.add(*option, parse(*option, *text));
        } else {
            given.add(*option, true);
        }
    }
    add_old_names(found, given);
}

// -vvv and --verbose without a level, in the form that takes a value.
std::string spell_out_verbosity(const std::string& word) {
    const bool short_form =
        word.size() >= 2 && word[0] == '-' && word.find_first_not_of('v', 1) == std::string::npos;
    if (short_form) return "--verbose=" + word.substr(1);
    return word == "--verbose" ? "--verbose=v" : word;
}

}  // namespace

std::vector<std::string> read_command_line(const std::vector<std::string>& argv,
                                           GivenOptions& given) {
    std::vector<std::string> words;
    for (size_t i = 1; i < argv.size(); ++i)
        words.push_back(spell_out_verbosity(argv[i]));
    po::options_description described = describe(false);
    described.add_options()("command", po::value<std::vector<std::string>>(), "");
    po::positional_options_description positional;
    positional.add("command", -1);
    using Style = po::command_line_style::style_t;
    constexpr int kStyle = (Style::unix_style | Style::allow_long_disguise) &
                           ~(Style::allow_guessing | Style::allow_sticky);
    return reading("Error parsing command line", [&]() -> std::vector<std::string> {
        po::variables_map found;
        po::store(po::command_line_parser(words)
                      .options(described)
                      .positional(positional)
                      .style(kStyle)
                      .run(),
                  found);
        add_all(found, given);
        if (found.count("command") == 0) return {};
        return found["command"].as<std::vector<std::string>>();
    });
}

namespace {

// --- YAML ---

// Returns every option behind a dotted name.
std::vector<Option*> find_yaml(const std::string& path) {
    std::vector<Option*> found;
    for (Option* option : options::all()) {
        for (const char* name : option->description().yaml) {
            if (name == path) found.push_back(option);
        }
    }
    return found;
}

[[noreturn]] void unknown_yaml(const std::string& path) {
    throw OptionError(
        fmt::format("Unrecognized option: {}{}\n{}", path, options::missing_patch(path), kHint));
}

[[noreturn]] void bad_yaml_value(const std::string& path, const std::string& text) {
    base::fail(base::kBadValue, "bad value '{}' for {}", text, path);
}

bool yaml_switch(const std::string& path, const std::string& text) {
    if (text == "true") return true;
    if (text == "false") return false;
    bad_yaml_value(path, text);
}

// Adds the value of a word, where YAML has words in place of a switch or a number; false: it has
// none.
bool add_word(GivenOptions& given, const std::vector<Option*>& behind, const std::string& path,
              const std::string& text) {
    bool has_words = false;
    for (Option* option : behind) {
        for (const auto& [word, meaning] : option->description().yaml_words) {
            has_words = true;
            if (text != word) continue;
            given.add(*option, meaning, path, text);
            return true;
        }
    }
    if (has_words) bad_yaml_value(path, text);
    return false;
}

// A switch, behind which one option lies for each sense, or one for both.
void add_switch(GivenOptions& given, const std::vector<Option*>& behind, bool on) {
    Option* positive = nullptr;
    Option* negative = nullptr;
    for (Option* option : behind) {
        (option->description().yaml_opposite ? negative : positive) = option;
        if (given.has(*option)) return;  // the command line wins, in either sense
    }
    const char* const shown_as = behind.front()->description().yaml.front();
    if (negative != nullptr && !on) given.add(*negative, true, shown_as, on);
    if (positive != nullptr && (on || negative == nullptr)) given.add(*positive, on, shown_as, on);
}

// The name under which the file has had a value, by the first option behind it.
using NamesSeen = std::map<const Option*, std::string>;

void see(const Option& option, const std::string& path, NamesSeen& seen) {
    const auto [before, is_first] = seen.emplace(&option, path);
    if (!is_first)
        base::fail(base::kBadValue, "{} and {} are the same; remove one", before->second, path);
}

struct OldYamlName {
    Option* option = nullptr;
    const options::OldName* name = nullptr;
};

OldYamlName find_old_yaml(const std::string& path) {
    for (Option* option : options::all()) {
        for (const options::OldName& old : option->description().old_names)
            if (old.yaml == path) return {option, &old};
    }
    return {};
}

void add_old_yaml(GivenOptions& given, const OldYamlName& found, const std::string& path,
                  const std::string& text, NamesSeen& seen) {
    if (is_switch(*found.option, *found.name)) yaml_switch(path, text);
    std::optional<Value> meant = parse_old(*found.option, *found.name, text);
    if (!meant) return;
    see(*found.option, path, seen);
    add_old(given, *found.option, *found.name, std::move(*meant));
}

void add_yaml_scalar(GivenOptions& given, const std::string& path, const std::string& text,
                     NamesSeen& seen) {
    if (const OldYamlName old = find_old_yaml(path); old.option != nullptr)
        return add_old_yaml(given, old, path, text, seen);
    const std::vector<Option*> behind = find_yaml(path);
    if (behind.empty()) unknown_yaml(path);
    see(*behind.front(), path, seen);
    if (add_word(given, behind, path, text)) return;
    Option& option = *behind.front();
    if (option.type() == Type::flag) return add_switch(given, behind, yaml_switch(path, text));
    const Value value = parse(option, text);
    given.add(option, value, option.description().yaml.front(), value);
}

// Whether options have names that begin with `path`.
bool is_yaml_section(const std::string& path) {
    if (path.empty() || path == "setParameter") return true;
    for (const Option* option : options::all()) {
        std::vector<std::string_view> names(option->description().yaml.begin(),
                                            option->description().yaml.end());
        for (const options::OldName& old : option->description().old_names)
            names.push_back(old.yaml);
        for (const std::string_view name : names) {
            if (name.starts_with(path) && name.substr(path.size()).starts_with('.')) return true;
        }
    }
    return false;
}

void add_yaml(GivenOptions& given, const YAML::Node& node, const std::string& path, int depth,
              NamesSeen& names) {
    constexpr int kDepthMax = 8;
    if (path == "setParameter" && node.IsMap()) {
        std::vector<std::string> pairs;
        for (const auto& entry : node)
            pairs.push_back(entry.first.as<std::string>() + "=" + entry.second.as<std::string>());
        given.add(options::set_parameter_pairs, pairs);
        return;
    }
    if (node.IsMap() && (node.size() > 0 || is_yaml_section(path))) {
        // An alias may lead back to where it stands.
        if (depth == kDepthMax) unknown_yaml(path);
        std::set<std::string> seen;
        for (const auto& entry : node) {
            const auto name = entry.first.as<std::string>();
            const std::string inner = path.empty() ? name : fmt::format("{}.{}", path, name);
            if (!seen.insert(name).second)
                base::fail(base::kBadValue, "{} is there twice; remove one", inner);
            add_yaml(given, entry.second, inner, depth + 1, names);
        }
    } else if (node.IsScalar()) {
        add_yaml_scalar(given, path, node.as<std::string>(), names);
    } else if (node.IsSequence()) {
        base::fail(base::kBadValue, "{} takes one value, not a list", path);
    } else if (!is_yaml_section(path)) {
        // A section whose lines are all comments is nothing; an option without a value is not.
        if (find_yaml(path).empty() && find_old_yaml(path).option == nullptr) unknown_yaml(path);
        base::fail(base::kBadValue, "{} has no value", path);
    }
}

// --- "name = value" lines ---

void read_lines(const std::string& text, GivenOptions& given) {
    reading("Error parsing INI config file", [&] {
        std::istringstream in(text);
        po::options_description described = describe(true);
        // "vvv = true" stood for -vvv.
        for (size_t level = 1; level <= kVerbosityMax; ++level)
            described.add_options()(std::string(level, 'v').c_str(), po::value<std::string>(), "");
        po::variables_map found;
        po::store(po::parse_config_file(in, described), found);
        add_all(found, given);
        for (size_t level = kVerbosityMax; level >= 1; --level) {
            const auto letters = found.find(std::string(level, 'v'));
            if (letters == found.end()) continue;
            const Value on = parse(options::quiet, letters->second.as<std::string>());
            if (std::get<bool>(on)) given.add(options::verbose, static_cast<int64_t>(level));
        }
    });
}

// The one that has something in it.
YAML::Node only_document(const std::string& text) {
    std::vector<YAML::Node> documents = YAML::LoadAll(text);
    std::erase_if(documents, [](const YAML::Node& document) { return document.IsNull(); });
    if (documents.size() > 1)
        throw YAML::Exception(documents[1].Mark(),
                              "the file holds more than one document, of which one would be read");
    return documents.empty() ? YAML::Node() : documents.front();
}

void read_config_text(const std::string& text, GivenOptions& given) {
    constexpr const char* kWhat = "Error parsing YAML config file";
    YAML::Node root;
    try {
        root = only_document(text);
    } catch (const YAML::Exception& error) {
        // Lines of the old form are often no YAML at all; what looks like YAML gets its own error.
        if (text.find('=') == std::string::npos) fail(kWhat, error.what());
        return read_lines(text, given);
    }
    if (!root.IsMap()) return read_lines(text, given);
    reading(kWhat, [&] {
        NamesSeen names;
        add_yaml(given, root, "", 0, names);
        const Value* const to_syslog = given.find(options::log_to_syslog);
        const bool to_file = to_syslog != nullptr && !std::get<bool>(*to_syslog);
        if (to_file && !given.has(options::log_path))
            base::fail(base::kBadValue, "systemLog.destination: file needs systemLog.path");
    });
}

}  // namespace

void read_config_file(const std::string& path, GivenOptions& given) {
    std::string text;
    try {
        text = read_text_file(path);
    } catch (const base::Error& error) {
        throw OptionError(
            fmt::format("Error reading config file: {}\n{}\n{}", path, error.what(), kHint));
    }
    read_config_text(text, given);
}

}  // namespace server
