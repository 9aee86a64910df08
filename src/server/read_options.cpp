// Reading options: the command line by Boost.Program_options, configuration files as YAML by
// yaml-cpp or in the old form of "name = value" lines.

#include <yaml-cpp/yaml.h>

#include <boost/program_options.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"
#include "server/given_options.h"
#include "server/options.h"

namespace server {

namespace po = boost::program_options;

namespace {

constexpr const char* kHint = "try 'mongod --help' for more information";
constexpr size_t kVerbosityMax = 5;

[[noreturn]] void fail(const char* what, const std::string& why) {
    throw OptionError(fmt::format("{}: {}\n{}", what, why, kHint));
}

po::options_description describe(bool flags_take_values) {
    po::options_description all;
    for (const OptionSpec& spec : option_table()) {
        std::string names = spec.name;
        if (spec.letter != 0) names += fmt::format(",{}", spec.letter);
        if (spec.kind == Kind::flag && !flags_take_values) {
            all.add_options()(names.c_str(), "");
        } else if (spec.kind == Kind::list) {
            all.add_options()(names.c_str(), po::value<std::vector<std::string>>()->composing(),
                              "");
        } else {
            all.add_options()(names.c_str(), po::value<std::string>(), "");
        }
    }
    return all;
}

// The library names an option in several ways; the old one named it without dashes.
std::string bare(std::string name) {
    name.erase(0, name.find_first_not_of('-'));
    return name;
}

void add_text(GivenOptions& given, const OptionSpec& spec, const std::string& text) {
    given.add(spec, parse_option_value(spec, text));
}

void add_all(const po::variables_map& found, GivenOptions& given) {
    for (const auto& [name, value] : found) {
        const OptionSpec* spec = find_option(name);
        if (spec == nullptr) continue;  // positional words
        if (const auto* list = boost::any_cast<std::vector<std::string>>(&value.value())) {
            given.add(*spec, *list);
        } else if (const auto* text = boost::any_cast<std::string>(&value.value())) {
            add_text(given, *spec, *text);
        } else {
            given.add(*spec, true);
        }
    }
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
    constexpr const char* kWhat = "Error parsing command line";
    std::vector<std::string> words;
    for (size_t i = 1; i < argv.size(); ++i)
        words.push_back(spell_out_verbosity(argv[i]));
    po::options_description options = describe(false);
    options.add_options()("command", po::value<std::vector<std::string>>(), "");
    po::positional_options_description positional;
    positional.add("command", -1);
    using Style = po::command_line_style::style_t;
    constexpr int kStyle = (Style::unix_style | Style::allow_long_disguise) &
                           ~(Style::allow_guessing | Style::allow_sticky);
    try {
        po::variables_map found;
        po::store(po::command_line_parser(words)
                      .options(options)
                      .positional(positional)
                      .style(kStyle)
                      .run(),
                  found);
        add_all(found, given);
        if (found.count("command") == 0) return {};
        return found["command"].as<std::vector<std::string>>();
    } catch (const po::unknown_option& error) {
        fail(kWhat, "unknown option " + bare(error.get_option_name()));
    } catch (const po::error& error) {
        fail(kWhat, error.what());
    } catch (const base::Error& error) {
        fail(kWhat, error.what());
    }
}

namespace {

// --- YAML ---

// The option behind a dotted name; `negative`: the one whose sense is opposite.
const OptionSpec* find_yaml(const std::string& path, bool negative) {
    for (const OptionSpec& spec : option_table()) {
        if (spec.yaml_opposite != negative) continue;
        for (const std::string& name : spec.yaml) {
            if (name == path) return &spec;
        }
    }
    return nullptr;
}

[[noreturn]] void bad_yaml_value(const std::string& path, const std::string& text) {
    base::fail(base::kBadValue, "bad value '{}' for {}", text, path);
}

bool yaml_switch(const std::string& path, const std::string& text) {
    if (text == "true") return true;
    if (text == "false") return false;
    bad_yaml_value(path, text);
}

// Settings whose YAML values are words where the command line has a flag or a number.
bool add_special(GivenOptions& given, const std::string& path, const std::string& text) {
    const auto add = [&](const char* option, OptionValue value) {
        given.add(*find_option(option), std::move(value), path, text);
        return true;
    };
    if (path == "systemLog.destination") {
        if (text == "syslog") return add("syslog", true);
        if (text != "file") bad_yaml_value(path, text);
        return add("syslog", false);
    }
    if (path == "operationProfiling.mode") {
        if (text == "off") return add("profile", int64_t{0});
        if (text == "slowOp") return add("profile", int64_t{1});
        if (text == "all") return add("profile", int64_t{2});
        bad_yaml_value(path, text);
    }
    if (path == "security.authorization") {
        if (text == "disabled") return add("noauth", true);
        if (text == "enabled") return add("auth", true);
        bad_yaml_value(path, text);
    }
    if (path == "sharding.clusterRole") {
        if (text == "shardsvr") return add("shardsvr", true);
        if (text == "configsvr") return add("configsvr", true);
        bad_yaml_value(path, text);
    }
    if (path == "net.ssl.mode" && text == "disabled") return true;
    return false;
}

void add_yaml_scalar(GivenOptions& given, const std::string& path, const std::string& text) {
    if (add_special(given, path, text)) return;
    const OptionSpec* positive = find_yaml(path, false);
    const OptionSpec* negative = find_yaml(path, true);
    if (positive == nullptr && negative == nullptr)
        throw OptionError(fmt::format("Unrecognized option: {}\n{}", path, kHint));
    const OptionSpec& any = positive != nullptr ? *positive : *negative;
    const std::string& shown_as = any.yaml.front();
    if (any.kind != Kind::flag) {
        const OptionValue value = parse_option_value(any, text);
        given.add(any, value, shown_as, value);
        return;
    }
    const bool on = yaml_switch(path, text);
    // The command line wins, in either sense.
    for (const OptionSpec* spec : {positive, negative}) {
        if (spec != nullptr && given.has(spec->name)) return;
    }
    if (negative != nullptr && !on) given.add(*negative, true, shown_as, on);
    if (positive != nullptr && (on || negative == nullptr)) given.add(*positive, on, shown_as, on);
}

// Whether options have names that begin with `path`.
bool is_yaml_section(const std::string& path) {
    if (path.empty() || path == "setParameter") return true;
    for (const OptionSpec& spec : option_table()) {
        for (const std::string& name : spec.yaml) {
            if (name.size() > path.size() && name[path.size()] == '.' && name.rfind(path, 0) == 0)
                return true;
        }
    }
    return false;
}

void add_yaml(GivenOptions& given, const YAML::Node& node, const std::string& path) {
    if (path == "setParameter" && node.IsMap()) {
        std::vector<std::string> pairs;
        for (const auto& entry : node)
            pairs.push_back(entry.first.as<std::string>() + "=" + entry.second.as<std::string>());
        given.add(*find_option("setParameter"), pairs);
        return;
    }
    if (node.IsMap()) {
        std::set<std::string> seen;
        for (const auto& entry : node) {
            const auto name = entry.first.as<std::string>();
            const std::string inner = path.empty() ? name : path + "." + name;
            if (!seen.insert(name).second)
                base::fail(base::kBadValue, "{} is there twice; remove one", inner);
            add_yaml(given, entry.second, inner);
        }
    } else if (node.IsScalar()) {
        add_yaml_scalar(given, path, node.as<std::string>());
    } else if (node.IsSequence()) {
        base::fail(base::kBadValue, "{} takes one value, not a list", path);
    } else if (!is_yaml_section(path)) {
        // A section whose lines are all comments is nothing; an option without a value is not.
        if (find_yaml(path, false) == nullptr && find_yaml(path, true) == nullptr)
            throw OptionError(fmt::format("Unrecognized option: {}\n{}", path, kHint));
        base::fail(base::kBadValue, "{} has no value", path);
    }
}

// --- "name = value" lines ---

void read_lines(const std::string& text, GivenOptions& given) {
    constexpr const char* kWhat = "Error parsing INI config file";
    try {
        std::istringstream in(text);
        po::options_description options = describe(true);
        // "vvv = true" stood for -vvv.
        for (size_t level = 1; level <= kVerbosityMax; ++level)
            options.add_options()(std::string(level, 'v').c_str(), po::value<std::string>(), "");
        po::variables_map found;
        po::store(po::parse_config_file(in, options), found);
        add_all(found, given);
        for (size_t level = kVerbosityMax; level >= 1; --level) {
            const auto letters = found.find(std::string(level, 'v'));
            if (letters == found.end()) continue;
            const auto on =
                parse_option_value(*find_option("quiet"), letters->second.as<std::string>());
            if (std::get<bool>(on)) given.add(*find_option("verbose"), static_cast<int64_t>(level));
        }
    } catch (const po::unknown_option& error) {
        fail(kWhat, "unknown option " + bare(error.get_option_name()));
    } catch (const po::error& error) {
        fail(kWhat, error.what());
    } catch (const base::Error& error) {
        fail(kWhat, error.what());
    }
}

}  // namespace

void read_config_text(const std::string& text, GivenOptions& given) {
    constexpr const char* kWhat = "Error parsing YAML config file";
    YAML::Node root;
    try {
        root = YAML::Load(text);
    } catch (const YAML::Exception& error) {
        // Lines of the old form are often no YAML at all; what looks like YAML gets its own error.
        if (text.find('=') == std::string::npos) fail(kWhat, error.what());
        return read_lines(text, given);
    }
    if (!root.IsMap()) return read_lines(text, given);
    try {
        add_yaml(given, root, "");
        const bool to_file = given.has("syslog") && !given.flag("syslog");
        if (to_file && !given.has("logpath"))
            base::fail(base::kBadValue, "systemLog.destination: file needs systemLog.path");
    } catch (const YAML::Exception& error) {
        fail(kWhat, error.what());
    } catch (const base::Error& error) {
        fail(kWhat, error.what());
    }
}

void read_config_file(const std::string& path, GivenOptions& given) {
    std::ifstream in(path);
    // Opening a directory succeeds and gives an empty text.
    std::error_code ignored;
    if (!in || std::filesystem::is_directory(path, ignored))
        throw OptionError(fmt::format("Error reading config file: {}\n{}", path, kHint));
    std::ostringstream text;
    text << in.rdbuf();
    read_config_text(text.str(), given);
}

}  // namespace server
