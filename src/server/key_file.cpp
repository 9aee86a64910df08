#include "server/key_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "server/text_file.h"

namespace server {

namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

}  // namespace

std::string key_of(std::string_view text, const std::string& path) {
    std::string key;
    for (const char c : text) {
        if (kWhiteSpace.find(c) != std::string_view::npos) continue;
        // The character itself may be part of a secret that was meant for something else.
        if (kBase64.find(c) == std::string_view::npos)
            base::fail(base::kBadValue, "invalid char in key file {}: it takes those of base64",
                       path);
        key += c;
    }
    if (key.size() < kKeyCharactersMin || key.size() > kKeyCharactersMax)
        base::fail(base::kBadValue,
                   "security key in {} has length {}, must be between {} and {} chars", path,
                   key.size(), kKeyCharactersMin, kKeyCharactersMax);
    return key;
}

void check_is_of_owner_alone(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0)
        base::fail(base::kBadValue, "error opening file {}: {}", path, std::strerror(errno));
    if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        base::fail(base::kBadValue, "permissions on {} are too open", path);
}

std::string read_key_file(const std::string& path) {
    check_is_of_owner_alone(path);
    try {
        return key_of(read_text_file(path), path);
    } catch (const base::Error& error) {
        if (error.code() == base::kBadValue) throw;
        base::fail(base::kBadValue, "error opening file {}: {}", path, error.what());
    }
}

}  // namespace server
