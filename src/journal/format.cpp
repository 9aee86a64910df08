#include "journal/format.h"

namespace journal {

std::optional<FileFormat> format_of(uint16_t version) {
    if (version == kClassicFormat.version) return kClassicFormat;
    return std::nullopt;
}

FileFormat format_of_new_files(const std::string&) {
    return kClassicFormat;
}

}  // namespace journal
