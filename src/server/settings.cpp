#include "server/settings.h"

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"
#include "catalog/catalog.h"
#include "catalog/collection_options.h"
#include "journal/options/registry.h"
#include "server/unused_parameters.h"
#include "server/version.h"

namespace server {

namespace {

using base::Parameter;
using base::ParameterValue;
using Type = base::Parameter::Type;

bool is_version(const std::string& text) {
    int parts = 0;
    size_t begin = 0;
    while (begin <= text.size()) {
        const size_t dot = std::min(text.find('.', begin), text.size());
        const std::string part = text.substr(begin, dot - begin);
        if (part.empty() || part.size() > 4) return false;
        if (part.find_first_not_of("0123456789") != std::string::npos) return false;
        ++parts;
        begin = dot + 1;
    }
    return parts == 3;
}

void check_range(const char* name, double value, double low, double high) {
    if (value < low || value > high)
        base::fail(base::kBadValue, "parameter {} must be between {} and {}", name, low, high);
}

// A parameter that cannot be set at all.
void add_constant(const char* name, Type type, const char* help, ParameterValue value) {
    Parameter parameter;
    parameter.name = name;
    parameter.type = type;
    parameter.help = help;
    parameter.at_start = parameter.at_runtime = false;
    parameter.get = [value = std::move(value)] { return value; };
    base::add_parameter(std::move(parameter));
}

Type parameter_type(::journal::options::Type type) {
    switch (type) {
        case ::journal::options::Type::flag:
            return Type::boolean;
        case ::journal::options::Type::integer:
            return Type::integer;
        case ::journal::options::Type::text:
            break;
    }
    return Type::text;
}

void add_switch(const char* name, const char* help, std::function<bool()> get,
                std::function<void(bool)> set) {
    Parameter parameter;
    parameter.name = name;
    parameter.type = Type::boolean;
    parameter.help = help;
    parameter.get = [get = std::move(get)] { return ParameterValue(get()); };
    parameter.set = [set = std::move(set)](const ParameterValue& v) { set(std::get<bool>(v)); };
    base::add_parameter(std::move(parameter));
}

}  // namespace

Settings::Settings(const Config& config)
    : journal_(config.journal),
      reported_version_(kReportedVersion),
      no_table_scan_(config.no_table_scan),
      commit_interval_us_(config.commit_interval.value_or(kNotSet)),
      sync_delay_seconds_(config.sync_delay_seconds) {
    add_logging();
    add_fixed();
    add_behaviour();
    add_durability();
    add_unused_parameters();
    for (const ::journal::options::Descriptor* descriptor : ::journal::options::all())
        add_journal_option(*descriptor);
    for (const auto& [name, text] : config.parameters) {
        try {
            base::set_parameter_at_start(name, text);
        } catch (const base::Error& error) {
            throw OptionError(
                fmt::format("BadValue {}\ntry 'mongod --help' for more information", error.what()));
        }
    }
}

Settings::~Settings() {
    base::remove_all_parameters();
}

void Settings::add_logging() {
    Parameter level;
    level.name = "logLevel";
    level.type = Type::integer;
    level.help = "How much is logged, 0 to 5.";
    level.get = [] { return ParameterValue(base::log::verbosity()); };
    level.set = [](const ParameterValue& v) {
        const int value = std::get<int32_t>(v);
        check_range("logLevel", value, 0, 5);
        base::log::set_verbosity(value);
    };
    base::add_parameter(std::move(level));
    add_switch("quiet", "Log no lines about connections.", base::log::quiet, base::log::set_quiet);
    add_switch("traceExceptions", "Log every error where it is thrown.", base::trace_errors,
               base::set_trace_errors);
}

// Fixed once the server runs.
void Settings::add_fixed() {
    Parameter tests;
    tests.name = "enableTestCommands";
    tests.type = Type::integer;
    tests.help = "Enables commands that only tests should use.";
    tests.at_runtime = false;
    tests.get = [this] { return ParameterValue(test_commands_); };
    tests.set = [this](const ParameterValue& v) { test_commands_ = std::get<int32_t>(v); };
    base::add_parameter(std::move(tests));

    Parameter wire;
    wire.name = "announcedMaxWireVersion";
    wire.type = Type::integer;
    wire.help =
        "maxWireVersion told to clients, 2 to 29: lower for old dialects, higher for "
        "drivers that refuse 9.";
    wire.at_runtime = false;
    wire.get = [this] { return ParameterValue(announced_max_wire_version_); };
    wire.set = [this](const ParameterValue& v) {
        check_range("announcedMaxWireVersion", std::get<int32_t>(v), 2, 29);
        announced_max_wire_version_ = std::get<int32_t>(v);
    };
    base::add_parameter(std::move(wire));

    Parameter version;
    version.name = "reportedVersion";
    version.type = Type::text;
    version.help = "The version told to clients, three numbers with dots.";
    version.at_runtime = false;
    version.get = [this] { return ParameterValue(reported_version_); };
    version.set = [this](const ParameterValue& v) {
        const std::string& text = std::get<std::string>(v);
        if (!is_version(text))
            base::fail(base::kBadValue, "parameter reportedVersion must be like 2.6.12");
        reported_version_ = text;
    };
    base::add_parameter(std::move(version));

    add_constant("authSchemaVersion", Type::integer, "There are no users.", 3);
    add_constant("sslMode", Type::text, "There is no TLS.", std::string("disabled"));
}

void Settings::add_behaviour() {
    add_switch("failIndexKeyTooLong", "Refuse documents whose index keys are too long.",
               catalog::fail_index_key_too_long, catalog::set_fail_index_key_too_long);
    add_switch("newCollectionsUsePowerOf2Sizes", "Round record sizes to powers of two.",
               catalog::power_of_2_by_default, catalog::set_power_of_2_by_default);
    add_switch(
        "ttlMonitorEnabled", "Remove documents whose TTL index says so, once a minute.",
        [this] { return ttl_monitor_enabled_.load(); },
        [this](bool on) { ttl_monitor_enabled_.store(on); });
    add_switch(
        "notablescan", "Refuse queries that no index supports.",
        [this] { return no_table_scan_.load(); },
        [this](bool on) {
            no_table_scan_.store(on);
            const std::lock_guard guard(mutex_);
            if (service_ != nullptr) service_->set_no_table_scan(on);
        });
}

void Settings::add_durability() {
    Parameter delay;
    delay.name = "syncdelay";
    delay.type = Type::number;
    delay.help = "Seconds between flushes of the data files; 0: never.";
    delay.get = [this] { return ParameterValue(sync_delay_seconds_.load()); };
    delay.set = [this](const ParameterValue& v) {
        check_range("syncdelay", std::get<double>(v), 0, 100000);
        sync_delay_seconds_.store(std::get<double>(v));
        const std::lock_guard guard(mutex_);
        if (durability_ != nullptr) durability_->set_sync_delay_seconds(std::get<double>(v));
    };
    base::add_parameter(std::move(delay));

    // Journal spec 5.3: absent without a journal, 0 while the default is in force, no `was`.
    Parameter interval;
    interval.name = "journalCommitInterval";
    interval.type = Type::integer;
    interval.help = "Milliseconds between group commits, 2 to 499.";
    interval.tells_old_value = false;
    interval.get = [this]() -> std::optional<ParameterValue> {
        if (!journal_) return std::nullopt;
        return ParameterValue(
            static_cast<int32_t>(::journal::shown_commit_interval_ms(commit_interval())));
    };
    interval.set = [this](const ParameterValue& v) {
        if (!journal_) base::fail(base::kBadValue, "journaling is off");
        const ::journal::CommitInterval given = ::journal::parse_commit_interval(
            base::parameter_text(v), ::journal::IntervalSource::runtime);
        commit_interval_us_.store(*given);
        const std::lock_guard guard(mutex_);
        if (durability_ != nullptr) durability_->set_commit_interval(given);
    };
    base::add_parameter(std::move(interval));
}

void Settings::add_journal_option(const ::journal::options::Descriptor& d) {
    Parameter parameter;
    parameter.name = d.name;
    parameter.type = parameter_type(d.type);
    parameter.help = d.help;
    parameter.at_start = parameter.at_runtime = d.runtime;
    parameter.get = [this, &d]() -> std::optional<ParameterValue> {
        if (!journal_) return std::nullopt;
        return base::parse_parameter(*base::find_parameter(d.name), d.get());
    };
    if (d.runtime) {
        parameter.set = [this, &d](const ParameterValue& v) {
            if (!journal_) base::fail(base::kBadValue, "journaling is off");
            d.set(base::parameter_text(v));
        };
    }
    base::add_parameter(std::move(parameter));
}

void Settings::follow(storage::Durability* durability) {
    const std::lock_guard guard(mutex_);
    durability_ = durability;
}

void Settings::follow(command::Service* service) {
    const std::lock_guard guard(mutex_);
    service_ = service;
    if (service != nullptr) service->set_no_table_scan(no_table_scan_.load());
}

}  // namespace server
