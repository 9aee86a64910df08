// options/help.h - the text of --help, made from the catalogue.
#pragma once

#include <string>

#include "options/option.h"

namespace options {

// A heading of --help and of the documents; options of several groups may come under one.
struct Heading {
    const char* title;
    const char* introduction;
};
// Null for groups that --help does not list.
const Heading* heading_of(Group group);

// Returns the text, at most 80 columns wide.
std::string help_text();

}  // namespace options
