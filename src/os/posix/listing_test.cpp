// A directory that cannot be read to its end.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "os/confined_file_system.h"
#include "os/file_system.h"
#include "os/testing/directory.h"

namespace {

// No file system here has such a directory. This stands before the function of the C library.
thread_local int t_entries = -1;  // after so many a listing fails; -1: it does not

// The sanitizers have such a function of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCanFail = false;
#else
constexpr bool kCanFail = true;

extern "C" {
dirent* failing_readdir(DIR* directory) __asm__("readdir");
dirent* failing_readdir(DIR* directory) {
    using Readdir = dirent* (*)(DIR*);
    static const auto real = reinterpret_cast<Readdir>(::dlsym(RTLD_NEXT, "readdir"));
    if (t_entries == 0) {
        errno = EIO;
        return nullptr;
    }
    if (t_entries > 0) --t_entries;
    return real(directory);
}
}  // extern "C"
#endif

}  // namespace

namespace os {
namespace {

// The names behind the error would be taken for lost, or made anew.
TEST(Listing, ADirectoryThatCannotBeReadToItsEndIsNoShorterOne) {
    if (!kCanFail) GTEST_SKIP() << "not under this sanitizer";
    const TestDirectory directory;
    for (const char* name : {"a", "b", "c"})
        real_file_system().open(directory / name, {.access = Access::write, .create = true});
    const auto confined = confined_file_system(directory.path(), {});
    for (FileSystem* files : {&real_file_system(), confined.get()}) {
        for (int entries = 0; entries <= 5; ++entries) {
            t_entries = entries;
            try {
                files->list(directory.path());
                ADD_FAILURE() << "after " << entries;
            } catch (const IoError& error) {
                EXPECT_EQ(error.reason(), std::errc::io_error);
                EXPECT_NE(std::string(error.what()).find(directory.path()), std::string::npos);
            }
        }
        t_entries = -1;
        EXPECT_EQ(files->list(directory.path()), (std::vector<std::string>{"a", "b", "c"}));
    }
}

}  // namespace
}  // namespace os
