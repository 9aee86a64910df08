#include "query/value/value.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/decimal128.h"
#include "bson/element_writer.h"
#include "bson/order_of_today.h"
#include "dialect/dialect.h"
#include "dialect/pipelines.h"
#include "query/value/calendar.h"
#include "query/value/value_order.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {}  // namespace

uint8_t* Arena::allocate(size_t bytes) {
    sched::tick_bytes(bytes, sched::PerTick::copied);
    if (bytes > bson::Buffer::kBytesMax)
        base::fail(base::kExceededMemoryLimit, "a value of {} bytes is too large", bytes);
    if (chunks_.empty() || offset_ + bytes > chunks_.back().size) {
        const size_t size = std::max(kChunkBytes, bytes);
        chunks_.push_back({sched::make_bytes(size), size});
        offset_ = 0;
    }
    uint8_t* p = chunks_.back().bytes.get() + offset_;
    offset_ += bytes;
    used_ += bytes;
    return p;
}

void Arena::clear() {
    // A large one is not worth keeping: each stage would hold on to one.
    const bool large = !chunks_.empty() && chunks_.front().size > kChunkBytes;
    if (large || chunks_.size() > 1) chunks_.resize(large ? 0 : 1);
    offset_ = 0;
    used_ = 0;
}

void Arena::release(const Mark& mark) {
    DCHECK(mark.chunks <= chunks_.size() && mark.used <= used_);
    chunks_.resize(mark.chunks);
    offset_ = mark.offset;
    used_ = mark.used;
}

Value make_value(Arena& arena, Type type, const void* bytes, size_t size) {
    uint8_t* p = arena.allocate(size + 2);
    p[0] = static_cast<uint8_t>(type);
    p[1] = 0;
    if (size != 0) std::memcpy(p + 2, bytes, size);
    DCHECK(Value(p).value_size() == size);
    return Value(p);
}

Value make_double(Arena& arena, double v) {
    return make_value(arena, Type::number_double, &v, sizeof v);
}

Value make_int(Arena& arena, int32_t v) {
    return make_value(arena, Type::int32, &v, sizeof v);
}

Value make_long(Arena& arena, int64_t v) {
    return make_value(arena, Type::int64, &v, sizeof v);
}

Value make_int_or_long(Arena& arena, int64_t v) {
    return v == static_cast<int32_t>(v) ? make_int(arena, static_cast<int32_t>(v))
                                        : make_long(arena, v);
}

Value make_decimal(Arena& arena, const bson::DecimalNumber& v) {
    return make_value(arena, Type::decimal128, v.bytes().data(), v.bytes().size());
}

Value make_date(Arena& arena, int64_t ms) {
    return make_value(arena, Type::date, &ms, sizeof ms);
}

Value make_string(Arena& arena, std::string_view text) {
    uint8_t* p = arena.allocate(text.size() + 7);
    p[0] = static_cast<uint8_t>(Type::string);
    p[1] = 0;
    const auto size = static_cast<int32_t>(text.size() + 1);
    std::memcpy(p + 2, &size, sizeof size);
    if (!text.empty()) std::memcpy(p + 6, text.data(), text.size());
    p[6 + text.size()] = 0;
    return Value(p);
}

Value make_doc(Arena& arena, Type type, bson::Doc doc) {
    DCHECK(type == Type::object || type == Type::array);
    return make_value(arena, type, doc.data(), static_cast<size_t>(doc.size()));
}

Value copy_value(Arena& arena, const Value& v) {
    if (v.missing()) return {};
    return make_value(arena, v.type(), v.value(), v.value_size());
}

Value null_value() {
    static constexpr uint8_t kNull[] = {static_cast<uint8_t>(Type::null), 0};
    return Value(kNull);
}

Value bool_value(bool b) {
    static constexpr uint8_t kFalse[] = {static_cast<uint8_t>(Type::boolean), 0, 0};
    static constexpr uint8_t kTrue[] = {static_cast<uint8_t>(Type::boolean), 0, 1};
    return Value(b ? kTrue : kFalse);
}

namespace {

int compare_names(std::string_view a, std::string_view b) {
    const int c = a.compare(b);
    return c < 0 ? -1 : (c > 0 ? 1 : 0);
}

int compare_fields(bson::Doc a, bson::Doc b, bool names, const collation::Collator* collator,
                   Times times) {
    auto ia = a.begin();
    auto ib = b.begin();
    const auto ea = a.end();
    const auto eb = b.end();
    for (; ia != ea && ib != eb; ++ia, ++ib) {
        if (names) {
            if (const int c = compare_names(ia->name(), ib->name()); c != 0) return c;
        }
        if (const int c = compare_pipeline_values(*ia, *ib, collator, times); c != 0) return c;
    }
    if (ia == ea) return ib == eb ? 0 : -1;
    return 1;
}

}  // namespace

int compare_pipeline_values(const Value& a, const Value& b, const collation::Collator* collator,
                            Times times) {
    sched::tick();
    if (a.is_object() && b.is_object())
        return compare_fields(a.as_doc(), b.as_doc(), true, collator, times);
    if (a.is_array() && b.is_array())
        return compare_fields(a.as_doc(), b.as_doc(), false, collator, times);
    const auto is_text = [](const Value& v) { return v.is_string() || v.type() == Type::symbol; };
    if (collator != nullptr && is_text(a) && is_text(b))
        return collator->compare(a.as_string(), b.as_string());
    return times == Times::one_class ? bson::compare_values(a, b)
                                     : bson::compare_values_of_today(a, b);
}

int compare_pipeline_values(const Value& a, const Value& b, const collation::Collator* collator) {
    return compare_pipeline_values(a, b, collator, Times::two_classes);
}

size_t hash_value(const Value& v, const collation::Collator* collator) {
    if (collator == nullptr || !collation::has_text(v)) return bson::hash_value(v);
    const bson::Object key = collator->key_of(v);
    return bson::hash_value(key.doc().first());
}

std::string double_text(double v) {
    if (std::isnan(v)) return "NaN";
    if (std::isinf(v)) return v < 0 ? "-Infinity" : "Infinity";
    return fmt::format("{}", v);
}

sched::String text_of(const Value& v, dialect::Dialect dialect) {
    switch (v.type()) {
        case Type::eoo:
        case Type::null:
        case Type::undefined:
            return {};
        case Type::number_double: {
            if (dialect.has(dialect::kTextsOfValues))
                return sched::String(double_text(v.as_double()));
            char text[40];
            std::snprintf(text, sizeof text, "%g", v.as_double());
            return text;
        }
        case Type::int32:
            return sched::String(std::to_string(v.as_int32()));
        case Type::int64:
            return sched::String(std::to_string(v.as_int64()));
        case Type::string:
        case Type::symbol:
        case Type::code:
            sched::tick_bytes(v.as_string().size(), sched::PerTick::copied);
            return sched::String(v.as_string());
        case Type::date:
            return sched::String(dialect.has(dialect::kTextsOfValues) ? iso_text(v.as_date())
                                                                      : date_text(v.as_date()));
        case Type::timestamp:
            return sched::String(timestamp_text(v.as_timestamp()));
        case Type::decimal128:
            if (dialect.has(dialect::kTextsOfValues))
                return sched::String(bson::decimal128_text(v.value()));
            [[fallthrough]];
        default:
            base::fail(16007, "can't convert from BSON type {} to String", type_name(v.type()));
    }
}

int64_t date_of(const Value& v) {
    if (v.type() == Type::date) return v.as_date();
    if (v.type() == Type::timestamp) {
        return static_cast<int64_t>(v.as_timestamp() >> 32) * 1000;
    }
    base::fail(16006, "can't convert from BSON type {} to Date", type_name(v.type()));
}

void refuse_decimal(std::string_view operation) {
    base::fail(base::kTypeMismatch,
               "{} is not supported for decimal128 in the opcodes of 2.6, which stores and "
               "compares such numbers only; OP_MSG calculates with them",
               operation);
}

std::string_view type_name(Type type) {
    switch (type) {
        case Type::min_key:
            return "MinKey";
        case Type::eoo:
            return "EOO";
        case Type::number_double:
            return "NumberDouble";
        case Type::string:
            return "String";
        case Type::object:
            return "Object";
        case Type::array:
            return "Array";
        case Type::binary:
            return "BinData";
        case Type::undefined:
            return "Undefined";
        case Type::object_id:
            return "OID";
        case Type::boolean:
            return "Bool";
        case Type::date:
            return "Date";
        case Type::null:
            return "NULL";
        case Type::regex:
            return "RegEx";
        case Type::db_pointer:
            return "DBRef";
        case Type::code:
            return "Code";
        case Type::symbol:
            return "Symbol";
        case Type::code_with_scope:
            return "CodeWScope";
        case Type::int32:
            return "NumberInt32";
        case Type::timestamp:
            return "Timestamp";
        case Type::int64:
            return "NumberLong64";
        case Type::decimal128:
            return "NumberDecimal128";
        case Type::max_key:
            return "MaxKey";
    }
    return "unknown";
}

Value value_at(Arena& arena, bson::Doc doc, const std::vector<std::string>& path, size_t from) {
    DCHECK(from < path.size());
    for (;;) {
        sched::tick_bytes(doc.size(), sched::PerTick::copied);
        const Value v = doc[path[from]];
        if (++from == path.size()) return v;
        if (!v.is_object()) return v.is_array() ? value_below(arena, v, path, from) : Value();
        doc = v.as_doc();
    }
}

Value value_below(Arena& arena, const Value& v, const std::vector<std::string>& path, size_t from) {
    DCHECK(from <= path.size());
    if (from == path.size()) return v;
    if (v.is_object()) return value_at(arena, v.as_doc(), path, from);
    if (!v.is_array()) return {};
    bson::Buffer found;
    const size_t start = open_doc(found);
    uint32_t index = 0;
    for (const Value& e : sched::ticked(v.as_doc())) {
        if (!e.is_object()) continue;
        const Value nested = value_at(arena, e.as_doc(), path, from);
        if (!nested.missing()) write_value(found, bson::IndexName(index++).view(), nested);
    }
    close_doc(found, start);
    return make_doc(arena, Type::array, bson::Doc(found.data()));
}

}  // namespace query
