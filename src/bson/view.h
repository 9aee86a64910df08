// bson/view.h - reading BSON in place: Doc and Element point into memory that they do not own.
//
// The bytes must have been validated before (bson/validate.h; on receipt, and on leaving a data
// file) and must outlive the views. Reading never allocates. An absent field is an Element of
// type eoo ("missing"): it may be asked anything and converts to false.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "bson/types.h"

namespace bson {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "BSON is read in place");

template <typename T>
T load(const void* p) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

class Doc;

// 12-byte ObjectId, ordered as unsigned bytes.
struct ObjectId {
    uint8_t bytes[12] = {};
    bool operator==(const ObjectId&) const = default;
};

// One element: type byte, name with NUL, value. Two words.
class Element {
  public:
    Element() = default;
    // `p` points to the type byte of a valid element.
    explicit Element(const uint8_t* p)
        : p_(p),
          name_size_(static_cast<uint32_t>(std::strlen(reinterpret_cast<const char*>(p + 1)))) {}

    Type type() const { return static_cast<Type>(*p_); }
    bool missing() const { return type() == Type::eoo; }
    explicit operator bool() const { return !missing(); }

    std::string_view name() const { return {reinterpret_cast<const char*>(p_ + 1), name_size_}; }
    const uint8_t* raw() const { return p_; }                     // the type byte
    const uint8_t* value() const { return p_ + name_size_ + 2; }  // first byte of the value
    uint32_t value_size() const {                                 // bytes of the value
        const auto number = static_cast<uint8_t>(type());
        if (number >= sizeof kValueSizes) return 0;  // min_key, max_key
        const uint8_t size = kValueSizes[number];
        if (size < kBeginsWithLength) return size;
        return size != kRegex ? size - kBeginsWithLength + load<uint32_t>(value()) : regex_size();
    }
    uint32_t size() const { return name_size_ + 2 + value_size(); }  // whole element
    std::span<const uint8_t> value_bytes() const { return {value(), value_size()}; }

    // Typed access; the caller has checked the type.
    double as_double() const { return load<double>(value()); }
    int32_t as_int32() const { return load<int32_t>(value()); }
    int64_t as_int64() const { return load<int64_t>(value()); }
    bool as_bool() const { return *value() != 0; }
    int64_t as_date() const { return load<int64_t>(value()); }         // ms since 1970, signed
    uint64_t as_timestamp() const { return load<uint64_t>(value()); }  // seconds << 32 | increment
    ObjectId as_object_id() const { return load<ObjectId>(value()); }
    std::string_view as_string() const {  // string, symbol, code; may contain NULs
        return {reinterpret_cast<const char*>(value() + 4),
                static_cast<size_t>(load<int32_t>(value())) - 1};
    }
    Doc as_doc() const;  // object, array
    std::string_view regex_pattern() const { return reinterpret_cast<const char*>(value()); }
    std::string_view regex_flags() const {
        return reinterpret_cast<const char*>(value()) + regex_pattern().size() + 1;
    }
    uint8_t binary_subtype() const { return value()[4]; }
    std::span<const uint8_t> binary_data() const {
        return {value() + 5, static_cast<size_t>(load<int32_t>(value()))};
    }
    std::string_view code_text() const;  // code_with_scope: the code part
    Doc code_scope() const;              // code_with_scope: the scope

    bool is_number() const { return bson::is_number(type()); }
    bool is_object() const { return type() == Type::object; }
    bool is_array() const { return type() == Type::array; }
    bool is_string() const { return type() == Type::string; }
    // Numbers of any type; 0 for everything else. to_int64 truncates toward zero and clamps; NaN is
    // 0.
    double to_double() const;
    int64_t to_int64() const;
    int32_t to_int32() const;  // clamped
    // Returns the truth of the value in conditions: false, null, undefined, missing and numeric
    // zero are false.
    bool truthy() const;
    int canonical() const { return canonical_class(type()); }

  private:
    // The sizes of values by type byte; the walk over a document asks for each field's. A size with
    // kBeginsWithLength counts the bytes beside those that the first four bytes of the value tell.
    static constexpr uint8_t kBeginsWithLength = 0x80;
    static constexpr uint8_t kText = kBeginsWithLength + 4;
    static constexpr uint8_t kRegex = 0xff;
    static constexpr uint8_t kValueSizes[] = {0,                       // eoo
                                              8,                       // number_double
                                              kText,                   // string
                                              kBeginsWithLength,       // object
                                              kBeginsWithLength,       // array
                                              kBeginsWithLength + 5,   // binary
                                              0,                       // undefined
                                              12,                      // object_id
                                              1,                       // boolean
                                              8,                       // date
                                              0,                       // null
                                              kRegex,                  // regex
                                              kBeginsWithLength + 16,  // db_pointer
                                              kText,                   // code
                                              kText,                   // symbol
                                              kBeginsWithLength,       // code_with_scope
                                              4,                       // int32
                                              8,                       // timestamp
                                              8,                       // int64
                                              16};                     // decimal128
    uint32_t regex_size() const;

    static constexpr uint8_t kMissing[] = {0, 0};  // the end of a document, and no name

    const uint8_t* p_ = kMissing;
    uint32_t name_size_ = 0;
};

// A document or array: int32 size, elements, NUL.
class Doc {
  public:
    Doc() : data_(kEmpty) {}
    explicit Doc(const void* data) : data_(static_cast<const uint8_t*>(data)) {}

    const uint8_t* data() const { return data_; }
    int32_t size() const { return load<int32_t>(data_); }
    bool empty() const { return size() <= 5; }
    std::span<const uint8_t> bytes() const { return {data_, static_cast<size_t>(size())}; }

    class iterator {
      public:
        using value_type = Element;
        using difference_type = std::ptrdiff_t;
        explicit iterator(const uint8_t* p) : p_(p) { load_element(); }
        const Element& operator*() const { return element_; }
        const Element* operator->() const { return &element_; }
        iterator& operator++() {
            p_ += element_.size();
            load_element();
            return *this;
        }
        bool operator==(const iterator& other) const { return p_ == other.p_; }

      private:
        void load_element() { element_ = *p_ == 0 ? Element() : Element(p_); }
        const uint8_t* p_;
        Element element_;
    };
    iterator begin() const { return iterator(data_ + 4); }
    iterator end() const { return iterator(data_ + size() - 1); }

    Element first() const { return *begin(); }
    // First field of that name; missing if there is none.
    Element operator[](std::string_view name) const;
    bool has(std::string_view name) const { return !(*this)[name].missing(); }
    // Follows a dotted path through objects and, by decimal index, arrays. No array expansion.
    Element at_path(std::string_view dotted) const;
    int field_count() const;

  private:
    static const uint8_t kEmpty[5];
    const uint8_t* data_;
};

inline Doc Element::as_doc() const {
    return Doc(value());
}

// Appends an array element's decimal index; shared by everything that writes arrays.
class IndexName {
  public:
    explicit IndexName(uint32_t index);
    std::string_view view() const { return {text_, size_}; }

  private:
    char text_[12];
    uint32_t size_;
};

}  // namespace bson
