// storage/stored_options.h - changes of a collection's options as they are stored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "bson/builder.h"

namespace storage {

// Returns the options with these `flags`. New ones stand behind the options that 2.6 had, as it put
// them, and before all others, where a collection that is made with them has them: the members of a
// set store the same bytes.
inline bson::Object with_flags(bson::Doc options, int32_t flags) {
    constexpr std::string_view kBefore[] = {"create",    "capped", "size",        "max",
                                            "$nExtents", "temp",   "autoIndexId", "flags"};
    bson::Builder out;
    bool is_written = false;
    const auto write = [&] {
        if (!is_written) out.append("flags", flags);
        is_written = true;
    };
    const bool has_flags = options.has("flags");
    for (const bson::Element& option : options) {
        const bool is_before = std::ranges::find(kBefore, option.name()) != std::end(kBefore);
        if (option.name() == "flags" || (!has_flags && !is_before)) write();
        if (option.name() != "flags") out.append(option);
    }
    write();
    return out.object();
}

}  // namespace storage
