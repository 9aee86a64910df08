#include "catalog/validator.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "catalog/names.h"
#include "query/match/failure.h"
#include "query/match/no_near.h"
#include "query/match/regex_flags.h"
#include "sched/interruption.h"

namespace catalog {

namespace {

constexpr std::string_view kFilter = "validator";
constexpr std::string_view kLevel = "validationLevel";
constexpr std::string_view kAction = "validationAction";
constexpr std::string_view kLevels[] = {"off", "strict", "moderate"};
constexpr std::string_view kActions[] = {"error", "warn"};

bool is(const bson::Element& e, std::string_view word) {
    return e.is_string() && e.as_string() == word;
}

std::unique_ptr<const query::Matcher> parse_filter(
    bson::Doc filter, const query::ExpressionParser* expressions,
    std::shared_ptr<const collation::Collator> collator) {
    auto parsed = query::Matcher::parse(filter, expressions, std::move(collator));
    query::refuse_odd_flags(*parsed);
    query::refuse_near(*parsed);
    return parsed;
}

template <size_t count>
void check_word(const bson::Element& e, const std::string_view (&words)[count]) {
    if (e.missing()) return;
    if (!e.is_string()) base::fail(base::kTypeMismatch, "'{}' must be a string", e.name());
    if (std::ranges::find(words, e.as_string()) == std::end(words))
        base::fail(base::kBadValue, "Enumeration value '{}' for field '{}' is not a valid value.",
                   e.as_string(), e.name());
}

bson::Object error_info(bson::Doc filter, const query::ExpressionParser* expressions,
                        const std::shared_ptr<const collation::Collator>& collator, bson::Doc doc) {
    bson::Object details = query::explain_failure(filter, expressions, doc, collator);
    // Many levels may each have said nearly what one may say.
    if (static_cast<size_t>(details.size()) > 4 * query::kFailureBytesMax)
        details = bson::make("reason", "there is too much to say");
    bson::Builder out;
    {
        bson::Builder info = out.sub_object("errInfo");
        info.append_as("failingDocumentId", doc["_id"]).append("details", details);
    }
    return out.object();
}

}  // namespace

std::unique_ptr<const Validator> Validator::of(
    bson::Doc options, const query::ExpressionParser* expressions,
    std::shared_ptr<const collation::Collator> collator) {
    const bson::Element filter = options[kFilter];
    if (!filter.is_object() || filter.as_doc().empty() || is(options[kLevel], "off"))
        return nullptr;
    std::unique_ptr<Validator> made(new Validator);
    made->expressions_ = expressions;
    made->collator_ = std::move(collator);
    made->spares_unfit_ = is(options[kLevel], "moderate");
    made->only_warns_ = is(options[kAction], "warn");
    try {
        made->filter_ = parse_filter(filter.as_doc(), expressions, made->collator_);
    } catch (const base::Error& error) {
        if (sched::is_interruption(error)) throw;
        made->fault_ = error.what();
    }
    return made;
}

void Validator::check(std::string_view ns, bson::Doc doc, const bson::Doc* before) const {
    if (filter_ == nullptr)
        base::fail(base::kDocumentValidationFailure,
                   "Document failed validation: the validator of {} cannot be read: {}", ns,
                   fault_);
    const std::lock_guard lock(mutex_);
    if (filter_->matches(doc)) return;
    if (before != nullptr && spares_unfit_ && !filter_->matches(*before)) return;
    const bson::Object info = error_info(filter_->filter(), expressions_, collator_, doc);
    if (!only_warns_)
        throw base::Error(base::kDocumentValidationFailure, "Document failed validation",
                          info.bytes());
    base::log::warning("Document would fail validation in {}: {}", ns,
                       bson::to_text(info["errInfo"]));
}

void check_validation(std::string_view ns, bson::Doc options,
                      const query::ExpressionParser* expressions) {
    check_word(options[kLevel], kLevels);
    check_word(options[kAction], kActions);
    const bson::Element filter = options[kFilter];
    if (filter.missing()) return;
    if (!filter.is_object()) base::fail(base::kTypeMismatch, "'validator' has to be a document");
    if (filter.as_doc().empty()) return;
    const auto [db, collection] = split(ns);
    if (is_system(collection))
        base::fail(base::kInvalidOptions, "Document validators not allowed on system collection {}",
                   ns);
    if (db == "admin" || db == "local" || db == "config")
        base::fail(base::kInvalidOptions,
                   "Document validators are not allowed on collection {} in the {} database", ns,
                   db);
    parse_filter(filter.as_doc(), expressions, nullptr);
}

bool is_validation_option(std::string_view name) {
    return name == kFilter || name == kLevel || name == kAction;
}

}  // namespace catalog
