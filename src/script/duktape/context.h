// script/duktape/context.h - contexts (script/script.h) by Duktape.
#pragma once

#include <cstddef>
#include <memory>

#include "script/script.h"

namespace script {

// Throws std::bad_alloc. `host` outlives the context.
std::unique_ptr<Context> open_duktape(const Host& host, size_t memory_max);

}  // namespace script
