#include "base/loaded_part.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/program_version.h"

namespace base {

namespace {

// Returns the path of a file; empty: it is nowhere.
std::string path_of(const std::string& file) {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return "";
    const std::filesystem::path folder = program.parent_path();
    for (const std::filesystem::path& place : {folder, folder.parent_path() / "lib/mongod-dur"}) {
        const std::filesystem::path path = place / file;
        if (std::filesystem::exists(path, error)) return path;
    }
    return "";
}

const void* load(const PartName& name, int code) {
    const std::string path = path_of(name.file);
    if (path.empty())
        fail(code,
             "{} is not installed: there is no {} beside this program or in ../lib/mongod-dur ({})",
             name.what, name.file, name.advice);
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail(code, "{} cannot be loaded: {}", name.what, ::dlerror());
    const void* const found = ::dlsym(library, name.symbol);
    const char* version = nullptr;
    if (found != nullptr) std::memcpy(&version, found, sizeof version);
    if (version == nullptr || std::string_view(version) != kProgramVersion)
        fail(code, "{}: {} is of another version than this program", name.what, path);
    return found;
}

}  // namespace

const void* load_part(const PartName& name, int code) {
    static std::mutex mutex;
    static std::map<std::string, const void*> loaded;
    const std::lock_guard lock(mutex);
    const void*& found = loaded[name.file];
    if (found == nullptr) found = load(name, code);
    return found;
}

}  // namespace base
