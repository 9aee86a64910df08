#include "options/server_parameters.h"

#include <algorithm>

#include "base/error.h"

namespace options {

namespace {

bool is_version(const std::string& text) {
    int parts = 0;
    size_t begin = 0;
    while (begin <= text.size()) {
        const size_t dot = std::min(text.find('.', begin), text.size());
        const std::string part = text.substr(begin, dot - begin);
        if (part.empty() || part.size() > 4) return false;
        if (part.find_first_not_of("0123456789") != std::string::npos) return false;
        ++parts;
        begin = dot + 1;
    }
    return parts == 3;
}

}  // namespace

void check_version(const Value& value) {
    if (!is_version(std::get<std::string>(value)))
        base::fail(base::kBadValue, "parameter reportedVersion must be like 2.6.12");
}

}  // namespace options
