// os/device_read_ahead.h - how much the system reads around a page of a mapped file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace os {

// Of the device that a path lies on, in KB; nothing where the system does not tell. `root` stands
// before the names below /sys: only tests have another than the empty one.
std::optional<int64_t> device_read_ahead_kb(const std::string& path, const std::string& root = {});

}  // namespace os
