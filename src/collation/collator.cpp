#include "collation/collator.h"

#include <fmt/format.h>
#include <unicode/coll.h>
#include <unicode/locid.h>
#include <unicode/strenum.h>
#include <unicode/ucol.h>
#include <unicode/unistr.h>
#include <unicode/uversion.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_scratch.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "sched/tick.h"

namespace collation {

namespace {

using bson::Element;
using bson::Type;

// The ticks for making a collator, and for the key of so many bytes, about (sched/tick.h).
constexpr int64_t kTicksPerCollator = 200;
constexpr size_t kBytesPerTick = 16;
constexpr size_t kCollatorsKept = 64;
constexpr size_t kSpecBytesKept = 1024;

void count_bytes(size_t bytes) {
    sched::tick(1 + static_cast<int64_t>(bytes / kBytesPerTick));
}

struct Word {
    std::string_view text;
    UColAttributeValue value;
};
constexpr Word kOff = {"off", UCOL_OFF};
constexpr Word kCases[] = {{"upper", UCOL_UPPER_FIRST}, {"lower", UCOL_LOWER_FIRST}, kOff};
constexpr Word kAlternates[] = {{"non-ignorable", UCOL_NON_IGNORABLE}, {"shifted", UCOL_SHIFTED}};

struct Flag {
    std::string_view name;
    UColAttribute attribute;
};
constexpr Flag kFlags[] = {{"caseLevel", UCOL_CASE_LEVEL},
                           {"numericOrdering", UCOL_NUMERIC_COLLATION},
                           {"normalization", UCOL_NORMALIZATION_MODE},
                           {"backwards", UCOL_FRENCH_COLLATION}};

[[noreturn]] void fail_type(const Element& e, std::string_view expected) {
    base::fail(base::kTypeMismatch, "BSON field 'collation.{}' is the wrong type '{}', expected {}",
               e.name(), bson::name_of(e.type()), expected);
}

std::string_view text_of(const Element& e) {
    if (!e.is_string()) fail_type(e, "type 'string'");
    return e.as_string();
}

template <size_t count>
UColAttributeValue value_of(const Element& e, const Word (&words)[count]) {
    const std::string_view text = text_of(e);
    for (const Word& word : words)
        if (word.text == text) return word.value;
    base::fail(base::kBadValue,
               "Enumeration value '{}' for field 'collation.{}' is not a valid value.", text,
               e.name());
}

template <size_t count>
std::string_view word_of(UColAttributeValue value, const Word (&words)[count]) {
    for (const Word& word : words)
        if (word.value == value) return word.text;
    return kOff.text;
}

void check(UErrorCode error) {
    if (U_FAILURE(error))
        base::fail(base::kBadValue, "the collation cannot be had: {}", u_errorName(error));
}

// A set of the icu::Collator's attributes, each read back as the locale has it.
class Rules {
  public:
    explicit Rules(icu::Collator& of) : of_(of) {}
    void set(UColAttribute attribute, UColAttributeValue value) {
        UErrorCode error = U_ZERO_ERROR;
        of_.setAttribute(attribute, value, error);
        check(error);
    }
    UColAttributeValue get(UColAttribute attribute) const {
        UErrorCode error = U_ZERO_ERROR;
        const UColAttributeValue value = of_.getAttribute(attribute, error);
        check(error);
        return value;
    }

  private:
    icu::Collator& of_;
};

[[noreturn]] void fail_locale(bson::Doc spec) {
    base::fail(base::kBadValue, "Field 'locale' is invalid in: {}", bson::to_text(spec));
}

// The one keyword that a locale may have, as in "de@collation=phonebook", names a variant that it
// must have.
void check_keywords(const icu::Locale& locale, bson::Doc spec) {
    UErrorCode error = U_ZERO_ERROR;
    const std::unique_ptr<icu::StringEnumeration> keywords(locale.createKeywords(error));
    check(error);
    if (keywords == nullptr) return;
    while (const char* keyword = keywords->next(nullptr, error)) {
        if (std::string_view(keyword) != "collation") fail_locale(spec);
        const auto wanted = locale.getKeywordValue<std::string>(keyword, error);
        const std::unique_ptr<icu::StringEnumeration> known(
            icu::Collator::getKeywordValuesForLocale("collation", locale, false, error));
        check(error);
        bool found = false;
        while (const char* value = known->next(nullptr, error))
            found = found || wanted == value;
        if (!found) fail_locale(spec);
    }
    check(error);
}

std::unique_ptr<icu::Collator> open(std::string_view name, bson::Doc spec) {
    const std::string text(name);
    if (text.empty() || text.find('\0') != std::string::npos) fail_locale(spec);
    const icu::Locale locale = icu::Locale::createCanonical(text.c_str());
    if (locale.isBogus() || text != locale.getName() || locale.getLanguage()[0] == '\0')
        fail_locale(spec);
    check_keywords(locale, spec);
    UErrorCode error = U_ZERO_ERROR;
    std::unique_ptr<icu::Collator> made(icu::Collator::createInstance(locale, error));
    check(error);
    // A locale that is not known becomes one that is: a shorter one, or none.
    const icu::Locale valid = made->getLocale(ULOC_VALID_LOCALE, error);
    check(error);
    if (std::string_view(valid.getBaseName()) != locale.getBaseName()) fail_locale(spec);
    return made;
}

void set_strength(icu::Collator& collator, const Element& e) {
    if (!e.is_number()) fail_type(e, "types '[long, int, decimal, double]'");
    const double strength = e.to_double();
    if (strength < 1 || strength > 5 || strength != std::trunc(strength))
        base::fail(51024,
                   "BSON field 'strength' value must be a whole number from 1 to 5, "
                   "actual value '{}'",
                   strength);
    static constexpr icu::Collator::ECollationStrength kStrengths[] = {
        icu::Collator::PRIMARY, icu::Collator::SECONDARY, icu::Collator::TERTIARY,
        icu::Collator::QUATERNARY, icu::Collator::IDENTICAL};
    collator.setStrength(kStrengths[static_cast<size_t>(strength) - 1]);
}

int strength_of(const icu::Collator& collator) {
    const auto strength = collator.getStrength();
    return strength == icu::Collator::IDENTICAL ? 5 : static_cast<int>(strength) + 1;
}

void set_max_variable(icu::Collator& collator, const Element& e) {
    const std::string_view text = text_of(e);
    if (text != "punct" && text != "space")
        base::fail(base::kBadValue,
                   "Enumeration value '{}' for field 'collation.maxVariable' is not a valid value.",
                   text);
    UErrorCode error = U_ZERO_ERROR;
    collator.setMaxVariable(
        text == "punct" ? UCOL_REORDER_CODE_PUNCTUATION : UCOL_REORDER_CODE_SPACE, error);
    check(error);
}

void check_version(const Element& e) {
    if (text_of(e) != U_ICU_VERSION)
        base::fail(base::kIncompatibleCollationVersion,
                   "Requested collation version {}, but the only available collator version was {}",
                   e.as_string(), U_ICU_VERSION);
}

void set_field(icu::Collator& collator, const Element& e) {
    const std::string_view name = e.name();
    Rules rules(collator);
    for (const Flag& flag : kFlags) {
        if (name != flag.name) continue;
        if (e.type() != Type::boolean) fail_type(e, "type 'bool'");
        return rules.set(flag.attribute, e.as_bool() ? UCOL_ON : UCOL_OFF);
    }
    if (name == "strength") return set_strength(collator, e);
    if (name == "caseFirst") return rules.set(UCOL_CASE_FIRST, value_of(e, kCases));
    if (name == "alternate") return rules.set(UCOL_ALTERNATE_HANDLING, value_of(e, kAlternates));
    if (name == "maxVariable") return set_max_variable(collator, e);
    if (name == "version") return check_version(e);
    if (name != "locale") base::fail(40415, "BSON field 'collation.{}' is an unknown field.", name);
}

void check_together(icu::Collator& collator, bson::Doc spec) {
    const Rules rules(collator);
    const int strength = strength_of(collator);
    const bool has_cases = rules.get(UCOL_CASE_LEVEL) == UCOL_ON || strength > 2;
    if (spec.has("caseFirst") && rules.get(UCOL_CASE_FIRST) != UCOL_OFF && !has_cases)
        base::fail(base::kBadValue,
                   "'caseFirst' is invalid unless 'caseLevel' is on or 'strength' is greater than "
                   "2: {}",
                   bson::to_text(spec));
    if (spec["backwards"].truthy() && strength == 1)
        base::fail(base::kBadValue, "'backwards' is invalid with 'strength' of 1: {}",
                   bson::to_text(spec));
}

bson::Object whole_spec(icu::Collator& collator, std::string_view locale) {
    const Rules rules(collator);
    const auto is_on = [&rules](UColAttribute attribute) {
        return rules.get(attribute) == UCOL_ON;
    };
    bson::Builder out;
    out.append("locale", locale)
        .append("caseLevel", is_on(UCOL_CASE_LEVEL))
        .append("caseFirst", word_of(rules.get(UCOL_CASE_FIRST), kCases))
        .append("strength", strength_of(collator))
        .append("numericOrdering", is_on(UCOL_NUMERIC_COLLATION))
        .append("alternate", word_of(rules.get(UCOL_ALTERNATE_HANDLING), kAlternates))
        .append("maxVariable",
                collator.getMaxVariable() == UCOL_REORDER_CODE_SPACE ? "space" : "punct")
        .append("normalization", is_on(UCOL_NORMALIZATION_MODE))
        .append("backwards", is_on(UCOL_FRENCH_COLLATION))
        .append("version", U_ICU_VERSION);
    return out.object();
}

class IcuCollator : public Collator {
  public:
    IcuCollator(std::unique_ptr<const icu::Collator> collator, bson::Object spec)
        : collator_(std::move(collator)), spec_(std::move(spec)) {}

    bson::Doc spec() const override { return spec_; }

    void append_key(std::string_view name, const Element& value,
                    bson::Builder& out) const override {
        switch (value.type()) {
            case Type::string:
            case Type::symbol:
                return append_text_key(name, value.as_string(), out);
            case Type::object: {
                bson::Builder inside = out.sub_object(name);
                append_members(value.as_doc(), inside);
                return;
            }
            case Type::array: {
                bson::Builder inside = out.sub_array(name);
                append_members(value.as_doc(), inside);
                return;
            }
            default:
                out.append_as(name, value);
        }
    }

    int compare(std::string_view a, std::string_view b) const override {
        count_bytes(std::min(a.size(), b.size()));
        UErrorCode error = U_ZERO_ERROR;
        const UCollationResult order = collator_->compareUTF8(piece_of(a), piece_of(b), error);
        check(error);
        return static_cast<int>(order);
    }

  private:
    static icu::StringPiece piece_of(std::string_view text) {
        return {text.data(), static_cast<int32_t>(text.size())};
    }

    void append_members(bson::Doc doc, bson::Builder& out) const {
        for (const Element& e : sched::ticked(doc))
            append_key(e.name(), e, out);
    }

    void append_text_key(std::string_view name, std::string_view text, bson::Builder& out) const {
        constexpr size_t kKeptBytes = 4096;
        struct Key {
            std::vector<uint8_t> bytes = std::vector<uint8_t>(kKeptBytes);
        };
        std::vector<uint8_t>& bytes = base::thread_scratch<Key>().bytes;
        count_bytes(text.size());
        const auto wide = icu::UnicodeString::fromUTF8(piece_of(text));
        int32_t size =
            collator_->getSortKey(wide, bytes.data(), static_cast<int32_t>(bytes.size()));
        if (static_cast<size_t>(size) > bytes.size()) {
            bytes.resize(static_cast<size_t>(size));
            size = collator_->getSortKey(wide, bytes.data(), size);
        }
        // A NUL ends it.
        const auto used = static_cast<size_t>(std::max(size - 1, 0));
        out.append(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), used));
        if (bytes.size() > kKeptBytes) bytes = std::vector<uint8_t>(kKeptBytes);
    }

    const std::unique_ptr<const icu::Collator> collator_;
    const bson::Object spec_;
};

std::shared_ptr<const Collator> make_anew(bson::Doc spec, std::string_view locale) {
    std::unique_ptr<icu::Collator> made = open(locale, spec);
    for (const Element& e : spec)
        set_field(*made, e);
    check_together(*made, spec);
    bson::Object whole = whole_spec(*made, locale);
    return std::make_shared<const IcuCollator>(std::move(made), std::move(whole));
}

}  // namespace

std::shared_ptr<const Collator> Collator::make(bson::Doc spec) {
    const Element locale = spec["locale"];
    if (locale.missing())
        base::fail(40414, "BSON field 'collation.locale' is missing but a required field");
    const std::string_view name = text_of(locale);
    if (name == "simple") {
        if (spec.field_count() > 1)
            base::fail(base::kFailedToParse,
                       "the simple collation has no other fields than 'locale': {}",
                       bson::to_text(spec));
        return nullptr;
    }
    // Requests with a collation come one after the other, each with the same few.
    static std::mutex mutex;
    static std::map<std::string, std::shared_ptr<const Collator>, std::less<>> kept;
    const std::string key(reinterpret_cast<const char*>(spec.data()),
                          static_cast<size_t>(spec.size()));
    {
        const std::lock_guard guard(mutex);
        if (const auto found = kept.find(key); found != kept.end()) return found->second;
    }
    sched::tick(kTicksPerCollator);
    auto made = make_anew(spec, name);
    if (key.size() > kSpecBytesKept) return made;
    const std::lock_guard guard(mutex);
    if (kept.size() >= kCollatorsKept) kept.clear();
    return kept.emplace(key, std::move(made)).first->second;
}

int compare_values(const Element& a, const Element& b, const Collator* collator) {
    if (collator == nullptr || !has_text(a) || !has_text(b)) return bson::compare_values(a, b);
    return bson::compare_values(collator->key_of(a).doc().first(),
                                collator->key_of(b).doc().first());
}

bool equal_values(const Element& a, const Element& b, const Collator* collator) {
    if (collator == nullptr || !has_text(a) || !has_text(b)) return bson::equal_values(a, b);
    return bson::equal_values(collator->key_of(a).doc().first(), collator->key_of(b).doc().first());
}

void append_readable(std::string_view name, const Element& key, bson::Builder& out) {
    sched::tick();
    if (key.is_object() || key.is_array()) {
        bson::Builder inside = key.is_array() ? out.sub_array(name) : out.sub_object(name);
        for (const Element& e : key.as_doc())
            append_readable(e.name(), e, inside);
        return;
    }
    if (!has_text(key) || key.as_string().empty()) {
        out.append_as(name, key);
        return;
    }
    std::string text = "CollationKey(0x";
    for (const char byte : key.as_string())
        fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(byte));
    out.append(name, text + ")");
}

bool is_same(const Collator* a, const Collator* b) {
    if (a == b) return true;
    return a != nullptr && b != nullptr && std::ranges::equal(a->spec().bytes(), b->spec().bytes());
}

bool has_text(const Element& value) {
    switch (value.type()) {
        case Type::string:
        case Type::symbol:
            return true;
        case Type::object:
        case Type::array:
            for (const Element& e : sched::ticked(value.as_doc())) {
                if (has_text(e)) return true;
            }
            return false;
        default:
            return false;
    }
}

}  // namespace collation
