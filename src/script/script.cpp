#include "script/script.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <atomic>
#include <span>

#include "base/error.h"
#include "base/loaded_part.h"
#include "base/log.h"
#include "base/program_version.h"
#include "bson/compare.h"
#include "sched/memory.h"
#include "sched/tick.h"
#include "sched/work_limit.h"

namespace script {

namespace {

std::atomic<bool> g_allowed{false};

// The memory of a context, which is further limited by that of its operation.
constexpr size_t kMemoryMax = size_t{128} * 1024 * 1024;

std::string md5(std::string_view bytes) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_md5(), nullptr) != 1)
        base::fail(kScriptError, "OpenSSL gives no MD5");
    std::string text;
    for (const uint8_t byte : std::span(digest, size))
        text += fmt::format("{:02x}", byte);
    return text;
}

const Host kHost{
    .fail = [](int code, std::string_view text) { base::fail(code, "{}", text); },
    .spend =
        [](int64_t ticks) {
            sched::tick(ticks);
            sched::WorkLimit::check_script();
        },
    .take = [](size_t bytes) { sched::memory::count_taken(bytes); },
    .give_back = [](size_t bytes) { sched::memory::count_released(bytes); },
    .compare =
        [](const uint8_t* a, const uint8_t* b) {
            return std::clamp(bson::compare_docs(bson::Doc(a), bson::Doc(b)), -1, 1);
        },
    .md5 = md5,
    .log = [](std::string_view text) { base::log::info("a script prints: {}", text); },
    .version = base::kProgramVersion,
};

}  // namespace

const Host& server_host() {
    return kHost;
}

void allow(bool allowed) {
    g_allowed.store(allowed, std::memory_order_relaxed);
}

bool is_allowed() {
    return g_allowed.load(std::memory_order_relaxed);
}

void refuse_unless_allowed(std::string_view what, int code) {
    if (is_allowed()) return;
    base::fail(code,
               "{} is not supported: this server runs no JavaScript; start it with --scripting "
               "(security.javascriptEnabled: true) to allow it",
               what);
}

std::unique_ptr<Context> open_context() {
    refuse_unless_allowed("a script");
    const auto& library = *static_cast<const Library*>(base::load_part(
        {"JavaScript", kLibraryFile, kLibrarySymbol, "it is in the package mongod-dur-script"},
        base::kCommandNotSupported));
    return library.open(kHost, kMemoryMax);
}

}  // namespace script
