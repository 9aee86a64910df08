#include "journal/options/$file.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace journal {
namespace {

TEST($type, IsOffUnlessAsked) {
    EXPECT_FALSE($file.get());
    $file.set_text("true");
    EXPECT_TRUE($file.get());
    $file.set_text("false");
}

TEST($type, BadValuesAreNamed) {
    EXPECT_THROW($file.set_text("perhaps"), base::Error);
}

}  // namespace
}  // namespace journal
