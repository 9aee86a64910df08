#include "storage/mmapv1/btree/bucket.h"

#include <algorithm>
#include <cstring>

#include "base/dcheck.h"
#include "base/error.h"
#include "storage/mmapv1/btree/bucket_parts.h"

namespace mmapv1 {

namespace {

// Stores only what differs, without the equal bytes at either end: a split or a merge often leaves
// most of a bucket as it was, and every declared byte goes through the journal.
void write_changed(Views& views, uint8_t* to, const uint8_t* from, size_t bytes) {
    size_t first = 0;
    while (first < bytes && to[first] == from[first])
        ++first;
    size_t last = bytes;
    while (last > first && to[last - 1] == from[last - 1])
        --last;
    if (last > first) views.write(to + first, from + first, last - first);
}

}  // namespace

int Bucket::find_child(DiskLoc loc) const {
    const Loc7 wanted = Loc7::from(loc);
    if (header().next_child == wanted) return n();
    for (int i = 0; i < n(); ++i)
        if (node(i).prev_child == wanted) return i;
    return -1;
}

int Bucket::index_of_child(DiskLoc loc) const {
    const int child = find_child(loc);
    if (child >= 0) return child;
    base::fail(
        base::kInternalError,
        "an index is damaged: its bucket {} is no child of its parent {}; drop the index and "
        "build it again",
        to_string(loc), to_string(loc_));
}

bool Bucket::sizes_add_up() const {
    const BucketHeader& h = header();
    return h.n <= kBucketKeysMax && h.empty + h.top + kNodeBytes * h.n == kBodyBytes;
}

bool Bucket::is_well_formed() const {
    const BucketHeader& h = header();
    if (!sizes_add_up()) return false;
    int live = 0;
    for (int i = 0; i < n(); ++i) {
        const int at = node(i).key_data;
        if (at < kBodyBytes - h.top || at >= kBodyBytes) return false;
        const size_t size = checked_key_size(body() + at, static_cast<size_t>(kBodyBytes - at));
        if (size == 0) return false;
        live += static_cast<int>(size);
    }
    return is_packed() ? live == h.top : live <= h.top;
}

int Bucket::live_bytes() const {
    if (is_packed()) return n() * kNodeBytes + header().top;
    int bytes = 0;
    for (int i = 0; i < n(); ++i)
        if (!is_droppable(i)) bytes += kNodeBytes + static_cast<int>(key(i).size());
    DCHECK(bytes <= kBodyBytes);
    return bytes;
}

void Bucket::initialise(Views& views) {
    views.note_bucket_change(data_);
    views.writing(mutable_header()) = {
        Loc7::null(), Loc7::null(), kPacked, static_cast<uint16_t>(kBodyBytes), 0, 0};
    DCHECK(is_well_formed());
}

void Bucket::mark_freed(Views& views) {
    DCHECK(header().n != kFreedBucket);
    views.note_bucket_change(data_);
    BucketHeader& h = views.writing(mutable_header());
    h.parent = Loc7::null();
    h.n = kFreedBucket;
}

void Bucket::set_parent(Views& views, DiskLoc parent) {
    const Loc7 wanted = Loc7::from(parent);
    if (!(header().parent == wanted)) views.write(&mutable_header().parent, &wanted, sizeof wanted);
}

void Bucket::set_child(Views& views, int i, DiskLoc child) {
    DCHECK(i >= 0 && i <= n());
    Loc7& place = i == n() ? mutable_header().next_child : mutable_nodes()[i].prev_child;
    const Loc7 wanted = Loc7::from(child);
    if (place == wanted) return;
    if (i < n()) views.note_bucket_change(data_);
    views.write(&place, &wanted, sizeof wanted);
}

void Bucket::set_unused(Views& views, int i, bool unused) {
    DCHECK(i >= 0 && i < n());
    views.note_bucket_change(data_);
    Loc7& record = views.writing(mutable_nodes()[i].record);
    record.offset = unused ? record.offset | kUnusedBit : record.offset & ~kUnusedBit;
}

void Bucket::insert(Views& views, int at, const BucketEntry& entry) {
    DCHECK(at >= 0 && at <= n());
    DCHECK(entry.key_bytes > 0 && entry.key_bytes <= kKeyBytesMax);
    DCHECK(has_room(entry.key_bytes));
    DCHECK(entry.key + entry.key_bytes <= data_ || entry.key >= data_ + kBucketBytes);
    BucketHeader& h = mutable_header();
    const int count = h.n;
    const auto top = static_cast<uint16_t>(h.top + entry.key_bytes);
    const auto key_data = static_cast<uint16_t>(kBodyBytes - top);
    const auto key = key_of(data_, key_data, entry.key_bytes);
    const auto nodes = nodes_of(data_, static_cast<size_t>(at), static_cast<size_t>(count) + 1);
    const bool declared =
        entry.left == Loc7::null() &&
        views.declare_insert({data_, static_cast<uint16_t>(at), static_cast<uint16_t>(count),
                              key_data, entry.key_bytes, static_cast<uint32_t>(entry.record.offset),
                              static_cast<uint32_t>(entry.record.file_number())});
    if (!declared) {
        views.note_bucket_change(data_);
        for (const auto part : {key, nodes, counters_of(data_)})
            views.declare(part.data(), part.size());
    }
    std::memcpy(key.data(), entry.key, key.size());
    KeyNode* place = mutable_nodes() + at;
    std::memmove(place + 1, place, nodes.size() - kNodeBytes);
    *place = {entry.left, entry.record, key_data};

    h.empty = static_cast<uint16_t>(h.empty - entry.bytes());
    h.top = top;
    h.n = static_cast<uint16_t>(count + 1);
    DCHECK(sizes_add_up());
}

void Bucket::erase(Views& views, int at) {
    DCHECK(at >= 0 && at < n());
    BucketHeader& h = mutable_header();
    const int count = h.n;
    views.note_bucket_change(data_);
    KeyNode* place = mutable_nodes() + at;
    if (const size_t moved = static_cast<size_t>(count - at - 1) * kNodeBytes; moved != 0) {
        views.declare(place, moved);
        std::memmove(place, place + 1, moved);
    }
    views.declare(&h.flags, sizeof h.flags + sizeof h.empty + sizeof h.top + sizeof h.n);
    h.flags = static_cast<uint16_t>(h.flags & ~kPacked);
    h.empty = static_cast<uint16_t>(h.empty + kNodeBytes);
    h.n = static_cast<uint16_t>(count - 1);
    DCHECK(sizes_add_up());
}

void Bucket::remove_last(Views& views) {
    DCHECK(n() > 0);
    DCHECK(node(n() - 1).key_data == kBodyBytes - header().top);
    const BucketEntry last = entry(n() - 1);
    views.note_bucket_change(data_);
    BucketHeader& h = views.writing(mutable_header());
    h.next_child = last.left;
    h.empty = static_cast<uint16_t>(h.empty + last.bytes());
    h.top = static_cast<uint16_t>(h.top - last.key_bytes);
    h.n = static_cast<uint16_t>(h.n - 1);
    DCHECK(sizes_add_up());
}

void Bucket::pack(Views& views, int& at) {
    DCHECK(at >= 0 && at <= n());
    if (is_packed()) return;
    EntryList kept;
    const int wanted = at;
    for (int i = 0; i < n(); ++i) {
        if (i == wanted || !is_droppable(i)) {
            kept.add(entry(i));
        } else if (i < wanted) {
            --at;
        }
    }
    assign(views, kept.range(0, kept.size()), header().next_child.loc());
    DCHECK(at >= 0 && at <= n());
}

void Bucket::assign(Views& views, std::span<const BucketEntry> entries, DiskLoc next_child) {
    size_t bytes = entries.size() * kNodeBytes;
    for (const BucketEntry& e : entries)
        bytes += e.key_bytes;
    if (bytes > static_cast<size_t>(kBodyBytes))
        base::fail(
            base::kInternalError,
            "an index is damaged: {} bytes do not fit bucket {}; drop the index and build it "
            "again",
            bytes, to_string(loc_));
    uint8_t image[kBucketBytes];
    auto* h = reinterpret_cast<BucketHeader*>(image);
    auto* node = reinterpret_cast<KeyNode*>(image + sizeof(BucketHeader));
    int top = 0;
    for (const BucketEntry& e : entries) {
        top += e.key_bytes;
        const int key_data = kBodyBytes - top;
        std::memcpy(image + sizeof(BucketHeader) + key_data, e.key, e.key_bytes);
        *node++ = {e.left, e.record, static_cast<uint16_t>(key_data)};
    }
    const int nodes_bytes = static_cast<int>(entries.size()) * kNodeBytes;
    *h = {header().parent,
          Loc7::from(next_child),
          kPacked,
          static_cast<uint16_t>(kBodyBytes - nodes_bytes - top),
          static_cast<uint16_t>(top),
          static_cast<uint16_t>(entries.size())};
    views.note_bucket_change(data_);
    write_changed(views, data_, image, sizeof(BucketHeader) + static_cast<size_t>(nodes_bytes));
    write_changed(views, data_ + kBucketBytes - top, image + kBucketBytes - top,
                  static_cast<size_t>(top));
    DCHECK(is_well_formed());
}

int EntryList::split_point(int limit) const {
    DCHECK(limit >= 0);
    int right = 0;
    int at = size_ - 1;
    for (; at > 0; --at) {
        right += entries_[at].bytes();
        if (right > limit) break;
    }
    if (size_ < 3)
        base::fail(base::kInternalError,
                   "an index is damaged: a bucket that has to be divided holds {} keys; drop the "
                   "index and build it again",
                   size_);
    return std::clamp(at, 1, size_ - 2);
}

}  // namespace mmapv1
