// server/coordinator_options.h - the coordinator that --coordinator and its like name.
#pragma once

#include <memory>

#include "election/keys.h"

namespace server {

// Throws base::Error 2 for endpoints or files that are of no use.
std::unique_ptr<election::Coordinator> open_coordinator();

}  // namespace server
