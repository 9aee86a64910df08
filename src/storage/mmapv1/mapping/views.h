// storage/mmapv1/mapping/views.h - the mapped files of all databases, and the one way to change a
// byte of them.
//
// Each file is mapped twice when journaling: all code reads and writes the private view
// (copy-on-write); only a group commit stores into the shared view, after the bytes are in the
// journal (journal spec 1.1). Rule for every writer: declare, then write. declare() must be called,
// holding the write lock, before the first store into a range of a private view; it may be called
// again for the same range. A debug build compares views and proves the rule.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace mmapv1 {

// One mapped file. Addresses stay the same for as long as it is open (a remap keeps them).
class MappedFile {
  public:
    virtual ~MappedFile() = default;
    virtual uint8_t* view() const = 0;  // the view that code reads and writes
    virtual int64_t length() const = 0;

    // Whether the system reads nothing of it but pages that are looked at: who walks through it, or
    // looks at many pages in a row, then says so with read_ahead(), in time. Never so in the base,
    // where the device's read-ahead decides.
    virtual bool wants_read_ahead() const { return false; }
    virtual void read_ahead(int64_t /*offset*/, int64_t /*bytes*/) {}

    virtual const std::string& path()
        const = 0;  // relative to dbpath: "test.ns", "test.0", "test/test.0"
};

// An entry that was put into a B-tree bucket, before the one that was at `position` of `count`.
struct BucketInsert {
    uint8_t* bucket;
    uint16_t position;
    uint16_t count = 0;
    uint16_t key_data = 0;  // where the key is, from the start of the body
    uint16_t key_bytes = 0;
    uint32_t record_offset = 0;
    uint32_t record_file = 0;
};

class Views {
  public:
    virtual ~Views() = default;

    // Whether a file of that name is there.
    virtual bool exists(const std::string& relative_path) const = 0;
    // The length of a file that was made in advance and never used: its head is zeros (mmapv1
    // spec 2.1). 0 for any other.
    virtual int64_t unused_bytes(const std::string& /*relative_path*/) const { return 0; }
    // Unlinks a file that is not open (dropDatabase). Missing ones are no error.
    virtual void remove(const std::string& relative_path) = 0;

    // Opens an existing file; throws base::Error naming the path. Global w or W (or start-up).
    virtual MappedFile& open(const std::string& relative_path) = 0;
    // Opens a file that was made in advance, once it is there for good with its name: a file that a
    // killed process or an older server has made may not be, and only as long as the journal has
    // its creation is it made again.
    virtual MappedFile& adopt(const std::string& relative_path) { return open(relative_path); }
    // Creates a zero-filled file of exactly that length under its final name (through _tmp/,
    // fallocate, rename) and maps it. The caller journals its creation with note_created once it
    // initialises the content.
    virtual MappedFile& create(const std::string& relative_path, int64_t length) = 0;
    // Adds a "file created" operation to the running commit (journal spec 2.5).
    virtual void note_created(const MappedFile& file) = 0;
    // Unmaps; commits first what is pending. Global W.
    virtual void close(MappedFile& file) = 0;

    // Declares a write of `bytes` at `p` inside a private view. Returns p. No allocation, usually
    // no lock.
    virtual void declare(void* p, size_t bytes) = 0;

    // Whether what the calling thread declares can still be taken back
    // (storage::Durability::begin_undo); on_undo() then has a call made once its bytes are back:
    // for what is known in memory of the bytes. The later call is made first.
    virtual bool keeps_undo() const { return false; }
    virtual void on_undo(std::function<void()> /*call*/) {}  // NOLINT(performance-unnecessary-*)
    // Declares what stays all the same: nothing before it has been written by the thread.
    virtual void declare_for_good(void* p, size_t bytes) { declare(p, bytes); }

    // What the B-tree does with a bucket, for views that keep more of it than ranges of bytes.
    // True: this takes the place of the declarations of counters, nodes and key of an entry, which
    // has no left child.
    virtual bool declare_insert(const BucketInsert& /*insert*/) { return false; }
    // Counters or nodes of that bucket change in another way, and are declared as all is.
    virtual void note_bucket_change(uint8_t* /*bucket*/) {}

    template <typename T>
    T* writing(T* p) {
        declare(p, sizeof *p);
        return p;
    }
    template <typename T>
    T& writing(T& ref) {
        declare(&ref, sizeof ref);
        return ref;
    }
    // Declares and copies.
    void write(void* to, const void* from, size_t bytes) {
        declare(to, bytes);
        __builtin_memcpy(to, from, bytes);
    }
};

}  // namespace mmapv1
