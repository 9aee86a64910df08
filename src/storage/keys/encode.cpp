#include <cmath>
#include <limits>

#include "bson/compare.h"
#include "sched/tick.h"
#include "storage/keys/classes.h"
#include "storage/keys/key_encoding.h"
#include "storage/keys/number.h"

namespace keys {

namespace {

using bson::Buffer;
using bson::Doc;
using bson::Element;
using bson::Type;

class Encoder {
  public:
    Encoder(Buffer& key, Buffer& types) : key_(key), types_(types) {}

    void value(const Element& value) {
        sched::tick_bytes(value.value_size(), sched::PerTick::walked);
        if (value.is_number()) return encode_number(value, key_, types_);
        key_.append_byte(value.type() == Type::boolean && value.as_bool() ? uint8_t{kTrue}
                                                                          : class_of(value.type()));
        payload(value);
    }

  private:
    void payload(const Element& value) {
        switch (value.type()) {
            case Type::string:
            case Type::symbol:
                types_.append_byte(value.type() == Type::symbol ? 1 : 0);
                return text(value.as_string());
            case Type::code:
                return text(value.as_string());
            case Type::object:
                return fields(value.as_doc());
            case Type::array:
                for (const Element& each : value.as_doc())
                    this->value(each);
                return key_.append_byte(kEndOfValues);
            case Type::binary: {
                const auto data = value.binary_data();
                put_integer(key_, data.size(), 4);
                key_.append_byte(value.binary_subtype());
                return key_.append(data.data(), data.size());
            }
            case Type::object_id:
                return key_.append(value.value(), value.value_size());
            case Type::date:
            case Type::timestamp:
                types_.append_byte(value.type() == Type::timestamp ? 1 : 0);
                key_.append_byte(value.type() == Type::date && value.as_date() < 0 ? kBefore1970
                                                                                   : kSince1970);
                return put_integer(key_, value.as_timestamp(), 8);
            case Type::regex:
                text(value.regex_pattern());
                return text(value.regex_flags());
            case Type::db_pointer:
                put_integer(key_, value.value_size(), 4);
                return key_.append(value.value(), value.value_size());
            case Type::code_with_scope:
                text(value.code_text());
                return fields(value.code_scope());
            default:
                return;
        }
    }

    void fields(Doc doc) {
        for (const Element& each : doc) {
            key_.append_byte(class_of(each.type()));
            text(each.name());
            value(each);
        }
        key_.append_byte(kEndOfValues);
    }

    void text(std::string_view bytes) {
        while (true) {
            const size_t nul = bytes.find('\0');
            key_.append(bytes.data(), std::min(nul, bytes.size()));
            if (nul == std::string_view::npos) break;
            key_.append_byte(0);
            key_.append_byte(kNulInText);
            bytes.remove_prefix(nul + 1);
        }
        key_.append_byte(0);
        key_.append_byte(kEndOfText);
    }

    Buffer& key_;
    Buffer& types_;
};

}  // namespace

void encode(Doc values, uint32_t descending, Buffer& key, Buffer& types) {
    const size_t types_begin = types.size();
    Encoder encoder(key, types);
    for (const Element& each : values) {
        const size_t begin = key.size();
        encoder.value(each);
        if ((descending & 1) != 0) {
            for (size_t i = begin; i < key.size(); ++i)
                key.data()[i] ^= 0xff;
        }
        descending >>= 1;
    }
    size_t types_end = types.size();
    while (types_end > types_begin && types.data()[types_end - 1] == 0)
        --types_end;
    types.truncate(types_end);
}

std::optional<double> wide_end(const Element& value, Side side) {
    if (!bson::is_large_number(value)) return std::nullopt;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return std::nextafter(value.to_double(), side == Side::low ? -kInfinity : kInfinity);
}

}  // namespace keys
