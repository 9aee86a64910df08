#include "os/file_system.h"

namespace os {

void FileSystem::remove_all(const std::string& path) {
    if (!exists(path) && !is_link(path)) return;
    if (is_directory(path) && !is_link(path)) {
        for (const std::string& name : list(path))
            remove_all(join(path, name));
    }
    remove(path);
}

std::string join(std::string_view directory, std::string_view name) {
    std::string path;
    path.reserve(directory.size() + 1 + name.size());
    path.append(directory);
    if (!path.empty() && path.back() != '/') path += '/';
    return path.append(name);
}

std::string parent(std::string_view path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return ".";
    return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

std::string base_name(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace os
