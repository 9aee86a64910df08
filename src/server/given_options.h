// server/given_options.h - options as they were given, before anybody judges them together.
//
// Inside server/ only. Filled from the command line first, then from the configuration file: what
// is there already is not replaced.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bson/builder.h"
#include "server/option_table.h"

namespace server {

using OptionValue = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

// The text as a value of the option's kind. Throws base::Error 2 saying what is wrong with it.
OptionValue parse_option_value(const OptionSpec& spec, std::string_view text);

class GivenOptions {
  public:
    // `shown_as`: the dotted name under which getCmdLineOpts shows `shown` (a switch of YAML may
    // have the opposite sense). Ignored if the option was given before.
    void add(const OptionSpec& spec, OptionValue value, const std::string& shown_as,
             OptionValue shown);
    // As on the command line: under its YAML name, or at the top where it has none of the same
    // sense.
    void add(const OptionSpec& spec, OptionValue value);

    bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
    bool flag(std::string_view name) const;
    std::string text(std::string_view name, std::string_view otherwise = {}) const;
    int64_t integer(std::string_view name, int64_t otherwise) const;
    double number(std::string_view name, double otherwise) const;
    // Any single value as it would stand on the command line; empty if it was not given.
    std::string as_text(std::string_view name) const;
    std::vector<std::string> list(std::string_view name) const;
    std::vector<std::string> names() const;

    // Nested by the dotted names.
    bson::Object parsed() const;

  private:
    template <typename T>
    const T* find(std::string_view name) const;

    std::map<std::string, OptionValue, std::less<>> values_;
    std::map<std::string, OptionValue, std::less<>> shown_;
};

// Each throws OptionError with the texts of wire spec 6.2. read_command_line returns the words that
// are no options.
std::vector<std::string> read_command_line(const std::vector<std::string>& argv,
                                           GivenOptions& given);
void read_config_file(const std::string& path, GivenOptions& given);
// The text of a configuration file, for tests.
void read_config_text(const std::string& text, GivenOptions& given);

}  // namespace server
