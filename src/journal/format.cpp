#include "journal/format.h"

namespace journal {

std::optional<FileFormat> format_of(uint16_t version) {
    if (version == kClassicFormat.version) return kClassicFormat;
    return std::nullopt;
}

}  // namespace journal
