// server/key_file.h - the file of --keyFile: what members of a replica set share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace server {

constexpr size_t kKeyCharactersMin = 6;
constexpr size_t kKeyCharactersMax = 1024;

// The key in the text of a file: its base64 characters, without white space. `path` is for people.
// Throws base::Error 2 for other characters, and where they are too few or too many.
std::string key_of(std::string_view text, const std::string& path);
// Throws base::Error 2 where others than its owner have rights to the file, or it is missing.
void check_is_of_owner_alone(const std::string& path);
// Throws base::Error 2 where the file cannot be read, or others than its owner have rights to it.
std::string read_key_file(const std::string& path);

}  // namespace server
