#include "base/damage.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Damage, WhatIsDamagedEndsWithWhatToDo) {
    const auto text = [](auto code) -> std::string {
        try {
            fail(code, "file {} is cut", "a.0");
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), 13622);
            return error.what();
        }
    };
    EXPECT_EQ(text(Damaged{13622}), "file a.0 is cut");
    set_damage_advice("; salvage it");
    EXPECT_EQ(text(Damaged{13622}), "file a.0 is cut; salvage it");
    EXPECT_EQ(text(13622), "file a.0 is cut");
    set_damage_advice({});
}

}  // namespace
}  // namespace base
