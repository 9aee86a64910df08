#include "server/log_setup.h"

#include <syslog.h>

#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "options/logging.h"
#include "server/options.h"
#include "server/start_messages.h"

namespace server {

namespace {

using base::log::Severity;

constexpr std::pair<const char*, int> kFacilities[] = {
    {"auth", LOG_AUTH},     {"cron", LOG_CRON},     {"daemon", LOG_DAEMON}, {"kern", LOG_KERN},
    {"local0", LOG_LOCAL0}, {"local1", LOG_LOCAL1}, {"local2", LOG_LOCAL2}, {"local3", LOG_LOCAL3},
    {"local4", LOG_LOCAL4}, {"local5", LOG_LOCAL5}, {"local6", LOG_LOCAL6}, {"local7", LOG_LOCAL7},
    {"lpr", LOG_LPR},       {"mail", LOG_MAIL},     {"news", LOG_NEWS},     {"syslog", LOG_SYSLOG},
    {"user", LOG_USER},     {"uucp", LOG_UUCP},
};

int facility(const std::string& name) {
    for (const auto& [known, value] : kFacilities) {
        if (name == known) return value;
    }
    throw OptionError(fmt::format(
        "BadValue --syslogFacility: no facility named '{}'; try user, daemon or local0 to local7",
        name));
}

int priority(Severity severity) {
    switch (severity) {
        case Severity::warning:
            return LOG_WARNING;
        case Severity::error:
            return LOG_ERR;
        case Severity::severe:
            return LOG_CRIT;
        case Severity::info:
            break;
    }
    return LOG_INFO;
}

// syslog stamps lines itself.
std::string_view without_time(std::string_view line) {
    const size_t bracket = line.find(" [");
    return bracket == std::string_view::npos ? line : line.substr(bracket + 1);
}

}  // namespace

LogSetup::LogSetup() {
    // The choices of timeStampFormat, in their order.
    constexpr base::log::TimestampFormat kFormats[] = {base::log::TimestampFormat::ctime,
                                                       base::log::TimestampFormat::iso8601_utc,
                                                       base::log::TimestampFormat::iso8601_local};
    base::log::set_timestamp_format(kFormats[options::time_stamp_format.choice()]);
    options::verbose.follow([](const options::Value&) {
        base::log::set_verbosity(static_cast<int>(options::verbose.get()));
    });
    options::quiet.follow(
        [](const options::Value&) { base::log::set_quiet(options::quiet.get()); });
    options::trace_exceptions.follow(
        [](const options::Value&) { base::set_trace_errors(options::trace_exceptions.get()); });
    const std::string path = options::log_path.get();
    if (options::log_to_syslog.get()) {
        ::openlog("mongod", LOG_PID | LOG_CONS, facility(options::syslog_facility.get()));
        base::log::set_sink([](Severity severity, std::string_view line) {
            const std::string text(without_time(line));
            ::syslog(priority(severity), "%s", text.c_str());
        });
    } else if (!path.empty()) {
        file_ = std::make_shared<base::RotatingLog>(path, options::log_append.get());
        base::log::set_sink([file = file_](Severity, std::string_view line) { file->write(line); });
        if (file_->appended()) base::log::info("***** SERVER RESTARTED *****");
        if (!file_->moved_to().empty()) {
            base::log::info("log file {} exists, moved to {}", path, file_->moved_to());
        }
    }
}

LogSetup::~LogSetup() {
    for (options::Option* option : std::initializer_list<options::Option*>{
             &options::verbose, &options::quiet, &options::trace_exceptions})
        option->follow({});
    base::log::set_sink({});
}

void LogSetup::capture_output() {
    if (file_) file_->capture_output();
}

void LogSetup::rotate() {
    if (!file_) return;
    file_->rotate();
    log_process();
}

}  // namespace server
