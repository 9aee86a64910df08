#include "command/report/build_info.h"

#include <sys/utsname.h>

#include <fmt/format.h>

#include "base/applied_patches.h"
#include "base/dcheck.h"
#include "command/request/server_context.h"
#include "script/script.h"

namespace command {

namespace {

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
    DCHECK(count < 4);
    for (++count; count < 4; ++count)
        parts.push(int32_t{0});
}

}  // namespace

void append_build_info(const ServerContext& context, const storage::Engine& engine,
                       bson::Builder& out) {
    utsname host{};
    uname(&host);
    out.append("version", context.version)
        .append("gitVersion", context.git_version)
        .append("OpenSSLVersion", "")
        .append("sysInfo",
                fmt::format("{} {} {} {}", host.sysname, host.release, host.version, host.machine))
        .append("loaderFlags", "")
        .append("compilerFlags", "")
        .append("allocator", "system");
    append_version_array(out, context.version);
    out.append("javascriptEngine", script::is_allowed() ? "Duktape" : "none")
        .append("bits", static_cast<int32_t>(sizeof(void*) * 8))
        .append("debug", false)
        .append("maxBsonObjectSize", bson::kDocumentBytesMax);
    out.sub_array("modules").finish();
    {
        bson::Builder engines = out.sub_array("storageEngines");
        engines.push(std::string(engine.name()));
    }
    bson::Builder patches = out.sub_array("patches");
    for (const char* slug : base::applied_patches())
        patches.push(std::string(slug));
}

}  // namespace command
