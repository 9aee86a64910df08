#include "base/loaded_part.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace base {

namespace {

std::string error_of(const std::string& file) {
    try {
        load_part({"the part", file, "symbol", "install it"}, kBadValue);
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), kBadValue);
        return e.what();
    }
    return "";
}

}  // namespace

TEST(LoadedPart, NamesTheFileThatIsNotThere) {
    const std::string error = error_of("no_such_part.so");
    EXPECT_NE(error.find("the part is not installed"), std::string::npos) << error;
    EXPECT_NE(error.find("no_such_part.so"), std::string::npos) << error;
    EXPECT_NE(error.find("install it"), std::string::npos) << error;
}

TEST(LoadedPart, RefusesWhatIsNoSharedObjectAndAsksAgain) {
    const std::filesystem::path file =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "damaged_part.so";
    std::ofstream(file) << "this is no shared object";
    EXPECT_NE(error_of("damaged_part.so").find("cannot be loaded"), std::string::npos);
    std::filesystem::remove(file);
    EXPECT_NE(error_of("damaged_part.so").find("is not installed"), std::string::npos);
}

}  // namespace base
