#include "server/version.h"

#include <fmt/format.h>

#include "base/applied_patches.h"
#include "base/program_version.h"
#include "options/server_parameters.h"

namespace server {

std::string patches_text() {
    const auto patches = base::applied_patches();
    return patches.empty() ? "none" : fmt::format("{}", fmt::join(patches, ", "));
}

std::string version_text() {
    return fmt::format(
        "db version v{}\n"
        "mongod-dur {}: an independent server for the protocol and files of that version\n"
        "patches: {}\n",
        options::kDefaultVersion, base::kProgramVersion, patches_text());
}

}  // namespace server
