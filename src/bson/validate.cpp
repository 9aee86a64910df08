#include "bson/validate.h"

#include <fmt/core.h>

#include <cstring>

#include "base/error.h"
#include "bson/types.h"
#include "bson/view.h"

namespace bson {

namespace {

constexpr int64_t kDocOverhead = 5;  // int32 size and the terminator

// Walks the document once, without recursion: `ends_` holds where each open document must end.
class Validator {
  public:
    Validator(const uint8_t* data, size_t available, Source source)
        : data_(data), available_(available), any_boolean_(source == Source::data_file) {}

    // Null if valid, else what is wrong at offset().
    const char* run() {
        if (const char* fault = open(available_)) return fault;
        while (depth_ > 0) {
            if (const char* fault = element()) return fault;
        }
        return nullptr;
    }
    size_t offset() const { return at_; }
    // The defect that run() found, if it found one.
    Defect defect() const { return defect_; }

  private:
    size_t end() const { return ends_[depth_ - 1]; }

    // Starts a document at at_ that may not reach beyond `limit`.
    const char* open(size_t limit) {
        if (limit - at_ < static_cast<size_t>(kDocOverhead)) return "too few bytes for a document";
        const int32_t size = load<int32_t>(data_ + at_);
        if (size < kDocOverhead || static_cast<size_t>(size) > limit - at_)
            return "document size does not fit";
        if (data_[at_ + static_cast<size_t>(size) - 1] != 0) return "document is not terminated";
        if (depth_ == kDepthMax) {
            defect_ = Defect::too_deep;
            return "nested too deeply";
        }
        ends_[depth_++] = at_ + static_cast<size_t>(size);
        at_ += 4;
        return nullptr;
    }

    // One element or the terminator of the innermost document. Its last byte is known to be 0, and
    // every value ends before that byte, so at_ < end() always holds here.
    const char* element() {
        const uint8_t type = data_[at_];
        if (type == 0) {
            if (at_ + 1 != end()) return "document ends before its stated size";
            ++at_;
            --depth_;
            return nullptr;
        }
        ++at_;
        if (!skip_cstring()) return "field name is not terminated";
        return value(static_cast<Type>(type));
    }

    // Bytes before the terminator of the innermost document.
    size_t room() const { return end() - 1 - at_; }

    bool skip(size_t n) {
        if (n > room()) return false;
        at_ += n;
        return true;
    }

    bool skip_cstring() {
        const void* nul = std::memchr(data_ + at_, 0, room());
        if (nul == nullptr) return false;
        at_ = static_cast<size_t>(static_cast<const uint8_t*>(nul) - data_) + 1;
        return true;
    }

    const char* fixed(size_t n) { return skip(n) ? nullptr : "value reaches beyond its document"; }

    const char* string() {
        if (room() < 4) return "value reaches beyond its document";
        const int32_t size = load<int32_t>(data_ + at_);
        if (size < 1 || static_cast<size_t>(size) > room() - 4) return "string length does not fit";
        if (data_[at_ + 3 + static_cast<size_t>(size)] != 0) return "string is not terminated";
        at_ += 4 + static_cast<size_t>(size);
        return nullptr;
    }

    const char* binary() {
        if (room() < 5) return "value reaches beyond its document";
        const int32_t size = load<int32_t>(data_ + at_);
        if (size < 0 || static_cast<size_t>(size) > room() - 5) return "binary length does not fit";
        at_ += 5 + static_cast<size_t>(size);
        return nullptr;
    }

    const char* code_with_scope() {
        if (room() < 4) return "value reaches beyond its document";
        const int32_t total = load<int32_t>(data_ + at_);
        if (total < 4 + 5 + kDocOverhead || static_cast<size_t>(total) > room())
            return "size of code with scope does not fit";
        const size_t stop = at_ + static_cast<size_t>(total);
        at_ += 4;
        if (const char* fault = string()) return fault;
        if (at_ > stop) return "size of code with scope does not fit";
        if (const char* fault = open(stop)) return fault;
        return end() == stop ? nullptr : "size of code with scope does not fit";
    }

    const char* value(Type type) {
        switch (type) {
            case Type::undefined:
            case Type::null:
            case Type::min_key:
            case Type::max_key:
                return nullptr;
            case Type::boolean:
                if (room() < 1) return "value reaches beyond its document";
                if (data_[at_] > 1 && !any_boolean_) return "boolean is neither 0 nor 1";
                ++at_;
                return nullptr;
            case Type::int32:
                return fixed(4);
            case Type::number_double:
            case Type::date:
            case Type::timestamp:
            case Type::int64:
                return fixed(8);
            case Type::object_id:
                return fixed(12);
            case Type::decimal128:
                return fixed(16);
            case Type::string:
            case Type::code:
            case Type::symbol:
                return string();
            case Type::object:
            case Type::array:
                return open(end() - 1);
            case Type::binary:
                return binary();
            case Type::regex:
                return skip_cstring() && skip_cstring() ? nullptr : "regex is not terminated";
            case Type::db_pointer:
                if (const char* fault = string()) return fault;
                return fixed(12);
            case Type::code_with_scope:
                return code_with_scope();
            case Type::eoo:
                break;
        }
        return "unknown type";
    }

    const uint8_t* data_;
    size_t available_;
    bool any_boolean_;
    size_t at_ = 0;
    int depth_ = 0;
    Defect defect_ = Defect::damaged;
    size_t ends_[kDepthMax];
};

}  // namespace

std::string validate(const uint8_t* data, size_t available, Defect* defect, Source source) {
    Validator validator(data, available, source);
    const char* fault = validator.run();
    if (defect != nullptr) *defect = fault == nullptr ? Defect::none : validator.defect();
    if (fault == nullptr) return {};
    return fmt::format("{} (at byte {})", fault, validator.offset());
}

void check_depth(Doc doc, std::string_view what) {
    Defect defect{};
    validate(doc.data(), static_cast<size_t>(doc.size()), &defect);
    if (defect == Defect::too_deep)
        base::fail(base::kOverflow, "{} is nested deeper than {} levels", what, kDepthMax);
}

}  // namespace bson
