#include "journal/figures.h"

#include <map>

#include "base/error.h"

namespace journal {

namespace {

// Never destroyed, and made at first use: registrations come from other files' static objects.
std::map<std::string, FigureSource>& registry() {
    static auto* instance = new std::map<std::string, FigureSource>;
    return *instance;
}

}  // namespace

FigureRegistration::FigureRegistration(std::string name, std::vector<Figure> (*figures)()) {
    if (!registry().emplace(name, FigureSource{name, figures}).second)
        base::fatal(0, fmt::format("figures {} are registered twice", name));
}

std::vector<FigureSource> figure_sources() {
    std::vector<FigureSource> result;
    for (const auto& [name, source] : registry())
        result.push_back(source);
    return result;
}

}  // namespace journal
