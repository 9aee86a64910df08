#include "command/streams/resume_token.h"

#include <fmt/format.h>

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

bson::Object ResumeToken::object() const {
    const std::string digits = number < kLarge ? fmt::format("{:04X}", number)
                                               : fmt::format("{:04X}{:08X}", kLarge, number);
    return bson::make(
        "_data", fmt::format("{}{:016X}{:016X}{}{:02X}", kPrefix, position.ts,
                             static_cast<uint64_t>(position.term), digits, static_cast<int>(kind)));
}

}  // namespace command
