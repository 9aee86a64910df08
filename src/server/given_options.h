// server/given_options.h - options as they were given, before they are checked together.
//
// Inside server/ only. Filled from the command line first, then from the configuration file: what
// is there already is not replaced.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "options/option.h"

namespace server {

class GivenOptions {
  public:
    // `shown_as`: the dotted name under which getCmdLineOpts shows `shown` (a switch of YAML may
    // have the opposite sense). The value is ignored if the option was given before.
    void add(options::Option& option, options::Value value, const std::string& shown_as,
             options::Value shown);
    // Adds it as the command line does: under its YAML name, or at the top where it has none of the
    // same sense.
    void add(options::Option& option, options::Value value);

    bool has(const options::Option& option) const { return values_.contains(&option); }
    // Null if it was not given.
    const options::Value* find(const options::Option& option) const;

    // Nested by the dotted names.
    bson::Object parsed() const;

  private:
    std::map<const options::Option*, options::Value> values_;
    std::map<std::string, options::Value, std::less<>> shown_;
};

// Each throws OptionError with the texts of wire spec 6.2. read_command_line returns the words that
// are no options.
std::vector<std::string> read_command_line(const std::vector<std::string>& argv,
                                           GivenOptions& given);
void read_config_file(const std::string& path, GivenOptions& given);

}  // namespace server
