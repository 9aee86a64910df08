// options/series.h - the patches of the series and the option that each brings or changes, also of
// those that this program was built without.
//
// The table is written by the build from the headers of patches/*.patch (site_scons/staging.py).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace options {

struct SeriesPatch {
    const char* slug;
    const char* option;  // its name on the command line
    const char* yaml;    // dotted name
    const char* values;  // what the option takes with the patch, for people
    bool applied;
};

// Returns the patches in the order of the series; valid for the life of the process.
std::span<const SeriesPatch> series();

// Returns where an option that does not exist here comes from: ": it comes with the patch SLUG,
// ...". `name`: as on the command line, or dotted. It is empty if no patch of the series brings the
// option.
std::string missing_patch(std::string_view name);
// Returns what the option would take with patches that this program was built without: "\nwith the
// patch SLUG: VALUES" for each. It is empty if there are none.
std::string missing_values(std::string_view name);

}  // namespace options
