#include "os/testing/step_clock.h"

#include <algorithm>
#include <utility>

namespace os {

class StepClock::StepSleeper final : public Sleeper {
  public:
    StepSleeper(StepClock& clock, std::shared_ptr<State> state)
        : clock_(clock), state_(std::move(state)) {}

    bool sleep_us(int64_t us) override {
        std::unique_lock lock(clock_.mutex_);
        if (std::this_thread::get_id() == clock_.maker_) {
            clock_.now_us_ += us;
            return !std::exchange(state_->woken, false);
        }
        state_->us = us;
        state_->thread = std::this_thread::get_id();
        state_->sleeping = true;
        clock_.changed_.notify_all();
        clock_.changed_.wait(lock,
                             [this] { return state_->granted || (clock_.free_ && state_->woken); });
        state_->sleeping = state_->granted = false;
        clock_.on_wake_();
        if (std::exchange(state_->woken, false)) return false;
        clock_.now_us_ += us;
        return true;
    }
    void wake() override {
        const std::lock_guard lock(clock_.mutex_);
        state_->woken = true;
        clock_.changed_.notify_all();
    }

  private:
    StepClock& clock_;
    const std::shared_ptr<State> state_;
};

std::unique_ptr<Sleeper> StepClock::make_sleeper() {
    auto state = std::make_shared<State>();
    {
        const std::lock_guard lock(mutex_);
        states_.push_back(state);
    }
    return std::make_unique<StepSleeper>(*this, std::move(state));
}

void StepClock::step(size_t sleeper) {
    grant(sleeper);
    step_end(sleeper);
}

bool StepClock::step_until(size_t sleeper, const std::function<bool()>& waits) {
    grant(sleeper);
    const State& state = *states_.at(sleeper);
    std::unique_lock lock(mutex_);
    while (!is_asleep(state)) {
        lock.unlock();
        if (waits()) return true;
        std::this_thread::yield();
        lock.lock();
    }
    return false;
}

bool StepClock::is_asleep(const State& state) {
    return state.ended || (state.sleeping && !state.granted);
}

void StepClock::grant(size_t sleeper) {
    std::unique_lock lock(mutex_);
    State& state = *states_.at(sleeper);
    changed_.wait(lock, [&] { return is_asleep(state); });
    state.granted = true;
    changed_.notify_all();
}

void StepClock::step_end(size_t sleeper) {
    std::unique_lock lock(mutex_);
    const State& state = *states_.at(sleeper);
    changed_.wait(lock, [&] { return is_asleep(state); });
}

bool StepClock::was_woken(size_t sleeper) const {
    const std::lock_guard lock(mutex_);
    return states_.at(sleeper)->woken;
}

bool StepClock::has_slept() const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        states_, [](const auto& state) { return state->thread == std::this_thread::get_id(); });
}

void StepClock::thread_ends() {
    const std::lock_guard lock(mutex_);
    for (const auto& state : states_)
        state->ended = state->ended || state->thread == std::this_thread::get_id();
    changed_.notify_all();
}

void StepClock::run_free() {
    const std::lock_guard lock(mutex_);
    free_ = true;
    changed_.notify_all();
}

size_t StepClock::sleepers() const {
    const std::lock_guard lock(mutex_);
    return states_.size();
}

}  // namespace os
