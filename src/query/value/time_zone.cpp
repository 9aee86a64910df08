#include "query/value/time_zone.h"

#include <unicode/basictz.h>
#include <unicode/timezone.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/thread_scratch.h"
#include "sched/tick.h"

namespace query {

namespace {

constexpr int64_t kMinuteMs = 60'000;
// About what it costs to find a zone by its name (sched/tick.h).
constexpr int64_t kTicksPerZone = 100;
constexpr size_t kZonesKept = 64;

class FixedZone : public TimeZone {
  public:
    explicit FixedZone(int64_t offset) : offset_(offset) {}
    int64_t offset_at(int64_t) const override { return offset_; }
    int64_t instant_of(int64_t local_ms) const override { return local_ms - offset_; }
    bool is_utc() const override { return offset_ == 0; }

  private:
    const int64_t offset_;
};

class NamedZone : public TimeZone {
  public:
    explicit NamedZone(std::unique_ptr<icu::BasicTimeZone> zone) : zone_(std::move(zone)) {}
    int64_t offset_at(int64_t utc_ms) const override {
        int32_t standard = 0;
        int32_t summer = 0;
        UErrorCode error = U_ZERO_ERROR;
        zone_->getOffset(static_cast<UDate>(utc_ms), 0, standard, summer, error);
        return U_SUCCESS(error) ? standard + summer : 0;
    }
    int64_t instant_of(int64_t local_ms) const override {
        int32_t standard = 0;
        int32_t summer = 0;
        UErrorCode error = U_ZERO_ERROR;
        zone_->getOffsetFromLocal(static_cast<UDate>(local_ms), UCAL_TZ_LOCAL_FORMER,
                                  UCAL_TZ_LOCAL_FORMER, standard, summer, error);
        return local_ms - (U_SUCCESS(error) ? standard + summer : 0);
    }

  private:
    const std::unique_ptr<icu::BasicTimeZone> zone_;
};

// Null if the name is none of the zone data.
std::shared_ptr<const TimeZone> named_zone(std::string_view name) {
    const bool plain = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
        return c < 0x80 &&
               (std::isalnum(c) != 0 ||
                std::string_view("/_+-").find(static_cast<char>(c)) != std::string_view::npos);
    });
    if (!plain) return nullptr;
    const auto id =
        icu::UnicodeString::fromUTF8(icu::StringPiece(name.data(), static_cast<int>(name.size())));
    // ICU also makes zones of its own, of "GMT+5".
    icu::UnicodeString canonical;
    UBool is_known = 0;
    UErrorCode error = U_ZERO_ERROR;
    icu::TimeZone::getCanonicalID(id, canonical, is_known, error);
    if (U_FAILURE(error) || !is_known) return nullptr;
    std::unique_ptr<icu::TimeZone> zone(icu::TimeZone::createTimeZone(id));
    auto* const basic = dynamic_cast<icu::BasicTimeZone*>(zone.get());
    if (basic == nullptr) return nullptr;
    static_cast<void>(zone.release());  // `basic` is the same object
    return std::make_shared<NamedZone>(std::unique_ptr<icu::BasicTimeZone>(basic));
}

}  // namespace

bool parse_offset(std::string_view text, int64_t* ms) {
    if (text.empty() || (text[0] != '+' && text[0] != '-')) return false;
    const bool negative = text[0] == '-';
    std::string digits(text.substr(1));
    if (digits.size() == 5 && digits[2] == ':') digits.erase(2, 1);
    const bool all_digits =
        std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; });
    if (!all_digits || (digits.size() != 2 && digits.size() != 4)) return false;
    const int number = std::stoi(digits);
    const int minutes = digits.size() == 2 ? number * 60 : number / 100 * 60 + number % 100;
    *ms = (negative ? -minutes : minutes) * kMinuteMs;
    return true;
}

const TimeZone& TimeZone::utc() {
    static const FixedZone zone(0);
    return zone;
}

std::shared_ptr<const TimeZone> TimeZone::of(std::string_view name) {
    struct Kept : std::map<std::string, std::shared_ptr<const TimeZone>, std::less<>> {};
    Kept& kept = base::thread_scratch<Kept>();
    if (const auto found = kept.find(name); found != kept.end()) return found->second;
    sched::tick(kTicksPerZone);
    std::shared_ptr<const TimeZone> zone;
    int64_t offset = 0;
    if (parse_offset(name, &offset))
        zone = std::make_shared<FixedZone>(offset);
    else if (name == "UTC" || name == "GMT" || name == "Z")
        zone = std::make_shared<FixedZone>(0);
    else
        zone = named_zone(name);
    if (zone == nullptr) base::fail(40485, "unrecognized time zone identifier: \"{}\"", name);
    if (kept.size() == kZonesKept) kept.clear();
    kept.emplace(name, zone);
    return zone;
}

}  // namespace query
