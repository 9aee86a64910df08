#include "options/help.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "options/catalogue.h"

namespace options {
namespace {

TEST(Catalogue, EveryOptionIsDescribed) {
    for (const Option* option : all()) {
        const Description& d = option->description();
        SCOPED_TRACE(d.name);
        const bool takes_value = option->type() != Type::flag && option->is_on_command_line();
        EXPECT_EQ(!value_name(*option).empty(), takes_value);
        EXPECT_TRUE(*d.help != '\0' || *d.refused != '\0');
        EXPECT_TRUE(*d.refused == '\0' || d.hidden);
        EXPECT_TRUE(option->is_on_command_line() || d.parameter != Parameter::no);
        EXPECT_EQ(fill_in(*option, d.help).find('{'), std::string::npos) << "a misspelt word";
    }
}

TEST(Catalogue, NumbersHaveRangesAndDefaultsLieWithin) {
    for (const Option* option : all()) {
        const Description& d = option->description();
        SCOPED_TRACE(d.name);
        const bool number = option->type() == Type::integer || option->type() == Type::number;
        const bool judged = heading_of(d.group) != nullptr && d.choices.empty();
        EXPECT_TRUE(d.range.has_value() || !number || !judged);
        if (d.range && *d.default_text == '\0') {
            const double value = number ? std::stod(value_text(d.default_value)) : 0;
            EXPECT_GE(value, d.range->low);
            EXPECT_LE(value, d.range->high);
        }
    }
}

TEST(Help, IsGroupedAndFitsTheTerminal) {
    const std::string help = help_text();
    size_t begin = 0;
    while (begin < help.size()) {
        const size_t end = help.find('\n', begin);
        EXPECT_LE(end - begin, 80u) << help.substr(begin, end - begin);
        begin = end + 1;
    }
    for (const char* title : {"General", "Network", "Data files", "Journal", "Log", "Process"}) {
        const size_t found = help.find(fmt::format("\n{}:\n", title));
        ASSERT_NE(found, std::string::npos) << title;
        EXPECT_EQ(help.find(fmt::format("\n{}:\n", title), found + 1), std::string::npos) << title;
    }
    EXPECT_NE(help.find("  --journalCommitInterval MS"), std::string::npos);
    EXPECT_NE(help.find("storage.journal.commitIntervalMs"), std::string::npos);
    EXPECT_NE(help.find("TCP port, 0 to 65535;"), std::string::npos);
    EXPECT_EQ(help.find("--slave"), std::string::npos) << "refused";
    EXPECT_EQ(help.find("--durOptions"), std::string::npos) << "hidden";
    EXPECT_EQ(help.find("enableTestCommands"), std::string::npos) << "only a parameter";
}

}  // namespace
}  // namespace options
