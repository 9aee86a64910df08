#include "command/context/last_error.h"

#include <gtest/gtest.h>

#include "bson/json.h"

namespace command {
namespace {

std::string last(const LastError& state) {
    bson::Builder out;
    state.append_last(out);
    return bson::to_text(out.doc());
}

std::string previous(const LastError& state) {
    bson::Builder out;
    state.append_previous(out);
    return bson::to_text(out.doc());
}

TEST(LastError, TellsOnlyOfTheRequestBefore) {
    LastError state;
    state.next_request();
    state.record_delete(3);
    EXPECT_EQ(last(state), "{ n: 3 }");
    EXPECT_EQ(last(state), "{ n: 3 }");  // asking again changes nothing
    state.next_request();
    EXPECT_EQ(last(state), "{ n: 0 }");
}

TEST(LastError, UpdatesTellWhetherTheyFoundSomething) {
    LastError state;
    state.record_update(true, 2, {});
    EXPECT_EQ(last(state), "{ updatedExisting: true, n: 2 }");
    state.record_update(false, 1, bson::make("", 7));
    EXPECT_EQ(last(state), "{ updatedExisting: false, upserted: 7, n: 1 }");
}

TEST(LastError, InsertsByCommandOnlyChangeTheCount) {
    LastError state;
    state.next_request();
    state.record_insert();
    EXPECT_EQ(last(state), "{ n: 0 }");
    EXPECT_EQ(previous(state), "{ err: null, n: 0, nPrev: -1 }");
    state.record_error(11000, "E11000 x");
    state.record_insert();
    EXPECT_EQ(last(state), R"({ err: "E11000 x", code: 11000, n: 1 })");
}

TEST(LastError, PreviousOutcomeNeedNotBeAnError) {
    LastError state;
    state.next_request();
    state.record_update(false, 1, bson::make("", 7));
    state.next_request();
    state.next_request();
    EXPECT_EQ(last(state), "{ n: 0 }");
    EXPECT_EQ(previous(state),
              "{ err: null, updatedExisting: false, upserted: 7, n: 1, nPrev: 3 }");
}

TEST(LastError, PreviousErrorAgesAndSurvivesSuccess) {
    LastError state;
    EXPECT_EQ(previous(state), "{ err: null, n: 0, nPrev: -1 }");
    state.next_request();
    state.record_error(11000, "E11000 x");
    EXPECT_TRUE(state.failed());
    EXPECT_EQ(last(state), R"({ err: "E11000 x", code: 11000, n: 0 })");
    EXPECT_EQ(previous(state), R"({ err: "E11000 x", code: 11000, n: 0, nPrev: 1 })");
    state.next_request();
    EXPECT_FALSE(state.failed());
    EXPECT_EQ(previous(state), R"({ err: "E11000 x", code: 11000, n: 0, nPrev: 2 })");
    state.reset();
    EXPECT_EQ(previous(state), "{ err: null, n: 0, nPrev: -1 }");
}

}  // namespace
}  // namespace command
