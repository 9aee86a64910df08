// crash_states: what a power cut or a kill may leave at any moment, and whether a server recovers
// from it everything it had acknowledged.
#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "crash/testing/campaign.h"
#include "options/series.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage = R"(Usage: crash_states [options]

Runs a server through histories of random operations on a simulated disk. At each call to the disk
a power cut or a kill may leave a state; each state is started from, and must show one of the
commits from the last acknowledged one on, whole and valid. Recoveries are cut too, three deep.

  --states N        how many states to check (20000)
  --seed S          another seed, other histories (1)
  --jobs N          threads that check states (1)
  --faults N        end with so many faults (10)
  --at H:C          only the state at call C of history H: what a failure prints. H:0 is the
                    whole history, H: this one and those after it
  --log             show the log of the servers, for one state
)";

uint64_t g_seed = 0;
bool g_logs = false;
std::string g_last_line;

bool parse(std::string_view text, uint64_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

// Returns the command that finds a state again with this build: its options are taken alternately
// from the patches it has.
std::string same_build() {
    std::string slugs;
    bool all = true;
    for (const options::SeriesPatch& patch : options::series()) {
        all = all && patch.applied;
        if (patch.applied) slugs += (slugs.empty() ? "" : ",") + std::string(patch.slug);
    }
    return "./lab crash " + (all ? "all" : slugs.empty() ? "none" : slugs);
}

// The server must not end the process, whatever it is started from.
void end_with_state(int id, std::string_view text) {
    fmt::print("FAILED {} --seed {} --at {}: the server ends itself: {} {}\n0 passed, 1 failed\n",
               same_build(), g_seed, crash::state_under_way(), id, text);
    std::fflush(stdout);
    std::_Exit(1);
}

int misuse(std::string_view word) {
    fmt::print(stderr, "crash_states: bad argument '{}'\n\n{}", word, kUsage);
    return 2;
}

class Progress {
  public:
    explicit Progress(uint64_t states) : states_(states) {}
    void operator()(uint64_t done) {
        const std::lock_guard lock(mutex_);
        const auto now = Clock::now();
        if (now - shown_ < std::chrono::seconds(5)) return;
        shown_ = now;
        const double seconds = std::chrono::duration<double>(now - began_).count();
        const auto left =
            static_cast<int64_t>(seconds / static_cast<double>(done) *
                                 static_cast<double>(states_ > done ? states_ - done : 0));
        fmt::print(
            "{} of {} states, about {} left\n", done, states_,
            left >= 90 ? fmt::format("{} min", (left + 30) / 60) : fmt::format("{} s", left));
        std::fflush(stdout);
    }

  private:
    const uint64_t states_;
    const Clock::time_point began_ = Clock::now();
    std::mutex mutex_;
    Clock::time_point shown_ = began_;
};

}  // namespace

int main(int argc, char** argv) try {
    crash::Plan plan;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const std::string_view next = i + 1 < argc ? argv[i + 1] : "";
        uint64_t jobs = 1;
        if (word == "--help" || word == "-h") {
            std::fputs(kUsage, stdout);
            return 0;
        }
        if (word == "--log") {
            g_logs = true;
            continue;
        }
        const size_t colon = next.find(':');
        const bool good =
            word == "--states"   ? parse(next, plan.states) && plan.states > 0
            : word == "--seed"   ? parse(next, plan.seed)
            : word == "--jobs"   ? parse(next, jobs) && jobs >= 1 && jobs <= 64
            : word == "--faults" ? parse(next, plan.most_faults) && plan.most_faults > 0
            : word != "--at"     ? false
            : colon == std::string_view::npos
                ? false
                : parse(next.substr(0, colon), plan.only_history) &&
                      (colon + 1 == next.size() || parse(next.substr(colon + 1), plan.only_call));
        if (!good) return misuse(i + 1 < argc ? fmt::format("{} {}", word, next) : word);
        if (word == "--jobs") plan.threads = static_cast<int>(jobs);
        ++i;
    }
    g_seed = plan.seed;
    plan.ends = end_with_state;
    base::log::set_sink([](base::log::Severity, std::string_view line) {
        if (g_logs) fmt::print("{}\n", line);
    });
    fmt::print("crash states: {} wanted, seed {}\n", plan.states, plan.seed);
    std::fflush(stdout);
    const auto began = Clock::now();
    Progress progress(plan.states);
    const crash::Outcome outcome =
        crash::run_campaign(plan, [&](uint64_t done) { progress(done); });
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    fmt::print(
        "{} states of {} calls in {} lives of {} histories: {} after one recovery was cut, {} after"
        " two, {} after three\n",
        outcome.states, outcome.calls, outcome.lives, outcome.histories, outcome.deeper[0],
        outcome.deeper[1], outcome.deeper[2]);
    fmt::print(
        "{} calls were made to fail, which ended {} servers; {} starts refused after an end without"
        " a journal\n",
        outcome.failed_calls, outcome.deaths, outcome.refused);
    fmt::print("{} contents validated, {} states went on; settings of options: {} of {}\n",
               outcome.validated, outcome.gone_on, outcome.option_choices_met,
               outcome.option_choices);
    for (const auto& [name, done] : outcome.done)
        fmt::print("  {:<18} {:>6} of {:>6} succeeded\n", name, done.succeeded, done.tried);
    for (size_t i = 0; i < outcome.met.size(); ++i)
        fmt::print("  {:<52} {:>6} times\n", crash::name_of(static_cast<crash::Situation>(i)),
                   outcome.met[i]);
    for (const std::string& fault : outcome.faults)
        fmt::print("FAILED {} {}\n", same_build(), fault);
    fmt::print("{:.1f} s, {:.2f} ms per state\n", seconds,
               1000 * seconds / static_cast<double>(std::max<uint64_t>(outcome.states, 1)));
    fmt::print("{} passed, {} failed\n",
               outcome.states - std::min<uint64_t>(outcome.faults.size(), outcome.states),
               outcome.faults.size());
    return outcome.faults.empty() ? 0 : 1;
} catch (const std::exception& error) {
    fmt::print(stderr, "crash_states: {}\n", error.what());
    return 2;
}
