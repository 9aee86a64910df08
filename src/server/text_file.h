// server/text_file.h - small files of text that the operator names.
#pragma once

#include <cstddef>
#include <string>

namespace server {

constexpr size_t kTextFileBytesMax = 1 << 20;

// The whole of it. A pipe is waited for: shells put text there. Throws base::Error, which says why,
// if it cannot be read or is longer.
std::string read_text_file(const std::string& path);

}  // namespace server
