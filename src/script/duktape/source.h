// script/duktape/source.h - the texts of functions: the engine forgets them, and a script that
// hands a function to a command of db needs the text.
#pragma once

#include <string>
#include <string_view>

namespace script {

// Returns the code with each function in it given to keepSource(), a function of the prelude, with
// its text: where it stands as a part of an expression, or behind it where it is a declaration.
// Those that are deep in others, or in very long code, are left alone. Code that the engine does
// not understand is as bad as it was.
std::string with_sources(std::string_view code);

}  // namespace script
