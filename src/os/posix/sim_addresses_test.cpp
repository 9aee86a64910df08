// Tests where the simulated file system maps files. On Windows the library chooses the addresses,
// so that no seed gives the same ones again.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "os/mapping.h"
#include "os/testing/sim_file_system.h"

namespace os {
namespace {

constexpr size_t kPage = 4096;

TEST(SimAddresses, AMappingMayLieWhereAnotherFileWas) {
    // Maps 32 files one after the other, while one stays mapped: returns which lie where one was
    // before.
    const auto places = [](unsigned seed) {
        SimFileSystem files(seed);
        const auto map = [&](const std::string& path, uint64_t bytes) {
            const auto file = files.open(path, {.access = Access::read_write, .create = true});
            file->write_at(0, std::vector<uint8_t>(bytes, 'x'));
            return files.map(*file, MapKind::private_copy, bytes);
        };
        const auto stays = map("/stays", kPage);
        std::set<const uint8_t*> used;
        std::string text;
        for (int i = 0; i < 32; ++i) {
            const auto first = map("/a", 2 * kPage);
            const auto second = map("/b", kPage);
            EXPECT_TRUE(second->data() >= first->data() + 2 * kPage ||
                        first->data() >= second->data() + kPage);
            EXPECT_EQ(std::count(first->data(), first->data() + 2 * kPage, 'x'), 2 * kPage);
            for (const auto* mapping : {&first, &second})
                text += used.insert((*mapping)->data()).second ? 'n' : 'r';
        }
        EXPECT_EQ(*stays->data(), 'x');
        return text;
    };
    const std::string of_one = places(1);
    EXPECT_EQ(of_one, places(1));
    std::set<std::string> of_several;
    for (unsigned seed = 1; seed <= 8; ++seed)
        of_several.insert(places(seed));
    EXPECT_GT(of_several.size(), 1u);
    EXPECT_GT(std::ranges::count(of_one, 'r'), 16);
}

}  // namespace
}  // namespace os
