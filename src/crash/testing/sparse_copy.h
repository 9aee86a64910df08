// crash/testing/sparse_copy.h - copies a data directory without its holes, which is most of it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace crash {

inline void copy_file_sparsely(const std::string& from, const std::string& to) {
    const int in = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
    const int out = ::open(to.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct stat info {};
    bool complete =
        in >= 0 && out >= 0 && ::fstat(in, &info) == 0 && ::ftruncate(out, info.st_size) == 0;
    std::vector<char> bytes;
    for (off_t at = 0; complete && at < info.st_size;) {
        const off_t begin = ::lseek(in, at, SEEK_DATA);
        if (begin < 0) break;  // only a hole is left
        at = ::lseek(in, begin, SEEK_HOLE);
        bytes.resize(static_cast<size_t>(at - begin));
        complete = ::pread(in, bytes.data(), bytes.size(), begin) == at - begin &&
                   ::pwrite(out, bytes.data(), bytes.size(), begin) == at - begin;
    }
    ::close(in);
    ::close(out);
    if (!complete) throw std::runtime_error("copying " + from + " failed");
}

// Replaces whatever is at `to`.
inline void copy_sparsely(const std::string& from, const std::string& to) {
    namespace fs = std::filesystem;
    fs::remove_all(to);
    fs::create_directories(to);
    for (const auto& entry : fs::recursive_directory_iterator(from)) {
        const std::string target = fs::path(to) / entry.path().lexically_relative(from);
        if (entry.is_directory())
            fs::create_directories(target);
        else
            copy_file_sparsely(entry.path(), target);
    }
}

}  // namespace crash
