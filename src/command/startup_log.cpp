// What this program is, for buildInfo and for local.startup_log, which has a document for each
// start of the server (mmapv1 spec 1.1 rule 5).
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>

#include "base/applied_patches.h"
#include "base/error.h"
#include "base/log.h"
#include "command/service.h"

namespace command {

namespace {

constexpr const char* kStartupLog = "local.startup_log";
constexpr int64_t kStartupLogBytes = 10 << 20;

// "2.6.12" as [2, 6, 12, 0].
void append_version_array(bson::Builder& out, std::string_view version) {
    bson::Builder parts = out.sub_array("versionArray");
    int32_t number = 0;
    int count = 0;
    for (const char c : version) {
        if (c == '.') {
            parts.push(number);
            number = 0;
            ++count;
        } else if (c >= '0' && c <= '9') {
            number = number * 10 + (c - '0');
        } else {
            break;
        }
    }
    parts.push(number);
    for (++count; count < 4; ++count)
        parts.push(int32_t{0});
}

}  // namespace

void Service::append_build_info(bson::Builder& out) {
    utsname host{};
    uname(&host);
    out.append("version", context_.version)
        .append("gitVersion", context_.git_version)
        .append("OpenSSLVersion", "")
        .append("sysInfo",
                fmt::format("{} {} {} {}", host.sysname, host.release, host.version, host.machine))
        .append("loaderFlags", "")
        .append("compilerFlags", "")
        .append("allocator", "system");
    append_version_array(out, context_.version);
    out.append("javascriptEngine", "none")
        .append("bits", static_cast<int32_t>(sizeof(void*) * 8))
        .append("debug", false)
        .append("maxBsonObjectSize", bson::kMaxDocumentBytes);
    out.sub_array("modules").finish();
    {
        bson::Builder engines = out.sub_array("storageEngines");
        engines.push(std::string(engine().name()));
    }
    bson::Builder patches = out.sub_array("patches");
    for (const char* slug : base::appliedPatches())
        patches.push(std::string(slug));
}

void Service::log_startup() {
    using std::chrono::system_clock;
    const auto now = system_clock::now();
    const int64_t ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
    utsname host{};
    uname(&host);
    bson::Builder doc;
    doc.append("_id", fmt::format("{}-{}", host.nodename, ms))
        .append("hostname", host.nodename)
        .append_date("startTime", ms / 1000 * 1000)
        .append("startTimeLocal", base::log::timestamp(now, base::log::TimestampFormat::ctime))
        .append("cmdLine", context_.parsed_options)
        .append("pid", static_cast<int64_t>(::getpid()));
    {
        bson::Builder build_info = doc.sub_object("buildinfo");
        append_build_info(build_info);
    }
    try {
        const storage::DatabaseLock lock(locks(), "local", true);
        catalog::Database& local = catalog_.get_or_create("local");
        catalog::Collection* starts = local.collection(kStartupLog);
        if (starts == nullptr)
            starts = &local.create(kStartupLog,
                                   bson::make("capped", true, "size", kStartupLogBytes).doc());
        starts->insert(doc.doc());
    } catch (const base::Error& error) {
        // A dbpath that can only be read, or only in part, is served all the same.
        base::log::warning("{} gets no document for this start: {}", kStartupLog, error.what());
    }
}

}  // namespace command
