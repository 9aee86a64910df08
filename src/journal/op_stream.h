// journal/op_stream.h - the operations inside a section, before compression (journal spec 2.5).
//
// Order inside one section: first the file operations, as they happened, then the basic writes. A
// basic write says "these bytes at this offset of that file"; the file is a path prefix (context)
// and a number. The context lasts until the next one, within one section.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "journal/aligned_buffer.h"
#include "journal/format.h"

namespace journal {

// What a payload that is stored as it is has in front of its operations (section.h).
constexpr size_t kInPlacePrefix = 6;

// Collects the operations of one commit. They begin kHeadroom bytes into the buffer: a section
// header and the prefix of a stored payload fit exactly in front of them.
class OpBuffer {
  public:
    static constexpr size_t kHeadroom = sizeof(SectionHeader) + kInPlacePrefix;

    OpBuffer();
    // What was collected ends, and much of its memory (AlignedBuffer::end_use).
    void clear();

    void file_created(std::string_view relative_path, uint64_t length);
    // `prefix`: the data file's path relative to dbpath without its suffix.
    void basic_write(std::string_view prefix, uint32_t file_number, uint32_t offset,
                     const void* bytes, uint32_t length);

    bool empty() const { return buffer_.size() == kHeadroom; }
    std::span<const uint8_t> ops() const {
        return {buffer_.data() + kHeadroom, buffer_.size() - kHeadroom};
    }
    // Headroom included.
    AlignedBuffer& buffer() { return buffer_; }

  private:
    AlignedBuffer buffer_;
    std::string context_;
};

struct Op {
    enum class Kind { basic_write, file_created, drop_db };
    Kind kind = Kind::basic_write;
    // basic_write: prefix and number of the file ("local" and the bare number for local entries).
    std::string_view prefix;
    uint32_t file_number = 0;
    uint32_t offset = 0;
    std::span<const uint8_t> bytes;
    // file_created: relative path and length; drop_db: database name.
    std::string_view path;
    uint64_t length = 0;
};

// Walks an operation stream. Throws base::Error when it is malformed; never reads outside of it.
class OpReader {
  public:
    explicit OpReader(std::span<const uint8_t> ops) : rest_(ops) {}
    // False at the end. The result points into the stream.
    bool next(Op& op);

  private:
    template <typename T>
    T take();
    std::string_view take_text(size_t limit);

    std::span<const uint8_t> rest_;
    std::string_view context_;
    bool context_given_ = false;
};

// "test" and 3 -> "test.3"; kNsFile -> "test.ns".
std::string data_file_name(std::string_view prefix, uint32_t file_number);

}  // namespace journal
