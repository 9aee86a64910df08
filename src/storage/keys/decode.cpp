#include <string>

#include "base/dcheck.h"
#include "sched/counted.h"
#include "sched/tick.h"
#include "storage/keys/classes.h"
#include "storage/keys/key_encoding.h"
#include "storage/keys/number.h"
#include "storage/keys/reader.h"

namespace keys {

namespace {

using bson::Buffer;
using bson::Builder;
using bson::Type;

class Decoder {
  public:
    Decoder(Bytes key, Bytes types)
        : key_(key, Reader::AtEnd::refuse), types_(types, Reader::AtEnd::zeros) {}

    bool at_end() const { return key_.at_end(); }
    void complement(uint8_t mask) { key_.complement(mask); }
    void value(std::string_view name, Builder& out, int depth) {
        value_of(key_.take(), name, out, depth);
    }

  private:
    void value_of(uint8_t value_class, std::string_view name, Builder& out, int depth) {
        sched::tick();
        if (value_class >= kNumbers && value_class <= kNumbersLast)
            return decode_number(value_class, key_, types_, name, out);
        switch (value_class) {
            case kMinKey:
                out.append_min_key(name);
                return;
            case kUndefined:
                out.append_undefined(name);
                return;
            case kNull:
                out.append_null(name);
                return;
            case kText:
                take_text();
                if (types_.take() != 0)
                    out.append_symbol(name, text_);
                else
                    out.append(name, std::string_view(text_));
                return;
            case kObject: {
                Builder object = out.sub_object(name);
                return fields(object, depth + 1);
            }
            case kArray: {
                Builder array = out.sub_array(name);
                return elements(array, depth + 1);
            }
            case kBinary: {
                const uint64_t bytes = key_.take_integer(4);
                const uint8_t subtype = key_.take();
                take_bytes(bytes);
                out.append_binary(name, subtype, as_bytes());
                return;
            }
            case kObjectId:
                take_bytes(sizeof(bson::ObjectId));
                out.bytes(Type::object_id, name, as_bytes());
                return;
            case kFalse:
            case kTrue:
                out.append(name, value_class == kTrue);
                return;
            case kTime:
                return time(name, out);
            case kRegex: {
                take_name();
                const sched::String pattern = text_;
                take_name();
                out.append_regex(name, pattern, text_);
                return;
            }
            case kDbRef: {
                take_bytes(key_.take_integer(4));
                // A length, a name with its end, an ObjectId.
                constexpr size_t kBeside = 4 + sizeof(bson::ObjectId);
                if (text_.size() <= kBeside ||
                    bson::load<uint32_t>(text_.data()) != text_.size() - kBeside ||
                    text_[text_.size() - sizeof(bson::ObjectId) - 1] != 0)
                    damaged("a DBRef has another length");
                out.bytes(Type::db_pointer, name, as_bytes());
                return;
            }
            case kCode:
                take_text();
                out.append_code(name, text_);
                return;
            case kCodeWithScope:
                return code_with_scope(name, out, depth + 1);
            case kMaxKey:
                out.append_max_key(name);
                return;
            default:
                damaged("it has a class that no value has");
        }
    }

    void time(std::string_view name, Builder& out) {
        const uint8_t era = key_.take();
        const uint64_t bits = key_.take_integer(8);
        const bool is_timestamp = types_.take() != 0;
        const bool is_before = !is_timestamp && static_cast<int64_t>(bits) < 0;
        if (era != (is_before ? kBefore1970 : kSince1970)) damaged("a time has another sign");
        if (is_timestamp)
            out.append_timestamp(name, bits);
        else
            out.append_date(name, static_cast<int64_t>(bits));
    }

    void fields(Builder& out, int depth) {
        check(depth);
        while (true) {
            const uint8_t order = key_.take();
            if (order == kEndOfValues) return;
            take_name();
            const sched::String name = text_;
            const uint8_t value_class = key_.take();
            if (order != order_of(value_class)) damaged("a field has another class than its value");
            value_of(value_class, name, out, depth);
        }
    }
    void elements(Builder& out, int depth) {
        check(depth);
        while (true) {
            const uint8_t value_class = key_.take();
            if (value_class == kEndOfValues) return;
            value_of(value_class, out.next().view(), out, depth);
        }
    }
    void code_with_scope(std::string_view name, Builder& out, int depth) {
        take_text();
        Buffer bytes;
        bytes.append_value(uint32_t{0});
        bytes.append_value(static_cast<uint32_t>(text_.size() + 1));
        bytes.append(text_.data(), text_.size());
        bytes.append_byte(0);
        {
            Builder scope(bytes);
            fields(scope, depth);
        }
        bytes.store(0, static_cast<uint32_t>(bytes.size()));
        out.bytes(Type::code_with_scope, name, {bytes.data(), bytes.size()});
    }

    static uint8_t order_of(uint8_t value_class) {
        if (value_class >= kNumbers && value_class <= kNumbersLast) return kNumbers;
        return value_class == kTrue ? uint8_t{kFalse} : value_class;
    }
    static void check(int depth) {
        if (depth > bson::kDepthMax) damaged("it is nested too deeply");
    }

    void take_text() {
        text_.clear();
        while (true) {
            const uint8_t byte = key_.take();
            if (byte == 0) {
                const uint8_t mark = key_.take();
                if (mark == kEndOfText) return;
                if (mark != kNulInText) damaged("a text goes on in no known way");
            }
            text_.push_back(static_cast<char>(byte));
        }
    }
    void take_name() {
        take_text();
        if (text_.find('\0') != sched::String::npos) damaged("a name has a NUL");
    }
    void take_bytes(uint64_t bytes) {
        if (bytes > key_.size()) damaged("it ends inside a value");
        text_.clear();
        for (uint64_t i = 0; i < bytes; ++i)
            text_.push_back(static_cast<char>(key_.take()));
    }
    Bytes as_bytes() const {
        return {reinterpret_cast<const uint8_t*>(text_.data()), text_.size()};
    }

    Reader key_;
    Reader types_;
    sched::String text_;
};

}  // namespace

void decode(Bytes key, Bytes types, uint32_t descending, Buffer& out) {
    const size_t begin = out.size();
    try {
        Builder values(out);
        for (Decoder decoder(key, types); !decoder.at_end(); descending >>= 1) {
            const uint8_t mask = (descending & 1) != 0 ? 0xff : 0;
            decoder.complement(mask);
            decoder.value("", values, 0);
            decoder.complement(mask);
        }
    } catch (...) {
        out.truncate(begin);
        throw;
    }
}

}  // namespace keys
