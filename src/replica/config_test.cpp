#include "replica/config.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"

namespace replica {
namespace {

Config parse(const std::string& json) {
    return Config::parse(bson::from_json(json), {.set_name = "rs0", .term = 4});
}

int failure(const std::string& json) {
    try {
        parse(json);
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

std::string of_member(const std::string& fields) {
    return R"({"_id": "rs0", "members": [{"_id": 0, "host": "h:1")" + fields + "}]}";
}

std::string with_settings(const std::string& settings) {
    return R"({"_id": "rs0", "members": [{"_id": 0, "host": "h:1"}], "settings": )" + settings +
           "}";
}

TEST(ReplicaConfig, HasAllFieldsWhereItIsStored) {
    const Config config = parse(R"({"_id": "rs0", "members": [{"_id": 3, "host": "here"}]})");
    EXPECT_EQ(config.version, 1);
    EXPECT_EQ(config.own().id, 3);
    EXPECT_EQ(config.own().host, "here:27017");
    EXPECT_TRUE(config.majority_waits_for_journal);
    const std::string stored = bson::to_text(config.document.doc());
    EXPECT_EQ(stored.substr(0, stored.find(", replicaSetId")),
              "{ _id: \"rs0\", version: 1, term: 4, protocolVersion: 1, "
              "writeConcernMajorityJournalDefault: true, members: [ { _id: 3, host: "
              "\"here:27017\", arbiterOnly: false, buildIndexes: true, hidden: false, priority: "
              "1.0, tags: {}, slaveDelay: 0, votes: 1 } ], settings: { chainingAllowed: true, "
              "heartbeatIntervalMillis: 2000, heartbeatTimeoutSecs: 10, electionTimeoutMillis: "
              "10000, catchUpTimeoutMillis: -1, catchUpTakeoverDelayMillis: 30000, "
              "getLastErrorModes: {}, getLastErrorDefaults: { w: 1, wtimeout: 0 }");
    // A stored configuration that is read again is the same.
    const Config again = Config::parse(config.document, {.set_name = "rs0", .term = 4});
    EXPECT_EQ(bson::to_text(again.document.doc()), stored);
    const Config next = config.with_version(9);
    EXPECT_EQ(next.version, 9);
    EXPECT_EQ(parse(bson::to_json(next.document)).version, 9);
}

TEST(ReplicaConfig, IsHandedToAnother) {
    const Config config = parse(
        R"({"_id": "rs0", "version": 5, "members": [
            {"_id": 3, "host": "a:1", "priority": 7, "tags": {"dc": "x"}},
            {"_id": 4, "host": "b:1", "priority": 0},
            {"_id": 5, "host": "c:1", "priority": 0, "votes": 0}]})");
    const Config voter = parse(bson::to_json(config.handed_to(1)));
    EXPECT_EQ(voter.version, 6);
    EXPECT_EQ(voter.primary().host, "b:1");
    EXPECT_EQ(voter.primary().priority, 7);
    EXPECT_TRUE(voter.primary().tags.empty());
    EXPECT_EQ(voter.votes(), 2);
    EXPECT_TRUE(voter.members[0].has_vote);
    EXPECT_FALSE(voter.members[0].tags.empty());
    const Config other = parse(bson::to_json(config.handed_to(2)));
    EXPECT_EQ(other.primary().host, "c:1");
    EXPECT_EQ(other.votes(), 2);
    EXPECT_FALSE(other.members[0].has_vote);
    // The primary is changed back again.
    EXPECT_EQ(bson::to_text(other.handed_to(0).doc()),
              bson::to_text(config.with_version(7).document.doc()));
}

TEST(ReplicaConfig, KeepsWhatIsSaid) {
    const Config config = parse(
        R"({"_id": "rs0", "version": 5, "protocolVersion": 1,
            "writeConcernMajorityJournalDefault": false,
            "members": [{"_id": 0, "host": "[::1]:5", "priority": 2.5, "votes": 1,
                         "tags": {"dc": "east"}, "arbiterOnly": false, "secondaryDelaySecs": 0}],
            "settings": {"heartbeatIntervalMillis": 500, "getLastErrorModes": {"m": {"dc": 1}},
                         "getLastErrorDefaults": {"w": 1, "wtimeout": 0, "j": false}}})");
    EXPECT_EQ(config.version, 5);
    EXPECT_EQ(config.own().host, "[::1]:5");
    EXPECT_FALSE(config.majority_waits_for_journal);
    EXPECT_EQ(bson::to_text(config.own().tags.doc()), "{ dc: \"east\" }");
    EXPECT_EQ(bson::to_text(config.modes.doc()), "{ m: { dc: 1 } }");
    EXPECT_EQ(config.document.doc().at_path("settings.heartbeatIntervalMillis").to_int64(), 500);
}

TEST(ReplicaConfig, RefusesWhatItCannotServe) {
    for (const std::string& bad : {
             std::string(R"({})"),
             std::string(R"({"_id": "rs0"})"),
             std::string(R"({"_id": "rs0", "protocolVersion": 0,
                             "members": [{"_id": 0, "host": "h"}]})"),
             std::string(R"({"_id": "rs1", "members": [{"_id": 0, "host": "h"}]})"),
             std::string(R"({"_id": "rs0", "members": []})"),
             std::string(R"({"_id": "rs0", "members": {"_id": 0, "host": "h"}})"),
             std::string(R"({"_id": "rs0", "members": [{"_id": 0, "host": "a"},
                             {"_id": 1, "host": "b"}]})"),
             std::string(R"({"_id": "rs0", "members": [{"_id": 0}]})"),
             std::string(R"({"_id": "rs0", "members": [{"host": "h"}]})"),
             std::string(R"({"_id": "rs0", "members": [{"_id": 0, "host": "h:x"}]})"),
             std::string(R"({"_id": "rs0", "members": [{"_id": 0, "host": "h:0"}]})"),
             std::string(
                 R"({"_id": "rs0", "members": [{"_id": 0, "host": "h:99999999999999999999"}]})"),
             std::string(R"({"_id": "rs0", "members": [{"_id": 0, "host": ":5"}]})"),
             std::string(R"({"_id": "rs0", "members": [{"_id": 256, "host": "h"}]})"),
             std::string(R"({"_id": "rs0", "version": 0, "members": [{"_id": 0, "host": "h"}]})"),
             std::string(R"({"_id": "rs0", "x": 0, "members": [{"_id": 0, "host": "h"}]})"),
             std::string(R"({"_id": "rs0", "configsvr": true,
                             "members": [{"_id": 0, "host": "h"}]})"),
             of_member(R"(, "arbiterOnly": true)"),
             of_member(R"(, "buildIndexes": false)"),
             of_member(R"(, "hidden": true)"),
             of_member(R"(, "priority": 0)"),
             of_member(R"(, "priority": 1001)"),
             of_member(R"(, "votes": 0)"),
             of_member(R"(, "slaveDelay": 60)"),
             of_member(R"(, "secondaryDelaySecs": 1)"),
             of_member(R"(, "horizons": {})"),
             of_member(R"(, "tags": {"dc": 5})"),
             with_settings(R"({"other": 1})"),
             with_settings(R"(5)"),
             with_settings(R"({"heartbeatIntervalMillis": 0})"),
             with_settings(R"({"getLastErrorModes": {"majority": {"dc": 1}}})"),
             with_settings(R"({"getLastErrorModes": {"m": {"dc": 0}}})"),
             with_settings(R"({"getLastErrorDefaults": {"w": 0}})"),
             with_settings(R"({"getLastErrorDefaults": {"w": "east"}})"),
             with_settings(R"({"getLastErrorDefaults": {"w": 2, "x": 1}})"),
             with_settings(R"({"getLastErrorDefaults": {"wtimeout": -1}})"),
             with_settings(R"({"getLastErrorDefaults": {"j": 1, "fsync": 1}})"),
             with_settings(R"({"replicaSetId": 5})"),
         })
        EXPECT_EQ(failure(bad), base::kInvalidReplicaSetConfig) << bad;
    EXPECT_EQ(failure(of_member("")), 0);
}

TEST(ReplicaConfig, HasAWriteConcernForWritesThatNameNone) {
    const auto concern = [](const std::string& defaults) {
        return bson::to_text(
            parse(R"({"_id": "rs0", "members": [{"_id": 0, "host": "h"}], "settings": {)"
                  R"("getLastErrorModes": {"m": {"dc": 1}}, "getLastErrorDefaults": )" +
                  defaults + "}}")
                .default_concern.doc());
    };
    EXPECT_EQ(concern(R"({"w": 1, "wtimeout": 100, "j": false})"), "{}");
    EXPECT_EQ(concern(R"({"w": 2, "wtimeout": 100})"), "{ w: 2, wtimeout: 100 }");
    EXPECT_EQ(concern(R"({"w": "m", "j": true})"), "{ w: \"m\", j: true }");
    EXPECT_EQ(concern(R"({"w": "majority"})"), "{ w: \"majority\" }");
    EXPECT_EQ(concern(R"({"fsync": true})"), "{ fsync: true }");
}

TEST(ReplicaConfig, HasOneMemberThatTakesTheWrites) {
    const auto of_members = [](const std::string& members) {
        return R"({"_id": "rs0", "members": [)" + members + "]}";
    };
    const Config config = parse(of_members(
        R"({"_id": 0, "host": "a", "priority": 0, "votes": 0, "hidden": true, "tags": {"dc": "x"}},
           {"_id": 4, "host": "b:5"}, {"_id": 2, "host": "c", "priority": 0})"));
    ASSERT_EQ(config.members.size(), 3U);
    EXPECT_EQ(config.primary().host, "b:5");
    EXPECT_EQ(config.primary().id, 4);
    EXPECT_TRUE(config.members[0].is_hidden);
    EXPECT_EQ(config.votes(), 2);
    EXPECT_EQ(config.majority(), 2);
    EXPECT_EQ(config.heartbeat_interval_ms, 2000);
    const std::string stored = bson::to_text(config.document.doc());
    EXPECT_EQ(bson::to_text(parse(bson::to_json(config.document)).document.doc()), stored);
    EXPECT_NE(stored.find("{ _id: 0, host: \"a:27017\", arbiterOnly: false, buildIndexes: true, "
                          "hidden: true, priority: 0.0, tags: { dc: \"x\" }, slaveDelay: 0, "
                          "votes: 0 }"),
              std::string::npos)
        << stored;

    std::string eight_votes = R"({"_id": 0, "host": "h0"})";
    std::string many = eight_votes;
    for (int i = 1; i < 51; ++i) {
        const std::string next =
            fmt::format(R"(, {{"_id": {}, "host": "h{}", "priority": 0, "votes": )", i, i);
        if (i < 8) eight_votes += next + "1}";
        many += next + "0}";
    }
    for (const std::string& bad : {
             std::string(R"({"_id": 0, "host": "a"}, {"_id": 1, "host": "b"})"),
             std::string(R"({"_id": 0, "host": "a", "priority": 0})"),
             std::string(R"({"_id": 0, "host": "a"}, {"_id": 0, "host": "b", "priority": 0})"),
             std::string(R"({"_id": 0, "host": "a"},
                            {"_id": 1, "host": "a:27017", "priority": 0})"),
             std::string(R"({"_id": 0, "host": "a"},
                            {"_id": 1, "host": "b", "priority": 0, "arbiterOnly": true})"),
             std::string(R"({"_id": 0, "host": "a"},
                            {"_id": 1, "host": "b", "priority": 0, "slaveDelay": 5})"),
             std::string(R"({"_id": 0, "host": "a"}, {"_id": 1, "host": "b", "priority": -1})"),
             eight_votes,
             many,
         })
        EXPECT_EQ(failure(of_members(bad)), base::kInvalidReplicaSetConfig) << bad;
}

TEST(ReplicaConfig, WithElectionsAnyMayBeThePrimary) {
    const auto elected = [](const std::string& members, const char* settings = "{}") {
        return Config::parse(bson::from_json(R"({"_id": "rs0", "members": [)" + members +
                                             R"(], "settings": )" + settings + "}"),
                             {.set_name = "rs0", .elects = true});
    };
    const auto code = [&](const std::string& members, const char* settings = "{}") {
        try {
            elected(members, settings);
        } catch (const base::Error& e) {
            return e.code();
        }
        return 0;
    };
    const std::string two = R"({"_id": 0, "host": "a"}, {"_id": 1, "host": "b", "priority": 2})";
    const Config config = elected(two, R"({"electionTimeoutMillis": 500})");
    EXPECT_FALSE(config.has_primary());
    EXPECT_FALSE(config.is_of_primary());
    EXPECT_EQ(config.election_timeout_ms, 500);
    EXPECT_EQ(elected(two).election_timeout_ms, 10000);
    EXPECT_EQ(code(two, R"({"electionTimeoutMillis": 499})"), base::kInvalidReplicaSetConfig);
    EXPECT_EQ(code(R"({"_id": 0, "host": "a", "priority": 0})"), base::kInvalidReplicaSetConfig);
    EXPECT_EQ(code(R"({"_id": 0, "host": "a"}, {"_id": 1, "host": "b", "arbiterOnly": true})"),
              base::kInvalidReplicaSetConfig);
}

TEST(ReplicaConfig, OfOneMember) {
    const bson::Object alone = Config::of_one_member("rs0", "h:5");
    const Config config = Config::parse(alone, {.set_name = "rs0"});
    EXPECT_EQ(config.own().host, "h:5");
    EXPECT_EQ(config.own().id, 0);
}

}  // namespace
}  // namespace replica
