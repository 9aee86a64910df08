#include "bson/types.h"

#include <algorithm>
#include <iterator>

#include "bson/type_names.h"

namespace bson {

namespace {

struct NamedType {
    std::string_view name;
    Type type;
};
constexpr NamedType kNames[] = {
    {"double", Type::number_double},
    {"string", Type::string},
    {"object", Type::object},
    {"array", Type::array},
    {"binData", Type::binary},
    {"undefined", Type::undefined},
    {"objectId", Type::object_id},
    {"bool", Type::boolean},
    {"date", Type::date},
    {"null", Type::null},
    {"regex", Type::regex},
    {"dbPointer", Type::db_pointer},
    {"javascript", Type::code},
    {"symbol", Type::symbol},
    {"javascriptWithScope", Type::code_with_scope},
    {"int", Type::int32},
    {"timestamp", Type::timestamp},
    {"long", Type::int64},
    {"decimal", Type::decimal128},
    {"minKey", Type::min_key},
    {"maxKey", Type::max_key},
};

}  // namespace

std::optional<Type> type_of_name(std::string_view name) {
    const auto* found = std::ranges::find(kNames, name, &NamedType::name);
    if (found == std::end(kNames)) return std::nullopt;
    return found->type;
}

std::string_view name_of(Type type) {
    const auto* found = std::ranges::find(kNames, type, &NamedType::type);
    return found == std::end(kNames) ? std::string_view("missing") : found->name;
}

}  // namespace bson
