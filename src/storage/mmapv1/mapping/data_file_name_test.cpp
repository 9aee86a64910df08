#include "storage/mmapv1/mapping/data_file_name.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "journal/format.h"

namespace mmapv1 {
namespace {

TEST(DataFileName, IsTakenApart) {
    const auto plain = parse_data_file_name("test.15999");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->db, "test");
    EXPECT_EQ(plain->number, 15999u);
    EXPECT_FALSE(plain->in_own_directory);
    const auto inner = parse_data_file_name("a-b/a-b.ns");
    ASSERT_TRUE(inner);
    EXPECT_EQ(inner->db, "a-b");
    EXPECT_EQ(inner->number, journal::kNsFile);
    EXPECT_TRUE(inner->in_own_directory);
    EXPECT_TRUE(parse_data_file_name(std::string(63, 'x') + ".0"));
    EXPECT_TRUE(parse_data_file_name("journal.ns"));
    EXPECT_TRUE(parse_data_file_name("_tmp.ns"));
}

TEST(DataFileName, LeadsNowhereElse) {
    const std::string nul("te\0st.0", 7);
    const std::string nul_at_end("test.0\0", 7);
    const std::string overlong = std::string(64, 'x') + ".0";
    for (const std::string& bad : {std::string(),
                                   std::string("."),
                                   std::string(".."),
                                   std::string(".ns"),
                                   std::string("test"),
                                   std::string("test."),
                                   std::string("../test.0"),
                                   std::string("../../x.ns"),
                                   std::string("/etc/x.0"),
                                   std::string("/x.0"),
                                   std::string("./test.0"),
                                   std::string("test/../test.0"),
                                   std::string("other/test.0"),
                                   std::string("test/test/test.0"),
                                   std::string("test//test.0"),
                                   std::string("test/test"),
                                   std::string("../...0"),
                                   std::string("..//...0"),
                                   std::string("a\\b.0"),
                                   std::string("a b.0"),
                                   std::string("a.b.0"),
                                   std::string("a\".0"),
                                   nul,
                                   nul_at_end,
                                   overlong,
                                   std::string("test.00"),
                                   std::string("test.01"),
                                   std::string("test.16000"),
                                   std::string("test.4294967296"),
                                   std::string("test.-1"),
                                   std::string("test.+1"),
                                   std::string("test. 1"),
                                   std::string("test.1 "),
                                   std::string("test.NS"),
                                   std::string("test.ns.bak"),
                                   std::string("mongod.lock"),
                                   std::string("storage.bson"),
                                   std::string("journal/journal.0"),
                                   std::string("_tmp/_tmp.ns"),
                                   std::string("Journal/Journal.ns"),
                                   std::string("journal/j._0"),
                                   std::string("journal/lsn")}) {
        EXPECT_FALSE(parse_data_file_name(bad)) << bad;
        EXPECT_THROW(data_file_name(bad), base::Error) << bad;
    }
}

TEST(DataFileName, ErrorsQuoteTheBeginning) {
    try {
        data_file_name(std::string(100000, 'x'));
        FAIL();
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), base::kInvalidNamespace);
        EXPECT_LT(std::string(error.what()).size(), 200u);
    }
}

TEST(DatabaseName, OfAFolderIsNoneOfTheServersOwn) {
    for (const char* own : {"journal", "JOURNAL", "_tmp", "_TMP", "lost+found"}) {
        EXPECT_TRUE(valid_database_name(own, false)) << own;
        EXPECT_FALSE(valid_database_name(own, true)) << own;
    }
    EXPECT_TRUE(valid_database_name("journal2", true));
    EXPECT_FALSE(valid_database_name("..", true));
    EXPECT_FALSE(valid_database_name("", false));
}

}  // namespace
}  // namespace mmapv1
