// server/engines.h - the storage engines of this program. This is the one place that names them:
// everything else speaks storage::Engine.
//
// A new engine is a row in the table of engines.cpp and an entry in the SConscript.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/options.h"
#include "server/settings.h"
#include "storage/engine.h"

namespace server {

inline constexpr std::string_view kDefaultEngine = "mmapv1";

// What --storageEngine takes.
bool is_engine(std::string_view name);
// Their names with commas between them, for messages.
std::string engine_names();

// Opens the dbpath with the engine that the configuration names. Throws base::Error when it cannot
// be used; the text says what to do.
std::unique_ptr<storage::Engine> open_engine(const Config& config, const Settings& settings);

}  // namespace server
