#include "storage/mmapv1/btree/key_v1.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/dcheck.h"
#include "bson/compare.h"
#include "bson/validate.h"

namespace mmapv1 {

namespace {

using bson::Element;
using bson::load;
using bson::Type;

// Tag byte of a compact element: bit 7 clear, bit 6 another element follows, bits 5..4 refine the
// type, bits 3..0 class.
constexpr uint8_t kMore = 0x40;
constexpr uint8_t kClassMask = 0x0f;

enum Tag : uint8_t {
    kMinKey = 0x01,
    kNull = 0x02,
    kDouble = 0x04,
    kInt32 = 0x14,
    kInt64 = 0x24,
    kString = 0x06,
    kBinary = 0x07,
    kObjectId = 0x08,
    kFalse = 0x0a,
    kTrue = 0x0b,
    kDate = 0x0c,
    kMaxKey = 0x0e,
};

constexpr uint8_t kNumberClass = 0x04;
constexpr int64_t kExactDoubleLimit = int64_t{1} << 53;
constexpr size_t kLongestCompactText = 255;
// No tag has the highest bit, which tells a traditional key.
static_assert(((kMore | kInt32 | kInt64 | kClassMask) & 0x80) == 0);
static_assert((kTraditionalKeyMark & 0x80) != 0);
static_assert((kMore & (kClassMask | kInt32 | kInt64)) == 0);
static_assert((kInt32 & kClassMask) == kNumberClass && (kInt64 & kClassMask) == kNumberClass);
// Classes are in the order of their values.
static_assert(kMinKey < kNull && kNull < kNumberClass && kNumberClass < kString);
static_assert(kString < kBinary && kBinary < kObjectId && kObjectId < kFalse);
static_assert(kFalse < kTrue && kTrue < kDate && kDate < kMaxKey);
static_assert(1 + 1 + kLongestCompactText == kCompactElementBytesMax);  // tag, length, text

// Lengths that a compact binary can have, by length code.
constexpr std::array<uint8_t, 16> kBinaryLengths = {0, 1,  2,  3,  4,  5,  6,  7,
                                                    8, 10, 12, 14, 16, 20, 24, 32};
static_assert(1 + 1 + kBinaryLengths.back() <= kCompactElementBytesMax);

int binary_length_code(size_t length) {
    const auto* found = std::find(kBinaryLengths.begin(), kBinaryLengths.end(), length);
    return found == kBinaryLengths.end() ? -1 : static_cast<int>(found - kBinaryLengths.begin());
}

// Low nibble of a binary's code byte, or -1 for a subtype that has none.
int binary_subtype_code(uint8_t subtype) {
    if (subtype <= 0x07 && subtype != 0x02) return subtype;
    if (subtype >= 0x80 && subtype <= 0x87) return 8 + (subtype - 0x80);
    return -1;
}

uint8_t binary_subtype(uint8_t code) {
    const uint8_t low = code & 0x0f;
    return low < 8 ? low : static_cast<uint8_t>(low - 8 + 0x80);
}

uint32_t binary_length(uint8_t code) {
    return kBinaryLengths[code >> 4];
}

// Bytes behind the tag of a compact element; `payload` points there.
uint32_t payload_size(uint8_t tag, const uint8_t* payload) {
    switch (tag & kClassMask) {
        case kNumberClass:
        case kDate:
            return 8;
        case kString:
            return 1 + static_cast<uint32_t>(payload[0]);
        case kBinary:
            return 1 + binary_length(payload[0]);
        case kObjectId:
            return 12;
        default:
            return 0;
    }
}

bool is_known_tag(uint8_t tag) {
    switch (tag) {
        case kMinKey:
        case kNull:
        case kDouble:
        case kInt32:
        case kInt64:
        case kString:
        case kBinary:
        case kObjectId:
        case kFalse:
        case kTrue:
        case kDate:
        case kMaxKey:
            return true;
        default:
            return false;
    }
}

// Appends to a buffer that its owner has made large enough.
class Appender {
  public:
    explicit Appender(uint8_t* begin) : begin_(begin), p_(begin) {}
    void byte(uint8_t b) { *p_++ = b; }
    void bytes(const void* from, size_t n) {
        if (n != 0) std::memcpy(p_, from, n);
        p_ += n;
    }
    template <typename T>
    void value(T v) {
        bytes(&v, sizeof v);
    }
    size_t size() const { return static_cast<size_t>(p_ - begin_); }
    uint8_t* at() const { return p_; }
    void rewind() { p_ = begin_; }

  private:
    uint8_t* begin_;
    uint8_t* p_;
};

// Appends one compact element, kCompactElementBytesMax at most, without its "more" bit. False if
// its type or value does not qualify.
bool append_compact(const Element& e, Appender& out) {
    switch (e.type()) {
        case Type::min_key:
            out.byte(kMinKey);
            return true;
        case Type::max_key:
            out.byte(kMaxKey);
            return true;
        case Type::null:
            out.byte(kNull);
            return true;
        case Type::boolean:
            out.byte(e.as_bool() ? kTrue : kFalse);
            return true;
        case Type::number_double:
            if (std::isnan(e.as_double())) return false;
            out.byte(kDouble);
            out.value(e.as_double());
            return true;
        case Type::int32:
            out.byte(kInt32);
            out.value(static_cast<double>(e.as_int32()));
            return true;
        case Type::int64: {
            const int64_t v = e.as_int64();
            if (v <= -kExactDoubleLimit || v >= kExactDoubleLimit) return false;
            out.byte(kInt64);
            out.value(static_cast<double>(v));
            return true;
        }
        case Type::date:
            out.byte(kDate);
            out.value(e.as_date());
            return true;
        case Type::object_id:
            out.byte(kObjectId);
            out.bytes(e.value(), 12);
            return true;
        case Type::string: {
            const std::string_view text = e.as_string();
            if (text.size() > kLongestCompactText) return false;
            out.byte(kString);
            out.byte(static_cast<uint8_t>(text.size()));
            out.bytes(text.data(), text.size());
            return true;
        }
        case Type::binary: {
            const auto data = e.binary_data();
            const int length = binary_length_code(data.size());
            const int subtype = binary_subtype_code(e.binary_subtype());
            if (length < 0 || subtype < 0) return false;
            out.byte(kBinary);
            out.byte(static_cast<uint8_t>(length << 4 | subtype));
            out.bytes(data.data(), data.size());
            return true;
        }
        default:
            return false;
    }
}

template <typename T>
int three_way(T a, T b) {
    return a < b ? -1 : (b < a ? 1 : 0);
}

int compare_text(const uint8_t* a, const uint8_t* b) {
    const int c = std::memcmp(a + 1, b + 1, std::min(a[0], b[0]));
    return c != 0 ? c : three_way(a[0], b[0]);
}

int compare_binary(const uint8_t* a, const uint8_t* b) {
    const uint32_t size = binary_length(a[0]);
    if (const int c = three_way(size, binary_length(b[0])); c != 0) return c;
    if (const int c = three_way(binary_subtype(a[0]), binary_subtype(b[0])); c != 0) return c;
    return std::memcmp(a + 1, b + 1, size);
}

// Values of one class.
inline int compare_payloads(uint8_t type_class, const uint8_t* a, const uint8_t* b) {
    switch (type_class) {
        case kNumberClass:
            return three_way(load<double>(a), load<double>(b));
        case kObjectId:
            return std::memcmp(a, b, 12);
        case kString:
            return compare_text(a, b);
        case kDate:
            return three_way(load<int64_t>(a), load<int64_t>(b));
        case kBinary:
            return compare_binary(a, b);
        default:
            return 0;
    }
}

// kPrefix: only as far as `a` goes.
template <bool kPrefix>
int compare_compact(const uint8_t* a, const uint8_t* b, uint32_t descending) {
    for (;; descending >>= 1) {
        const uint8_t ta = *a++;
        const uint8_t tb = *b++;
        int c = (ta & kClassMask) - (tb & kClassMask);
        if (c == 0) c = compare_payloads(ta & kClassMask, a, b);
        if (c != 0) return (c < 0) == ((descending & 1) == 0) ? -1 : 1;
        if ((ta & kMore) == 0) return kPrefix || (tb & kMore) == 0 ? 0 : -1;
        if ((tb & kMore) == 0) return 1;
        a += payload_size(ta, a);
        b += payload_size(tb, b);
    }
}

int compare_doc_prefix(bson::Doc a, bson::Doc b, uint32_t descending) {
    auto ib = b.begin();
    const auto eb = b.end();
    for (const Element& ea : a) {
        if (ib == eb) return 1;
        const int c = bson::compare_values(ea, *ib);
        if (c != 0) return (descending & 1) != 0 ? -c : c;
        ++ib;
        descending >>= 1;
    }
    return 0;
}

void append_decoded(uint8_t tag, const uint8_t* payload, Appender& out) {
    const auto header = [&out](Type type) {
        out.byte(static_cast<uint8_t>(type));
        out.byte(0);
    };
    switch (tag & ~kMore) {
        case kMinKey:
            return header(Type::min_key);
        case kMaxKey:
            return header(Type::max_key);
        case kNull:
            return header(Type::null);
        case kFalse:
        case kTrue:
            header(Type::boolean);
            return out.byte((tag & ~kMore) == kTrue);
        case kDouble:
            header(Type::number_double);
            return out.bytes(payload, 8);
        case kInt32:
            header(Type::int32);
            return out.value(static_cast<int32_t>(load<double>(payload)));
        case kInt64:
            header(Type::int64);
            return out.value(static_cast<int64_t>(load<double>(payload)));
        case kDate:
            header(Type::date);
            return out.bytes(payload, 8);
        case kObjectId:
            header(Type::object_id);
            return out.bytes(payload, 12);
        case kString:
            header(Type::string);
            out.value(static_cast<int32_t>(payload[0]) + 1);
            out.bytes(payload + 1, payload[0]);
            return out.byte(0);
        case kBinary: {
            header(Type::binary);
            const uint32_t size = binary_length(payload[0]);
            out.value(static_cast<int32_t>(size));
            out.byte(binary_subtype(payload[0]));
            return out.bytes(payload + 1, size);
        }
    }
}

}  // namespace

uint32_t KeyView::size() const {
    if (!is_compact()) return 1 + static_cast<uint32_t>(traditional().size());
    const uint8_t* p = data_;
    for (;;) {
        const uint8_t tag = *p++;
        p += payload_size(tag, p);
        if ((tag & kMore) == 0) return static_cast<uint32_t>(p - data_);
    }
}

bson::Doc KeyView::decode(uint8_t* buffer) const {
    if (!is_compact()) return traditional();
    Appender out(buffer);
    out.value<int32_t>(0);
    const uint8_t* p = data_;
    for (;;) {
        const uint8_t tag = *p++;
        append_decoded(tag, p, out);
        p += payload_size(tag, p);
        if ((tag & kMore) == 0) break;
    }
    out.byte(0);
    const auto size = static_cast<int32_t>(out.size());
    DCHECK(out.size() <= kDecodedKeyBytesMax);
    std::memcpy(buffer, &size, sizeof size);
    return bson::Doc(buffer);
}

namespace {

// Integers are stored as doubles: whether this one is of the tag's width.
bool holds_number(uint8_t tag, const uint8_t* payload) {
    const auto value = load<double>(payload);
    switch (tag & ~kMore) {
        case kInt32:
            return value >= -0x1p31 && value < 0x1p31;
        case kInt64:
            return value >= -0x1p63 && value < 0x1p63;
        default:
            return true;
    }
}

}  // namespace

uint32_t checked_key_size(const uint8_t* data, size_t available) {
    if (available == 0) return 0;
    if (*data == kTraditionalKeyMark) {
        const std::string fault =
            bson::validate(data + 1, available - 1, nullptr, bson::Source::data_file);
        if (!fault.empty()) return 0;
        const uint32_t size = KeyView(data).size();
        return size <= kKeyBytesMax ? size : 0;
    }
    for (size_t at = 0; at < available;) {
        const uint8_t tag = data[at++];
        if (!is_known_tag(tag & ~kMore)) return 0;
        const uint8_t kind = tag & kClassMask;
        if ((kind == kString || kind == kBinary) && at == available) return 0;
        const uint8_t* const payload = data + at;
        at += payload_size(tag, payload);
        if (at > available || at > kKeyBytesMax) return 0;
        if (kind == kNumberClass && !holds_number(tag, payload)) return 0;
        if ((tag & kMore) == 0) return static_cast<uint32_t>(at);
    }
    return 0;
}

SearchKey::SearchKey(bson::Doc doc) : doc_(doc) {
    form_ = encode_compact();
    if (form_ == Form::traditional) encode_traditional();
}

// The form is decided by all elements, also by those behind the limit: a key that grows too long is
// read to its end, starting over in the buffer, whose content then no longer matters.
SearchKey::Form SearchKey::encode_compact() {
    Appender out(bytes_);
    uint8_t* previous = nullptr;
    size_t overwritten = 0;
    for (const Element& e : doc_) {
        if (previous != nullptr) *previous |= kMore;
        previous = out.at();
        if (!append_compact(e, out)) return Form::traditional;
        DCHECK(out.size() <= sizeof bytes_);
        if (out.size() > kKeyBytesMax) {
            overwritten += out.size();
            out.rewind();
        }
    }
    if (previous == nullptr) return Form::traditional;
    size_ = overwritten + out.size();
    return too_long() ? Form::overlong : Form::compact;
}

void SearchKey::encode_traditional() {
    size_ = 1 + static_cast<size_t>(doc_.size());
    if (too_long()) return;
    bytes_[0] = kTraditionalKeyMark;
    std::memcpy(bytes_ + 1, doc_.data(), size_ - 1);
}

int compare(KeyView a, KeyView b, uint32_t descending) {
    if (a.is_compact() && b.is_compact())
        return compare_compact<false>(a.data(), b.data(), descending);
    uint8_t buffer_a[kDecodedKeyBytesMax];
    uint8_t buffer_b[kDecodedKeyBytesMax];
    return bson::compare_keys(a.decode(buffer_a), b.decode(buffer_b), descending);
}

namespace {

// Apart, so that comparing compact keys, the usual case, sets up no buffer.
template <bool kPrefix>
[[gnu::noinline]] int compare_decoded(bson::Doc a, KeyView b, uint32_t descending) {
    uint8_t buffer[kDecodedKeyBytesMax];
    const bson::Doc decoded = b.decode(buffer);
    return kPrefix ? compare_doc_prefix(a, decoded, descending)
                   : bson::compare_keys(a, decoded, descending);
}

}  // namespace

int compare(const SearchKey& a, KeyView b, uint32_t descending) {
    if (a.compact() != nullptr && b.is_compact())
        return compare_compact<false>(a.compact(), b.data(), descending);
    return compare_decoded<false>(a.doc(), b, descending);
}

int compare_prefix(const SearchKey& a, KeyView b, uint32_t descending) {
    if (a.compact() != nullptr && b.is_compact())
        return compare_compact<true>(a.compact(), b.data(), descending);
    return compare_decoded<true>(a.doc(), b, descending);
}

}  // namespace mmapv1
