// storage/mmapv1/testing/small_engine.h - options of an engine that takes little room, for tests.
#pragma once

#include <string>

#include "storage/mmapv1/engine.h"

namespace mmapv1 {

// Small data files, a namespace file of 1 MB, journal files made when they are needed and without a
// examine the space that is left.
inline EngineOptions small_engine_options(const std::string& dbpath) {
    EngineOptions options;
    options.dbpath = dbpath;
    options.files.small_files = true;
    options.files.ns_bytes = 1 << 20;
    options.durable.no_prealloc_journal = true;
    options.durable.journal_options = kNoCheckSpace;
    return options;
}

}  // namespace mmapv1
