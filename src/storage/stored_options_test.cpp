#include "storage/stored_options.h"

#include <gtest/gtest.h>

#include "bson/json.h"

namespace storage {
namespace {

TEST(StoredOptions, FlagsStandBehindThoseOf26) {
    EXPECT_EQ(bson::to_text(with_flags(bson::Doc(), 1)), "{ flags: 1 }");
    EXPECT_EQ(bson::to_text(with_flags(bson::make("capped", true, "size", 4096), 0)),
              "{ capped: true, size: 4096, flags: 0 }");
    EXPECT_EQ(bson::to_text(with_flags(bson::make("size", 1, "uuid", "u", "validator", 2), 1)),
              "{ size: 1, flags: 1, uuid: \"u\", validator: 2 }");
}

TEST(StoredOptions, FlagsThatAreThereKeepTheirPlace) {
    EXPECT_EQ(bson::to_text(with_flags(bson::make("flags", 1, "uuid", "u"), 0)),
              "{ flags: 0, uuid: \"u\" }");
    EXPECT_EQ(bson::to_text(with_flags(bson::make("uuid", "u", "flags", 1, "z", 1), 0)),
              "{ uuid: \"u\", flags: 0, z: 1 }");
}

}  // namespace
}  // namespace storage
