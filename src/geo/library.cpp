#include "geo/library.h"

#include "base/error.h"
#include "base/loaded_part.h"
#include "sched/tick.h"

namespace geo {

const SphereLibrary& sphere() {
    static const SphereLibrary& library = []() -> const SphereLibrary& {
        const auto& loaded = *static_cast<const SphereLibrary*>(
            base::load_part({"geometry on the sphere", "geo.so", kSphereSymbol,
                             "it is in the package mongod-dur-geo"},
                            base::kCommandNotSupported));
        loaded.set_tick([](int64_t cost) { sched::tick(cost); });
        return loaded;
    }();  // asked again after an error
    return library;
}

}  // namespace geo
