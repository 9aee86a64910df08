#include "options/series.h"

#include <fmt/format.h>

namespace options {

std::string missing_patch(std::string_view name) {
    for (const SeriesPatch& patch : series()) {
        if (!patch.applied && (name == patch.option || name == patch.yaml))
            return fmt::format(": it comes with the patch {}, which this program was built without",
                               patch.slug);
    }
    return {};
}

std::string missing_values(std::string_view name) {
    std::string out;
    for (const SeriesPatch& patch : series()) {
        if (!patch.applied && name == patch.option)
            out += fmt::format("\nwith the patch {}: {}", patch.slug, patch.values);
    }
    return out;
}

}  // namespace options
