#include "os/testing/sim_file_system.h"

#include <algorithm>
#include <cstring>

#include "os/flush_rule.h"
#include "os/mapping.h"
#include "os/testing/sim_addresses.h"
#include "os/testing/sim_node.h"

namespace os {

namespace {

constexpr uint64_t kDirectBlock = 512;
constexpr size_t kOldContents = 3;

[[noreturn]] void fail_io(const std::string& what, const std::string& path, std::errc reason) {
    throw IoError(what + " of " + path + " failed", std::make_error_code(reason));
}

// The names of a path, outermost first.
std::vector<std::string> names_in(const std::string& path) {
    std::vector<std::string> names;
    for (size_t at = 0; at < path.size();) {
        const size_t end = std::min(path.find('/', at), path.size());
        if (end > at && path.compare(at, end - at, ".") != 0)
            names.push_back(path.substr(at, end - at));
        at = end + 1;
    }
    return names;
}

// Chooses what a failed sync has left out: every other block that could be.
class EveryOther final : public Choices {
  public:
    size_t choose(size_t alternatives) override { return ++count_ % alternatives; }

  private:
    size_t count_ = 0;
};

}  // namespace

class SimFile final : public File {
  public:
    SimFile(SimFileSystem& owner, std::string path, SimFileSystem::NodePtr node,
            const OpenOptions& options)
        : owner_(owner), path_(std::move(path)), node_(std::move(node)), options_(options) {}
    ~SimFile() override {
        if (lock_is_ours_) node_->locked = false;
    }

    const SimFileSystem::NodePtr& node() const { return node_; }
    const std::string& path() const override { return path_; }
    bool is_direct() const override { return options_.direct; }
    uint64_t length() const override {
        const std::lock_guard lock(owner_.mutex_);
        return node_->content.length();
    }

    size_t read_at(uint64_t offset, std::span<uint8_t> to) override {
        owner_.record(SimFileSystem::Call::read, path_, offset, to.size());
        const std::lock_guard lock(owner_.mutex_);
        if (!owner_.stores_are_reported_) node_->content.look_at_memory(++owner_.time_);
        const uint64_t length = node_->content.length();
        if (offset >= length) return 0;
        const size_t n = std::min<uint64_t>(to.size(), length - offset);
        node_->content.now().read(offset, to.first(n));
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
        owner_.record_sync(SimFileSystem::Call::sync, path_, *node_);
        if (!owner_.is_ignored(SimFileSystem::Call::sync, path_)) make_durable();
    }
    void sync_data() override {
        const bool windows = owner_.like_windows_;
        if (windows && (options_.write_through || (options_.direct && !rule_.flush_is_due())))
            return;
        owner_.record_sync(SimFileSystem::Call::sync_data, path_, *node_);
        if (!owner_.is_ignored(SimFileSystem::Call::sync_data, path_)) make_durable();
        rule_.note_flush(length());
    }
    void truncate(uint64_t length) override {
        owner_.record(SimFileSystem::Call::truncate, path_, length);
        const std::lock_guard lock(owner_.mutex_);
        rule_.note_length(std::min<uint64_t>(length, node_->content.length()));
        if (length < node_->content.length()) owner_.drop(node_);
        node_->resize(++owner_.time_, length);
    }
    void allocate(uint64_t length) override {
        owner_.record(SimFileSystem::Call::allocate, path_, length);
        if (owner_.full_) owner_.fail_as_told("allocation", path_, std::errc::no_space_on_device);
        const std::lock_guard lock(owner_.mutex_);
        if (node_->content.length() < length && node_->mappings > 0)
            throw std::logic_error("a simulated file must not grow while mapped");
        node_->content.allocate(++owner_.time_, length);
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
        const uint64_t end = offset + bytes.size();
        const uint64_t time = ++owner_.time_;
        if (end > node_->content.length()) {
            // The blocks of a direct write are needed at once.
            if (options_.direct && owner_.full_at_write_back_)
                owner_.fail_as_told("write", path_, std::errc::no_space_on_device);
            node_->resize(time, end);
        }
        if (!owner_.stores_are_reported_) node_->content.look_at_memory(time);
        node_->content.write(time, offset, bytes);
        rule_.note_write(end);
        if (!owner_.like_windows_) return;
        if (options_.write_through) make_durable_locked();
        if (options_.direct) node_->content.make_bytes_durable(offset, end);
    }
    void make_durable() {
        const std::lock_guard lock(owner_.mutex_);
        make_durable_locked();
    }
    void make_durable_locked() {
        if (!owner_.stores_are_reported_) node_->content.look_at_memory(++owner_.time_);
        node_->content.make_durable();
        if (owner_.like_windows_) owner_.make_all_names_durable();
    }

    SimFileSystem& owner_;
    const std::string path_;
    const SimFileSystem::NodePtr node_;
    const OpenOptions options_;
    uint64_t position_ = 0;
    FlushRule rule_;
    bool lock_is_ours_ = false;
};

class SimMapping final : public Mapping {
  public:
    SimMapping(SimFileSystem& owner, std::string path, SimFileSystem::NodePtr node, MapKind kind)
        : owner_(owner), path_(std::move(path)), node_(std::move(node)), kind_(kind) {
        ++node_->mappings;
        if (!owner_.stores_are_reported_) node_->content.look_at_memory(++owner_.time_);
        if (kind_ == MapKind::shared) {
            memory_ = node_->content.map_shared(owner_.addresses_);
            return;
        }
        memory_ = std::make_shared<sim::Memory>(owner_.addresses_, node_->content.length());
        memory_->fill(node_->content.now());
        node_->private_view = memory_.get();
    }
    ~SimMapping() override {
        const std::lock_guard lock(owner_.mutex_);
        if (!owner_.stores_are_reported_) node_->content.look_at_memory(++owner_.time_);
        if (node_->private_view == memory_.get()) node_->private_view = nullptr;
        --node_->mappings;
    }
    uint8_t* data() const override { return memory_->data(); }
    uint64_t size() const override { return node_->content.length(); }
    void store(uint64_t offset, std::span<const uint8_t> bytes) override {
        if (kind_ == MapKind::private_copy) return Mapping::store(offset, bytes);
        owner_.record(SimFileSystem::Call::store, path_, offset, bytes.size());
        const std::function<void()> end = owner_.end_of_store(path_);
        if (end) {
            const uint64_t last = (offset + bytes.size() - 1) / sim::kPageBytes * sim::kPageBytes;
            bytes = bytes.first(last > offset ? last - offset : 0);
        }
        {
            const std::lock_guard lock(owner_.mutex_);
            if (!bytes.empty()) node_->content.write(++owner_.time_, offset, bytes);
        }
        if (end) end();
    }
    void sync(bool wait) override {
        owner_.record_sync(SimFileSystem::Call::sync_mapping, path_, *node_);
        const std::lock_guard lock(owner_.mutex_);
        if (!owner_.stores_are_reported_) node_->content.look_at_memory(++owner_.time_);
        if (wait && !owner_.is_ignored(SimFileSystem::Call::sync_mapping, path_))
            node_->content.make_durable();
    }
    void remap() override {
        const std::lock_guard lock(owner_.mutex_);
        if (!owner_.stores_are_reported_) node_->content.look_at_memory(++owner_.time_);
        memory_->clear();
        memory_->fill(node_->content.now());
    }
    void expect_random_access() override {
        owner_.record(SimFileSystem::Call::expect_random_access, path_);
    }
    void read_ahead(uint64_t offset, uint64_t bytes) override {
        owner_.record(SimFileSystem::Call::read_ahead, path_, offset, bytes);
    }

  private:
    SimFileSystem& owner_;
    const std::string path_;
    const SimFileSystem::NodePtr node_;
    const MapKind kind_;
    std::shared_ptr<sim::Memory> memory_;
};

SimFileSystem::SimFileSystem(unsigned seed)
    : root_(std::make_shared<Node>()),
      seed_(seed),
      addresses_(std::make_shared<sim::Addresses>(seed)) {
    root_->directory = true;
}
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
void SimFileSystem::fail_device(uint64_t device, std::errc reason) {
    const std::lock_guard lock(mutex_);
    failed_devices_[device] = reason;
}
void SimFileSystem::end_at_store(const std::string& path_end, int skip, std::function<void()> end) {
    const std::lock_guard lock(mutex_);
    missing_page_ = {path_end, skip, std::move(end)};
}

std::function<void()> SimFileSystem::end_of_store(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (!missing_page_ || !path.ends_with(missing_page_->path_end)) return {};
    if (missing_page_->skip-- > 0) return {};
    return std::exchange(missing_page_, std::nullopt)->end;
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
    if (keeps_events_) events_.push_back(event);
    if (const auto reason = failure_of(event)) fail_as_told("call", path, *reason);
}

void SimFileSystem::fail_as_told(const char* call, const std::string& path, std::errc reason) {
    has_failed_ = true;
    fail_io(call, path, reason);
}

std::optional<std::errc> SimFileSystem::failure_of(const Event& event) {
    for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
        if (fault->call != event.call || !event.path.ends_with(fault->path_end)) continue;
        if (fault->skip-- > 0) continue;
        const std::errc reason = fault->reason;
        faults_.erase(fault);
        return reason;
    }
    const bool looks_only = event.call == Call::read || event.call == Call::seek ||
                            event.call == Call::open || event.call == Call::close ||
                            event.call == Call::map || event.call == Call::store;
    if (failed_devices_.empty() || looks_only) return std::nullopt;
    const auto failed = failed_devices_.find(device_at(event.path));
    if (failed == failed_devices_.end()) return std::nullopt;
    return failed->second;
}

void SimFileSystem::record_sync(Call call, const std::string& path, Node& node) {
    try {
        record(call, path);
        const std::lock_guard lock(mutex_);
        if (full_at_write_back_ && node.content.has_unallocated())
            fail_as_told("write-back", path, std::errc::no_space_on_device);
    } catch (const IoError&) {
        const std::lock_guard lock(mutex_);
        EveryOther some;
        if (failed_pages_ == FailedPages::count_as_clean) node.content.lose_dirty(some);
        throw;
    }
}

void SimFileSystem::apply(const NameChange& change, Names& names) {
    if (!change.removed.empty()) names.erase(change.removed);
    if (!change.added.empty()) names[change.added] = change.node;
}

void SimFileSystem::change_names(const NodePtr& directory, std::string removed, std::string added,
                                 NodePtr node) {
    NameChange change{++time_, std::move(removed), std::move(added), std::move(node)};
    apply(change, directory->names);
    directory->pending.push_back(std::move(change));
}

void SimFileSystem::drop(const NodePtr& node) {
    if (!shows_old_blocks_ || node->directory || node->content.now().print() == 0) return;
    old_.push_back(std::make_shared<const sim::SparseBytes>(node->content.now()));
    if (old_.size() > kOldContents) old_.pop_front();
}

SimFileSystem::NodePtr SimFileSystem::find(const std::string& path) const {
    NodePtr node = root_;
    for (const std::string& name : names_in(path)) {
        const auto found = node->names.find(name);
        if (found == node->names.end()) return nullptr;
        node = found->second;
    }
    return node;
}

SimFileSystem::NodePtr SimFileSystem::node_of(const std::string& path) const {
    NodePtr node = find(path);
    if (!node) fail_io("open", path, std::errc::no_such_file_or_directory);
    return node;
}

SimFileSystem::NodePtr SimFileSystem::directory_of(const std::string& path) const {
    return node_of(parent(path));
}

void SimFileSystem::collect_directories(const NodePtr& node, std::vector<NodePtr>& found) {
    found.push_back(node);
    for (const auto& [name, below] : node->names)
        if (below->directory) collect_directories(below, found);
}

void SimFileSystem::look_at_memory() const {
    if (stores_are_reported_) return;
    std::vector<NodePtr> directories;
    collect_directories(root_, directories);
    for (const NodePtr& directory : directories)
        for (const auto& [name, node] : directory->names)
            if (node->mappings > 0) node->content.look_at_memory(++time_);
}

uint64_t SimFileSystem::print_of(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const NodePtr node = node_of(path);
    const sim::SparseBytes& now = node->content.now();
    if (node->private_view == nullptr) return now.print();
    const sim::Memory& view = *node->private_view;
    const std::vector<bool> touched = view.touched_pages();
    uint64_t print = 0;
    for (uint64_t number = 0; number < now.blocks(); ++number) {
        const size_t at = number * sim::kBlockBytes;
        if (!touched[at / sim::kPageBytes]) continue;
        const size_t n = std::min<uint64_t>(sim::kBlockBytes, now.length() - at);
        const sim::BlockPtr& known = now.block(number);
        const bool unchanged = known && std::memcmp(known->bytes.data(), view.data() + at, n) == 0;
        print ^= sim::print_of(number, unchanged ? known : sim::make_block({view.data() + at, n}));
    }
    return print;
}

std::unique_ptr<File> SimFileSystem::open(const std::string& path, const OpenOptions& options) {
    record(Call::open, path);
    const std::lock_guard lock(mutex_);
    NodePtr node = find(path);
    if (options.fresh && node) fail_io("open", path, std::errc::file_exists);
    if (options.create && !node) {
        node = std::make_shared<Node>();
        change_names(directory_of(path), "", base_name(path), node);
    }
    if (!node) fail_io("open", path, std::errc::no_such_file_or_directory);
    if (node->directory) fail_io("open", path, std::errc::is_a_directory);
    if (options.truncate) {
        drop(node);
        node->resize(++time_, 0);
    }
    return std::make_unique<SimFile>(*this, path, std::move(node), options);
}

std::unique_ptr<Mapping> SimFileSystem::map(File& file, MapKind kind, uint64_t length) {
    record(Call::map, file.path());
    const std::lock_guard lock(mutex_);
    const auto& node = dynamic_cast<SimFile&>(file).node();
    if (length != node->content.length())
        fail_io("mapping a part", file.path(), std::errc::invalid_argument);
    return std::make_unique<SimMapping>(*this, file.path(), node, kind);
}

bool SimFileSystem::exists(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return find(path) != nullptr;
}
bool SimFileSystem::is_directory(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const NodePtr node = find(path);
    return node && node->directory;
}
uint64_t SimFileSystem::file_length(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return node_of(path)->content.length();
}
std::vector<std::string> SimFileSystem::list(const std::string& directory) {
    const std::lock_guard lock(mutex_);
    const NodePtr node = node_of(directory);
    if (!node->directory) fail_io("list", directory, std::errc::not_a_directory);
    std::vector<std::string> result;
    for (const auto& [name, below] : node->names)
        result.push_back(name);
    return result;
}

void SimFileSystem::create_directory(const std::string& path) {
    record(Call::create_directory, path);
    const std::lock_guard lock(mutex_);
    if (const NodePtr there = find(path)) {
        if (!there->directory) fail_io("mkdir", path, std::errc::file_exists);
        return;
    }
    auto node = std::make_shared<Node>();
    node->directory = true;
    const NodePtr directory = directory_of(path);
    change_names(directory, "", base_name(path), std::move(node));
    if (directory != root_) return;
    root_->durable_names = root_->names;
    root_->pending.clear();
}

void SimFileSystem::remove(const std::string& path) {
    record(Call::remove, path);
    const std::lock_guard lock(mutex_);
    const NodePtr node = node_of(path);
    if (!node->names.empty()) fail_io("remove", path, std::errc::directory_not_empty);
    drop(node);
    change_names(directory_of(path), base_name(path), "", nullptr);
}

void SimFileSystem::rename(const std::string& from, const std::string& to) {
    record(Call::rename, from);
    const std::lock_guard lock(mutex_);
    const NodePtr node = node_of(from), source = directory_of(from), target = directory_of(to);
    if (const NodePtr replaced = find(to)) {
        if (replaced == node) return;
        drop(replaced);
    }
    if (source == target) return change_names(source, base_name(from), base_name(to), node);
    change_names(target, "", base_name(to), node);
    change_names(source, base_name(from), "", nullptr);
}

void SimFileSystem::sync_directory(const std::string& path) {
    record(Call::sync_directory, path);
    if (is_ignored(Call::sync_directory, path)) return;
    const std::lock_guard lock(mutex_);
    if (like_windows_) return make_all_names_durable();
    const NodePtr node = node_of(path);
    node->durable_names = node->names;
    node->pending.clear();
}

void SimFileSystem::make_all_names_durable() {
    std::vector<NodePtr> directories;
    collect_directories(root_, directories);
    for (const NodePtr& directory : directories) {
        directory->durable_names = directory->names;
        directory->pending.clear();
    }
}

bool SimFileSystem::is_ignored(Call call, const std::string& path) const {
    return std::any_of(ignored_.begin(), ignored_.end(), [&](const auto& lie) {
        return lie.first == call && path.find(lie.second) != std::string::npos;
    });
}

uint64_t SimFileSystem::free_bytes(const std::string&) {
    return full_ ? 0 : free_bytes_;
}

std::optional<uint64_t> SimFileSystem::device_of(const std::string& path) {
    if (!exists(path)) return std::nullopt;
    return device_at(path);
}

uint64_t SimFileSystem::device_at(const std::string& path) const {
    for (std::string at = path;; at = parent(at)) {
        const auto found = devices_.find(at);
        if (found != devices_.end()) return found->second;
        if (at == parent(at)) return 1;
    }
}

}  // namespace os
