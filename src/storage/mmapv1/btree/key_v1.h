// storage/mmapv1/btree/key_v1.h - how a v:1 index stores its keys (mmapv1 spec 6.5) and orders them
// (mmapv1 spec 6.6).
//
// An encoded key is either compact, a run of tagged elements, or traditional, the byte 0xff and a
// BSON document. Compact whenever every element qualifies, so equal documents have equal bytes.
// Nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dcheck.h"
#include "bson/view.h"

namespace mmapv1 {

constexpr uint32_t kKeyBytesMax = 1024;       // longest key that an index accepts
constexpr size_t kDecodedKeyBytesMax = 4096;  // a compact key grows less than fourfold as BSON
constexpr size_t kCompactElementBytesMax = 257;
constexpr uint8_t kTraditionalKeyMark = 0xff;  // first byte of a traditional key
static_assert(4 * kKeyBytesMax <= kDecodedKeyBytesMax);

// An encoded key somewhere in memory; owns nothing, trusts the bytes.
class KeyView {
  public:
    explicit KeyView(const uint8_t* data) : data_(data) {}

    const uint8_t* data() const { return data_; }
    bool is_compact() const { return *data_ != kTraditionalKeyMark; }
    uint32_t size() const;
    // The BSON inside a traditional key.
    bson::Doc traditional() const {
        DCHECK(!is_compact());
        return bson::Doc(data_ + 1);
    }
    // The key as BSON with empty names. Compact keys are written to `buffer` (kDecodedKeyBytesMax);
    // traditional ones are viewed where they are.
    bson::Doc decode(uint8_t* buffer) const;

  private:
    const uint8_t* data_;
};

// Size of the key at `data` if it is well formed and ends within `available` bytes, else 0. For
// unchecked bytes.
uint32_t checked_key_size(const uint8_t* data, size_t available);

// A key as the caller gave it, encoded once for insertion and for many comparisons. Views `doc`,
// which must outlive it. 1 KB: lives on the stack.
class SearchKey {
  public:
    explicit SearchKey(bson::Doc doc);
    SearchKey(const SearchKey&) = delete;
    SearchKey& operator=(const SearchKey&) = delete;

    bson::Doc doc() const { return doc_; }
    // Bytes of the encoding; more than kKeyBytesMax means that no index takes this key.
    size_t size() const { return size_; }
    bool too_long() const { return size_ > kKeyBytesMax; }
    // The compact form, or null if the key is traditional, too long or has no elements.
    const uint8_t* compact() const { return form_ == Form::compact ? bytes_ : nullptr; }
    // The encoded bytes of a key that is not too long.
    const uint8_t* encoded() const {
        DCHECK(!too_long());
        return bytes_;
    }

  private:
    enum class Form : uint8_t { compact, overlong, traditional };

    Form encode_compact();
    void encode_traditional();

    bson::Doc doc_;
    size_t size_ = 0;
    Form form_;
    uint8_t bytes_[kKeyBytesMax + kCompactElementBytesMax];
};

// <0, 0, >0. Field i is negated where bit i of `descending` is set; of two keys that agree as far
// as the shorter goes, the one with fewer elements is smaller.
int compare(KeyView a, KeyView b, uint32_t descending);
int compare(const SearchKey& a, KeyView b, uint32_t descending);
// Compares as far as `a` goes: 0 if `b` begins with `a`.
int compare_prefix(const SearchKey& a, KeyView b, uint32_t descending);

}  // namespace mmapv1
