// storage/mmapv1/btree/testing/memory_buckets.h - a BucketStore in plain memory for tests and
// benchmarks, and Views that prove the rule "declare, then write" for it.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"
#include "storage/mmapv1/btree/bucket_store.h"

namespace mmapv1 {

// Bucket i lies at file 0, offset kFirst + i * kStride, like records of one extent.
class MemoryBuckets : public BucketStore, private Views {
  public:
    static constexpr int32_t kFirst = 0x9000;
    static constexpr int32_t kStride = 8192;

    // checked: keeps a second copy of every bucket, which only declared bytes may leave behind.
    explicit MemoryBuckets(bool checked) : checked_(checked) {}
    // A copy is not checked.
    MemoryBuckets(const MemoryBuckets& other)
        : BucketStore(other),
          Views(other),
          checked_(false),
          free_(other.free_),
          root_(other.root_),
          live_(other.live_),
          capacity_(other.capacity_) {
        for (const auto& bucket : other.buckets_)
            add_bucket(bucket->view);
    }
    MemoryBuckets& operator=(const MemoryBuckets&) = delete;

    void reserve(int buckets) override {
        if (live_ + buckets > capacity_) base::fail(base::kOperationFailed, "the disk is full");
    }
    DiskLoc allocate() override {
        reserve(1);
        ++live_;
        if (!free_.empty()) {
            const DiskLoc loc = free_.back();
            free_.pop_back();
            return loc;
        }
        static const std::vector<uint8_t> unspecified(kBucketBytes, 0xcd);
        add_bucket(unspecified.data());
        return location(count() - 1);
    }
    void free(DiskLoc bucket) override {
        --live_;
        free_.push_back(bucket);
    }
    uint8_t* checked_bucket(DiskLoc loc) const override { return bucket(loc); }
    uint8_t* bucket(DiskLoc loc) const override { return buckets_[number(loc)]->view; }
    DiskLoc root() const override { return root_; }
    void set_root(DiskLoc root) override { root_ = root; }
    Views& views() const override { return const_cast<MemoryBuckets&>(*this); }
    int64_t bucket_count() const override { return live_; }

    // Makes the disk full: no more buckets than that at a time.
    void set_capacity(int64_t buckets) { capacity_ = buckets; }

    // Counts every bucket, freed ones too.
    size_t count() const { return buckets_.size(); }
    static DiskLoc location(size_t bucket) {
        return {0, kFirst + static_cast<int32_t>(bucket) * kStride};
    }
    static size_t number(DiskLoc loc) {
        return static_cast<size_t>((loc.offset - kFirst) / kStride);
    }
    // Whether the location is one of a bucket, freed or not.
    bool holds(DiskLoc loc) const {
        return loc.file == 0 && loc.offset >= kFirst && (loc.offset - kFirst) % kStride == 0 &&
               number(loc) < buckets_.size();
    }
    int64_t declared_bytes() const { return declared_bytes_; }

    // Whether every byte that changed since the last call was declared. Only when checked.
    bool all_changes_declared() {
        for (const Range& r : ranges_)
            apply(r);
        ranges_.clear();
        return std::all_of(buckets_.begin(), buckets_.end(), [](const auto& pair) {
            return std::memcmp(pair->view, pair->declared, kBucketBytes) == 0;
        });
    }

  private:
    struct Pair {
        uint8_t view[kBucketBytes];
        uint8_t declared[kBucketBytes];
    };
    struct Range {
        uint8_t* at;
        size_t bytes;
    };

    void add_bucket(const uint8_t* content) {
        Pair& made = *buckets_.emplace_back(std::make_unique<Pair>());
        std::memcpy(made.view, content, kBucketBytes);
        if (checked_) std::memcpy(made.declared, content, kBucketBytes);
    }
    void declare(void* p, size_t bytes) override {
        declared_bytes_ += static_cast<int64_t>(bytes);
        if (checked_) ranges_.push_back({static_cast<uint8_t*>(p), bytes});
    }
    void apply(const Range& range) {
        for (const auto& pair : buckets_) {
            if (range.at < pair->view || range.at >= pair->view + kBucketBytes) continue;
            std::memcpy(pair->declared + (range.at - pair->view), range.at, range.bytes);
            return;
        }
        base::fatal(0, "a declared range lies outside all buckets");
    }

    bool exists(const std::string&) const override { return false; }
    void remove(const std::string&) override {}
    MappedFile& open(const std::string&) override { base::fatal(0, "memory has no files"); }
    MappedFile& create(const std::string&, int64_t) override {
        base::fatal(0, "memory has no files");
    }
    void note_created(const MappedFile&) override {}
    void close(MappedFile&) override {}

    bool checked_;
    std::vector<std::unique_ptr<Pair>> buckets_;
    std::vector<DiskLoc> free_;
    std::vector<Range> ranges_;
    DiskLoc root_ = DiskLoc::null();
    int64_t live_ = 0;
    int64_t capacity_ = INT64_MAX;
    int64_t declared_bytes_ = 0;
};

}  // namespace mmapv1
