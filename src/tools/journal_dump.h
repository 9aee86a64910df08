// tools/journal_dump.h - a journal file in readable form. Only reads; shows damage instead of
// stopping at it.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "os/file_system.h"

namespace tools {

struct DumpOptions {
    bool operations = true;  // one line per operation, else sections only
    size_t hex_bytes = 16;   // of the data of each write
    bool is_last = true;     // of its journal; only the last file may end anywhere
};

// Totals of a dump; damaged: something is wrong that a crash cannot explain.
struct DumpResult {
    uint64_t sections = 0;
    uint64_t disk_bytes = 0;     // of sections, padding included
    uint64_t section_bytes = 0;  // padding not included
    uint64_t raw_bytes = 0;      // operations before compression
    uint64_t writes = 0;
    uint64_t files_created = 0;
    bool damaged = false;
    void add(const DumpResult& other);
};

// `path` is a journal file, a journal directory or a dbpath: the files to dump, in order. Throws
// base::Error when there is nothing of the kind.
std::vector<std::string> journal_files_at(os::FileSystem& files, const std::string& path);

DumpResult dump_file(os::FileSystem& files, const std::string& path, const DumpOptions& options,
                     std::ostream& out);
void print_totals(const DumpResult& totals, std::ostream& out);

}  // namespace tools
