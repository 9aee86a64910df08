// getParameter and setParameter (wire spec 2.2, journal spec 5.3).
#include "options/parameters.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "command/report/reports.h"
#include "command/request/invocation.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"
#include "options/logging.h"
#include "options/series.h"
#include "sched/tick.h"

namespace command {

namespace {

// The ticks for looking for a parameter (sched/tick.h).
constexpr int64_t kTicksPerName = 16;

void append_value(bson::Builder& out, std::string_view name, const options::Value& value) {
    if (const bool* v = std::get_if<bool>(&value)) {
        out.append(name, *v);
    } else if (const int64_t* v = std::get_if<int64_t>(&value)) {
        out.append_number(name, *v);
    } else if (const double* v = std::get_if<double>(&value)) {
        out.append(name, *v);
    } else {
        out.append(name, options::value_text(value));
    }
}

options::Value value_of(const bson::Element& e) {
    if (e.type() == bson::Type::boolean) return e.as_bool();
    if (e.is_string()) return std::string(e.as_string());
    // A fraction, or what is no number, is not to become another one on the way.
    const bool may_be_fraction =
        e.type() == bson::Type::number_double || e.type() == bson::Type::decimal128;
    if (may_be_fraction) return e.to_double();
    if (e.is_number()) return e.to_int64();
    base::fail(base::kTypeMismatch, "parameter {} has a value of a wrong type", e.name());
}

// The log's level as mongosh asks for it: a document { verbosity: level }, which could hold one for
// each component. Here they have one in common, the parameter logLevel.
constexpr std::string_view kLevelsByComponent = "logComponentVerbosity";

void append_levels(bson::Builder& out, std::string_view name) {
    bson::Builder levels = out.sub_object(name);
    append_value(levels, "verbosity", options::verbose.value());
}

bson::Element level_of_all(const bson::Element& levels) {
    const bson::Element level = levels.is_object() ? levels.as_doc().first() : bson::Element();
    if (level.missing() || level.name() != "verbosity" || levels.as_doc().field_count() != 1)
        base::fail(base::kBadValue, "{} takes {{ verbosity: level }}, one level for all components",
                   kLevelsByComponent);
    return level;
}

// Returns a hint at the patch that brings a parameter that is asked for and not there.
std::string missing_patch(const Invocation& invocation) {
    for (const bson::Element& e : sched::ticked(invocation.body, kTicksPerName)) {
        const std::string hint = options::missing_patch(e.name());
        if (!hint.empty()) return fmt::format("; {}{}", e.name(), hint);
    }
    return {};
}

// The version of the server whose files these are, the first two numbers of it; no option here, and
// unknown to old clients, who get it by its name only.
constexpr std::string_view kCompatibility = "featureCompatibilityVersion";

void append_compatibility(bson::Builder& out, std::string_view version) {
    bson::Builder compatibility = out.sub_object(kCompatibility);
    compatibility.append("version", version.substr(0, version.rfind('.')));
}

void run_get_parameter(Invocation& invocation) {
    const bson::Element first = invocation.first();
    bool found = false;
    const auto append = [&](const options::Option& parameter) {
        if (const auto value = options::parameter_value(parameter)) {
            append_value(*invocation.reply, parameter.parameter_name(), *value);
            found = true;
        }
    };
    if (first.is_string() && first.as_string() == "*") {
        for (const options::Option* parameter : options::all_parameters())
            append(*parameter);
        if (invocation.dialect().has(dialect::kRepliesTellMore)) {
            append_levels(*invocation.reply, kLevelsByComponent);
            append_compatibility(*invocation.reply, invocation.service.context().version);
        }
    } else {
        for (const bson::Element& e : sched::ticked(invocation.body, kTicksPerName)) {
            if (const options::Option* parameter = options::find_parameter(e.name())) {
                append(*parameter);
            } else if (e.name() == kLevelsByComponent) {
                append_levels(*invocation.reply, kLevelsByComponent);
                found = true;
            } else if (e.name() == kCompatibility) {
                append_compatibility(*invocation.reply, invocation.service.context().version);
                found = true;
            }
        }
    }
    if (!found)
        base::fail(base::kInvalidOptions, "no option found to get{}", missing_patch(invocation));
}

// Throws base::Error 2 with the old value when the new one is not possible; 14 for a wrong type
// where the old value is not returned.
void set_value(options::Option& parameter, const bson::Element& e, dialect::Dialect dialect,
               bson::Doc was) {
    DCHECK(options::settable_at_runtime(parameter));
    try {
        // The old server took any text for true, "false" as well.
        if (dialect.has(dialect::kFieldsAreChecked) && parameter.type() == options::Type::flag &&
            e.type() != bson::Type::boolean && !e.is_number())
            base::fail(base::kTypeMismatch, "parameter {} must be a boolean", e.name());
        options::set_parameter(parameter, parameter.type() == options::Type::flag
                                              ? options::Value(e.truthy())
                                              : value_of(e));
    } catch (const base::Error& error) {
        const bool plain =
            parameter.description().tells_old_value && error.code() == base::kTypeMismatch;
        const int code = plain ? base::kBadValue : error.code();
        throw base::Error(code, error.what(), bson::Object(was).bytes());
    }
}

void run_set_parameter(Invocation& invocation) {
    bool found = false;
    for (const bson::Element& e : sched::ticked(invocation.body, kTicksPerName)) {
        if (e.name() == kLevelsByComponent) {
            bson::Builder was;
            if (!found) append_levels(was, "was");
            set_value(options::verbose, level_of_all(e), invocation.dialect(), was.doc());
            invocation.reply->append_all(was.doc());
            found = true;
            continue;
        }
        options::Option* const parameter = options::find_parameter(e.name());
        if (parameter == nullptr) continue;
        const auto old = options::parameter_value(*parameter);
        if (!options::settable_at_runtime(*parameter))
            base::fail(base::kIllegalOperation, "not allowed to change [{}] at runtime", e.name());
        bson::Builder was;
        if (old && parameter->description().tells_old_value && !found)
            append_value(was, "was", *old);
        set_value(*parameter, e, invocation.dialect(), was.doc());
        invocation.reply->append_all(was.doc());
        base::log::info("setParameter {}={}", e.name(), bson::to_text(e));
        found = true;
    }
    if (!found)
        base::fail(base::kInvalidOptions, "no option found to set, use help:true to see options{}",
                   missing_patch(invocation));
}

constexpr Command kCommands[] = {
    {"getParameter", "", kAdminOnly | kAnyField, LockKind::none,
     "{ getParameter: 1, name: 1 } or { getParameter: '*' }", run_get_parameter,
     needs::on_cluster(auth::action::getParameter)},
    {"setParameter", "", kAdminOnly | kLocalOnly | kAnyField, LockKind::none,
     "{ setParameter: 1, name: value }", run_set_parameter,
     needs::on_cluster(auth::action::setParameter)},
};

}  // namespace

Family parameter_commands() {
    return kCommands;
}

}  // namespace command
