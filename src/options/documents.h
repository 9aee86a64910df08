// options/documents.h - documents about the options, made from the catalogue and what patches add
// to it. `mongod --describe` prints them; `./lab docs` puts them into their places.
#pragma once

#include <string>

namespace options {

// docs/options.md without its part about patches. Each option is a block that begins with "### ".
std::string markdown();
// Returns mongod.1, for man.
std::string man_page();
// Returns the completion for bash.
std::string bash_completion();

// Returns the values in words, for all three: "a whole number from 2 to 300 ms".
class Option;
std::string values_text(const Option& option);
// When it can be changed.
std::string change_text(const Option& option);

}  // namespace options
