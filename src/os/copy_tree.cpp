#include "os/copy_tree.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "os/data_ranges.h"

namespace os {

namespace {

// Writes what differs. The space of a new file is there before, and is zeros; what neither has as
// data is the same in both.
void copy_file(FileSystem& files, const TreeToCopy& tree, const std::string& path) {
    constexpr size_t kPieceBytes = size_t{1} << 20;
    const std::string name_from = join(tree.from, path);
    const std::string name_to = join(tree.to, path);
    const auto from = files.open(name_from, {.no_atime = true});
    const auto to = files.open(name_to, {.access = Access::read_write, .create = true});
    const uint64_t length = from->length();
    if (length > 0) to->allocate(length);
    const DataRanges data_from(name_from);
    const DataRanges data_to(name_to);
    const auto next = [&](uint64_t at) { return std::min(data_from.next(at), data_to.next(at)); };
    std::vector<uint8_t> piece(std::min<uint64_t>(length, kPieceBytes));
    std::vector<uint8_t> there(piece.size());
    for (uint64_t at = next(0); at < length; at = next(at)) {
        const size_t bytes = from->read_at(at, piece);
        if (bytes == 0) break;  // it was cut
        tree.before_piece(bytes);
        const bool is_whole = to->read_at(at, std::span(there).first(bytes)) == bytes;
        if (!is_whole || std::memcmp(piece.data(), there.data(), bytes) != 0)
            to->write_at(at, std::span(piece).first(bytes));
        at += bytes;
    }
    if (to->length() > length) to->truncate(length);
}

using LeavesOut = std::function<bool(const std::string& path)>;
using Visit = std::function<void(const std::string& path, bool is_directory)>;

// The names in a directory, none if it is gone.
std::vector<std::string> names_in(FileSystem& files, const std::string& directory) {
    try {
        return files.list(directory);
    } catch (const IoError& error) {
        if (!error.not_found()) throw;
        return {};
    }
}

// Each path below `top` that is not left out, a directory before what is in it.
void each_path(FileSystem& files, const std::string& top, const LeavesOut& leaves_out,
               const Visit& visit, const std::string& directory = {}) {
    for (const std::string& name : names_in(files, join(top, directory))) {
        const std::string path = directory.empty() ? name : join(directory, name);
        if (leaves_out && leaves_out(path)) continue;
        const bool is_directory = files.is_directory(join(top, path));
        visit(path, is_directory);
        if (is_directory) each_path(files, top, leaves_out, visit, path);
    }
}

}  // namespace

void copy_tree(FileSystem& files, const TreeToCopy& tree) {
    each_path(files, tree.from, tree.leaves_out, [&](const std::string& path, bool is_directory) {
        if (is_directory) return files.create_directory(join(tree.to, path));
        try {
            copy_file(files, tree, path);
        } catch (const IoError& error) {
            if (!error.not_found()) throw;
        }
    });
}

void copy_rest_of_tree(FileSystem& files, const TreeToCopy& tree) {
    std::set<std::string> there;
    each_path(files, tree.from, tree.leaves_out, [&](const std::string& path, bool is_directory) {
        there.insert(path);
        if (is_directory)
            files.create_directory(join(tree.to, path));
        else
            copy_file(files, tree, path);
    });
    std::vector<std::string> gone;
    each_path(files, tree.to, {}, [&](const std::string& path, bool) {
        if (!there.contains(path) && path != kUnfinishedMark) gone.push_back(path);
    });
    for (const std::string& path : gone)
        files.remove_all(join(tree.to, path));
}

void sync_tree(FileSystem& files, const std::string& directory) {
    each_path(files, directory, {}, [&](const std::string& path, bool is_directory) {
        const std::string name = join(directory, path);
        if (is_directory)
            files.sync_directory(name);
        else
            files.open(name, {.access = Access::read_write})->sync();
    });
    files.sync_directory(directory);
}

void mark_unfinished(FileSystem& files, const std::string& directory) {
    files.open(join(directory, kUnfinishedMark), {.access = Access::write, .create = true})->sync();
    files.sync_directory(directory);
}

void mark_finished(FileSystem& files, const std::string& directory) {
    files.remove(join(directory, kUnfinishedMark));
    files.sync_directory(directory);
}

void rename_synced(FileSystem& files, const std::string& from, const std::string& to) {
    files.rename(from, to);
    files.sync_directory(parent(to));
}

}  // namespace os
