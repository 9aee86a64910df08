#include "server/text_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace server {

std::string read_text_file(const std::string& path) {
    // Opening a directory succeeds and gives an empty text.
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        base::fail(base::kUnknownError, "it is a directory");
    std::ifstream in(path, std::ios::binary);
    if (!in) base::fail(base::kUnknownError, "{}", std::strerror(errno));
    std::string text(kTextFileBytesMax + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(in.gcount()));
    if (in.bad()) base::fail(base::kUnknownError, "it cannot be read");
    if (text.size() > kTextFileBytesMax)
        base::fail(base::kUnknownError, "it is longer than {} bytes", kTextFileBytesMax);
    return text;
}

}  // namespace server
