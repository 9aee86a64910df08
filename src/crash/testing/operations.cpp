// Runs the operations of a history's clients.

#include <fmt/format.h>

#include <algorithm>

#include "bson/testing/json.h"
#include "crash/testing/history.h"

namespace crash {

namespace {

const std::vector<std::string> kDatabases{"a", "b", "long-name"};
constexpr const char* kTwins[] = {"twin0", "twin1", "twin2"};
constexpr int kTwinClosings = 4;  // one in six files or so comes to lie where one was
const std::string kRing = "ring";
const std::vector<std::string> kCollections{"c", "d", "e", kRing};
const std::vector<std::string> kKeys{"a", "t", "list"};
constexpr size_t kValues = 50;
// A journal file is let go by a flush that begins 10 s after its closing.
constexpr int64_t kLongEnoughUs = 11'000'000;
// The size of a document of which few fill a journal file.
constexpr size_t kLargeBytes = 12 << 10;

// Does not compress, so that sections are long enough to be torn.
std::string noise(Random& random, size_t bytes) {
    std::string text;
    while (text.size() < bytes)
        text += fmt::format("{:x}", random.next());
    text.resize(bytes);
    return text;
}

}  // namespace

// A command with the usual write concern, or one that asks for the journal.
bool History::write(const std::string& name, const std::string& db, const std::string& fields) {
    const bool journaled = random_.chance(50);
    return run(name, db,
               fmt::format("{{{}{}}}", fields, journaled ? R"(, "writeConcern": {"j": true})" : ""),
               journaled ? Promise::all : Promise::none);
}

std::string History::documents() {
    std::string list;
    const size_t count = 1 + random_.below(random_.chance(10) ? 60 : 6);
    for (size_t i = 0; i < count; ++i) {
        const size_t bytes = 10 + random_.below(random_.chance(10) ? 3000 : 200);
        const std::string text = noise(random_, bytes);
        list += fmt::format(R"({}{{"_id": {}, "a": {}, "t": "{}", "list": [1, 2, 3]}})",
                            i == 0 ? "" : ", ", next_id_++, random_.below(kValues), text);
    }
    return list;
}

// Writes, and all else that changes files.
void History::operate() {
    const std::string& db = random_.pick(kDatabases);
    const std::string& c = random_.pick(kCollections);
    const size_t kind = random_.below(100);
    const auto filter = [this] { return fmt::format(R"({{"a": {}}})", random_.below(kValues)); };
    if (kind < 34) {
        write("insert", db, fmt::format(R"("insert": "{}", "documents": [{}])", c, documents()));
    } else if (kind < 44) {
        const char* const change = random_.chance(50)
                                       ? R"({"$set": {"a": 7}})"
                                       : R"({"$push": {"list": "longer than it was before"}})";
        write("update", db,
              fmt::format(R"("update": "{}", "updates": [{{"q": {}, "u": {}, "multi": true}}])", c,
                          filter(), change));
    } else if (kind < 50) {
        write("delete", db,
              fmt::format(R"("delete": "{}", "deletes": [{{"q": {}, "limit": 0}}])", c, filter()));
    } else if (kind < 56) {
        const std::string& key = random_.pick(kKeys);
        const char* some =
            random_.chance(30) ? R"(, "partialFilterExpression": {"a": {"$gte": 20}})" : "";
        const char* const unique =
            random_.chance(20) ? R"(, "unique": true, "dropDups": true)" : "";
        write("createIndexes", db,
              fmt::format(R"("createIndexes": "{}", "indexes": [{{"key": {{"{}": 1}}, )"
                          R"("name": "{}", "background": {}{}{}}}])",
                          c, key, key, random_.chance(50), unique, some));
        // The definition is written elsewhere.
        if (random_.chance(30))
            write("collMod", db,
                  fmt::format(R"("collMod": "{}", "index": {{"name": "{}", "hidden": {}}})", c, key,
                              random_.chance(70)));
    } else if (kind < 58) {
        write("dropIndexes", db,
              fmt::format(R"("dropIndexes": "{}", "index": "{}")", c,
                          random_.chance(70) ? "*" : random_.pick(kKeys)));
    } else if (kind < 61) {
        write("createCapped", db,
              fmt::format(R"("create": "{}", "capped": true, "size": {})", kRing,
                          4096 * (1 + random_.below(8))));
    } else if (kind < 63) {
        // Uses up the rest of a data file, so that the next is made.
        write("createLarge", db,
              fmt::format(R"("create": "large{}", "capped": true, "size": {})", random_.below(3),
                          9 << 20));
    } else if (kind < 66) {
        write("drop", db, fmt::format(R"("drop": "{}")", c));
    } else if (kind < 69) {
        const std::string& to = random_.chance(50) ? db : random_.pick(kDatabases);
        const bool drop_target = random_.chance(70);
        write(to == db ? "renameCollection" : "renameAcross", "admin",
              fmt::format(R"("renameCollection": "{}.{}", "to": "{}.{}", "dropTarget": {})", db, c,
                          to, random_.pick(kCollections), drop_target));
    } else if (kind < 70) {
        write("convertToCapped", db, fmt::format(R"("convertToCapped": "{}", "size": 16384)", c));
    } else if (kind < 71) {
        write("cloneCollectionAsCapped", db,
              fmt::format(R"("cloneCollectionAsCapped": "{}", "toCollection": "{}", "size": 16384)",
                          c, random_.chance(50) ? "copy" : random_.pick(kCollections)));
    } else if (kind < 72) {
        write("emptycapped", db,
              fmt::format(R"("emptycapped": "{}")", random_.chance(70) ? kRing : c));
    } else if (kind < 74) {
        run("compact", db, fmt::format(R"({{"compact": "{}"}})", c));
    } else if (kind < 75) {
        run("reIndex", db, fmt::format(R"({{"reIndex": "{}"}})", c));
    } else if (kind < 77) {
        run("repairDatabase", db, R"({"repairDatabase": 1})");
    } else if (kind < 80) {
        // A step of a drop that fails may have been taken for done.
        dropped_ = {};
        if (run("dropDatabase", db, R"({"dropDatabase": 1})", Promise::committed)) {
            std::erase_if(failed_drops_, [&](const auto& drop) {
                return os::base_name(drop.first) == db + ".ns";
            });
        } else if (journal_) {
            images_.push_back(image_of(*disk_));
            if (!dropped_.first.empty()) failed_drops_.insert(dropped_);
        }
    } else if (kind < 81) {
        write(
            "out", db,
            fmt::format(R"("aggregate": "{}", "pipeline": [{{"$out": "e"}}], "cursor": {{}})", c));
    } else if (kind < 85) {
        close_and_open();
    } else if (kind < 87) {
        run("fsync", "admin", R"({"fsync": 1})", Promise::all);
    } else if (kind < 89) {
        if (in_between_ ||
            !run("fsyncLock", "admin", R"({"fsync": 1, "lock": true})", Promise::all))
            return;
        run("count", db, fmt::format(R"({{"count": "{}"}})", c));
        run("fsyncUnlock", "admin", R"({"fsyncUnlock": 1})");
    } else if (kind < 94) {
        if (!in_between_ && flushes_around() && random_.chance(50)) return change_during_flush();
        operation_ = "commit";
        for (int i = 0; i < 3; ++i) {
            server_->step_journal();
            check_alive();
        }
        if (!in_between_) settle_waiting(false);
    } else if (!in_between_) {
        flush();
    }
}

// Inserts until the journal goes on in another file.
void History::fill_journal_file(const std::string& db) {
    constexpr int kInsertsMax = 20;
    const uint64_t before = journal_files_begun_;
    for (int i = 0; i < kInsertsMax && journal_files_begun_ == before; ++i)
        run("insertLarge", db, large_insert(R"({"j": true})"), Promise::all);
}

std::string History::large_insert(const char* concern) {
    const size_t value = random_.below(kValues);
    return fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}, "a": {}, "t": "{}"}}], )"
                       R"("writeConcern": {}}})",
                       next_id_++, value, noise(random_, kLargeBytes), concern);
}

// Data files that are opened again, in another order, and written to. Or a flush comes while some
// are closed, and the journal lets go of what it covers.
void History::close_and_open() {
    if (journal_ && !in_between_ && has_option("journalInsertEntries", "true") &&
        random_.chance(70))
        return insert_where_another_was();
    const std::string& other = random_.pick(kDatabases);
    const bool lets_go = journal_ && !in_between_ && random_.chance(60);
    if (lets_go) fill_journal_file(other);
    // So that the commit of the first file that is closed is one behind which the journal goes on
    // in another file.
    if (lets_go && random_.chance(50))
        for (uint64_t bytes = 0; bytes < setting_.journal_file_bytes; bytes += kLargeBytes)
            run("insertLarge", other, large_insert(R"({"w": 1})"));
    if (random_.chance(50)) {
        for (const std::string& db : kDatabases)
            run("insert", db,
                fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}}}]}})", next_id_++));
    }
    closing_ = lets_go;
    const bool closed = run("closeAllDatabases", "admin", R"({"closeAllDatabases": 1})");
    closing_ = false;
    if (!closed) return;
    if (lets_go) return fill_journal_file(other);
    for (size_t i = 0, inserts = random_.below(5); i < inserts; ++i) {
        const std::string& db = random_.pick(kDatabases);
        const bool is_there = std::ranges::any_of(*images_.back(), [&](const auto& file) {
            return os::base_name(file.first) == db + ".ns";
        });
        const std::string& c = random_.pick(kCollections);
        if (write("insert", db,
                  fmt::format(R"("insert": "{}", "documents": [{}])", c, documents())) &&
            is_there)
            note(Situation::files_opened_again);
    }
}

// Databases that were made alike have their buckets at the same offsets. A journal file knows one
// of them; after the closing the file of another may lie at its address.
void History::insert_where_another_was() {
    const auto insert = [this](const char* db) {
        run("insert", db,
            fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}}}], )"
                        R"("writeConcern": {{"j": true}}}})",
                        next_id_++),
            Promise::all);
    };
    for (const char* const db : kTwins)
        insert(db);
    fill_journal_file(random_.pick(kDatabases));
    insert(kTwins[0]);
    for (int closings = 0; closings < kTwinClosings; ++closings) {
        if (!run("closeAllDatabases", "admin", R"({"closeAllDatabases": 1})")) return;
        for (const char* const db : {kTwins[1], kTwins[2], kTwins[0]})
            insert(db);
    }
}

// With it a journal file is let go by chance only: it has to be left before, long enough, and the
// next one after.
void History::flush() {
    if (flushes_around() && random_.chance(50)) return change_during_flush();
    const bool lets_go = journal_ && random_.chance(50);
    const std::string& db = random_.pick(kDatabases);
    if (lets_go && random_.chance(50)) fill_journal_file(db);
    if (random_.chance(60)) clock_->advance_us(kLongEnoughUs);
    flush_is_long_ = random_.chance(50);
    flush_now();
    if (lets_go) fill_journal_file(db);
}

void History::flush_now() {
    operation_ = "flush";
    flushing_ = true;
    server_->flush();
    flushing_ = false;
    check_alive();
}

bool History::flushes_around() const {
    return journal_ && has_option("dataFileWrites", "flush");
}

// Pages have been copied and are to be stored, when others change them, commit them and have them
// stored. The steps that follow find out which of them the data files have in the end.
void History::change_during_flush() {
    const std::string& db = random_.pick(kDatabases);
    run("insert", db, fmt::format(R"({{"insert": "c", "documents": [{}]}})", documents()));
    operation_ = "commit";
    server_->step_journal();
    check_alive();
    flushing_ = true;
    server_->flush_around([&] {
        note(Situation::changed_while_pages_are_copied);
        in_between_ = true;
        run("insert", db, fmt::format(R"({{"insert": "c", "documents": [{}]}})", documents()));
        if (random_.chance(50)) {
            run("fsync", "admin", R"({"fsync": 1})", Promise::all);
        } else {
            run("closeAllDatabases", "admin", R"({"closeAllDatabases": 1})");
        }
        in_between_ = false;
    });
    flushing_ = false;
    check_alive();
    if (random_.chance(50)) fill_journal_file(db);
}

// Between the flushes of two files others go on. In a long one they get far.
void History::flush_in_between() {
    if (in_between_ || !random_.chance(flush_is_long_ ? 60 : 25)) return;
    in_between_ = true;
    if (flush_is_long_ && journal_ && random_.chance(60)) {
        note(Situation::committed_between_two_files);
        fill_journal_file(random_.pick(kDatabases));
        if (random_.chance(70)) clock_->advance_us(kLongEnoughUs);
    } else {
        operate();
    }
    operation_ = "flush, after " + operation_;
    in_between_ = false;
}

// A flush comes, begins late enough, and ends, while the calling thread is in the middle of what it
// does: it has left a journal file and not applied the section, or has closed a data file.
// REQUIRES: the flush waits for no commit.
void History::flush_beside() {
    const std::string operation = operation_;
    in_between_ = true;
    clock_->advance_us(kLongEnoughUs);
    flush_now();
    in_between_ = false;
    operation_ = operation;
}

}  // namespace crash
