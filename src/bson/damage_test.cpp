// Damaged documents: the validator refuses them, or they can be read to the last byte.
#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "base/testing/damage.h"
#include "base/testing/effort.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/testing/values.h"
#include "bson/validate.h"

namespace bson {
namespace {

TEST(DamagedDocuments, AreRefusedOrCanBeRead) {
    std::mt19937 random(19);
    TestValues values(19);
    int accepted = 0, refused = 0;
    for (int i = base::test_effort(50000); i > 0; --i) {
        Builder builder;
        for (auto fields = values.below(6); fields > 0; --fields)
            values.append(builder, "f");
        const Object original = builder.object();
        // On the heap and of this very size, so that the address sanitizer sees every step outside.
        std::vector<uint8_t> bytes(original.bytes().begin(), original.bytes().end());
        base::damage(bytes, random);
        if (random() % 8 == 0) bytes.resize(random() % bytes.size());
        bytes.shrink_to_fit();
        if (!validate(bytes.data(), bytes.size()).empty()) {
            ++refused;
            continue;
        }
        ++accepted;
        const Doc doc(bytes.data());
        ASSERT_LE(static_cast<size_t>(doc.size()), bytes.size());
        try {
            to_json(doc);
        } catch (const base::Error& e) {
            // Text that is no UTF-8 has no JSON form.
            EXPECT_NE(std::string(e.what()).find("no JSON form"), std::string::npos) << e.what();
        }
        EXPECT_EQ(compare_docs(doc, doc), 0) << "seed step " << i;
    }
    EXPECT_GT(accepted, refused / 20);
    EXPECT_GT(refused, accepted / 20);
}

}  // namespace
}  // namespace bson
