#include "command/request/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "catalog/collation.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"

namespace command {

namespace {

// The codes of today's servers for a request that does not keep to its table.
constexpr int kDuplicateField = 40413;
constexpr int kMissingField = 40414;
constexpr int kUnknownField = 40415;

// Drivers send some fields always, with a value that asks for nothing.
bool asks_for_something(const bson::Element& e) {
    if (e.is_object() && e.name() == "collation") return catalog::asks_for_collation(e);
    if (e.is_object() || e.is_array()) return !e.as_doc().empty();
    return e.truthy();
}

// "type 'object'", "types '[bool, int]'"
std::string expected(Types allowed) {
    std::string names;
    int count = 0;
    for (int number = 1; number < 32; ++number) {
        const auto type = static_cast<bson::Type>(number);
        if ((allowed & types::of(type)) == 0) continue;
        if (count++ > 0) names += ", ";
        names += bson::name_of(type);
    }
    return count == 1 ? fmt::format("type '{}'", names) : fmt::format("types '[{}]'", names);
}

[[noreturn]] void fail_missing(std::string_view where, std::string_view name) {
    base::fail(kMissingField, "BSON field '{}.{}' is missing but a required field", where, name);
}

}  // namespace

bool Fields::has(std::string_view name) const {
    return std::ranges::find(*this, name, &Field::name) != end();
}

void FieldReader::check(const bson::Element& e, size_t place) {
    DCHECK(place < fields_.size());
    const Field& field = fields_[place];
    const uint64_t bit = uint64_t{1} << place;
    const bool refused =
        field.use == Field::Use::refused ||
        (field.use == Field::Use::of_today && !dialect_.has(dialect::kFieldsOfTodayAreTaken));
    if (refused && asks_for_something(e)) {
        const std::string age =
            field.since.empty() ? "" : fmt::format(", which came with {},", field.since);
        base::fail(base::kInvalidOptions, "'{}' of {}{} is not supported by {}", field.name, where_,
                   age, field.use == Field::Use::refused ? "this server" : "the old messages");
    }
    if (!dialect_.has(dialect::kFieldsAreChecked)) return;
    if ((seen_ & bit) != 0)
        base::fail(kDuplicateField, "BSON field '{}.{}' is a duplicate field", where_, field.name);
    // A field that counts as not given has been seen, too: else another could follow, and who asks
    // the body by name, as the check of rights does, would find this one.
    seen_ |= bit;
    if (field.types != types::any && is_absent(e, dialect::kToday)) {
        if (field.use == Field::Use::required) fail_missing(where_, field.name);
        return;
    }
    if (!has_type(e, field.types))
        base::fail(base::kTypeMismatch, "BSON field '{}.{}' is the wrong type '{}', expected {}",
                   where_, field.name, bson::name_of(e.type()), expected(field.types));
}

void FieldReader::take_sequence(std::string_view name) {
    for (size_t i = 0; i < fields_.size(); ++i) {
        if (fields_[i].name != name) continue;
        if ((fields_[i].types & types::array) == 0)
            base::fail(base::kTypeMismatch,
                       "BSON field '{}.{}' is the wrong type 'array', expected {}", where_, name,
                       expected(fields_[i].types));
        seen_ |= uint64_t{1} << i;
        return;
    }
    refuse_unknown(name);
}

void FieldReader::take_unknown(const bson::Element& e) {
    DCHECK(!dialect_.has(dialect::kFieldsAreChecked));
    if (given_ != nullptr) given_->add_unknown(e);
}

void FieldReader::refuse_unknown(std::string_view name) const {
    DCHECK(dialect_.has(dialect::kFieldsAreChecked));
    base::fail(kUnknownField, "BSON field '{}.{}' is an unknown field.", where_, name);
}

void FieldReader::refuse_missing() const {
    const uint64_t missing = fields_.required() & ~seen_;
    DCHECK(missing != 0);
    fail_missing(where_, fields_[static_cast<size_t>(std::countr_zero(missing))].name);
}

void read_fields(bson::Doc document, std::string_view where, Fields fields,
                 dialect::Dialect dialect, GivenFields* given) {
    FieldReader reader(where, fields, dialect, given);
    for (const bson::Element& e : document)
        reader.take(e);
    reader.end();
}

}  // namespace command
