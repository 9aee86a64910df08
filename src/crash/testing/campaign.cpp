#include "crash/testing/campaign.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "crash/testing/random.h"

namespace crash {

namespace {

constexpr size_t kWaitingMax = 64;  // states that a history is ahead of its checks

thread_local std::string t_under_way;
std::atomic<uint64_t> g_history{0};  // the one under way
base::FatalHandler g_ends = nullptr;

void on_fatal(int id, std::string_view text) {
    History::end_if_expected();
    if (g_ends != nullptr) g_ends(id, text);
}

// Checks states on threads of its own, in any order.
class Checkers {
  public:
    Checkers(const Plan& plan, std::function<void(uint64_t)> progress)
        : plan_(plan), progress_(std::move(progress)) {
        for (int i = 0; i < plan.threads; ++i)
            threads_.emplace_back([this] { run(); });
    }
    ~Checkers() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        changed_.notify_all();
        for (std::thread& thread : threads_)
            thread.join();
    }

    // Returns when all that was given is checked; nothing of the setting before is used any more.
    void begin_life(const Setting& setting) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return waiting_.empty() && busy_ == 0; });
        setting_ = setting;
    }
    void add(State state) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return waiting_.size() < kWaitingMax; });
        waiting_.push_back(std::move(state));
        changed_.notify_all();
    }
    void add_fault(std::string fault) {
        const std::lock_guard lock(mutex_);
        faults_.push_back(std::move(fault));
    }
    std::vector<std::string> faults() const {
        const std::lock_guard lock(mutex_);
        return faults_;
    }
    bool enough() const {
        const std::lock_guard lock(mutex_);
        return counts_.states >= plan_.states || faults_.size() >= plan_.most_faults;
    }
    const CheckCounts& counts() const { return counts_; }

  private:
    void run() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            State state = std::move(waiting_.front());
            waiting_.pop_front();
            ++busy_;
            lock.unlock();
            t_under_way = state.id;
            const std::string id = state.id;
            const std::string fault = check_state(std::move(state), setting_, known_, counts_);
            if (progress_) progress_(counts_.states);
            lock.lock();
            --busy_;
            if (!fault.empty())
                faults_.push_back(fmt::format("--seed {} --at {}: {} [{}]", plan_.seed, id, fault,
                                              setting_.text()));
            changed_.notify_all();
        }
    }

    const Plan& plan_;
    const std::function<void(uint64_t)> progress_;
    CheckCounts counts_;
    Known known_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    // Guarded by mutex_; the setting only changes while no thread is busy:
    Setting setting_;
    std::deque<State> waiting_;
    int busy_ = 0;
    bool ending_ = false;
    std::vector<std::string> faults_;
    std::vector<std::thread> threads_;
};

}  // namespace

Outcome run_campaign(const Plan& plan, const std::function<void(uint64_t)>& progress) {
    g_ends = plan.ends;
    base::set_fatal_handler(on_fatal);
    Outcome outcome;
    outcome.option_choices = option_choices();
    std::set<size_t> choices_met;
    Checkers checkers(plan, progress);
    for (uint64_t number = plan.only_history; !checkers.enough(); ++number) {
        const uint64_t seed = mixed(plan.seed, number);
        Setting setting = make_setting(seed, number);
        setting.lies = plan.lies;
        History::Wanted wanted;
        wanted.only_call = plan.only_call;
        uint64_t lives = 0;
        const auto begins = [&](const Setting& of_life) {
            checkers.begin_life(of_life);
            of_life.apply_options();
            if (lives < kLivesAtLeast) choices_met.insert(option_choice(number, lives));
            ++lives;
        };
        History history(seed, number, setting, wanted, begins,
                        [&](State state) { checkers.add(std::move(state)); });
        g_history = number;
        try {
            history.run();
        } catch (const std::exception& error) {
            checkers.add_fault(fmt::format("--seed {} --at {}:0: the history fails: {} [{}]",
                                           plan.seed, number, error.what(),
                                           history.setting().text()));
        }
        ++outcome.histories;
        outcome.lives += lives;
        outcome.calls += history.calls();
        outcome.failed_calls += history.failed_calls();
        outcome.deaths += history.deaths();
        for (const auto& [name, done] : history.done()) {
            outcome.done[name].tried += done.tried;
            outcome.done[name].succeeded += done.succeeded;
        }
        for (size_t i = 0; i < outcome.met.size(); ++i)
            outcome.met[i] += history.met()[i];
        if (plan.only_call != 0) break;
    }
    checkers.begin_life({});  // waits
    Setting().apply_options();
    const CheckCounts& counts = checkers.counts();
    outcome.option_choices_met = choices_met.size();
    outcome.states = counts.states;
    for (size_t i = 0; i < std::size(outcome.deeper); ++i)
        outcome.deeper[i] = counts.deeper[i];
    outcome.validated = counts.validated;
    outcome.gone_on = counts.gone_on;
    outcome.refused = counts.refused;
    outcome.faults = checkers.faults();
    // Nothing was examined: that must not pass for a success.
    if (plan.only_call != 0 && outcome.states == 0 && outcome.faults.empty())
        outcome.faults.push_back(fmt::format(
            "--seed {} --at {}:{}: no state is taken at this call; the history has {} calls",
            plan.seed, plan.only_history, plan.only_call, outcome.calls));
    base::set_fatal_handler(nullptr);
    return outcome;
}

std::string state_under_way() {
    return t_under_way.empty() ? fmt::format("{}:0", g_history.load()) : t_under_way;
}

}  // namespace crash
