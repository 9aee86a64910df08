// catalog/index_keys.h - deriving the index keys of a document (mmapv1 spec 6.3, 6.9 for hashed).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/dcheck.h"
#include "bson/builder.h"
#include "bson/view.h"
#include "catalog/value_hash.h"
#include "collation/collator.h"
#include "geo/index_kind.h"
#include "query/match/match_tree.h"
#include "text/spec.h"

namespace catalog {

// Keys of one document, all together; documents with sensible keys stay far below.
constexpr size_t kKeysBytesMax = 128 * 1024 * 1024;

// The keys of one document, in key order, each once. Reused between documents to save allocations.
class KeySet {
  public:
    void clear() {
        buffer_.clear();
        offsets_.clear();
    }
    size_t size() const { return offsets_.size(); }
    bool empty() const { return offsets_.empty(); }
    int64_t bytes() const { return static_cast<int64_t>(buffer_.size()); }
    // Whether a document with these keys makes its index multikey.
    bool multikey() const { return offsets_.size() > 1; }
    bson::Doc operator[](size_t i) const {
        DCHECK(i < offsets_.size());
        return bson::Doc(buffer_.data() + offsets_[i]);
    }
    // Building: open a Builder over buffer(), then add(start offset).
    bson::Buffer& buffer() { return buffer_; }
    // Throws base::Error 146 beyond kKeysBytesMax.
    void add(size_t offset) {
        if (buffer_.size() > kKeysBytesMax) [[unlikely]]
            refuse_size();
        offsets_.push_back(static_cast<uint32_t>(offset));
    }
    // Sorts in key order and drops equal ones.
    void normalise(uint32_t descending_bits);
    // Gives back the memory of a document with far more keys than others have; then it is empty.
    void trim() {
        constexpr size_t kKeptBytes = 1 << 20;
        if (buffer_.capacity() > kKeptBytes) *this = KeySet();
    }

  private:
    [[noreturn]] static void refuse_size();

    bson::Buffer buffer_;
    sched::Vector<uint32_t> offsets_;
};

// {_id: 1}, {_id: -1} or {_id: true}: the index that every collection has by itself.
bool is_id_pattern(bson::Doc key_pattern);

// Places of one document that its keys are looked for at, in one index. No document has so many,
// but paths that go on by index may lead from each element of an array to all of another one.
constexpr int64_t kKeyStepsMax = int64_t{1} << 24;

class KeyGenerator {
  public:
    static constexpr size_t kFieldsMax = 32;

    // `spec`: an index definition document (key, sparse, partialFilterExpression, hashed: seed,
    // hashVersion). `collator`: makes keys of the texts; null: they are keys. Throws base::Error 67
    // (too many fields), 16763 (hashed with other fields), 16767 (hashVersion), and what
    // query::Matcher throws for a bad filter.
    static std::unique_ptr<KeyGenerator> make(
        bson::Doc spec, std::shared_ptr<const collation::Collator> collator = nullptr);
    virtual ~KeyGenerator() = default;

    // Makes `out` the keys of the document. Throws base::Error: 10088 parallel arrays, 16746
    // ambiguous numeric path, 16766 array in a hashed field, 13026,
    // 13027, 13068, 16754, 16755, 16775, 16776, 16804 what is no place, 16675 array in a plain
    // field before a text, 17261, 17262 language of a text, 146 beyond kKeysBytesMax or
    // kKeyStepsMax.
    virtual void keys(bson::Doc doc, KeySet& out) const = 0;
    // Whether a change at (or below, or above) this dotted path can change a document's keys, by
    // more than fields() and filter_paths() tell.
    virtual bool may_change_keys(std::string_view /*path*/) const { return false; }

    // The generator whose keys it filters, or puts under a collation. Null: its keys are its own.
    virtual const KeyGenerator* of() const { return nullptr; }

    uint32_t descending_bits() const { return descending_; }
    bool hashed() const { return hashed_; }
    // Which kind of places it indexes, if any.
    geo::IndexKind geo() const { return geo_; }
    bool sparse() const { return sparse_; }
    const std::vector<std::string>& fields() const { return fields_; }
    // The collation that makes keys of texts; null: texts are keys as they are.
    const collation::Collator* collator() const { return collator_.get(); }
    // The filter of a partial index, which the documents match that have keys. Null: every document
    // has keys.
    const query::Matcher* filter() const { return filter_.get(); }
    // The definition of a text index; null: it is none.
    const std::shared_ptr<const text::Spec>& text() const { return text_; }
    // The paths that it is about.
    const std::vector<std::string>& filter_paths() const { return filter_paths_; }

  protected:
    // Takes the fields of the key, their directions and `sparse`.
    explicit KeyGenerator(bson::Doc spec);

    std::vector<std::string> fields_;
    uint32_t descending_ = 0;
    bool sparse_ = false;
    bool hashed_ = false;
    geo::IndexKind geo_ = geo::IndexKind::none;
    std::shared_ptr<const collation::Collator> collator_;
    std::shared_ptr<const query::Matcher> filter_;
    std::vector<std::string> filter_paths_;
    std::shared_ptr<const text::Spec> text_;
};

// What KeyGenerator::make() puts together, which others call instead: the keys of indexes of places
// (2d, 2dsphere, geoHaystack; throws what geo::check_index does), of text indexes ({plain fields,
// term, score, plain fields} for each term of a document, text/spec.h; throws base::Error 67 for a
// damaged definition, and what text::library() throws), and those of another generator, with keys
// of a collation for the texts, or for documents that match a filter.
std::unique_ptr<KeyGenerator> make_geo_keys(bson::Doc spec);
std::unique_ptr<KeyGenerator> make_text_keys(bson::Doc spec);
std::unique_ptr<KeyGenerator> make_collated_keys(
    std::unique_ptr<KeyGenerator> of, std::shared_ptr<const collation::Collator> collator);
std::unique_ptr<KeyGenerator> make_partial_keys(std::unique_ptr<KeyGenerator> of, bson::Doc filter);

// Returns the collation of a definition; null: texts are keys as they are. Throws what
// collation::Collator::make does.
std::shared_ptr<const collation::Collator> collator_of(bson::Doc spec);
// A key of an index for people and for drivers: the bytes that stand for texts under a collation as
// "CollationKey(0x..)".
bson::Object readable_key(bson::Doc key, const KeyGenerator& generator);

// Returns the function that storage::ValidateOptions::derive_keys asks for. It makes one generator
// per definition and keeps it: the definitions must stay where they are while the function is used.
std::function<void(bson::Doc spec, bson::Doc doc, const std::function<void(bson::Doc key)>& add)>
key_deriver();

}  // namespace catalog
