// command/request/bind.h - the table of a request, which says all of each field in one row: its
// name, its types, how its value is read and where it goes. The names that are taken, the errors of
// both dialects and the filled request follow from it. An old opcode fills the same request by a
// table of its own names.
#pragma once

#include <string_view>

#include "base/error.h"
#include "bson/view.h"
#include "command/request/fields.h"
#include "dialect/dialect.h"

namespace command {

// The types of a value, and the function that reads it. By OP_MSG the types have been checked; by
// the old messages the function sees any type.
template <typename Value>
struct Reader {
    Types types;
    Value (*read)(const bson::Element&, dialect::Dialect);
};

// One field of a Request.
template <typename Request>
struct Row {
    using Bind = void (*)(Request&, const bson::Element&, dialect::Dialect);

    // A field that is refused, or that says nothing.
    constexpr Row(const Field& unbound) : field(unbound) {}
    constexpr Row(const Field& bound, Bind to) : field(bound), bind(to) {}

    Field field;
    Bind bind = nullptr;
};

template <typename Member>
struct OwnerOf;
template <typename Owner, typename Value>
struct OwnerOf<Value Owner::*> {
    using Type = Owner;
};

// row<non_negative, &FindRequest::query, &FindQuery::skip>("skip"): the value goes to the member
// that the path leads to.
template <const auto& kReader, auto kFirst, auto... kRest>
constexpr auto row(const Field& field) {
    using Request = typename OwnerOf<decltype(kFirst)>::Type;
    return Row<Request>(field,
                        [](Request& request, const bson::Element& e, dialect::Dialect dialect) {
                            ((request.*kFirst).*....*kRest) = kReader.read(e, dialect);
                        });
}
template <const auto& kReader, auto kFirst, auto... kRest>
constexpr auto row(std::string_view name) {
    return row<kReader, kFirst, kRest...>(Field{name, kReader.types});
}

// Which of several fields of one name counts, by the old messages.
enum class Repeated : bool { first, last };

template <typename Request, size_t kCount>
class RequestTable {
  public:
    using Bind = typename Row<Request>::Bind;

    // `unknown` is called with the first field of the old messages that the table does not have;
    // null: it says nothing.
    constexpr RequestTable(const Row<Request> (&rows)[kCount], Bind unknown = nullptr,
                           Repeated repeated = Repeated::first)
        : unknown_(unknown), repeated_(repeated) {
        for (size_t i = 0; i < kCount; ++i) {
            fields_[i] = rows[i].field;
            binds_[i] = rows[i].bind;
        }
    }

    constexpr Fields fields() const { return Fields(fields_); }

    // Fills the request. REQUIRES: `given` comes from a reader of fields().
    void bind(const GivenFields& given, dialect::Dialect dialect, Request& request) const {
        DCHECK(given.has_begun());
        if (given.too_many())
            base::fail(base::kFailedToParse, "the request has too many fields that come again");
        uint64_t bound = 0;
        for (size_t i = 0; i < given.size(); ++i) {
            const auto& [element, place] = given[i];
            if (place == GivenFields::kUnknown) {
                if (unknown_ != nullptr) unknown_(request, element, dialect);
                continue;
            }
            DCHECK(place < kCount);
            const uint64_t bit = uint64_t{1} << place;
            if (binds_[place] == nullptr || ((bound & bit) != 0 && repeated_ == Repeated::first))
                continue;
            bound |= bit;
            binds_[place](request, element, dialect);
        }
    }
    // Holds a document inside of a request against the table, and fills `request` from it.
    void read(bson::Doc document, std::string_view where, dialect::Dialect dialect,
              Request& request) const {
        GivenFields given;
        read_fields(document, where, fields(), dialect, &given);
        bind(given, dialect, request);
    }

  private:
    static_assert(kCount <= 64, "bind() notes in one word which fields it has bound");
    Field fields_[kCount] = {};
    Bind binds_[kCount] = {};
    Bind unknown_;
    Repeated repeated_;
};

// The reader of a value that is looked at later.
inline bson::Element as_it_came(const bson::Element& e, dialect::Dialect) {
    return e;
}

// Readers that take what the old server took: a value of another type counts as none.
namespace lenient {

inline constexpr Reader<bson::Element> hint{types::hint, as_it_came};
inline constexpr Reader<bson::Element> object_element{types::object, as_it_came};
inline constexpr Reader<bson::Element> array_element{types::array, as_it_came};
inline constexpr Reader<bool> flag{
    types::flag, [](const bson::Element& e, dialect::Dialect) { return e.truthy(); }};
inline constexpr Reader<bson::Doc> object{types::object,
                                          [](const bson::Element& e, dialect::Dialect) {
                                              return e.is_object() ? e.as_doc() : bson::Doc();
                                          }};

}  // namespace lenient

}  // namespace command
