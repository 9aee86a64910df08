// catalog/geo_keys.h - the keys of indexes of places: 2d, 2dsphere and geoHaystack.
#pragma once

#include <memory>

#include "catalog/index_keys.h"

namespace catalog {

// `spec`: a definition whose key names such a kind. Throws what geo::check_index does.
std::unique_ptr<KeyGenerator> make_geo_keys(bson::Doc spec);

}  // namespace catalog
