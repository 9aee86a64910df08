#include "replica/set_limits.h"

#include <utility>

#include "base/log.h"

namespace replica {

void SetLimits::configure(std::shared_ptr<const Config> config) {
    const std::lock_guard guard(mutex_);
    config_ = std::move(config);
    apply();
}

void SetLimits::heard() {
    const std::lock_guard guard(mutex_);
    apply();
}

// A member that follows applies what the primary has taken, and limits nothing.
void SetLimits::apply() {
    if (!engine_.keeps_long()) return;
    std::string lacking;
    if (config_ != nullptr && config_->is_of_primary()) {
        for (const MemberConfig& member : config_->members)
            if (&member != &config_->own() && !peers_.peer(member.host).keeps_long)
                lacking = member.host;
    }
    engine_.refuse_long(!lacking.empty());
    if (std::exchange(lacking_, lacking) == lacking) return;
    if (lacking.empty())
        base::log::info("long names and index keys are taken: every member keeps them");
    else
        base::log::info(
            "long names and index keys are refused, as with mmapv1: {} keeps none, or has not said "
            "that it does",
            lacking);
}

}  // namespace replica
