#include "os/testing/sim_file_system.h"

#include <algorithm>
#include <cstring>

#include "os/flush_rule.h"

namespace os {

namespace {

constexpr uint64_t kDirectBlock = 512;

[[noreturn]] void fail_io(const std::string& what, const std::string& path, std::errc reason) {
    throw IoError(what + " of " + path + " failed", std::make_error_code(reason));
}

}  // namespace

size_t EveryChoice::choose(size_t alternatives) {
    if (at_ == steps_.size()) steps_.push_back({0, alternatives});
    return steps_[at_++].chosen;
}

bool EveryChoice::next() {
    at_ = 0;
    while (!steps_.empty() && steps_.back().chosen + 1 == steps_.back().alternatives)
        steps_.pop_back();
    if (steps_.empty()) return false;
    ++steps_.back().chosen;
    return true;
}

struct SimFileSystem::Node {
    bool directory = false;
    std::vector<uint8_t> now, durable;
    int mappings = 0;
    bool locked = false;
    // Where `now` may differ from `durable`; a shared mapping may change any byte.
    size_t dirty_begin = SIZE_MAX, dirty_end = 0;
    bool mapped_shared = false;

    void touch(size_t begin, size_t end) {
        dirty_begin = std::min(dirty_begin, begin);
        dirty_end = std::max(dirty_end, end);
    }
    void make_durable() {
        if (mapped_shared) touch(0, now.size());
        durable.resize(now.size());
        const size_t end = std::min(dirty_end, now.size());
        if (dirty_begin < end)
            std::memcpy(durable.data() + dirty_begin, now.data() + dirty_begin, end - dirty_begin);
        dirty_begin = SIZE_MAX;
        dirty_end = 0;
    }

    // As make_durable, but the length stays what it was.
    void make_bytes_durable(size_t begin, size_t end) {
        end = std::min(end, durable.size());
        if (begin < end) std::memcpy(durable.data() + begin, now.data() + begin, end - begin);
    }

    void resize(size_t length) {
        if (mappings > 0 && length != now.size())
            throw std::logic_error("a simulated file must not change its length while mapped");
        touch(std::min(length, now.size()), std::max(length, now.size()));
        now.resize(length);
    }

    // Mixes `now` into `durable`, sector by sector.
    std::vector<uint8_t> mixed(Choices& choices, size_t sector_bytes) const {
        std::vector<uint8_t> result = durable;
        if (now.size() != durable.size() && choices.choose(2) == 1) result.resize(now.size());
        for (size_t at = 0; at < std::min(result.size(), now.size()); at += sector_bytes) {
            const size_t n = std::min({sector_bytes, result.size() - at, now.size() - at});
            if (std::memcmp(result.data() + at, now.data() + at, n) == 0) continue;
            if (choices.choose(2) == 1) std::memcpy(result.data() + at, now.data() + at, n);
        }
        return result;
    }
};

class SimFile final : public File {
  public:
    SimFile(SimFileSystem& owner, std::string path, std::shared_ptr<SimFileSystem::Node> node,
            const OpenOptions& options)
        : owner_(owner), path_(std::move(path)), node_(std::move(node)), options_(options) {}
    ~SimFile() override {
        if (lock_is_ours_) node_->locked = false;
    }

    const std::shared_ptr<SimFileSystem::Node>& node() const { return node_; }
    const std::string& path() const override { return path_; }
    bool is_direct() const override { return options_.direct; }
    uint64_t length() const override {
        const std::lock_guard lock(owner_.mutex_);
        return node_->now.size();
    }

    size_t read_at(uint64_t offset, std::span<uint8_t> to) override {
        owner_.record(SimFileSystem::Call::read, path_, offset, to.size());
        const std::lock_guard lock(owner_.mutex_);
        if (offset >= node_->now.size()) return 0;
        const size_t n = std::min<size_t>(to.size(), node_->now.size() - offset);
        std::memcpy(to.data(), node_->now.data() + offset, n);
        return n;
    }
    void write_at(uint64_t offset, std::span<const uint8_t> bytes) override {
        owner_.record(SimFileSystem::Call::write_at, path_, offset, bytes.size());
        store(offset, bytes);
    }
    uint64_t position() override { return position_; }
    void seek(uint64_t offset) override {
        owner_.record(SimFileSystem::Call::seek, path_, offset);
        position_ = offset;
    }
    size_t write_some(std::span<const uint8_t> bytes) override {
        owner_.record(SimFileSystem::Call::write, path_, position_, bytes.size());
        bytes = bytes.first(std::min(bytes.size(), owner_.largest_write_));
        store(position_, bytes);
        position_ += bytes.size();
        return bytes.size();
    }

    void sync() override {
        owner_.record(SimFileSystem::Call::sync, path_);
        make_durable();
    }
    void sync_data() override {
        const bool windows = owner_.like_windows_;
        if (windows && (options_.write_through || (options_.direct && !rule_.flush_is_due())))
            return;
        owner_.record(SimFileSystem::Call::sync_data, path_);
        make_durable();
        rule_.note_flush(length());
    }
    void truncate(uint64_t length) override {
        owner_.record(SimFileSystem::Call::truncate, path_, length);
        const std::lock_guard lock(owner_.mutex_);
        rule_.note_length(std::min<uint64_t>(length, node_->now.size()));
        node_->resize(length);
    }
    void allocate(uint64_t length) override {
        owner_.record(SimFileSystem::Call::allocate, path_, length);
        if (owner_.full_) fail_io("allocation", path_, std::errc::no_space_on_device);
        const std::lock_guard lock(owner_.mutex_);
        if (node_->now.size() < length) node_->resize(length);
    }
    void drop_cache(uint64_t, uint64_t) override {}
    bool try_lock() override {
        const std::lock_guard lock(owner_.mutex_);
        if (node_->locked) return false;
        node_->locked = lock_is_ours_ = true;
        return true;
    }

  private:
    void store(uint64_t offset, std::span<const uint8_t> bytes) {
        const std::lock_guard lock(owner_.mutex_);
        const auto address = reinterpret_cast<uintptr_t>(bytes.data());
        if (options_.access == Access::read)
            fail_io("write", path_, std::errc::bad_file_descriptor);
        if (options_.direct && (address | offset | bytes.size()) % kDirectBlock != 0)
            fail_io("unaligned direct write", path_, std::errc::invalid_argument);
        if (bytes.empty()) return;
        if (offset + bytes.size() > node_->now.size()) node_->resize(offset + bytes.size());
        std::memcpy(node_->now.data() + offset, bytes.data(), bytes.size());
        node_->touch(offset, offset + bytes.size());
        rule_.note_write(offset + bytes.size());
        if (!owner_.like_windows_) return;
        if (options_.write_through) make_durable_locked();
        if (options_.direct) node_->make_bytes_durable(offset, offset + bytes.size());
    }
    void make_durable() {
        const std::lock_guard lock(owner_.mutex_);
        make_durable_locked();
    }
    void make_durable_locked() {
        node_->make_durable();
        if (owner_.like_windows_) owner_.make_names_durable(owner_.pending_.size());
    }

    SimFileSystem& owner_;
    const std::string path_;
    const std::shared_ptr<SimFileSystem::Node> node_;
    const OpenOptions options_;
    uint64_t position_ = 0;
    FlushRule rule_;
    bool lock_is_ours_ = false;
};

class SimMapping final : public Mapping {
  public:
    SimMapping(SimFileSystem& owner, std::string path, std::shared_ptr<SimFileSystem::Node> node,
               MapKind kind)
        : owner_(owner), path_(std::move(path)), node_(std::move(node)) {
        ++node_->mappings;
        if (kind == MapKind::shared) node_->mapped_shared = true;
        if (kind == MapKind::private_copy)
            copy_ = std::make_unique<std::vector<uint8_t>>(node_->now);
    }
    ~SimMapping() override {
        const std::lock_guard lock(owner_.mutex_);
        --node_->mappings;
    }
    uint8_t* data() const override { return copy_ ? copy_->data() : node_->now.data(); }
    uint64_t size() const override { return node_->now.size(); }
    void sync(bool wait) override {
        owner_.record(SimFileSystem::Call::sync_mapping, path_);
        const std::lock_guard lock(owner_.mutex_);
        if (wait) node_->make_durable();
    }
    void remap() override { *copy_ = node_->now; }

  private:
    SimFileSystem& owner_;
    const std::string path_;
    const std::shared_ptr<SimFileSystem::Node> node_;
    std::unique_ptr<std::vector<uint8_t>> copy_;
};

SimFileSystem::SimFileSystem() = default;
SimFileSystem::~SimFileSystem() = default;

void SimFileSystem::set_observer(std::function<void(const Event&)> observer) {
    observer_ = std::move(observer);
}
std::vector<SimFileSystem::Event> SimFileSystem::events() const {
    const std::lock_guard lock(mutex_);
    return events_;
}
void SimFileSystem::clear_events() {
    const std::lock_guard lock(mutex_);
    events_.clear();
}
void SimFileSystem::fail(Call call, const std::string& path_end, std::errc reason, int skip) {
    const std::lock_guard lock(mutex_);
    faults_.push_back({call, path_end, reason, skip});
}
void SimFileSystem::set_free_bytes(uint64_t bytes) {
    free_bytes_ = bytes;
}
void SimFileSystem::set_device(const std::string& path, uint64_t device) {
    devices_[path] = device;
}
void SimFileSystem::set_largest_write(size_t bytes) {
    largest_write_ = bytes;
}

void SimFileSystem::record(Call call, const std::string& path, uint64_t offset, uint64_t bytes) {
    const Event event{call, path, offset, bytes};
    if (observer_) observer_(event);
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
        if (fault->call != call || !path.ends_with(fault->path_end)) continue;
        if (fault->skip-- > 0) continue;
        const std::errc reason = fault->reason;
        faults_.erase(fault);
        fail_io("call", path, reason);
    }
}

void SimFileSystem::apply(const NameChange& change, Names& names) {
    if (!change.removed.empty()) names.erase(change.removed);
    if (!change.added.empty()) names[change.added] = change.node;
}

void SimFileSystem::change_names(NameChange change) {
    apply(change, names_);
    pending_.push_back(std::move(change));
}

std::shared_ptr<SimFileSystem::Node> SimFileSystem::node_of(const std::string& path) const {
    const auto found = names_.find(path);
    if (found == names_.end()) fail_io("open", path, std::errc::no_such_file_or_directory);
    return found->second;
}

std::unique_ptr<SimFileSystem> SimFileSystem::power_cut(Choices& choices,
                                                        size_t sector_bytes) const {
    const std::lock_guard lock(mutex_);
    Names names = durable_names_;
    const size_t changes = choices.choose(pending_.size() + 1);
    for (size_t i = 0; i < changes; ++i)
        apply(pending_[i], names);
    auto after = std::make_unique<SimFileSystem>();
    std::map<Node*, std::shared_ptr<Node>> copies;
    for (const auto& [path, node] : names) {
        std::shared_ptr<Node>& copy = copies[node.get()];
        if (!copy) {
            copy = std::make_shared<Node>();
            copy->directory = node->directory;
            copy->now = node->mixed(choices, sector_bytes);
            copy->durable = copy->now;
        }
        after->names_[path] = copy;
    }
    after->durable_names_ = after->names_;
    return after;
}

void SimFileSystem::write_back(Choices& choices, size_t sector_bytes) {
    const std::lock_guard lock(mutex_);
    for (const auto& [path, node] : names_)
        node->durable = node->mixed(choices, sector_bytes);
}

std::unique_ptr<SimFileSystem> SimFileSystem::process_kill() const {
    const std::lock_guard lock(mutex_);
    auto after = std::make_unique<SimFileSystem>();
    std::map<Node*, std::shared_ptr<Node>> copies{{nullptr, nullptr}};
    const auto copy_of = [&copies](const std::shared_ptr<Node>& node) {
        std::shared_ptr<Node>& copy = copies[node.get()];
        if (copy || !node) return copy;
        copy = std::make_shared<Node>();
        copy->directory = node->directory;
        copy->now = node->now;
        copy->durable = node->durable;
        copy->touch(node->dirty_begin, node->dirty_end);
        if (node->mapped_shared) copy->touch(0, copy->now.size());
        return copy;
    };
    for (const auto& [path, node] : names_)
        after->names_[path] = copy_of(node);
    for (const auto& [path, node] : durable_names_)
        after->durable_names_[path] = copy_of(node);
    for (const NameChange& change : pending_)
        after->pending_.push_back({change.removed, change.added, copy_of(change.node)});
    return after;
}

std::unique_ptr<File> SimFileSystem::open(const std::string& path, const OpenOptions& options) {
    record(Call::open, path);
    const std::lock_guard lock(mutex_);
    if (options.fresh && names_.contains(path)) fail_io("open", path, std::errc::file_exists);
    if (options.create && !names_.contains(path)) {
        if (!names_.contains(parent(path)))
            fail_io("open", path, std::errc::no_such_file_or_directory);
        change_names({"", path, std::make_shared<Node>()});
    }
    auto node = node_of(path);
    if (node->directory) fail_io("open", path, std::errc::is_a_directory);
    if (options.truncate) node->resize(0);
    return std::make_unique<SimFile>(*this, path, std::move(node), options);
}

std::unique_ptr<Mapping> SimFileSystem::map(File& file, MapKind kind, uint64_t length) {
    record(Call::map, file.path());
    const std::lock_guard lock(mutex_);
    const auto& node = dynamic_cast<SimFile&>(file).node();
    if (length != node->now.size())
        fail_io("mapping a part", file.path(), std::errc::invalid_argument);
    return std::make_unique<SimMapping>(*this, file.path(), node, kind);
}

bool SimFileSystem::exists(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return names_.contains(path);
}
bool SimFileSystem::is_directory(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(path);
    return found != names_.end() && found->second->directory;
}
uint64_t SimFileSystem::file_length(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return node_of(path)->now.size();
}
std::vector<std::string> SimFileSystem::list(const std::string& directory) {
    const std::lock_guard lock(mutex_);
    if (!node_of(directory)->directory) fail_io("list", directory, std::errc::not_a_directory);
    std::vector<std::string> result;
    for (const auto& [path, node] : names_) {
        if (path != directory && parent(path) == directory) result.push_back(base_name(path));
    }
    return result;
}

void SimFileSystem::create_directory(const std::string& path) {
    record(Call::create_directory, path);
    const std::lock_guard lock(mutex_);
    if (names_.contains(path)) {
        if (!names_[path]->directory) fail_io("mkdir", path, std::errc::file_exists);
        return;
    }
    auto node = std::make_shared<Node>();
    node->directory = true;
    change_names({"", path, std::move(node)});
}

void SimFileSystem::remove(const std::string& path) {
    record(Call::remove, path);
    const std::lock_guard lock(mutex_);
    const auto node = node_of(path);
    const auto inside = [&](const auto& entry) { return parent(entry.first) == path; };
    if (node->directory && std::any_of(names_.begin(), names_.end(), inside))
        fail_io("remove", path, std::errc::directory_not_empty);
    change_names({path, "", nullptr});
}

void SimFileSystem::rename(const std::string& from, const std::string& to) {
    record(Call::rename, from);
    const std::lock_guard lock(mutex_);
    change_names({from, to, node_of(from)});
}

// A sync commits the metadata up to the last change in that directory, as a journal does.
void SimFileSystem::sync_directory(const std::string& path) {
    record(Call::sync_directory, path);
    const std::lock_guard lock(mutex_);
    size_t covered = 0;
    for (size_t i = 0; i < pending_.size(); ++i) {
        const NameChange& change = pending_[i];
        if (parent(change.removed) == path || parent(change.added) == path) covered = i + 1;
    }
    make_names_durable(covered);
}

void SimFileSystem::make_names_durable(size_t changes) {
    for (size_t i = 0; i < changes; ++i)
        apply(pending_[i], durable_names_);
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(changes));
}

uint64_t SimFileSystem::free_bytes(const std::string&) {
    return free_bytes_;
}

std::optional<uint64_t> SimFileSystem::device_of(const std::string& path) {
    if (!exists(path)) return std::nullopt;
    for (std::string at = path;; at = parent(at)) {
        const auto found = devices_.find(at);
        if (found != devices_.end()) return found->second;
        if (at == parent(at)) return 1;
    }
}

}  // namespace os
