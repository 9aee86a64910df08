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

// Releases whose maxWireVersion is above the default, the newest first.
struct Release {
    int major;
    int wire_version;
};
constexpr Release kReleases[] = {{8, 25}, {7, 21}, {6, 17}, {5, 13}};

}  // namespace

int announced_wire_version(int limit) {
    const auto given = static_cast<int>(announced_max_wire_version.get());
    if (announced_max_wire_version.is_set()) return given;
    const int major = std::stoi(announced_version.get());
    for (const Release& release : kReleases) {
        if (major >= release.major && release.wire_version < limit) return release.wire_version;
    }
    return given;
}

void check_version(const Value& value) {
    if (!is_version(std::get<std::string>(value)))
        base::fail(base::kBadValue, "parameter announcedVersion must be like 2.6.12");
}

}  // namespace options
