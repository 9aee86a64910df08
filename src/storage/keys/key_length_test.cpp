#include "storage/keys/key_length.h"

#include <gtest/gtest.h>

#include "bson/testing/values.h"
#include "storage/mmapv1/btree/key_v1.h"

namespace keys {
namespace {

TEST(KeyLength, IsThatOfTheIndexesOfMmapv1) {
    static_assert(kKeyLengthMax == mmapv1::kKeyBytesMax);
    constexpr int kKeys = 20'000;
    bson::TestValues values(77);
    int compact = 0, too_long = 0;
    for (int i = 0; i < kKeys; ++i) {
        bson::Builder builder;
        for (uint64_t fields = values.below(8); fields > 0; --fields)
            values.append(builder, "");
        if (values.below(8) == 0) builder.append("", std::string(values.below(1200), 'x'));
        const bson::Object key = builder.object();
        const mmapv1::SearchKey stored(key);
        ASSERT_EQ(key_length(key) > kKeyLengthMax, stored.too_long()) << i;
        if (!stored.too_long()) {
            ASSERT_EQ(key_length(key), stored.size()) << i;
        }
        compact += stored.compact() != nullptr;
        too_long += stored.too_long();
    }
    EXPECT_GT(compact, kKeys / 100);
    EXPECT_LT(compact, kKeys);
    EXPECT_GT(too_long, 0);
}

}  // namespace
}  // namespace keys
