// os/process.h - facts about this process.
#pragma once

#include <cstdint>

namespace os {

int64_t process_id();

}  // namespace os
