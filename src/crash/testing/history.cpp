#include "crash/testing/history.h"

#include <fmt/format.h>

#include <stdexcept>

#include "bson/testing/json.h"
#include "journal/format.h"

namespace crash {

namespace {

using Call = os::SimFileSystem::Call;

const std::vector<std::string> kDatabases{"a", "b", "long-name"};
const std::vector<std::string> kCollections{"c", "d", "e", "ring"};
const std::vector<std::string> kKeys{"a", "t", "list"};
constexpr size_t kValues = 50;
// A journal file is let go by a flush that begins 10 s after its closing.
constexpr int64_t kLongEnoughUs = 11'000'000;
// What a growing file costs more.
constexpr int64_t kGrowthUs = 3000;

// Does not compress, so that sections are long enough to be torn.
std::string noise(Random& random, size_t bytes) {
    std::string text;
    while (text.size() < bytes)
        text += fmt::format("{:x}", random.next());
    text.resize(bytes);
    return text;
}

}  // namespace

History::History(uint64_t seed, uint64_t number, Setting setting, const Wanted& wanted, Sink sink)
    : seed_(seed),
      number_(number),
      setting_(std::move(setting)),
      wanted_(wanted),
      sink_(std::move(sink)),
      random_(mixed(seed, 2)) {}

History::~History() {
    end_session();
}

void History::end_session() {
    if (disk_) disk_->set_observer(nullptr);
    server_.reset();
}

// What the disk has now is what the server has to start from.
void History::start(std::unique_ptr<os::SimFileSystem> disk) {
    end_session();
    disk_ = std::move(disk);
    disk_->set_observer([this](const os::SimFileSystem::Event& event) { note(event); });
    clock_ = std::make_unique<os::StepClock>();
    starting_ = true;
    server_ = std::make_unique<LiveServer>(*disk_, *clock_, setting_);
    starting_ = false;
    const ImagePtr found = image_of(*disk_);
    bool accepted = images_.empty();
    for (size_t i = acknowledged_; i < images_.size(); ++i)
        accepted = accepted || *images_[i] == *found;
    if (!accepted)
        throw std::runtime_error("the start shows none of the commits that may be there:" +
                                 difference(*found, *images_.back()));
    images_.push_back(found);
    acknowledge();
    server_->prepare();
}

void History::note(const os::SimFileSystem::Event& event) {
    switch (event.call) {
        case Call::open:
        case Call::close:
        case Call::read:
        case Call::seek:
        case Call::map:
        case Call::store:
            return;
        default:
            break;
    }
    ++calls_;
    // A growing file costs the device more: what the speed test of preallocation looks for.
    if (setting_.slow_growth && event.call == Call::write &&
        event.offset >= disk_->file_length(event.path))
        clock_->advance_us(kGrowthUs);
    const bool written = event.call == Call::write || event.call == Call::write_at;
    const bool section = written && event.offset >= journal::kFileHeaderBytes &&
                         os::base_name(event.path).starts_with("j._");
    const bool drop = event.call == Call::remove && event.path.ends_with(".ns");
    if ((section || drop) && !starting_)
        images_.push_back(image_of(*disk_, drop ? event.path : ""));
    take_states();
    if (flushing_ && event.call == Call::sync_mapping) flush_meanwhile();
}

void History::take_states() {
    if (wanted_.only_call != 0 && wanted_.only_call != calls_) return;
    Random random(mixed(seed_, calls_ * 2 + 1));
    if (!random.chance(wanted_.percent_per_call)) return;
    State state;
    if (random.chance(10)) {
        state.disk = disk_->process_kill();
    } else {
        const int percent = static_cast<int>(random.below(6)) * 20;
        SomeSurvives choices(random.next(), percent);
        state.disk = disk_->power_cut(choices, setting_.sector_bytes);
    }
    state.accepted.assign(images_.begin() + static_cast<ptrdiff_t>(acknowledged_), images_.end());
    if (state.accepted.empty()) state.accepted.push_back(std::make_shared<Image>());
    state.id = fmt::format("{}:{} ({}, call {})", number_, calls_, operation_, calls_);
    state.seed = random.next();
    sink_(std::move(state));
}

bool History::run(const std::string& name, const std::string& db, const std::string& command,
                  bool promises) {
    operation_ = name;
    const bson::Object reply =
        server_->run(db, bson::from_json(command), [this] { acknowledge(); });
    Done& done = done_[name];
    ++done.tried;
    if (!succeeded(reply)) return false;
    ++done.succeeded;
    if (promises) acknowledge();
    return true;
}

// All that was committed so far.
void History::acknowledge() {
    acknowledged_ = images_.size() - 1;
}

// A command with the usual write concern, or one that asks for the journal.
bool History::write(const std::string& name, const std::string& db, const std::string& fields) {
    const bool journaled = random_.chance(50);
    return run(name, db,
               fmt::format("{{{}{}}}", fields, journaled ? R"(, "writeConcern": {"j": true})" : ""),
               journaled);
}

std::string History::documents() {
    std::string list;
    const size_t count = 1 + random_.below(random_.chance(10) ? 60 : 6);
    for (size_t i = 0; i < count; ++i) {
        const size_t bytes = 10 + random_.below(random_.chance(10) ? 3000 : 200);
        list += fmt::format(R"({}{{"_id": {}, "a": {}, "t": "{}", "list": [1, 2, 3]}})",
                            i == 0 ? "" : ", ", next_id_++, random_.below(kValues),
                            noise(random_, bytes));
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
        write("update", db,
              fmt::format(R"("update": "{}", "updates": [{{"q": {}, "u": {}, "multi": true}}])", c,
                          filter(),
                          random_.chance(50)
                              ? R"({"$set": {"a": 7}})"
                              : R"({"$push": {"list": "longer than it was before"}})"));
    } else if (kind < 50) {
        write("delete", db,
              fmt::format(R"("delete": "{}", "deletes": [{{"q": {}, "limit": 0}}])", c, filter()));
    } else if (kind < 56) {
        const std::string& key = random_.pick(kKeys);
        write("createIndexes", db,
              fmt::format(R"("createIndexes": "{}", "indexes": [{{"key": {{"{}": 1}}, )"
                          R"("name": "{}", "background": {}}}])",
                          c, key, key, random_.chance(50)));
    } else if (kind < 58) {
        write("dropIndexes", db,
              fmt::format(R"("dropIndexes": "{}", "index": "{}")", c, random_.pick(kKeys)));
    } else if (kind < 61) {
        write("createCapped", db,
              fmt::format(R"("create": "ring", "capped": true, "size": {})",
                          4096 * (1 + random_.below(8))));
    } else if (kind < 63) {
        // Takes what is left of a data file, so that the next is made.
        write("createLarge", db,
              fmt::format(R"("create": "large{}", "capped": true, "size": {})", random_.below(3),
                          9 << 20));
    } else if (kind < 66) {
        write("drop", db, fmt::format(R"("drop": "{}")", c));
    } else if (kind < 69) {
        const std::string& to = random_.chance(50) ? db : random_.pick(kDatabases);
        write(to == db ? "renameCollection" : "renameAcross", "admin",
              fmt::format(R"("renameCollection": "{}.{}", "to": "{}.{}", "dropTarget": {})", db, c,
                          to, random_.pick(kCollections), random_.chance(70)));
    } else if (kind < 71) {
        write("convertToCapped", db, fmt::format(R"("convertToCapped": "{}", "size": 16384)", c));
    } else if (kind < 72) {
        write("emptycapped", db, fmt::format(R"("emptycapped": "{}")", c));
    } else if (kind < 75) {
        run("compact", db, fmt::format(R"({{"compact": "{}"}})", c));
    } else if (kind < 77) {
        run("reIndex", db, fmt::format(R"({{"reIndex": "{}"}})", c));
    } else if (kind < 79) {
        run("repairDatabase", db, R"({"repairDatabase": 1})");
    } else if (kind < 82) {
        run("dropDatabase", db, R"({"dropDatabase": 1})", true);
    } else if (kind < 84) {
        write(
            "out", db,
            fmt::format(R"("aggregate": "{}", "pipeline": [{{"$out": "e"}}], "cursor": {{}})", c));
    } else if (kind < 85) {
        run("closeAllDatabases", "admin", R"({"closeAllDatabases": 1})");
    } else if (kind < 87) {
        run("fsync", "admin", R"({"fsync": 1})", true);
    } else if (kind < 89) {
        if (meanwhile_ || !run("fsyncLock", "admin", R"({"fsync": 1, "lock": true})", true)) return;
        run("count", db, fmt::format(R"({{"count": "{}"}})", c));
        run("fsyncUnlock", "admin", R"({"fsyncUnlock": 1})");
    } else if (kind < 94) {
        operation_ = "commit";
        for (int i = 0; i < 3; ++i)
            server_->step_journal();
    } else if (!meanwhile_) {
        operation_ = "flush";
        if (random_.chance(60)) clock_->advance_us(kLongEnoughUs);
        flushing_ = true;
        server_->flush();
        flushing_ = false;
    }
}

// Between the flushes of two files others go on.
void History::flush_meanwhile() {
    if (meanwhile_ || !random_.chance(25)) return;
    meanwhile_ = true;
    operate();
    operation_ = "flush, after " + operation_;
    meanwhile_ = false;
}

void History::restart() {
    switch (random_.below(4)) {
        case 0:
        case 1: {
            operation_ = "stop";
            server_->stop();
            images_.push_back(image_of(*disk_));
            acknowledge();
            operation_ = "start";
            start(disk_->process_kill());
            return;
        }
        case 2:
            operation_ = "start after a kill";
            start(disk_->process_kill());
            return;
        default: {
            operation_ = "start after a cut";
            SomeSurvives choices(random_.next(), static_cast<int>(random_.below(6)) * 20);
            start(disk_->power_cut(choices, setting_.sector_bytes));
            return;
        }
    }
}

void History::run() {
    try {
        operation_ = "first start";
        start(setting_.make_disk());
        for (int i = 0; i < wanted_.operations; ++i) {
            if (random_.chance(3)) {
                restart();
            } else {
                operate();
            }
        }
        operation_ = "stop";
        server_->stop();
        images_.push_back(image_of(*disk_));
        acknowledge();
        take_states();
    } catch (const std::exception& error) {
        throw std::runtime_error(fmt::format("{}: {}", operation_, error.what()));
    }
    end_session();
}

}  // namespace crash
