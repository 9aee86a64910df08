// monitoring/open_metrics.h - a serverStatus document as OpenMetrics text, version 1.0.0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bson/view.h"

namespace monitoring {

constexpr const char* kContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// Bytes of the file system that the data lies in.
struct Disk {
    uint64_t size = 0;
    uint64_t used = 0;
};

// `status`: as OP_MSG gives it. A metric whose values it lacks is left out, and so are commands
// that no client has used.
std::string open_metrics(bson::Doc status, const std::optional<Disk>& disk);

}  // namespace monitoring
