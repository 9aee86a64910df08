#include "geo/library.h"

#include "base/error.h"
#include "base/loaded_part.h"

namespace geo {

const SphereLibrary& sphere() {
    static const SphereLibrary& library = *static_cast<const SphereLibrary*>(base::load_part(
        {"geometry on the sphere", "geo.so", kSphereSymbol, "it is in the package mongod-dur-geo"},
        base::kCommandNotSupported));  // asked again after an error
    return library;
}

}  // namespace geo
