#include "storage/mmapv1/mapping/data_file_name.h"

#include <algorithm>
#include <charconv>

#include "base/database_name.h"
#include "base/error.h"
#include "journal/format.h"

namespace mmapv1 {

namespace {

constexpr size_t kQuotedBytesMax = 100;

// Whether two names are one folder, also on file systems that do not tell upper from lower case.
bool same_folder(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char x, char y) {
        const auto lower = [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
        };
        return lower(x) == lower(y);
    });
}

// "ns", or a number without leading zeros.
bool parse_suffix(std::string_view suffix, uint32_t* number) {
    if (suffix == "ns") {
        *number = journal::kNsFile;
        return true;
    }
    if (suffix.size() > 1 && suffix.front() == '0') return false;
    const auto [end, error] =
        std::from_chars(suffix.data(), suffix.data() + suffix.size(), *number);
    return !suffix.empty() && error == std::errc() && end == suffix.data() + suffix.size() &&
           *number < static_cast<uint32_t>(kDataFilesMax);
}

}  // namespace

bool valid_database_name(std::string_view db, bool directory_per_db) {
    if (!base::valid_database_name(db)) return false;
    return !directory_per_db ||
           (!same_folder(db, kScratchDirectory) && !same_folder(db, kJournalDirectory) &&
            !same_folder(db, kFileSystemDirectory));
}

std::optional<DataFileName> parse_data_file_name(std::string_view relative_path) {
    DataFileName name;
    const size_t slash = relative_path.find('/');
    name.in_own_directory = slash != std::string_view::npos;
    const std::string_view file =
        name.in_own_directory ? relative_path.substr(slash + 1) : relative_path;
    const size_t dot = file.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    name.db = file.substr(0, dot);
    if (name.in_own_directory && relative_path.substr(0, slash) != name.db) return std::nullopt;
    if (!valid_database_name(name.db, name.in_own_directory)) return std::nullopt;
    if (!parse_suffix(file.substr(dot + 1), &name.number)) return std::nullopt;
    return name;
}

DataFileName data_file_name(std::string_view relative_path) {
    if (const auto name = parse_data_file_name(relative_path)) return *name;
    base::fail(base::kInvalidNamespace, "'{}' is not the name of a data file",
               relative_path.substr(0, kQuotedBytesMax));
}

}  // namespace mmapv1
