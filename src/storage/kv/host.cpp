#include "storage/kv/host.h"

#include "base/damage.h"
#include "base/log.h"

namespace kv {

namespace {

void fail(int code, std::string_view text) {
    base::fail(code, "{}", text);
}

void fail_damaged(std::string_view text) {
    base::fail(base::Damaged{base::kInternalError}, "{}", text);
}

void end_process(std::string_view text) {
    base::fatal(0, text);
}

void log(Host::Severity severity, std::string_view text) {
    switch (severity) {
        case Host::Severity::info:
            return base::log::info("{}", text);
        case Host::Severity::warning:
            return base::log::warning("{}", text);
        case Host::Severity::error:
            return base::log::error("{}", text);
    }
}

}  // namespace

const Host& base_host() {
    static constexpr Host host{fail, fail_damaged, end_process, log};
    return host;
}

}  // namespace kv
