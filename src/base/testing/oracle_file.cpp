#include "base/testing/oracle_file.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

namespace base {

namespace {

// Tests run in a scratch folder somewhere below the top of the tree.
std::filesystem::path find_oracle_file(const std::string& name) {
    const std::filesystem::path start = std::filesystem::current_path();
    for (std::filesystem::path at = start;; at = at.parent_path()) {
        const std::filesystem::path file = at / "tests" / "oracle" / name;
        if (std::filesystem::exists(file)) return file;
        if (at == at.parent_path()) break;
    }
    throw std::runtime_error("no tests/oracle/" + name + " above " + start.string());
}

}  // namespace

void for_each_oracle_line(const std::string& name,
                          const std::function<void(const std::string&)>& each) {
    const std::string command = "xz -dc '" + find_oracle_file(name).string() + "'";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    if (!pipe) throw std::runtime_error("can't run " + command);
    std::string line;
    bool any = false;
    char chunk[65536];
    while (std::fgets(chunk, sizeof chunk, pipe.get()) != nullptr) {
        line += chunk;
        if (line.back() != '\n') continue;
        line.pop_back();
        each(line);
        any = true;
        line.clear();
    }
    if (!any) throw std::runtime_error("no recorded cases in " + name);
}

}  // namespace base
