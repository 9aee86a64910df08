// command/request/fields.h - the fields that a request may have: a table for each command, and the
// one reader that holds requests against it.
//
// A program of today relies on an error where a server does not know what it asks for. A request by
// OP_MSG therefore has fields of its table only, each once and of a type that it may have, or it is
// refused and the text names the field. A field of an old message that is not known, or of another
// type, means what it meant to the old server; a field that later servers have and that would
// change the result is refused there, too (wire spec 0 rule 7).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/dcheck.h"
#include "bson/view.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"

namespace command {

// A set of BSON types. Null and undefined stand for a missing field by OP_MSG and need not be in
// it.
using Types = uint32_t;

namespace types {

constexpr Types of(bson::Type type) {
    return 1u << static_cast<uint32_t>(type);
}
constexpr Types any = ~0u;  // MinKey and MaxKey, too
constexpr Types boolean = of(bson::Type::boolean);
constexpr Types string = of(bson::Type::string);
constexpr Types object = of(bson::Type::object);
constexpr Types array = of(bson::Type::array);
constexpr Types number = of(bson::Type::number_double) | of(bson::Type::int32) |
                         of(bson::Type::int64) | of(bson::Type::decimal128);
constexpr Types flag = boolean | number;
constexpr Types hint = string | object;

}  // namespace types

inline bool has_type(const bson::Element& e, Types allowed) {
    const auto number = static_cast<uint8_t>(e.type());
    return number < 32 ? (allowed >> number & 1) != 0 : allowed == types::any;
}

// Whether a field counts as not given.
inline bool is_absent(const bson::Element& e, dialect::Dialect dialect) {
    return e.missing() || (dialect.has(dialect::kNullIsAbsent) &&
                           (e.type() == bson::Type::null || e.type() == bson::Type::undefined));
}

struct Field {
    enum class Use : uint8_t {
        read,
        required,        // by OP_MSG
        without_effect,  // taken: no result of this server depends on it
        refused,         // by the old messages as well, where it asks for anything
        of_today,        // read by OP_MSG; by the old messages refused as those above
    };
    std::string_view name;
    Types types = types::any;
    Use use = Use::read;
    std::string_view since = {};  // the first servers with it; empty: it has always been there
};

constexpr size_t kFieldsOfTableMax = 64;

// A table, the most frequent fields first; it lives as long as the program.
class Fields {
  public:
    constexpr Fields() = default;
    template <size_t kCount>
    constexpr Fields(const Field (&table)[kCount]) : table_(table) {
        static_assert(kCount <= kFieldsOfTableMax);
        for (size_t i = 0; i < kCount; ++i) {
            if (table[i].use == Field::Use::required) required_ |= uint64_t{1} << i;
        }
    }

    const Field* begin() const { return table_.data(); }
    const Field* end() const { return begin() + table_.size(); }
    size_t size() const { return table_.size(); }
    bool empty() const { return table_.empty(); }
    const Field& operator[](size_t place) const {
        DCHECK(place < size());
        return table_[place];
    }
    bool has(std::string_view name) const;
    // A bit for each place.
    uint64_t required() const { return required_; }

  private:
    std::span<const Field> table_;
    uint64_t required_ = 0;
};

// The fields of one request in their order, each with its place in the table: RequestTable reads
// their values from here (bind.h). Absent ones are left out.
class GivenFields {
  public:
    static constexpr uint8_t kUnknown =
        kFieldsOfTableMax;  // the place of the first field that no table has

    struct Given {
        bson::Element element;
        uint8_t place = 0;
    };

    GivenFields() {}  // slots are filled as far as size_ says
    // A reader begins.
    void begin() {
        size_ = 0;
        has_unknown_ = too_many_ = false;
        has_begun_ = true;
    }
    bool has_begun() const { return has_begun_; }
    void add(size_t place, const bson::Element& element) {
        DCHECK(place <= kUnknown);
        if (size_ < kGivenMax)
            std::construct_at(&slots_[size_++], Given{element, static_cast<uint8_t>(place)});
        else
            too_many_ = true;
    }
    void add_unknown(const bson::Element& element) {
        if (std::exchange(has_unknown_, true)) return;
        add(kUnknown, element);
    }

    size_t size() const { return size_; }
    const Given& operator[](size_t number) const {
        DCHECK(number < size_);
        return slots_[number];
    }
    // Whether some did not find room: by the old messages a field may come again and again.
    bool too_many() const { return too_many_; }

  private:
    // Each place once, the unknown one, and a few that come again.
    static constexpr size_t kGivenMax = 80;

    size_t size_ = 0;
    bool has_begun_ = false;
    bool has_unknown_ = false;
    bool too_many_ = false;
    union {  // made without a pass over the slots
        Given slots_[kGivenMax];
    };
};

constexpr Field required(std::string_view name, Types types) {
    return {name, types, Field::Use::required};
}
constexpr Field without_effect(std::string_view name, Types types, std::string_view since = {}) {
    return {name, types, Field::Use::without_effect, since};
}
constexpr Field of_today(std::string_view name, Types types, std::string_view since) {
    return {name, types, Field::Use::of_today, since};
}
constexpr Field refused(std::string_view name, std::string_view since = {}) {
    return {name, types::any, Field::Use::refused, since};
}

// Takes the fields of one request in their order.
class FieldReader {
  public:
    // `where` is what texts call the request, "find" or "update.updates". The fields that say
    // something are added to `given`; null: the names and types are checked alone.
    FieldReader(std::string_view where, Fields fields, dialect::Dialect dialect,
                GivenFields* given = nullptr)
        : where_(where), fields_(fields), dialect_(dialect), given_(given) {
        if (given != nullptr) given->begin();
    }

    // Throws base::Error 72 for a refused field; by OP_MSG 40415 for an unknown one, 14 for a wrong
    // type, 40413 for one that comes again.
    void take(const bson::Element& e) {
        const std::string_view name = e.name();
        for (size_t i = 0; i < fields_.size(); ++i) {
            if (fields_[i].name != name) continue;
            if (is_plain(e, i))
                seen_ |= uint64_t{1} << i;
            else
                check(e, i);
            if (given_ != nullptr && !is_absent(e, dialect_)) given_->add(i, e);
            return;
        }
        if (dialect_.has(dialect::kFieldsAreChecked)) refuse_unknown(name);
        take_unknown(e);
    }
    // A field that has been moved out of the body. It is an array of documents.
    void take_sequence(std::string_view name);
    // Throws base::Error 40414 where a required field was missing.
    void end() const {
        if (dialect_.has(dialect::kFieldsAreChecked) && (fields_.required() & ~seen_) != 0)
            refuse_missing();
    }

  private:
    // Whether there is nothing more to look at, as with nearly all fields.
    bool is_plain(const bson::Element& e, size_t place) const {
        const Field& field = fields_[place];
        const bool read = field.use == Field::Use::read || field.use == Field::Use::required;
        return dialect_.has(dialect::kFieldsAreChecked) && read && has_type(e, field.types) &&
               (seen_ >> place & 1) == 0;
    }
    void check(const bson::Element& e, size_t place);
    // Takes a field that no table has, which only the old messages may have.
    void take_unknown(const bson::Element& e);
    [[noreturn]] void refuse_unknown(std::string_view name) const;
    [[noreturn]] void refuse_missing() const;

    const std::string_view where_;
    const Fields fields_;
    const dialect::Dialect dialect_;
    GivenFields* const given_;
    uint64_t seen_ = 0;  // by place in the table
};

// Reads the fields of a document inside of a request.
void read_fields(bson::Doc document, std::string_view where, Fields fields,
                 dialect::Dialect dialect, GivenFields* given = nullptr);

}  // namespace command
