// Changes a simulated disk as a power cut, a kill, or the system itself does.

#include <algorithm>

#include "os/testing/sim_file_system.h"
#include "os/testing/sim_node.h"

namespace os {

std::unique_ptr<SimFileSystem> SimFileSystem::fresh_copy() const {
    auto after = std::make_unique<SimFileSystem>(seed_);
    after->time_ = time_;
    after->old_ = old_;
    after->shows_old_blocks_ = shows_old_blocks_;
    after->stores_are_reported_ = stores_are_reported_;
    after->keeps_events_ = keeps_events_;
    after->devices_ = devices_;
    after->ignored_ = ignored_;
    after->failed_pages_ = failed_pages_;
    return after;
}

std::unique_ptr<SimFileSystem> SimFileSystem::power_cut(Choices& choices,
                                                        size_t sector_bytes) const {
    const std::lock_guard lock(mutex_);
    look_at_memory();
    uint64_t last_change = UINT64_MAX;
    if (like_windows_) {
        std::vector<NodePtr> directories;
        collect_directories(root_, directories);
        std::vector<uint64_t> times;
        for (const NodePtr& directory : directories)
            for (const NameChange& change : directory->pending)
                times.push_back(change.time);
        std::sort(times.begin(), times.end());
        const size_t kept = choices.choose(times.size() + 1);
        last_change = kept == 0 ? 0 : times[kept - 1];
    }
    auto after = fresh_copy();
    std::map<const Node*, NodePtr> copies;
    std::vector<std::pair<NodePtr, NodePtr>> files;  // with their copies
    const auto copy = [&](auto& self, const NodePtr& node) -> NodePtr {
        if (const auto made = copies.find(node.get()); made != copies.end()) return made->second;
        const NodePtr result = copies[node.get()] = std::make_shared<Node>();
        result->directory = node->directory;
        if (!node->directory) {
            files.emplace_back(node, result);
            return result;
        }
        Names names = node->durable_names;
        for (const NameChange& change : node->pending) {
            const bool kept = like_windows_ ? change.time <= last_change : choices.choose(2) == 1;
            if (kept) apply(change, names);
        }
        for (const auto& [name, below] : names)
            result->names[name] = self(self, below);
        result->durable_names = result->names;
        return result;
    };
    after->root_ = copy(copy, root_);
    for (const auto& [node, made] : files)
        made->content = sim::Content::of(
            node->content.after_cut(choices, sector_bytes, shows_old_blocks_ ? &old_ : nullptr));
    return after;
}

void SimFileSystem::write_back(Choices& choices, size_t sector_bytes) {
    const std::lock_guard lock(mutex_);
    look_at_memory();
    std::vector<NodePtr> directories;
    collect_directories(root_, directories);
    for (const NodePtr& directory : directories)
        for (const auto& [name, node] : directory->names)
            if (!node->directory) node->content.write_back(choices, sector_bytes);
}

std::unique_ptr<SimFileSystem> SimFileSystem::process_kill(bool forgets) const {
    const std::lock_guard lock(mutex_);
    look_at_memory();
    auto after = fresh_copy();
    after->like_windows_ = like_windows_;
    std::map<const Node*, NodePtr> copies;
    const auto copy = [&](auto& self, const NodePtr& node) -> NodePtr {
        if (!node) return nullptr;
        if (const auto made = copies.find(node.get()); made != copies.end()) return made->second;
        const NodePtr result = copies[node.get()] = std::make_shared<Node>();
        result->directory = node->directory;
        result->content = node->content;
        result->content.unmap();
        if (forgets) result->content.forget_clean();
        for (const auto& [name, below] : node->names)
            result->names[name] = self(self, below);
        for (const auto& [name, below] : node->durable_names)
            result->durable_names[name] = self(self, below);
        for (const NameChange& change : node->pending)
            result->pending.push_back(
                {change.time, change.removed, change.added, self(self, change.node)});
        return result;
    };
    after->root_ = copy(copy, root_);
    return after;
}

}  // namespace os
