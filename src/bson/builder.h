// bson/builder.h - writing BSON: Buffer (growing bytes), Builder (one open document or array inside
// a Buffer), Object (an owned finished document).
//
// A Builder appends to a Buffer that it owns or borrows, so a reply is written once, where it
// leaves from. Sub documents are Builders over the same Buffer; only the innermost open one may be
// appended to. finish() (or the destructor of a nested one) writes the terminator and the size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dcheck.h"
#include "bson/view.h"
#include "sched/counted.h"

namespace bson {

// Growing byte buffer; keeps its capacity when cleared, so one per connection is enough.
class Buffer {
  public:
    // More than any message or document, and far from where an int32 ends.
    static constexpr size_t kBytesMax = 512 * 1024 * 1024;

    Buffer() = default;
    explicit Buffer(size_t reserve_bytes) { reserve(reserve_bytes); }
    ~Buffer() { sched::memory::release(data_); }
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void swap(Buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    uint8_t* data() { return data_; }
    const uint8_t* data() const { return data_; }
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    void clear() { size_ = 0; }
    void reserve(size_t bytes) {
        if (bytes > capacity_) grow(bytes);
    }
    // Empties it; gives the memory back if that is more than `kept_bytes`.
    void trim(size_t kept_bytes) {
        if (capacity_ > kept_bytes) *this = Buffer();
        size_ = 0;
    }
    // Drops everything behind `size`.
    void truncate(size_t size) { size_ = size; }
    // Extends by n bytes of unspecified content and returns their start.
    uint8_t* extend(size_t n) {
        if (size_ + n > capacity_) grow(size_ + n);
        uint8_t* p = data_ + size_;
        size_ += n;
        return p;
    }
    void append(const void* bytes, size_t n) {
        if (n != 0) std::memcpy(extend(n), bytes, n);
    }
    void append_byte(uint8_t b) { *extend(1) = b; }
    // Appends the byte that ends a document. Takes no memory unless it is the kEndBytes-th in a
    // row, so that Builders may close what they have open when there is none left.
    void append_end() {
        if (size_ >= capacity_ + kEndBytes) grow(size_ + 1);
        data_[size_++] = 0;
    }
    template <typename T>
    void append_value(T v) {
        std::memcpy(extend(sizeof v), &v, sizeof v);
    }
    template <typename T>
    void store(size_t offset, T v) {
        std::memcpy(data_ + offset, &v, sizeof v);
    }

  private:
    // More than documents are deep.
    static constexpr size_t kEndBytes = 256;
    void grow(size_t needed);  // throws std::bad_alloc, and base::Error 146 beyond kBytesMax
    uint8_t* data_ = nullptr;
    size_t size_ = 0;      // may be up to kEndBytes more than the capacity
    size_t capacity_ = 0;  // kEndBytes less than what is allocated
};

// An owned document. Copyable.
class Object {
  public:
    Object() : bytes_{5, 0, 0, 0, 0} {}
    explicit Object(Doc doc) : bytes_(doc.data(), doc.data() + doc.size()) {}
    Doc doc() const { return Doc(bytes_.data()); }
    operator Doc() const { return doc(); }
    bool empty() const { return bytes_.size() <= 5; }
    Element operator[](std::string_view name) const { return doc()[name]; }
    Doc::iterator begin() const { return doc().begin(); }
    Doc::iterator end() const { return doc().end(); }
    int32_t size() const { return static_cast<int32_t>(bytes_.size()); }
    const sched::Vector<uint8_t>& bytes() const { return bytes_; }

  private:
    sched::Vector<uint8_t> bytes_;
};

class Builder {
  public:
    // A document of its own.
    Builder() : own_(std::make_unique<Buffer>(256)), buffer_(own_.get()) { open(); }
    // A top-level document at the end of `buffer`.
    explicit Builder(Buffer& buffer) : buffer_(&buffer) { open(); }
    ~Builder() { finish(); }
    Builder(const Builder&) = delete;
    Builder& operator=(const Builder&) = delete;
    Builder(Builder&& other) noexcept
        : own_(std::move(other.own_)),
          buffer_(other.buffer_),
          start_(other.start_),
          next_index_(other.next_index_),
          open_(other.open_) {
        other.open_ = false;
    }

    // Each append* adds one field. Names must not contain NUL.
    Builder& append(std::string_view name, double v) { return fixed(Type::number_double, name, v); }
    Builder& append(std::string_view name, int32_t v) { return fixed(Type::int32, name, v); }
    Builder& append(std::string_view name, int64_t v) { return fixed(Type::int64, name, v); }
    Builder& append(std::string_view name, bool v) {
        return fixed(Type::boolean, name, static_cast<uint8_t>(v));
    }
    Builder& append(std::string_view name, std::string_view v) {
        return text(Type::string, name, v);
    }
    Builder& append(std::string_view name, const char* v) {
        return append(name, std::string_view(v));
    }
    Builder& append(std::string_view name, const std::string& v) {
        return append(name, std::string_view(v));
    }
    Builder& append(std::string_view name, Doc v) { return bytes(Type::object, name, v.bytes()); }
    Builder& append(std::string_view name, const Object& v) { return append(name, v.doc()); }
    Builder& append(std::string_view name, const ObjectId& v) {
        return fixed(Type::object_id, name, v);
    }
    Builder& append_array(std::string_view name, Doc v) {
        return bytes(Type::array, name, v.bytes());
    }
    Builder& append_date(std::string_view name, int64_t ms) { return fixed(Type::date, name, ms); }
    Builder& append_timestamp(std::string_view name, uint64_t v) {
        return fixed(Type::timestamp, name, v);
    }
    Builder& append_null(std::string_view name) { return empty(Type::null, name); }
    Builder& append_undefined(std::string_view name) { return empty(Type::undefined, name); }
    Builder& append_min_key(std::string_view name) { return empty(Type::min_key, name); }
    Builder& append_max_key(std::string_view name) { return empty(Type::max_key, name); }
    Builder& append_symbol(std::string_view name, std::string_view v) {
        return text(Type::symbol, name, v);
    }
    Builder& append_code(std::string_view name, std::string_view v) {
        return text(Type::code, name, v);
    }
    Builder& append_regex(std::string_view name, std::string_view pattern, std::string_view flags);
    Builder& append_binary(std::string_view name, uint8_t subtype, std::span<const uint8_t> data);
    // A size or count as the old server typed it: int32 up to 2^30, then double up to 2^40, then
    // int64.
    Builder& append_number(std::string_view name, int64_t v);

    // The element as it is, under its own or another name. A missing element appends nothing.
    Builder& append(const Element& e) {
        if (e) buffer_->append(e.raw(), e.size());
        return *this;
    }
    Builder& append_as(std::string_view name, const Element& e) {
        return e ? bytes(e.type(), name, e.value_bytes()) : *this;
    }
    // Appends every field of a document.
    Builder& append_all(Doc doc) {
        buffer_->append(doc.data() + 4, static_cast<size_t>(doc.size()) - 5);
        return *this;
    }
    // Appends a value given by type and encoded bytes.
    Builder& bytes(Type type, std::string_view name, std::span<const uint8_t> value) {
        header(type, name);
        buffer_->append(value.data(), value.size());
        return *this;
    }

    // Opens a nested document/array; it is closed when the returned Builder is finished or
    // destroyed.
    [[nodiscard]] Builder sub_object(std::string_view name) {
        header(Type::object, name);
        return Builder(*buffer_);
    }
    [[nodiscard]] Builder sub_array(std::string_view name) {
        header(Type::array, name);
        return Builder(*buffer_);
    }

    // Returns the name of the next element, for arrays.
    IndexName next() { return IndexName(next_index_++); }
    template <typename T>
    Builder& push(const T& v) {
        return append(next().view(), v);
    }
    Builder& push_element(const Element& e) { return append_as(next().view(), e); }

    // Bytes so far, header included, terminator not.
    size_t size() const { return buffer_->size() - start_; }
    Buffer& buffer() { return *buffer_; }
    // Closes the document; further calls do nothing.
    void finish() {
        if (!open_) return;
        open_ = false;
        buffer_->append_end();
        buffer_->store<int32_t>(start_, static_cast<int32_t>(buffer_->size() - start_));
    }
    // Closes and views / copies the result. The view lives as long as the buffer stays unchanged.
    Doc doc() {
        finish();
        return Doc(buffer_->data() + start_);
    }
    Object object() { return Object(doc()); }

  private:
    void open() {
        start_ = buffer_->size();
        buffer_->append_value<int32_t>(0);
    }
    void header(Type type, std::string_view name) {
        DCHECK(name.find('\0') == std::string_view::npos);
        uint8_t* p = buffer_->extend(name.size() + 2);
        *p = static_cast<uint8_t>(type);
        if (!name.empty()) std::memcpy(p + 1, name.data(), name.size());
        p[name.size() + 1] = 0;
    }
    template <typename T>
    Builder& fixed(Type type, std::string_view name, const T& v) {
        header(type, name);
        buffer_->append_value(v);
        return *this;
    }
    Builder& empty(Type type, std::string_view name) {
        header(type, name);
        return *this;
    }
    Builder& text(Type type, std::string_view name, std::string_view v) {
        header(type, name);
        buffer_->append_value<int32_t>(static_cast<int32_t>(v.size()) + 1);
        buffer_->append(v.data(), v.size());
        buffer_->append_byte(0);
        return *this;
    }

    std::unique_ptr<Buffer> own_;
    Buffer* buffer_;
    size_t start_ = 0;
    uint32_t next_index_ = 0;
    bool open_ = true;
};

// {name: value} in one expression: make("a", 1, "b", "x").
inline void append_pairs(Builder&) {}
template <typename V, typename... Rest>
void append_pairs(Builder& b, std::string_view name, const V& v, Rest&&... rest) {
    b.append(name, v);
    append_pairs(b, std::forward<Rest>(rest)...);
}
template <typename... Pairs>
Object make(Pairs&&... pairs) {
    Builder b;
    append_pairs(b, std::forward<Pairs>(pairs)...);
    return b.object();
}

// A new ObjectId: seconds, process-unique random bytes, counter.
ObjectId new_object_id();

}  // namespace bson
