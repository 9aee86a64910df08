#include "command/streams/resume_token.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/error.h"

namespace command {

namespace {

constexpr int kTokenIsNoDocument = 40649;
constexpr std::string_view kPrefix = "82";
constexpr size_t kDigits = 2 + 16 + 16 + 4 + 2, kMoreDigits = 8;
constexpr uint32_t kLarge = 0xFFFF;  // the numbers from it on have more digits

[[noreturn]] void refuse() {
    base::fail(base::kInvalidResumeToken,
               "the resume token is no one that a change stream of this server has given");
}

uint64_t read(std::string_view& digits, size_t count) {
    uint64_t value = 0;
    const char* const end = digits.data() + count;
    const auto [at, error] = std::from_chars(digits.data(), end, value, 16);
    if (error != std::errc() || at != end) refuse();
    digits.remove_prefix(count);
    return value;
}

}  // namespace

ResumeToken ResumeToken::parse(const bson::Element& given) {
    if (!given.is_object())
        base::fail(base::kTypeMismatch,
                   "BSON field '$changeStream.{}' is the wrong type, expected type 'object'",
                   given.name());
    return parse(given.as_doc());
}

ResumeToken ResumeToken::parse(bson::Doc given) {
    const bson::Element data = given["_data"];
    if (data.missing())
        base::fail(kTokenIsNoDocument,
                   "Invalid format of resume token: the field _data is missing in it");
    if (!data.is_string() || !data.as_string().starts_with(kPrefix) ||
        (data.as_string().size() != kDigits && data.as_string().size() != kDigits + kMoreDigits))
        refuse();
    const bool is_long = data.as_string().size() != kDigits;
    std::string_view digits = data.as_string().substr(kPrefix.size());
    ResumeToken token;
    token.position.ts = read(digits, 16);
    token.position.term = static_cast<int64_t>(read(digits, 16));
    token.number = static_cast<uint32_t>(read(digits, 4));
    if (is_long != (token.number == kLarge)) refuse();
    if (is_long) token.number = static_cast<uint32_t>(read(digits, kMoreDigits));
    if (is_long && token.number < kLarge) refuse();
    const uint64_t kind = read(digits, 2);
    if (kind > static_cast<uint64_t>(Kind::scanned)) refuse();
    token.kind = static_cast<Kind>(kind);
    return token;
}

// Each event has one, so that they are written without a format.
class ResumeToken::Text {
  public:
    explicit Text(const ResumeToken& token) {
        add(token.position.ts, 16);
        add(static_cast<uint64_t>(token.position.term), 16);
        add(std::min(token.number, kLarge), 4);
        if (token.number >= kLarge) add(token.number, kMoreDigits);
        add(static_cast<uint64_t>(token.kind), 2);
    }
    std::string_view view() const { return {text_.data(), size_}; }

  private:
    void add(uint64_t value, size_t count) {
        for (size_t i = count; i-- > 0; value >>= 4)
            text_[size_ + i] = "0123456789ABCDEF"[value & 15];
        size_ += count;
    }

    std::array<char, kDigits + kMoreDigits> text_{kPrefix[0], kPrefix[1]};
    size_t size_ = kPrefix.size();
};

void ResumeToken::append_to(bson::Builder& out, std::string_view field) const {
    bson::Builder token = out.sub_object(field);
    token.append("_data", Text(*this).view());
}

bson::Object ResumeToken::object() const {
    return bson::make("_data", Text(*this).view());
}

}  // namespace command
