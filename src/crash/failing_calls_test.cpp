// Whatever call to the operating system fails, in the middle of whatever a client may ask for: the
// server ends, and the next start finds all that was acknowledged; or it lives, has said so, and
// the operation is done as a whole or not at all.
//
// For each step of a history, each call that it makes to the file system fails once, in each way
// that such a call can fail; and each request for space in the data files is refused once. Usually
// a slice of these is tried (base/testing/slice.h). A case runs in a process of its own over the
// files as they were before the step. The kernel keeps what was written: what a power cut adds is
// the business of storage/mmapv1/fault_test.cpp.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <iostream>

#include "base/testing/fatal_handler.h"
#include "base/testing/muted.h"
#include "base/testing/slice.h"
#include "crash/testing/small_server.h"
#include "crash/testing/sparse_copy.h"
#include "os/testing/failing_file_system.h"
#include "sched/operation.h"
#include "storage/testing/space_refusal.h"

namespace crash {
namespace {

using Kind = os::FailingFileSystem::Kind;

constexpr unsigned kSecondsMax = 60;  // for one process, and only where it hangs
constexpr uint64_t kUsualSlice = 20;
constexpr int kRefused = 3;  // exit code: the start threw
constexpr int kOther = 4;    // exit code: something threw that should not

struct Step {
    enum class What { commands, start, stop, truncate_journal };
    std::string name;
    What what = What::commands;
    std::vector<std::pair<std::string, std::string>> commands = {};  // database, command
    bool is_setup = false;                                           // no fault happens in it
    // The collection that it makes by the way may stay, empty, when the rest is refused.
    std::string makes = {};
    int code = 0;  // of the step without any fault
    // Refused space, it may be done all the same: it makes its indexes anew once it has emptied the
    // collection.
    bool may_be_done = false;
};

std::string numbered(int from, int to, size_t bytes) {
    std::string list;
    for (int i = from; i < to; ++i)
        list +=
            fmt::format(R"({}{{"_id": {}, "a": [{}, {}], "s": "{}{}"}})", list.empty() ? "" : ", ",
                        i, i % 7, i % 11, i * 7919 % 1000, std::string(bytes, 'x'));
    return list;
}

std::string many_keys(int id) {
    std::string list;
    for (int i = 0; i < 40; ++i)
        list += fmt::format(R"({}"{}{}")", i == 0 ? "" : ", ", (i * 7919 + id) % 1000,
                            std::string(700, 'k'));
    return fmt::format(R"({{"_id": {}, "a": [{}], "s": "many"}})", id, list);
}

std::vector<Step> history() {
    const auto command = [](const char* name, const std::string& text, const char* db = "d") {
        return Step{name, Step::What::commands, {{db, text}}};
    };
    const auto done_all_the_same = [](Step step) {
        step.may_be_done = true;
        return step;
    };
    const auto failing = [](int code, Step step) {
        step.code = code;
        return step;
    };
    const auto making = [](const char* ns, Step step) {
        step.makes = ns;
        return step;
    };
    const auto insert = [](const std::string& collection, const std::string& documents) {
        return R"({"insert": ")" + collection + R"(", "documents": [)" + documents + "]}";
    };
    std::vector<Step> steps;
    Step& setup = steps.emplace_back(Step{"setup", Step::What::commands, {}, true});
    for (const std::string& text :
         {insert("c", numbered(0, 60, 200)), insert("small", numbered(0, 5, 10)),
          insert("target", numbered(0, 3, 10)),
          std::string(
              R"({"createIndexes": "target", "indexes": [{"key": {"s": 1}, "name": "s"}]})"),
          std::string(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})"),
          std::string(R"({"create": "ring", "capped": true, "size": 12288})"),
          insert("ring", numbered(0, 60, 150))})
        setup.commands.emplace_back("d", text);
    steps.push_back({"commit", Step::What::truncate_journal, {}, true});
    const std::vector<Step> tried = {
        command("insert", insert("c", R"({"_id": 1000, "a": 1, "s": "one"})")),
        command("insert of many keys", insert("c", many_keys(1001))),
        command("insert into a ring", insert("ring", numbered(100, 101, 3000))),
        making("d.made",
               command("insert that makes a collection", insert("made", R"({"_id": 1})"))),
        making("e.made",
               command("insert that makes a database", insert("made", R"({"_id": 1})"), "e")),
        command("update in place",
                R"({"update": "c", "updates": [{"q": {"_id": 3}, "u": {"$set": {"a": [5]}}}]})"),
        command("update that moves", R"({"update": "c", "updates": [{"q": {"_id": 4},
                "u": {"$set": {"a": ["new", "keys"], "s": ")" +
                                         std::string(5000, 'y') + R"("}}}]})"),
        command("upsert", R"({"update": "c", "updates": [{"q": {"_id": 1002},
                "u": {"$set": {"a": 1}}, "upsert": true}]})"),
        command("find and modify", R"({"findAndModify": "c", "query": {"_id": 5},
                "update": {"$set": {"a": ["other", "keys"]}}})"),
        command("remove", R"({"delete": "c", "deletes": [{"q": {"_id": 1001}, "limit": 1}]})"),
        command("create", R"({"create": "created", "flags": 1})"),
        command("create a ring", R"({"create": "ring2", "capped": true, "size": 100000})"),
        command("growth into another file",
                R"({"create": "large", "capped": true, "size": 15000000})"),
        command("collMod", R"({"collMod": "c", "usePowerOf2Sizes": false})"),
        command("collMod that moves its entry",
                R"({"collMod": "target", "usePowerOf2Sizes": false})"),
        command("index", R"({"createIndexes": "c", "indexes": [{"key": {"a": -1}, "name": "s"}]})"),
        command("index in the background", R"({"createIndexes": "c", "indexes":
                [{"key": {"a": 1, "_id": 1}, "name": "t", "background": true}]})"),
        failing(17282, command("index that finds a long key", R"({"createIndexes": "c", "indexes":
                [{"key": {"s": 1}, "name": "u"}]})")),
        failing(base::kDuplicateKey,
                command("index that finds duplicates", R"({"createIndexes": "ring", "indexes":
                [{"key": {"none": 1}, "name": "u", "unique": true}]})")),
        command("drop of an index", R"({"dropIndexes": "c", "index": "t"})"),
        command("reIndex", R"({"reIndex": "c"})"),
        command("rename", R"({"renameCollection": "d.small", "to": "d.renamed"})", "admin"),
        command("rename over another one",
                R"({"renameCollection": "d.renamed", "to": "d.target", "dropTarget": true})",
                "admin"),
        command("rename to another database",
                R"({"renameCollection": "d.target", "to": "e.moved"})", "admin"),
        command("rename over another one in another database",
                R"({"renameCollection": "e.moved", "to": "d.created", "dropTarget": true})",
                "admin"),
        command("index that $out takes over",
                R"({"createIndexes": "created", "indexes": [{"key": {"a": 1}, "name": "a"}]})"),
        command("$out", R"({"aggregate": "c", "pipeline": [{"$match": {"_id": {"$lt": 9}}},
                {"$out": "created"}], "cursor": {}})"),
        command("convertToCapped", R"({"convertToCapped": "created", "size": 20000})"),
        command("clone as a ring",
                R"({"cloneCollectionAsCapped": "c", "toCollection": "cloned", "size": 20000})"),
        command("captrunc", R"({"captrunc": "cloned", "n": 3})"),
        done_all_the_same(command("emptycapped", R"({"emptycapped": "created"})")),
        command("compact", R"({"compact": "c"})"),
        command("repairDatabase", R"({"repairDatabase": 1})"),
        command("drop", R"({"drop": "created"})"),
        command("fsync", R"({"fsync": 1})", "admin"),
        {"truncating the journal", Step::What::truncate_journal},
        command("closeAllDatabases", R"({"closeAllDatabases": 1})", "admin"),
        command("dropDatabase", R"({"dropDatabase": 1})", "e"),
        {"start", Step::What::start},
        {"stop", Step::What::stop},
    };
    steps.insert(steps.end(), tried.begin(), tried.end());
    return steps;
}

// The report of a case's process to the one that judges it.
struct Report {
    int64_t requests = 0;  // for space, in the step
    int64_t call_count = 0;
    Kind calls[2000] = {};
    int code = 0;  // of the step; only after `told`
    bool told = false;
    bool fault_happened = false;
    char failed_call[200] = {};
    char state[20000] = {};
    char damage[4000] = {};

    template <size_t N>
    static void put(char (&to)[N], const std::string& text) {
        to[text.copy(to, N - 1)] = 0;
    }
};

// Refuses the n-th request for space, or has the operation killed that makes it.
struct Refusal {
    int64_t at = 0, seen = 0;
    bool kills = false;
    bool done = false;
};
Refusal g_refusal;
void refuse_in_turn() {
    if (++g_refusal.seen != g_refusal.at) return;
    g_refusal.done = true;
    if (g_refusal.kills) {
        sched::Operation* const operation = sched::Operation::current();
        return operation != nullptr ? operation->kill(operation->id()) : void();
    }
    base::fail(base::kOperationFailed, "no space left on device");
}

// Which fault a case has: a call that fails, or a refusal. None with 0.
struct Fault {
    int64_t call = 0;
    std::errc reason{};
    int64_t request = 0;
    bool kills = false;  // the operation ends at its next check after the request
};

class Faults : public testing::TestWithParam<bool> {
  protected:
    static constexpr const char* kLater = "later";  // what is written after the fault

    Faults()
        : report_(new (::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Report) {}
    ~Faults() override { ::munmap(report_, sizeof(Report)); }

    [[noreturn]] static void end_abruptly(int id, std::string_view text) {
        if (std::getenv("FAULTS_SHOW") != nullptr)
            std::fprintf(stderr, "fatal %d: %.*s\n", id, static_cast<int>(text.size()),
                         text.data());
        ::_exit(base::kExitAbrupt);
    }
    // Runs it in a child; its exit code, or minus the signal that ended it.
    template <typename Work>
    int in_process(Work work) {
        new (report_) Report;
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(kSecondsMax);
            base::set_fatal_handler(end_abruptly);
            try {
                ::_exit(work());
            } catch (const std::exception& error) {
                Report::put(report_->damage, error.what());
                ::_exit(kOther);
            }
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    }

    // The step, with everything acknowledged at its end. In a child.
    int carry_out(const Step& step, SmallServer& server) {
        int code = 0;
        try {
            for (const auto& [db, command] : step.commands)
                if (code == 0) code = server.perform(db, command);
            if (step.what == Step::What::truncate_journal) {
                const storage::GlobalLock lock(server.engine().locks(), storage::GlobalMode::W);
                server.engine().durability().sync_and_truncate_journal();
            }
        } catch (const base::Error& error) {
            code = error.code();
        }
        server.commit();
        return code;
    }

    // One process: the files as they are, a step with a fault in it, then life goes on.
    int live(const std::string& home, const Step& step, const Fault& fault) {
        os::FailingFileSystem files(os::real_file_system());
        files.skip_syncs();
        g_refusal = {fault.request, 0, fault.kills, false};
        std::unique_ptr<SmallServer> server;
        const auto begin = [&] {
            files.arm(fault.call, fault.reason);
            storage::test::on_space_request(refuse_in_turn);
        };
        const auto end = [&] {
            storage::test::on_space_request(nullptr);
            const auto calls = files.calls();
            report_->call_count = static_cast<int64_t>(calls.size());
            std::copy_n(calls.begin(), std::min(calls.size(), std::size(report_->calls)),
                        report_->calls);
            report_->requests = g_refusal.seen;
            report_->fault_happened = files.has_failed() || g_refusal.done;
            Report::put(report_->failed_call, files.failed_call());
            files.disarm();
        };
        if (step.what == Step::What::start) begin();
        try {
            server = std::make_unique<SmallServer>(home, files, GetParam());
        } catch (const base::Error& error) {
            end();
            Report::put(report_->damage, error.what());
            return kRefused;
        }
        if (step.what != Step::What::start) begin();
        if (step.what == Step::What::stop) {
            try {
                server->stop();
            } catch (const base::Error&) {
                end();
                ::_exit(kRefused);
            }
            end();
            return 0;
        }
        const int code = carry_out(step, *server);
        report_->code = code;
        report_->told = true;
        end();
        // A database that could not be opened is open after its next use.
        for (const std::string& db : server->engine().unusable_databases())
            server->perform(db, R"({"count": "any"})");
        Report::put(report_->state, server->state(kLater));
        Report::put(report_->damage, server->damage());
        if (server->perform(kLater, R"({"update": "later", "updates": [{"q": {"_id": 1},
                                       "u": {"$inc": {"n": 1}}, "upsert": true}]})") != 0)
            Report::put(report_->damage, "what comes later is refused");
        server->commit();
        if (step.what == Step::What::start) ::_exit(0);  // a kill
        server->stop();
        return 0;
    }
    // The next process.
    int look(const std::string& home) {
        SmallServer server(home, os::real_file_system(), GetParam());
        Report::put(report_->state, server.state(kLater));
        std::string damage = server.damage();
        report_->code = server.perform("later", R"({"count": "later"})");
        Report::put(report_->damage, damage);
        server.stop();
        return 0;
    }

    // The step without a fault: what it calls, and the files afterwards.
    Report try_out(const Step& step, const std::string& home) {
        EXPECT_EQ(in_process([&] { return live(home, step, {}); }), 0)
            << step.name << ": " << report_->damage;
        EXPECT_STREQ(report_->damage, "") << step.name;
        EXPECT_EQ(report_->code, step.code) << step.name;
        return *report_;
    }
    std::string state_of(const std::string& home) {
        const std::string copy = home + "-seen";
        copy_sparsely(home, copy);
        EXPECT_EQ(in_process([&] { return look(copy); }), 0) << report_->damage;
        std::filesystem::remove_all(copy);
        return report_->state;
    }

    // A case; what is wrong with how it went.
    std::string judge(const Step& step, const Fault& fault, const std::string& home,
                      const std::string& before, const std::string& after) {
        const int ended = in_process([&] { return live(home, step, fault); });
        const Report lived = *report_;
        last_call_ = lived.failed_call;
        const bool alive = ended == 0;
        if (!alive && ended != base::kExitAbrupt && ended != kRefused)
            return fmt::format("the process ended with {}: {}", ended, lived.damage);
        if (fault.request != 0 && !alive) return fmt::format("it died: {}", lived.damage);
        ++(alive ? alive_ : dead_);
        if (lived.told) {
            const std::string state = accepted(lived.state, step);
            if (lived.damage[0] != 0) return fmt::format("damaged: {}", lived.damage);
            if (lived.code == 0 && state != after)
                return fmt::format("ok was reported, but it is not done:\n{}",
                                   difference(state, after));
            if (fault.request != 0 && lived.code != 0 && lived.code != step.code &&
                state != before && !step.may_be_done)
                return fmt::format("code {}, and it is done:\n{}", lived.code,
                                   difference(state, before));
            if (state != before && state != after)
                return fmt::format("code {}, and it is half done:\n{}instead of\n{}", lived.code,
                                   difference(state, before), difference(state, after));
        }
        if (in_process([&] { return look(home); }) != 0)
            return fmt::format("the next start fails: {}", report_->damage);
        const std::string state = accepted(report_->state, step);
        if (report_->damage[0] != 0)
            return fmt::format("damaged at the next start: {}", report_->damage);
        if (lived.told && lived.code == 0 && state != after)
            return fmt::format("lost by the next start:\n{}", difference(state, after));
        if (alive && lived.told && state != accepted(lived.state, step))
            return fmt::format(
                "code {}, and the next start shows something else:\n{}instead of\n{}", lived.code,
                difference(state, lived.state), difference(lived.state, state));
        if (state != before && state != after)
            return fmt::format("half done at the next start:\n{}instead of\n{}",
                               difference(state, before), difference(state, after));
        return {};
    }
    // Without what the step may leave behind.
    static std::string accepted(const std::string& state, const Step& step) {
        std::string rest;
        for (size_t at = 0; at < state.size();) {
            const size_t end = state.find('\n', at) + 1;
            const std::string line = state.substr(at, end - at);
            at = end;
            const bool empty = !step.makes.empty() && line.starts_with(step.makes + " ") &&
                               line.find(" 0 documents,") != std::string::npos;
            if (!empty) rest += line;
        }
        return rest;
    }
    // The lines of one state that the other has not.
    static std::string difference(const std::string& state, const std::string& other) {
        std::string text;
        for (size_t at = 0; at < state.size();) {
            const size_t end = state.find('\n', at) + 1;
            const std::string line = state.substr(at, end - at);
            if (other.find(line) == std::string::npos) text += "  " + line;
            at = end;
        }
        return text.empty() ? "  (nothing)\n" : text;
    }

    // Goes through the history; for each step `faults` says what is to be tried of what it does.
    void go_through(const std::function<std::vector<Fault>(const Report&)>& faults) {
        const std::string home = directory_ / "home";
        const std::string copy = directory_ / "copy";
        std::filesystem::create_directory(home);
        std::string before;
        for (const Step& step : history()) {
            // Left as by a kill, so that a start has something to replay.
            const bool is_start = step.what == Step::What::start;
            if (is_start) leave_unfinished(home);
            const std::string old = directory_ / "old";
            copy_sparsely(home, old);
            const Report report = try_out(step, home);
            const std::string after = state_of(home);
            if (is_start) before = after;
            if (step.code != 0) {
                EXPECT_EQ(after, before) << step.name;
            }
            if (report.told) {
                EXPECT_EQ(std::string(report.state), after) << step.name << ", before a restart";
            }
            int shown = 0;
            for (const Fault& fault : step.is_setup ? std::vector<Fault>{} : faults(report)) {
                copy_sparsely(old, copy);
                ++cases_;
                const std::string wrong = judge(step, fault, copy, before, after);
                if (wrong.empty()) continue;
                ++wrong_;
                if (++shown > 3) continue;
                ADD_FAILURE() << step.name << ", "
                              << (fault.request != 0
                                      ? fmt::format("request {} for space {}", fault.request,
                                                    fault.kills ? "when killed" : "refused")
                                      : fmt::format("call {} of {}, {}: {}", fault.call,
                                                    report.call_count, last_call_,
                                                    reason_text(fault.reason)))
                              << "\n"
                              << wrong;
            }
            std::filesystem::remove_all(old);
            before = after;
        }
        std::cout << cases_ << " faults, " << alive_ << " survived, " << dead_ << " not, " << wrong_
                  << " wrong" << std::endl;
    }
    // Each request for space of a step, as far as the slice takes it.
    static std::vector<Fault> requests(const Report& report, base::Slice& slice, bool kills) {
        std::vector<Fault> faults;
        for (int64_t request = 1; request <= report.requests; ++request)
            if (slice.takes_next()) faults.push_back({0, {}, request, kills});
        return faults;
    }
    static std::string reason_text(std::errc reason) {
        return reason == os::FailingFileSystem::kShort ? "short"
                                                       : std::make_error_code(reason).message();
    }
    // A process that is killed after some commits.
    void leave_unfinished(const std::string& home) {
        const Step step{"unfinished", Step::What::start};
        EXPECT_EQ(in_process([&] { return live(home, step, {}); }), 0) << report_->damage;
    }

    const base::MutedLog muted_;
    os::TestDirectory directory_;
    Report* const report_;
    std::string last_call_;
    int cases_ = 0, alive_ = 0, dead_ = 0, wrong_ = 0;
};

TEST_P(Faults, EveryCallToTheSystemFailsOnce) {
    base::Slice slice = base::test_slice(kUsualSlice);
    go_through([&](const Report& report) {
        EXPECT_LT(report.call_count, static_cast<int64_t>(std::size(report.calls)));
        std::vector<Fault> faults;
        for (int64_t call = 1; call <= report.call_count; ++call)
            for (const std::errc reason : os::FailingFileSystem::reasons(report.calls[call - 1]))
                if (slice.takes_next()) faults.push_back({call, reason, 0});
        return faults;
    });
    EXPECT_GT(slice.offered(), 500u);
    EXPECT_GT(alive_, 0);
    EXPECT_GT(dead_, 0);
}

TEST_P(Faults, EverySpaceThatIsAskedForIsRefusedOnce) {
    base::Slice slice = base::test_slice(kUsualSlice);
    go_through([&](const Report& report) { return requests(report, slice, false); });
    EXPECT_GT(slice.offered(), 300u);
}

// Killed at one of its requests for space, an operation ends at its next check, or not any more.
TEST_P(Faults, EveryOperationIsKilledOnce) {
    base::Slice slice = base::test_slice(kUsualSlice);
    go_through([&](const Report& report) { return requests(report, slice, true); });
    EXPECT_GT(slice.offered(), 300u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Faults, testing::Bool(), [](const auto& info) {
    return std::string(info.param ? "DirectoryPerDb" : "Flat");
});

}  // namespace
}  // namespace crash
