#include "os/copy_tree.h"

#include <algorithm>
#include <vector>

namespace os {

namespace {

void copy_file(FileSystem& files, const TreeToCopy& tree, const std::string& path) {
    constexpr size_t kPieceBytes = size_t{1} << 20;
    const auto from = files.open(join(tree.from, path), {.no_atime = true});
    const auto to =
        files.open(join(tree.to, path), {.access = Access::write, .create = true, .fresh = true});
    std::vector<uint8_t> piece(std::min<uint64_t>(from->length(), kPieceBytes));
    for (uint64_t at = 0; at < from->length();) {
        const size_t bytes = from->read_at(at, piece);
        if (bytes == 0) break;  // it was cut
        tree.before_piece(bytes);
        to->write_at(at, std::span(piece).first(bytes));
        at += bytes;
    }
    to->sync();
}

void copy_below(FileSystem& files, const TreeToCopy& tree, const std::string& directory) {
    for (const std::string& name : files.list(join(tree.from, directory))) {
        const std::string path = directory.empty() ? name : join(directory, name);
        if (tree.leaves_out(path)) continue;
        if (!files.is_directory(join(tree.from, path))) {
            copy_file(files, tree, path);
            continue;
        }
        files.create_directory(join(tree.to, path));
        copy_below(files, tree, path);
    }
    files.sync_directory(join(tree.to, directory));
}

}  // namespace

void copy_tree(FileSystem& files, const TreeToCopy& tree) {
    copy_below(files, tree, {});
}

void rename_synced(FileSystem& files, const std::string& from, const std::string& to) {
    files.rename(from, to);
    files.sync_directory(parent(to));
}

}  // namespace os
