#include "storage/mmapv1/btree/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/dcheck.h"
#include "bson/compare.h"
#include "sched/tick.h"
#include "storage/mmapv1/btree/bucket.h"
#include "storage/record_id_set.h"

namespace mmapv1 {

namespace {

// The cost of examining a bucket with its keys (sched/tick.h).
constexpr int64_t kTicksPerBucket = 64;

// 2.6 compared a timestamp with a date as unsigned numbers, which puts dates before 1970 behind all
// timestamps but, among dates, before the others: no order (mmapv1 spec 6.6 rule 5). Its files may
// hold such neighbours.
bool ascend_as_in_26(KeyView a, KeyView b, uint32_t descending) {
    uint8_t buffer_a[kDecodedKeyBytesMax];
    uint8_t buffer_b[kDecodedKeyBytesMax];
    const bson::Doc left = a.decode(buffer_a);
    const bson::Doc right = b.decode(buffer_b);
    auto r = right.begin();
    for (const bson::Element& l : left) {
        if (r == right.end()) return false;
        if (bson::compare_values(l, *r) != 0) {
            if (l.canonical() != bson::canonical_class(bson::Type::date)) return false;
            if (l.canonical() != r->canonical() || l.type() == r->type()) return false;
            return (l.as_timestamp() < r->as_timestamp()) == ((descending & 1) == 0);
        }
        ++r;
        descending >>= 1;
    }
    return false;
}

class Validator {
  public:
    explicit Validator(const BTreeCheck& check) : check_(check) {
        DCHECK(check.bucket && check.error);
    }

    BTreeReport run() {
        if (!check_.root.is_valid()) {
            error(check_.root, "the root pointer is null");
            return report_;
        }
        visit(check_.root, DiskLoc::null(), 1);
        return report_;
    }

  private:
    template <typename... Args>
    void error(DiskLoc loc, fmt::format_string<Args...> format, Args&&... args) {
        ++report_.errors;
        check_.error(loc, fmt::format("bucket {}: {}", to_string(loc),
                                      fmt::format(format, std::forward<Args>(args)...)));
    }

    // In index order, so that each entry is compared with the one before it wherever that lies.
    void visit(DiskLoc loc, DiskLoc parent, int depth) {
        sched::tick(kTicksPerBucket);
        if (depth > kTreeDepthMax) return error(loc, "lies too deep");
        if (!visited_.insert(loc.id()))
            return error(loc, "is referenced twice; the tree has a loop or shares a bucket");
        // Records begin at multiples of 4.
        const uint8_t* data = loc.offset % 4 == 0 ? check_.bucket(loc) : nullptr;
        if (data == nullptr) return error(loc, "lies outside the index");
        // Only read: Bucket's writing calls are never made here.
        const Bucket b(loc, const_cast<uint8_t*>(data));
        ++report_.buckets;
        report_.depth = std::max(report_.depth, depth);
        if (b.parent() != parent)
            error(loc, "its parent field says {} instead of {}", to_string(b.parent()),
                  to_string(parent));
        const int valid = check_header(b, parent) ? check_keys(b, data) : 0;
        for (int i = 0; i < valid; ++i) {
            if (b.child(i).is_valid()) visit(b.child(i), loc, depth + 1);
            check_entry(b, i);
        }
        if (valid > 0 && valid == b.n() && b.child(valid).is_valid())
            visit(b.child(valid), loc, depth + 1);
    }

    bool check_header(const Bucket& b, DiskLoc parent) {
        const BucketHeader& h = b.header();
        if (h.n == kFreedBucket) {
            error(b.loc(), "is marked as freed but still referenced");
            return false;
        }
        if (h.n > kBucketKeysMax || h.empty + h.top + kNodeBytes * h.n != kBodyBytes) {
            error(b.loc(), "emptySize {} + topSize {} + 16 x n {} is not {}", h.empty, h.top, h.n,
                  kBodyBytes);
            return false;
        }
        if ((h.flags & ~kPacked) != 0) error(b.loc(), "unknown flags {:#x}", h.flags);
        if (h.n == 0 && (parent.is_valid() || b.child(0).is_valid()))
            error(b.loc(), "has no keys but is not the root of an empty index");
        return h.n > 0;
    }

    // Checks the key data; returns n if every key can be read, else 0.
    int check_keys(const Bucket& b, const uint8_t* data) {
        const BucketHeader& h = b.header();
        const uint8_t* body = data + sizeof(BucketHeader);
        std::vector<std::pair<int, int>> extents;
        int live = 0;
        for (int i = 0; i < h.n; ++i) {
            const int at = b.node(i).key_data;
            if (at < kBodyBytes - h.top || at >= kBodyBytes) {
                error(b.loc(), "key {} points at {}, outside the key data", i, at);
                return 0;
            }
            const auto size =
                static_cast<int>(checked_key_size(body + at, static_cast<size_t>(kBodyBytes - at)));
            if (size == 0) {
                error(b.loc(), "key {} is damaged", i);
                return 0;
            }
            extents.emplace_back(at, at + size);
            live += size;
        }
        std::sort(extents.begin(), extents.end());
        for (size_t i = 1; i < extents.size(); ++i)
            if (extents[i].first < extents[i - 1].second)
                error(b.loc(), "two keys share the bytes at {}", extents[i].first);
        if (live > h.top) {
            error(b.loc(), "keys of {} bytes in key data of {}", live, h.top);
        } else if ((h.flags & kPacked) != 0 && live != h.top) {
            error(b.loc(), "is marked packed, but {} of {} key bytes are dead", h.top - live,
                  h.top);
        }
        report_.dead_bytes += std::max(0, h.top - live);
        return h.n;
    }

    void check_entry(const Bucket& b, int i) {
        const KeyView key = b.key(i);
        const Loc7 record = b.node(i).record;
        if (record.is_null()) return error(b.loc(), "entry {} names no record", i);
        const uint64_t order = record_order(record);
        if (!previous_key_.empty()) {
            const KeyView before(previous_key_.data());
            const int c = compare(before, key, check_.descending);
            if (c > 0 ? !ascend_as_in_26(before, key, check_.descending)
                      : c == 0 && previous_order_ >= order)
                error(b.loc(), "entry {} is not greater than the entry before it", i);
            if (check_.unique && !is_unused(record) && !last_used_key_.empty() &&
                compare(KeyView(last_used_key_.data()), key, check_.descending) == 0)
                error(b.loc(), "entry {} repeats a key of a unique index", i);
        }
        previous_key_.assign(key.data(), key.data() + key.size());
        previous_order_ = order;
        if (is_unused(record)) {
            ++report_.unused_keys;
            return;
        }
        ++report_.used_keys;
        if (check_.unique) last_used_key_ = previous_key_;
        if (check_.entry) check_.entry(key, record.loc());
    }

    const BTreeCheck& check_;
    BTreeReport report_;
    storage::RecordIdSet visited_;
    std::vector<uint8_t> previous_key_;
    uint64_t previous_order_ = 0;
    std::vector<uint8_t> last_used_key_;
};

}  // namespace

std::string bucket_fault(const uint8_t* data) {
    const Bucket b(DiskLoc::null(), const_cast<uint8_t*>(data));  // only read
    const BucketHeader& h = b.header();
    if (h.n > kBucketKeysMax || h.empty + h.top + kNodeBytes * h.n != kBodyBytes)
        return "its header is no bucket's";
    const uint8_t* body = data + sizeof(BucketHeader);
    int live = 0;
    for (int i = 0; i < h.n; ++i) {
        const int at = b.node(i).key_data;
        if (at < kBodyBytes - h.top || at >= kBodyBytes)
            return fmt::format("key {} lies outside the key data", i);
        const uint32_t size = checked_key_size(body + at, static_cast<size_t>(kBodyBytes - at));
        if (size == 0) return fmt::format("key {} is damaged", i);
        live += static_cast<int>(size);
    }
    if (live > h.top) return "its keys share bytes";
    uint64_t children[kBucketKeysMax + 1];
    int count = 0;
    for (int i = 0; i <= h.n; ++i)
        if (b.child(i).is_valid()) children[count++] = b.child(i).id().value;
    std::sort(children, children + count);
    if (std::adjacent_find(children, children + count) != children + count)
        return "it names a child twice";
    return {};
}

BTreeReport validate_btree(const BTreeCheck& check) {
    return Validator(check).run();
}

}  // namespace mmapv1
