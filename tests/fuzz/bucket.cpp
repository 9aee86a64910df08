// Fuzz target: a B-tree with damaged buckets, read and changed.
//
// A tree of three levels is built once; an input says which of its words get which values, and then
// which operations follow. A bucket is checked where a link leads to it, as in the data files.
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.h"
#include "storage/mmapv1/btree/index.h"
#include "storage/mmapv1/btree/layout.h"
#include "storage/mmapv1/btree/validate.h"
#include "target.h"

namespace {

using mmapv1::DiskLoc;
using storage::RecordId;
using Bytes = std::array<uint8_t, mmapv1::kBucketBytes>;

constexpr int32_t kFirst = 0x9000;
constexpr int32_t kStride = 8192;
constexpr int kBucketsMax = 2000;
constexpr int kKeys = 1200;
constexpr size_t kHeadBytes = sizeof(mmapv1::BucketHeader) + 10 * sizeof(mmapv1::KeyNode);

class NoFiles final : public mmapv1::Views {
  public:
    bool exists(const std::string&) const override { return false; }
    void remove(const std::string&) override {}
    mmapv1::MappedFile& open(const std::string&) override { fuzz::broken("no files"); }
    mmapv1::MappedFile& create(const std::string&, int64_t) override { fuzz::broken("no files"); }
    void note_created(const mmapv1::MappedFile&) override {}
    void close(mmapv1::MappedFile&) override {}
    void declare(void*, size_t) override {}
};

class Buckets final : public mmapv1::BucketStore {
  public:
    Buckets() = default;
    Buckets(const Buckets& other) : free_(other.free_), root_(other.root_), live_(other.live_) {
        for (const auto& bucket : other.buckets_)
            buckets_.push_back(std::make_unique<Slot>(*bucket));
    }

    void reserve(int buckets) override {
        if (live_ + buckets > kBucketsMax) base::fail(base::kOperationFailed, "the disk is full");
    }
    DiskLoc allocate() override {
        reserve(1);
        ++live_;
        if (!free_.empty()) {
            const DiskLoc loc = free_.back();
            free_.pop_back();
            slot(loc).is_free = false;
            return loc;
        }
        buckets_.push_back(std::make_unique<Slot>());
        return {0, kFirst + static_cast<int32_t>(buckets_.size() - 1) * kStride};
    }
    void free(DiskLoc loc) override {
        Slot& freed = slot(loc);
        // The records of the data files tell, too.
        if (freed.is_free) base::fail(base::kInternalError, "a bucket is given back twice");
        freed.is_checked = false;
        freed.is_free = true;
        --live_;
        free_.push_back(loc);
    }
    uint8_t* bucket(DiskLoc loc) const override { return slot(loc).bytes.data(); }
    uint8_t* sound_bucket(DiskLoc loc) const override {
        Slot& found = slot(loc);
        if (!found.is_checked) {
            const std::string fault = mmapv1::bucket_fault(found.bytes.data());
            if (!fault.empty()) base::fail(base::kInternalError, "damaged: {}", fault);
            found.is_checked = true;
        }
        return found.bytes.data();
    }
    DiskLoc root() const override { return root_; }
    void set_root(DiskLoc root) override { root_ = root; }
    mmapv1::Views& views() const override { return views_; }
    int64_t bucket_count() const override { return live_; }

    size_t size() const { return buckets_.size(); }
    void damage(size_t bucket, size_t at, std::span<const uint8_t> bytes) {
        Slot& damaged = *buckets_[bucket % buckets_.size()];
        at %= damaged.bytes.size();
        std::memcpy(damaged.bytes.data() + at, bytes.data(),
                    std::min(bytes.size(), damaged.bytes.size() - at));
        damaged.is_checked = false;
    }

  private:
    struct Slot {
        Bytes bytes{};
        bool is_checked = false;
        bool is_free = false;
    };
    Slot& slot(DiskLoc loc) const {
        const int64_t at = int64_t{loc.offset} - kFirst;
        if (loc.file != 0 || at < 0 || at % kStride != 0 ||
            at / kStride >= static_cast<int64_t>(buckets_.size()))
            base::fail(base::kInternalError, "no bucket can be at {}:{}", loc.file, loc.offset);
        return *buckets_[static_cast<size_t>(at / kStride)];
    }

    std::vector<std::unique_ptr<Slot>> buckets_;
    std::vector<DiskLoc> free_;
    DiskLoc root_ = DiskLoc::null();
    int64_t live_ = 0;
    mutable NoFiles views_;
};

// Keys of all lengths, so that there are three levels.
bson::Object key(unsigned n) {
    n = n * 7919 % kKeys;
    std::string text = std::to_string(n);
    text.resize(n % 5 == 0 ? 900 : 5 + n % 200, 'k');
    return n % 7 == 0 ? bson::make("", static_cast<int>(n)) : bson::make("", text);
}
RecordId record(unsigned n) {
    return RecordId{0x10000 + uint64_t{n} * 32};
}

const Buckets& whole_tree() {
    static const Buckets* const tree = [] {
        auto* const made = new Buckets;
        mmapv1::create_empty_btree(*made);
        const auto index = mmapv1::make_btree_index(*made, 0);
        for (unsigned n = 0; n < kKeys; ++n)
            index->insert(key(n), record(n), true);
        // Unused entries and dead bytes.
        for (unsigned n = 0; n < kKeys; n += 9)
            index->remove(key(n), record(n));
        return made;
    }();
    return *tree;
}

// The last place not behind this one where a bucket has a link to another bucket.
size_t link_before(size_t at) {
    constexpr size_t kHeader = sizeof(mmapv1::BucketHeader), kNode = sizeof(mmapv1::KeyNode);
    if (at < kHeader) return at < sizeof(mmapv1::Loc7) ? 0 : sizeof(mmapv1::Loc7);
    return kHeader + (at - kHeader) / kNode * kNode;
}

void walk(const storage::SortedIndex& index, storage::Direction direction, unsigned from) {
    const auto cursor = index.cursor(direction);
    if (from == 0) {
        cursor->seek_to_start();
    } else {
        cursor->seek(key(from), from % 2 == 0);
    }
    // A damaged tree may be a circle.
    for (unsigned n = 0; n < 4 * kKeys && !cursor->at_end(); ++n) {
        base::Operation::tick();
        if (n % 16 == 3) {
            cursor->save();
            cursor->restore();
            if (cursor->at_end()) return;
        }
        cursor->key();
        cursor->id();
        cursor->next();
    }
}

void operate(Buckets& store, storage::SortedIndex& index, uint8_t kind, unsigned n) {
    switch (kind % 8) {
        case 0:
        case 1:
            index.insert(key(n), record(n), n % 3 != 0);
            return;
        case 2:
        case 3:
            index.remove(key(n), record(n));
            return;
        case 4:
            return walk(index, storage::Direction::forward, n);
        case 5:
            return walk(index, storage::Direction::backward, n);
        case 6:
            index.find_one(key(n));
            index.has_duplicate(key(n), record(n));
            return;
        default: {
            mmapv1::BTreeCheck check;
            check.root = store.root();
            check.bucket = [&](DiskLoc loc) -> const uint8_t* {
                const int64_t at = int64_t{loc.offset} - kFirst;
                if (loc.file != 0 || at < 0 || at % kStride != 0 ||
                    at / kStride >= static_cast<int64_t>(store.size()))
                    return nullptr;
                return store.bucket(loc);
            };
            check.error = [](const std::string& text) {
                fuzz::expect(!text.empty(), "damage is told in words");
            };
            mmapv1::validate_btree(check);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 8) return fuzz::kNoInput;
    Buckets store(whole_tree());
    fuzz::Input input(data, size);
    for (int changes = input.take() % 8; changes > 0; --changes) {
        const auto bucket = input.take<uint16_t>();
        const auto at = input.take<uint16_t>();
        const uint8_t kind = input.take();
        // Half of the damage meets the header and the first keys.
        const size_t place = kind % 2 == 0 ? at : at % kHeadBytes;
        if (kind % 8 < 5) {
            store.damage(bucket, place, input.take_bytes(1 + kind / 8 % 7));
        } else {
            const mmapv1::Loc7 link = mmapv1::Loc7::from(
                {0, kFirst + static_cast<int32_t>(input.take() % store.size()) * kStride});
            store.damage(bucket, link_before(place),
                         {reinterpret_cast<const uint8_t*>(&link), sizeof link});
        }
    }
    const auto index = mmapv1::make_btree_index(store, 0);
    for (int n = 0; n < 64 && !input.empty(); ++n) {
        const uint8_t kind = input.take();
        const auto which = input.take<uint16_t>();
        fuzz::as_operation([&] { operate(store, *index, kind, which); });
    }
    return fuzz::kTaken;
}
