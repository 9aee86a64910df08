#include "replica/following.h"

#include <utility>

namespace replica {

std::string Following::syncing_to() const {
    const std::lock_guard guard(mutex_);
    return syncing_to_;
}

std::string Following::message() const {
    const std::lock_guard guard(mutex_);
    return message_;
}

void Following::set(const std::string& syncing_to, const std::string& message) {
    const std::lock_guard guard(mutex_);
    syncing_to_ = syncing_to;
    message_ = message;
}

bool Following::note_problem(const std::string& what) {
    const std::lock_guard guard(mutex_);
    if (std::exchange(last_problem_, what) == what) return false;
    message_ = what;
    return true;
}

void Following::watch(std::function<void()> changed) {
    const std::lock_guard guard(watch_mutex_);
    changed_ = std::move(changed);
}

void Following::note_applied(oplog::Position last) {
    const std::lock_guard guard(watch_mutex_);
    applied_ = last;
    if (changed_) changed_();
}

void Following::note_durable() {
    const std::lock_guard guard(watch_mutex_);
    if (changed_) changed_();
}

oplog::Position Following::applied() const {
    const std::lock_guard guard(watch_mutex_);
    return applied_;
}

std::shared_ptr<const peer::Interrupt> Following::begin_source() {
    auto end = std::make_shared<peer::Interrupt>();
    const std::lock_guard guard(mutex_);
    source_end_->set();
    source_end_ = end;
    return end;
}

std::shared_ptr<const peer::Interrupt> Following::source_end() const {
    const std::lock_guard guard(mutex_);
    return source_end_;
}

void Following::leave_source() {
    const std::lock_guard guard(mutex_);
    source_end_->set();
}

void Following::begin_reports() {
    const bson::ObjectId since = bson::new_object_id();
    const std::lock_guard guard(mutex_);
    reports_since_ = since;
}

bson::ObjectId Following::reports_since() const {
    const std::lock_guard guard(mutex_);
    return reports_since_;
}

}  // namespace replica
