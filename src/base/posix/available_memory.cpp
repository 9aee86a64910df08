#include "base/available_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace base {

namespace {

// Reads the number that stands alone in a file. Without a limit version 2 says "max".
int64_t number_in(const std::string& path) {
    std::ifstream file(path);
    int64_t number = 0;
    return file >> number && number > 0 ? number : INT64_MAX;
}

// The least limit of the group `path` below `folder` and of those that it lies in. In a container
// the path may be that of the host, which is not there: then the folder itself is the group's.
int64_t least_limit(const std::string& folder, std::string path, const std::string& file) {
    int64_t least = number_in(folder + "/" + file);
    for (; path.size() > 1; path.resize(path.rfind('/')))
        least =
            std::min(least, number_in(std::string(folder).append(path).append("/").append(file)));
    return least;
}

bool has_word(const std::string& list, const std::string& word) {
    std::istringstream words(list);
    for (std::string each; std::getline(words, each, ',');)
        if (each == word) return true;
    return false;
}

// The lines of /proc/self/cgroup are NUMBER:CONTROLLERS:PATH; number 0, which has no controllers,
// is version 2. Beside version 1 its folder is another.
int64_t group_limit(const std::string& root) {
    const std::string groups = root + "/sys/fs/cgroup";
    std::ifstream file(root + "/proc/self/cgroup");
    int64_t least = INT64_MAX;
    for (std::string number, controllers, path; std::getline(file, number, ':') &&
                                                std::getline(file, controllers, ':') &&
                                                std::getline(file, path);) {
        if (path.empty() || path.front() != '/') continue;
        if (has_word(controllers, "memory"))
            least = std::min(least, least_limit(groups + "/memory", path, "memory.limit_in_bytes"));
        if (number == "0" && controllers.empty()) {
            least = std::min(least, least_limit(groups, path, "memory.max"));
            least = std::min(least, least_limit(groups + "/unified", path, "memory.max"));
        }
    }
    return least;
}

}  // namespace

AvailableMemory available_memory(const std::string& root) {
    AvailableMemory memory;
    memory.machine_bytes = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
    const int64_t limit = group_limit(root);
    if (limit < memory.machine_bytes) memory.group_bytes = limit;
    return memory;
}

}  // namespace base
