// server/secret_words.h - which words of a command line are values that are shown nowhere
// (options::Description, secret), by each name that such an option has: the one rule for what
// getCmdLineOpts, the log, local.startup_log and ps show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace server {

constexpr const char* kSecret = "<secret>";  // in place of such a value

// Whether an option of that name on the command line, today's or an old one, is secret.
bool is_secret(std::string_view name);

// A word of a command line, from `begin` to its end.
struct SecretWord {
    size_t place;
    size_t begin;
};
// Finds secrets in `--name value` and `--name=value`, also with one dash, `-x value` and `-xvalue`.
// If the words are no valid command line, it returns rather one too many.
std::vector<SecretWord> secret_words(const std::vector<std::string>& argv);

// The command line as it may be shown.
std::vector<std::string> without_secrets(std::vector<std::string> argv);

// Overwrites them where the other users of the machine see them, as by ps. Call it once the words
// were copied.
void hide_secrets(int argc, char** argv);

}  // namespace server
