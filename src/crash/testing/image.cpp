#include "crash/testing/image.h"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "crash/testing/random.h"
#include "crash/testing/setting.h"
#include "journal/format.h"
#include "storage/mmapv1/mapping/data_file_name.h"

namespace crash {

ImagePtr image_of(os::SimFileSystem& disk, const std::string& without) {
    const auto image = std::make_shared<Image>();
    std::set<std::string, std::less<>> databases;
    const auto add = [&](const std::string& relative) {
        const auto name = mmapv1::parse_data_file_name(relative);
        const std::string path = os::join(kDbpath, relative);
        if (!name || path == without || disk.is_directory(path)) return;
        const uint64_t print = disk.print_of(path);
        if (print == 0) return;
        (*image)[relative] = print;
        if (name->number == journal::kNsFile) databases.emplace(name->db);
    };
    for (const std::string& entry : disk.list(kDbpath)) {
        const std::string path = os::join(kDbpath, entry);
        if (!disk.is_directory(path)) {
            add(entry);
        } else if (entry != mmapv1::kJournalDirectory) {
            for (const std::string& inner : disk.list(path))
                add(os::join(entry, inner));
        }
    }
    std::erase_if(*image, [&](const auto& file) {
        return !databases.contains(mmapv1::data_file_name(file.first).db);
    });
    return image;
}

uint64_t hash_of(const Image& image) {
    uint64_t hash = 0;
    for (const auto& [name, print] : image)
        hash = mixed(mixed(hash, std::hash<std::string>()(name)), print);
    return hash;
}

std::string difference(const Image& found, const Image& wanted) {
    std::string text;
    for (const auto& [name, print] : found) {
        const auto other = wanted.find(name);
        if (other == wanted.end()) text += fmt::format(" {} should not be there;", name);
        if (other != wanted.end() && other->second != print)
            text += fmt::format(" {} differs;", name);
    }
    for (const auto& [name, print] : wanted)
        if (!found.contains(name)) text += fmt::format(" {} is missing;", name);
    return text;
}

}  // namespace crash
