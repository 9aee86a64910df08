// storage_options.h - a small stand-in
#pragma once

#include <atomic>

#include "mongo/skeleton.h"

namespace mongo {

struct StorageGlobalParams {
    StorageGlobalParams() : dur(true), journalCommitIntervalMs(0) {}
    string dbpath;
    bool dur;
    std::atomic<int> journalCommitIntervalMs;  // WiredTiger follows it too
};
extern StorageGlobalParams storageGlobalParams;

}  // namespace mongo
