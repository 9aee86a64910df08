// Fuzz target: a B-tree with damaged buckets, read and changed.
//
// A tree of three levels is built once; an input says which of its words get which values, and then
// which operations follow. A bucket is checked where a link leads to it, as in the data files.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "storage/mmapv1/btree/index.h"
#include "storage/mmapv1/btree/layout.h"
#include "storage/mmapv1/btree/testing/memory_buckets.h"
#include "storage/mmapv1/btree/validate.h"
#include "target.h"

namespace {

using mmapv1::DiskLoc;
using storage::RecordId;

constexpr int kBucketsMax = 2000;
constexpr int kKeys = 1200;
constexpr size_t kHeadBytes = sizeof(mmapv1::BucketHeader) + 10 * sizeof(mmapv1::KeyNode);

// What the data files know of a bucket besides its bytes: whether one can be there, whether it has
// been found plausible, whether it has been given back.
class Buckets final : public mmapv1::MemoryBuckets {
  public:
    Buckets() : MemoryBuckets(false) { set_capacity(kBucketsMax); }

    DiskLoc allocate() override {
        const DiskLoc loc = MemoryBuckets::allocate();
        known_.resize(count());
        known_[number(loc)] = {};
        return loc;
    }
    void free(DiskLoc loc) override {
        Known& freed = known(loc);
        // The records of the data files tell, too.
        if (freed.free) base::fail(base::kInternalError, "a bucket is given back twice");
        freed = {.checked = false, .free = true};
        MemoryBuckets::free(loc);
    }
    uint8_t* bucket(DiskLoc loc) const override {
        known(loc);
        return MemoryBuckets::bucket(loc);
    }
    uint8_t* checked_bucket(DiskLoc loc) const override {
        uint8_t* const bytes = bucket(loc);
        if (!known(loc).checked) {
            const std::string fault = mmapv1::bucket_fault(bytes);
            if (!fault.empty()) base::fail(base::kInternalError, "damaged: {}", fault);
            known(loc).checked = true;
        }
        return bytes;
    }

    void damage(size_t bucket, size_t at, std::span<const uint8_t> bytes) {
        const DiskLoc loc = location(bucket % count());
        at %= mmapv1::kBucketBytes;
        std::memcpy(MemoryBuckets::bucket(loc) + at, bytes.data(),
                    std::min<size_t>(bytes.size(), mmapv1::kBucketBytes - at));
        known(loc).checked = false;
    }

  private:
    struct Known {
        bool checked = false;
        bool free = false;
    };
    Known& known(DiskLoc loc) const {
        if (!holds(loc))
            base::fail(base::kInternalError, "no bucket can be at {}:{}", loc.file, loc.offset);
        return known_[number(loc)];
    }

    mutable std::vector<Known> known_;  // by number
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
        sched::tick();
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
                return store.holds(loc) ? store.bucket(loc) : nullptr;
            };
            check.error = [](DiskLoc, const std::string& text) {
                fuzz::expect(!text.empty(), "damage is described");
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
            const mmapv1::Loc7 link =
                mmapv1::Loc7::from(Buckets::location(input.take() % store.count()));
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
