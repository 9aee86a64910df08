// journal/figures.h - figures that show an option of the journal at work, for serverStatus().dur.
//
// The file of an option (journal/options/) registers a function that tells them, so that no two
// options touch the same lines. Registered before main() and not changed afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace journal {

// One figure, or a group of figures.
struct Figure {
    std::string name;
    int64_t value = 0;
    std::vector<Figure> group = {};
};

// A sub-document of serverStatus().dur; it is left out while it has no figures.
struct FigureSource {
    std::string name;
    std::vector<Figure> (*figures)();
};

class FigureRegistration {
  public:
    // Ends the process when the name is taken.
    FigureRegistration(std::string name, std::vector<Figure> (*figures)());
};

// Sorted by name.
std::vector<FigureSource> figure_sources();

}  // namespace journal
