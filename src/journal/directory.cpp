// What journal/ holds: finding the files, and the lsn file.

#include <algorithm>
#include <charconv>

#include "base/damage.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "journal/journal.h"

namespace journal {

namespace {

constexpr std::string_view kFilePrefix = "j._";

uint32_t number_of(std::string_view name) {
    DCHECK(name.starts_with(kFilePrefix));
    uint32_t number = 0;
    const std::string_view digits = name.substr(kFilePrefix.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

}  // namespace

std::vector<FoundFile> find_journal_files(os::FileSystem& files, const std::string& directory) {
    std::vector<FoundFile> found;
    for (const std::string& name : files.list(directory)) {
        if (name.starts_with(kFilePrefix))
            found.push_back({number_of(name), os::join(directory, name)});
    }
    std::sort(found.begin(), found.end(),
              [](const FoundFile& a, const FoundFile& b) { return a.number < b.number; });
    for (size_t i = 1; i < found.size(); ++i) {
        const uint32_t before = found[i - 1].number;
        if (found[i].number == before)
            base::fail(
                13531,
                "two journal files have the number {}: {} and {}. Move the one that does not "
                "belong here away and start again",
                before, found[i - 1].path, found[i].path);
        if (found[i].number != before + 1)
            base::fail(base::Damaged{13532},
                       "journal file {} is missing: {} is followed by {}. Put it back, or restore "
                       "the whole dbpath from a backup",
                       os::join(directory, fmt::format("j._{}", before + 1)), found[i - 1].path,
                       found[i].path);
    }
    return found;
}

bool has_journal_files(os::FileSystem& files, const std::string& directory) {
    if (!files.exists(directory)) return false;
    const std::vector<std::string> names = files.list(directory);
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.starts_with(kFilePrefix); });
}

bool was_in_use(os::FileSystem& files, const std::string& directory) {
    return files.exists(os::join(directory, "lsn")) || has_journal_files(files, directory);
}

uint64_t read_lsn(os::FileSystem& files, const std::string& directory) {
    const std::string path = os::join(directory, "lsn");
    if (!files.exists(path)) {
        base::log::info("info no lsn file in journal/ directory");
        return 0;
    }
    LsnFile content{};
    const auto file = files.open(path, {.access = os::Access::read});
    const size_t got = file->read_at(0, {reinterpret_cast<uint8_t*>(&content), sizeof content});
    const uint64_t lsn = content.lsn, check = content.check;
    if (got == 0) {
        base::log::info("info lsn file is zero bytes long");
    } else if (got < sizeof content || content.version != 0 || check != ~lsn) {
        base::log::info(
            "lsnfile not valid. recovery will be from log start. lsn: {:x} checkbytes: {:x}", lsn,
            check);
    } else {
        return lsn;
    }
    return 0;
}

// Not synced, and a failure is no harm: without it recovery has nothing to say about the lsn.
void Journal::write_lsn(uint64_t lsn) {
    DCHECK(lsn <= last_sequence_);
    const LsnFile content{0, 0, lsn, ~lsn, {}};
    const std::string path = os::join(settings_.directory, "lsn");
    try {
        const auto file = files_.open(path, {.access = os::Access::read_write, .create = true});
        file->write_at(0, {reinterpret_cast<const uint8_t*>(&content), sizeof content});
        base::log::debug(1, "lsn set {}", lsn);
    } catch (const os::IoError& e) {
        base::log::warning("couldn't write lsn file: {}", e.what());
    }
}

void Journal::mark_directory() {
    files_.open(os::join(settings_.directory, "lsn"),
                {.access = os::Access::read_write, .create = true, .truncate = true});
    files_.sync_directory(settings_.directory);
}

void Journal::sync_directory() {
    files_.sync_directory(settings_.directory);
}

void Journal::unmark_directory() {
    files_.remove_all(os::join(settings_.directory, "lsn"));
    files_.sync_directory(settings_.directory);
}

}  // namespace journal
