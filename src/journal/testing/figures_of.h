// journal/testing/figures_of.h - the figures that an option shows now.
#pragma once

#include <string_view>

#include "journal/figures.h"

namespace journal {

// Empty if there is no such sub-document of serverStatus().dur.
inline std::vector<Figure> figures_of(std::string_view name) {
    for (const FigureSource& source : figure_sources()) {
        if (source.name == name) return source.figures();
    }
    return {};
}

}  // namespace journal
