#include "command/observe/counters.h"

#include <gtest/gtest.h>

namespace command {
namespace {

// Clients may ask for collections that are not there, and there is no end of names.
TEST(Top, NamesWithoutEndCostNoMemoryWithoutEnd) {
    Top top;
    Top::Recent recent;
    for (size_t i = 0; i < Top::kEntriesMax + 1000; ++i)
        recent.find(top, "db.c" + std::to_string(i)).record(Top::Kind::queries, false, 1);
    bson::Builder out;
    top.append_to(out);
    EXPECT_EQ(static_cast<size_t>(out.doc().field_count()), Top::kEntriesMax + 1);
    // A name that is forgotten makes room.
    top.forget("db.c0");
    recent.find(top, "db.new").record(Top::Kind::queries, false, 1);
    bson::Builder again;
    top.append_to(again);
    EXPECT_TRUE(again.doc().has("db.new"));
}

TEST(Top, NamesTooLongForACollectionAreNotKept) {
    Top top;
    Top::Recent recent;
    recent.find(top, std::string(1'000'000, 'n')).record(Top::Kind::queries, false, 1);
    bson::Builder out;
    top.append_to(out);
    EXPECT_EQ(out.doc().field_count(), 1);  // the note
}

}  // namespace
}  // namespace command
