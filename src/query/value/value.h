// query/value/value.h - values while a pipeline computes: BSON elements, stored ones in place
// and computed ones in an arena.
//
// A value is a bson::Element whose name means nothing; missing is an Element of type eoo. Computed
// values live until the arena is cleared, which a stage does once per document.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bson/builder.h"
#include "bson/decimal_number.h"
#include "bson/view.h"
#include "collation/collator.h"
#include "dialect/dialect.h"
#include "sched/counted.h"

namespace query {

using Value = bson::Element;
// Variables that a pipeline has from outside of it, as those of `let`, each with its value.
using OuterVariables = std::vector<std::pair<std::string, Value>>;

// Memory in chunks that never move.
class Arena {
  public:
    uint8_t* allocate(size_t bytes);
    // Forgets everything, keeps the first chunk if it is not large.
    void clear();
    size_t used() const { return used_; }

    // A place to go back to: what was allocated since is forgotten then.
    struct Mark {
        size_t chunks = 0;
        size_t offset = 0;
        size_t used = 0;
    };
    Mark mark() const { return {chunks_.size(), offset_, used_}; }
    void release(const Mark& mark);

  private:
    static constexpr size_t kChunkBytes = 16 * 1024;
    struct Chunk {
        sched::Bytes bytes;
        size_t size = 0;
    };
    sched::Vector<Chunk> chunks_;
    size_t offset_ = 0;  // in the last chunk
    size_t used_ = 0;
};

// Makes values in an arena.
Value make_value(Arena& arena, bson::Type type, const void* bytes, size_t size);
Value make_double(Arena& arena, double v);
Value make_int(Arena& arena, int32_t v);
Value make_long(Arena& arena, int64_t v);
Value make_int_or_long(Arena& arena, int64_t v);  // int32 where it fits
Value make_decimal(Arena& arena, const bson::DecimalNumber& v);
Value make_date(Arena& arena, int64_t ms);
Value make_string(Arena& arena, std::string_view text);
Value make_doc(Arena& arena, bson::Type type, bson::Doc doc);  // object or array; copies
Value copy_value(Arena& arena, const Value& v);
// Values that need no arena.
Value null_value();
Value bool_value(bool b);

inline bool is_nullish(const Value& v) {
    return v.missing() || v.type() == bson::Type::null || v.type() == bson::Type::undefined;
}

// The order inside pipelines: documents compare by name before type, otherwise as everywhere.
// `collator`: that of texts; null: that of their bytes.
int compare_pipeline_values(const Value& a, const Value& b, const collation::Collator* collator);
// Values that are equal in that order hash alike, whatever their numeric type.
size_t hash_value(const Value& v, const collation::Collator* collator);

// Returns the truth of a value in conditions: missing, null, undefined, false and zero are false.
inline bool is_true(const Value& v) {
    return v.truthy();
}
// Returns the text of a value for string operators; "" for null and missing. `later`: numbers and
// dates are written as by later servers. Throws base::Error 16007.
sched::String text_of(const Value& v, dialect::Dialect dialect = dialect::kV26);
// Writes a double as later servers do: up to 16 digits.
std::string double_text(double v);
// Returns the milliseconds of a date or timestamp. Throws base::Error 16006.
int64_t date_of(const Value& v);
// Returns the old server's name of a type in messages ("NumberInt32").
std::string_view type_name(bson::Type type);
// Throws base::Error 14: for clients of 2.6, which knew no decimal128, nothing calculates with
// them.
[[noreturn]] void refuse_decimal(std::string_view operation);

// Returns a field of a document by its dotted path, looking through arrays of documents at every
// step: then the result is an array of the values that were found.
Value value_at(Arena& arena, bson::Doc doc, const std::vector<std::string>& path, size_t from = 0);
// Returns the value at a path below any value.
Value value_below(Arena& arena, const Value& v, const std::vector<std::string>& path, size_t from);

}  // namespace query
