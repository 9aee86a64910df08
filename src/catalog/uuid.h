// catalog/uuid.h - the UUID by which clients of today name a collection, whatever it is called.
//
// One that a message of today makes on a member of a set has a random one, `uuid` among its stored
// options: from there it comes into the entry of its creation, into copies by other members,
// through renames, repairs and starts, on every engine. Servers of 2.6 pass over options that they
// do not know. Outside of a set files keep the bytes that old servers gave them, by any message;
// and so does a collection that old messages make. These have none stored: the one shown is derived
// from the full name, alike on all members, and is another once the collection has been renamed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "bson/builder.h"

namespace catalog {

using Uuid = std::array<uint8_t, 16>;

constexpr std::string_view kUuidOption = "uuid";
constexpr uint8_t kUuidSubtype = 4;  // of a binary value

Uuid random_uuid();
// Returns the one among a collection's stored options, or else that of its full name.
Uuid uuid_of(std::string_view ns, bson::Doc options);
void append_uuid(bson::Builder& out, std::string_view field, const Uuid& uuid);
// Whether a stored option is one.
bool is_uuid_option(const bson::Element& option);
// Returns the options that clients have given, or see: without it.
bson::Object without_uuid(bson::Doc options);

}  // namespace catalog
