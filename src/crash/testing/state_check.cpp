#include "crash/testing/state_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "bson/json.h"
#include "catalog/catalog.h"
#include "catalog/index_keys.h"
#include "crash/testing/random.h"
#include "os/testing/step_clock.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/salvage/raw_files.h"
#include "tools/dbpath_check.h"

namespace crash {

namespace {

constexpr int kDepth = 3;
constexpr int kUnclean = 12596;

// A server on the disk, whose threads sleep until they are stopped.
class Server {
  public:
    Server(os::SimFileSystem& disk, const Setting& setting, bool journal = true) {
        clock_.run_free();
        engine_ = mmapv1::open_engine(setting.quick_engine_options(journal), disk, clock_);
    }
    mmapv1::MmapEngine& engine() { return *engine_; }

  private:
    os::StepClock clock_;
    std::unique_ptr<mmapv1::MmapEngine> engine_;
};

// Does what the server does before it takes connections, then examines everything that validate
// does. Returns the first fault.
std::string validate_all(mmapv1::MmapEngine& engine) {
    if (!engine.unusable_databases().empty())
        return fmt::format("database {} cannot be opened", engine.unusable_databases().front());
    catalog::Catalog catalog(engine);
    const storage::GlobalLock lock(engine.locks(), storage::GlobalMode::W);
    std::string fault;
    for (const std::string& name : catalog.database_names()) {
        catalog::Database& database = *catalog.database(name);
        const auto look = [&](const char* when) {
            mmapv1::check_database(
                static_cast<mmapv1::MmapDatabase&>(*engine.database(name)), catalog::key_deriver(),
                [&](const mmapv1::Finding& finding) {
                    if (finding.severity == mmapv1::Severity::error && fault.empty())
                        fault = fmt::format("{}: {}: {}", when, finding.ns, finding.text);
                },
                [](mmapv1::MmapCollection&, const mmapv1::SpaceMetrics&) {});
        };
        look("after the recovery");
        database.drop_temporary();
        database.recover_interrupted_builds(true);
        look("after the start");
        for (const std::string& ns : database.collection_names()) {
            bson::Builder metrics;
            storage::ValidateOptions options;
            options.full = true;
            options.derive_keys = catalog::key_deriver();
            const auto report = database.store().collection(ns)->validate(options, metrics);
            if (!report.valid() && fault.empty())
                fault = fmt::format("validate of {}: {}", ns, report.errors.front());
        }
    }
    return fault;
}

// A drop that was cut short leaves data files without their namespace file. dbpath_check speaks of
// them, since a lost file looks the same; the next database of that name removes them.
std::string check_offline(os::SimFileSystem& disk, const Setting& setting) {
    std::ostringstream out;
    tools::DbpathCheckOptions options;
    options.dbpath = kDbpath;
    options.directory_per_db = setting.directory_per_db;
    options.quiet = true;
    options.read_first = false;  // nothing is unreadable on this disk
    std::vector<mmapv1::Refusal> refused;
    for (const std::string& db :
         mmapv1::databases_with_files(disk, kDbpath, setting.directory_per_db, refused)) {
        const std::string folder = setting.directory_per_db ? os::join(kDbpath, db) : kDbpath;
        if (disk.exists(os::join(folder, db + ".ns"))) options.databases.push_back(db);
    }
    if (!refused.empty()) return refused.front().reason;
    if (options.databases.empty()) return {};
    if (tools::check_dbpath(disk, options, out).errors == 0) return {};
    return "dbpath_check: " + out.str();
}

// A document more, a clean stop and a start: everything is there.
std::string go_on(os::SimFileSystem& disk, const Setting& setting, std::unique_ptr<Server> server) {
    const std::string ns = "more.c";
    {
        catalog::Catalog catalog(server->engine());
        const storage::GlobalLock lock(server->engine().locks(), storage::GlobalMode::W);
        catalog.collection_for_write(ns).insert(bson::make("_id", 1));
    }
    const ImagePtr written = image_of(disk);
    server->engine().shutdown();
    server.reset();
    if (*image_of(disk) != *written)
        return "after a write and a clean stop:" + difference(*image_of(disk), *written);
    server = std::make_unique<Server>(disk, setting);
    if (*image_of(disk) != *written)
        return "after a write, a clean stop and a start:" + difference(*image_of(disk), *written);
    return validate_all(server->engine());
}

bool is_accepted(const Image& found, const State& state) {
    return std::any_of(state.accepted.begin(), state.accepted.end(),
                       [&](const ImagePtr& image) { return *image == found; });
}

// With a journal from now on or without: a start does not take what an unclean end has left for
// what was promised. If no database is left, there is nothing to be wrong about.
std::string check_without_journal(const State& state, const Setting& setting, CheckCounts& counts) {
    Random random(state.seed);
    const bool journal = random.chance(50);
    try {
        const Server server(*state.disk, setting, journal);
        const ImagePtr found = image_of(*state.disk);
        if (is_accepted(*found, state) || (journal && found->empty())) return {};
        return "it starts after an unclean end without a journal:" +
               difference(*found, *state.accepted.back());
    } catch (const base::Error& error) {
        const std::string_view text = error.what();
        if (error.code() != kUnclean || text.find("--repair") == std::string_view::npos)
            return fmt::format("the start is refused otherwise: {} {}", error.code(), text);
        ++counts.refused;
        return {};
    }
}

}  // namespace

std::string check_state(State state, const Setting& setting, Known& known, CheckCounts& counts,
                        int depth) {
    ++counts.states;
    if (depth > 0) ++counts.deeper[depth - 1];
    if (!state.journal) return check_without_journal(state, setting, counts);
    os::SimFileSystem& disk = *state.disk;
    Random random(state.seed);
    // One of the calls of the recovery, each as likely as another, is where it is cut. Most are
    // stores, what matters most comes after them: half of the cuts are at none of these.
    std::unique_ptr<os::SimFileSystem> cut;
    uint64_t calls = 0, cut_at = 0;
    if (depth < kDepth && random.chance(state.killed ? 70 : depth == 0 ? 30 : 50)) {
        const bool at_stores = random.chance(50);
        disk.set_observer([&, at_stores](const os::SimFileSystem::Event& event) {
            using Call = os::SimFileSystem::Call;
            if (event.call == Call::read || event.call == Call::seek || event.call == Call::map ||
                (event.call == Call::store && !at_stores))
                return;
            if (random.below(++calls) != 0) return;
            cut_at = calls;
            // A write that a killed process has left unsynced shows if some of it is lost.
            const int percent = state.killed ? 20 + static_cast<int>(random.below(4)) * 20
                                             : static_cast<int>(random.below(6)) * 20;
            SomeSurvives choices(random.next(), percent);
            cut = disk.power_cut(choices, setting.sector_bytes);
        });
    }
    std::string fault;
    try {
        auto server = std::make_unique<Server>(disk, setting);
        disk.set_observer(nullptr);
        const ImagePtr found = image_of(disk);
        if (!is_accepted(*found, state))
            return fmt::format("none of the {} commits that may be there is; against the last:{}",
                               state.accepted.size(), difference(*found, *state.accepted.back()));
        // Chance alone decides, not what was met before: a state by itself has to go the same way.
        if (random.chance(12)) {
            ++counts.gone_on;
            fault = go_on(disk, setting, std::move(server));
        } else if (known.add(hash_of(*found))) {
            ++counts.validated;
            fault = validate_all(server->engine());
            if (fault.empty()) {
                server->engine().shutdown();
                server.reset();
                if (!found->empty()) fault = check_offline(disk, setting);
            }
        }
    } catch (const std::exception& error) {
        fault = fmt::format("the start fails: {}", error.what());
    }
    disk.set_observer(nullptr);
    if (!fault.empty() || !cut) return fault;
    State below;
    below.disk = std::move(cut);
    below.accepted = std::move(state.accepted);
    below.id = state.id;
    below.seed = random.next();
    fault = check_state(std::move(below), setting, known, counts, depth + 1);
    if (fault.empty()) return fault;
    return fmt::format("cut before call {} of its recovery: {}", cut_at, fault);
}

}  // namespace crash
