// geo/library.h - geo.so, loaded when the first shape on the sphere is needed.
//
// The room geo/ is what the server knows of places: shape.h reads them from documents, flat.h and
// grid.h are the plane with its indexes, sphere.h the sphere, predicate.h and near.h what filters
// ask, index_kind.h what indexes keep.
#pragma once

#include "geo/sphere.h"

namespace geo {

// Throws base::Error 115 where geo.so is not installed, or of another version.
const SphereLibrary& sphere();

}  // namespace geo
