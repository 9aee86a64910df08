// os/system_sleeper.h - how the clock of the machine sleeps, one body per system.
#pragma once

#include <memory>

#include "os/clock.h"

namespace os {

std::unique_ptr<Sleeper> make_system_sleeper();

}  // namespace os
