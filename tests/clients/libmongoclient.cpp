// The legacy C++ driver (libmongoclient 1.1.3 of Debian 12): reads by OP_QUERY and OP_GET_MORE,
// writes by commands in OP_QUERY, and by the old opcodes when unacknowledged.
#include <cstdlib>
#include <iostream>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "mongo/client/dbclient.h"

// The driver hands out its cursors in std::auto_ptr.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using mongo::BSONObj;
using mongo::BSONObjBuilder;

namespace {

const std::string kDb = "libmongoclient";

int passed = 0;
int failed = 0;

void check(bool holds, const std::string& what) {
    std::cout << (holds ? "ok: " : "FAIL: ") << what << std::endl;
    ++(holds ? passed : failed);
}

// The code of the exception that an action throws; 0 when it throws none.
template <typename Action>
int code_of(Action action) {
    try {
        action();
    } catch (const mongo::OperationException& e) {
        return e.obj().hasField("code") ? e.obj()["code"].numberInt() : e.getCode();
    } catch (const mongo::DBException& e) {
        return e.getCode();
    }
    return 0;
}

void crud(mongo::DBClientConnection& c) {
    const std::string ns = kDb + ".crud";
    c.insert(ns, BSON("_id" << 1 << "a" << 1));
    std::vector<BSONObj> more;
    for (int n = 2; n <= 10; ++n)
        more.push_back(BSON("_id" << n << "a" << n % 3));
    c.insert(ns, more);
    check(c.count(ns) == 10, "ten documents are inserted");
    check(code_of([&] { c.insert(ns, BSON("_id" << 1)); }) == 11000, "a duplicate key throws");
    c.update(ns, BSON("_id" << 1),
             BSON("$set" << BSON("b"
                                 << "x")));
    check(c.findOne(ns, BSON("_id" << 1))["b"].str() == "x", "update sets a field");
    c.update(ns, BSON("a" << 2), BSON("$inc" << BSON("a" << 10)), false, true);
    check(c.count(ns, BSON("a" << 12)) == 3, "a multi-update changes all");
    c.update(ns, BSON("_id" << 77), BSON("n" << 1), true);
    check(c.findOne(ns, BSON("_id" << 77))["n"].numberInt() == 1, "an upsert inserts");
    const BSONObj changed =
        c.findAndModify(ns, BSON("_id" << 77), BSON("$inc" << BSON("n" << 4)), false, true);
    check(changed["n"].numberInt() == 5, "findAndModify returns the new document");
    check(c.findAndRemove(ns, BSON("_id" << 77))["n"].numberInt() == 5, "findAndRemove");
    c.remove(ns, BSON("a" << 0), true);
    check(c.count(ns) == 9, "remove of one");
    c.remove(ns, BSONObj());
    check(c.findOne(ns, BSONObj()).isEmpty(), "remove of all");
    check(code_of([&] { c.update(ns, BSONObj(), BSON("$nosuch" << BSON("a" << 1))); }) == 9,
          "an unknown modifier throws 9");
}

void cursors(mongo::DBClientConnection& c) {
    const std::string ns = kDb + ".cursors";
    for (int batch = 0; batch < 10; ++batch) {
        std::vector<BSONObj> documents;
        for (int n = 0; n < 100; ++n)
            documents.push_back(BSON("_id" << batch * 100 + n << "m" << n % 7));
        c.insert(ns, documents);
    }
    std::auto_ptr<mongo::DBClientCursor> cursor = c.query(
        ns, mongo::Query(BSON("_id" << mongo::GTE << 100)).sort("_id", -1), 0, 10, NULL, 0, 50);
    int expected = 989;
    while (cursor->more() && cursor->next()["_id"].numberInt() == expected)
        --expected;
    check(expected == 99, "a sorted cursor with skip goes over many batches");
    const BSONObj fields = BSON("m" << 1 << "_id" << 0);
    cursor = c.query(ns, mongo::Query(BSON("_id" << 8)), 0, 0, &fields);
    check(cursor->next().toString() == "{ m: 1 }", "a projection");
    cursor = c.query(ns, mongo::Query(), 5);
    check(cursor->itcount() == 5, "a limit");
    int seen = 0;  // by an exhaust query: the server sends all batches unasked
    c.query([&seen](const BSONObj& document) { seen += document["_id"].numberInt() == seen; }, ns,
            mongo::Query().sort("_id"));
    check(seen == 1000, "a query by callback sees all documents in order");
    const BSONObj plan = c.findOne(ns, mongo::Query(BSON("_id" << mongo::LT << 1)).explain());
    check(plan["n"].numberInt() == 1 && plan["cursor"].str().find("_id_") != std::string::npos,
          "the old explain names the index");
    check(code_of([&] {
              c.query(ns, mongo::Query(BSON("a" << BSON("$nosuch" << 1))))->nextSafe();
          }) != 0,
          "an unknown operator throws");

    c.createCollection(kDb + ".tail", 100000, true);
    c.insert(kDb + ".tail", BSON("_id" << 1));
    cursor = c.query(kDb + ".tail", mongo::Query(), 0, 0, NULL,
                     mongo::QueryOption_CursorTailable | mongo::QueryOption_AwaitData);
    check(cursor->more() && cursor->next()["_id"].numberInt() == 1, "a tailable cursor starts");
    c.insert(kDb + ".tail", BSON("_id" << 2));
    check(cursor->more() && cursor->next()["_id"].numberInt() == 2, "and goes on");

    cursor = c.aggregate(ns, BSON_ARRAY(BSON("$group" << BSON("_id"
                                                              << "$m"
                                                              << "n" << BSON("$sum" << 1)))
                                        << BSON("$sort" << BSON("_id" << 1))));
    check(cursor->itcount() == 7, "aggregate with a cursor");
    check(c.distinct(ns, "m").nFields() == 7, "distinct");
}

void indexes(mongo::DBClientConnection& c) {
    const std::string ns = kDb + ".indexes";
    c.createIndex(ns, mongo::IndexSpec().addKey("a").unique());
    c.createIndex(ns, mongo::IndexSpec().addKey("b", mongo::IndexSpec::kIndexTypeHashed));
    c.createIndex(ns, mongo::IndexSpec().addKey("t").expireAfterSeconds(3600).background());
    check(c.getIndexSpecs(ns).size() == 4, "indexes are listed");
    c.insert(ns, BSON("a" << 1));
    check(code_of([&] { c.insert(ns, BSON("a" << 1)); }) == 11000, "a unique index refuses");
    c.dropIndex(ns, BSON("a" << 1));
    check(c.getIndexSpecs(ns).size() == 3, "one is dropped");
    c.reIndex(ns);
    c.dropIndexes(ns);
    check(c.getIndexSpecs(ns).size() == 1, "all but that on _id are dropped");
}

void administration(mongo::DBClientConnection& c) {
    const std::list<std::string> names = c.getCollectionNames(kDb);
    check(std::set<std::string>(names.begin(), names.end()).count(kDb + ".crud") +
                  std::set<std::string>(names.begin(), names.end()).count("crud") ==
              1,
          "collections are listed");
    const std::list<std::string> databases = c.getDatabaseNames();
    check(std::set<std::string>(databases.begin(), databases.end()).count(kDb) == 1,
          "databases are listed");
    BSONObj info;
    check(c.runCommand("admin", BSON("buildInfo" << 1), info) && info.hasField("version"),
          "buildInfo");
    check(!c.runCommand("admin", BSON("nosuch" << 1), info), "an unknown command fails");
    check(c.exists(kDb + ".crud") && !c.exists(kDb + ".nosuch"), "exists");
    check(c.simpleCommand(kDb, &info, "dbStats"), "dbStats");
    check(c.dropCollection(kDb + ".crud"), "dropCollection");
}

void write_concerns(mongo::DBClientConnection& c) {
    const std::string ns = kDb + ".concerns";
    c.insert(ns, BSON("_id" << 1), 0, &mongo::WriteConcern::journaled);
    c.insert(ns, BSON("_id" << 2), 0, &mongo::WriteConcern::majority);
    c.insert(ns, BSON("_id" << 3), 0, &mongo::WriteConcern::unacknowledged);
    c.insert(ns, BSON("_id" << 3), 0, &mongo::WriteConcern::unacknowledged);
    check(c.getLastErrorDetailed()["code"].numberInt() == 11000,
          "getLastError tells of an unacknowledged write");
    c.update(ns, BSON("_id" << 3), BSON("$set" << BSON("a" << 1)), 0,
             &mongo::WriteConcern::unacknowledged);
    check(c.getLastErrorDetailed()["n"].numberInt() == 1, "and counts what it changed");
    c.remove(ns, BSON("_id" << 3), 0, &mongo::WriteConcern::unacknowledged);
    check(c.getLastError(false, true).empty(), "getLastError waits for the journal");
    check(c.count(ns) == 2, "unacknowledged writes arrive in order");
    check(code_of([&] {
              mongo::WriteConcern three;
              three.nodes(3);
              c.insert(ns, BSON("_id" << 9), 0, &three);
          }) != 0,
          "w: 3 is refused by a server that is not replicated");

    mongo::BulkOperationBuilder bulk = c.initializeOrderedBulkOp(ns);
    bulk.insert(BSON("_id" << 10));
    bulk.find(BSON("_id" << 10)).updateOne(BSON("$set" << BSON("a" << 1)));
    bulk.find(BSON("_id" << 11)).upsert().replaceOne(BSON("b" << 1));
    bulk.find(BSON("_id" << 10)).removeOne();
    mongo::WriteResult result;
    bulk.execute(&mongo::WriteConcern::acknowledged, &result);
    check(result.nInserted() == 1 && result.nModified() == 1 && result.nUpserted() == 1 &&
              result.nRemoved() == 1,
          "a bulk counts what it did");
}

}  // namespace

int main() {
    const char* port = std::getenv("MONGOD_PORT");
    if (port == NULL) {
        std::cerr << "client_libmongoclient: set MONGOD_PORT to the port of a server" << std::endl;
        return 2;
    }
    const mongo::client::GlobalInstance instance;
    if (!instance.initialized()) {
        std::cerr << "client_libmongoclient: " << instance.status() << std::endl;
        return 1;
    }
    try {
        mongo::DBClientConnection c;
        c.connect(std::string("127.0.0.1:") + port);
        crud(c);
        cursors(c);
        indexes(c);
        administration(c);
        write_concerns(c);
    } catch (const mongo::DBException& e) {
        check(false, e.toString());
    }
    std::cout << passed << " passed, " << failed << " failed" << std::endl;
    return failed != 0;
}
