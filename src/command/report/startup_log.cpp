#include "command/report/startup_log.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>

#include <chrono>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "command/report/build_info.h"
#include "command/request/server_context.h"

namespace command {

namespace {

constexpr const char* kStartupLog = "local.startup_log";
constexpr int64_t kStartupLogBytes = 10 << 20;

}  // namespace

void log_startup(catalog::Catalog& catalog, const ServerContext& context) {
    DCHECK(storage::LockManager::database().empty());
    const auto now = std::chrono::system_clock::now();
    const int64_t ms = base::ms_since_1970(now);
    utsname host{};
    uname(&host);
    bson::Builder doc;
    doc.append("_id", fmt::format("{}-{}", host.nodename, ms))
        .append("hostname", host.nodename)
        .append_date("startTime", ms / 1000 * 1000)
        .append("startTimeLocal", base::log::timestamp(now, base::log::TimestampFormat::ctime))
        .append("cmdLine", context.parsed_options)
        .append("pid", static_cast<int64_t>(::getpid()));
    {
        bson::Builder build_info = doc.sub_object("buildinfo");
        append_build_info(context, catalog.engine(), build_info);
    }
    try {
        const storage::DatabaseLock lock(catalog.engine().locks(), "local", true);
        catalog::Database& local = catalog.get_or_create("local");
        catalog::Collection* starts = local.collection(kStartupLog);
        if (starts == nullptr)
            starts = &local.create(kStartupLog,
                                   bson::make("capped", true, "size", kStartupLogBytes).doc());
        starts->insert(doc.doc());
    } catch (const base::Error& error) {
        // A dbpath that can only be read, or only in part, is served all the same.
        base::log::warning("cannot add this start to {}: {}", kStartupLog, error.what());
    }
}

}  // namespace command
