#include "crash/testing/live_server.h"

#include <stdexcept>

#include "command/commands/families.h"
#include "storage/mmapv1/commit/durable.h"
#include "wire/message.h"

// For LeakSanitizer: the commits of a server that the simulation kills never come, and what waits
// for one keeps itself until it has come.
extern "C" const char* __lsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
    return "leak:command::CommitWait";
}

namespace crash {

namespace {

// The most sleeps of the journal thread for one commit: the fixed schedule has three at most.
constexpr int kSleepsMax = 100;

}  // namespace

Exchange::Exchange(command::Service& service, int64_t connection, const std::string& db,
                   const bson::Object& command, std::function<void()> committed)
    : committed_(std::move(committed)) {
    {
        wire::MsgWriter writer(message_, 0);
        bson::Builder body = writer.body();
        body.append_all(command).append("$db", db);
        body.finish();
        writer.finish();
    }
    wire::ConnectionInfo info;
    info.number = connection;
    info.remote = "127.0.0.1:1";
    session_ = service.open(info, *this);
    step_ = session_->serve({message_.data(), message_.size()}, reply_);
}

bson::Object Exchange::reply() const {
    constexpr size_t kBodyAt = 21;
    return reply_.size() > kBodyAt ? bson::Object(bson::Doc(reply_.data() + kBodyAt))
                                   : bson::Object();
}

LiveServer::LiveServer(os::SimFileSystem& disk, os::StepClock& clock,
                       const mmapv1::EngineOptions& options)
    : clock_(clock),
      engine_(mmapv1::open_engine(options, disk, clock_)),
      catalog_(std::make_unique<catalog::Catalog>(*engine_)) {
    context_.test_commands = true;
    context_.host = "here:27017";
    service_ = std::make_unique<command::Service>(*catalog_, context_, command::all_families());
}

void LiveServer::prepare() {
    const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
    for (const std::string& name : catalog_->database_names()) {
        catalog_->database(name)->drop_temporary();
        catalog_->database(name)->recover_interrupted_builds(true);
    }
}

LiveServer::~LiveServer() {
    clock_.run_free();
}

std::unique_ptr<Exchange> LiveServer::begin(const std::string& db, const bson::Object& command,
                                            std::function<void()> committed) {
    return std::make_unique<Exchange>(*service_, ++connections_, db, command, std::move(committed));
}

void LiveServer::finish(Exchange& exchange, const std::function<bool()>& alive) {
    for (int sleeps = 0; !exchange.done(); ++sleeps) {
        if (sleeps == kSleepsMax) throw std::runtime_error("the awaited commit was not made");
        if (!exchange.woken()) step_journal();
        if (!alive()) return;
        exchange.resume();
    }
}

// While the commits are held, a flush that comes to make one waits.
void LiveServer::flush_around(const std::function<void()>& use) {
    struct NoCommits {
        LiveServer& server;
        explicit NoCommits(LiveServer& s) : server(s) { s.engine_->durability().lock_commits(); }
        ~NoCommits() { server.engine_->durability().unlock_commits(); }
    };
    {
        const NoCommits no_commits(*this);
        const auto& durable = dynamic_cast<const mmapv1::Durable&>(engine_->durability());
        if (clock_.step_until(kFlushSleeper, [&] { return durable.is_commit_awaited(); })) use();
    }
    clock_.step_end(kFlushSleeper);
}

void LiveServer::stop() {
    clock_.run_free();
    service_ = nullptr;
    catalog_ = nullptr;
    engine_->shutdown();
}

void give_locks_back(storage::Engine& engine) {
    if (storage::LockManager::mode() != storage::GlobalMode::none) engine.locks().unlock_global();
    engine.durability().unlock_commits();
}

bool succeeded(const bson::Object& reply) {
    return reply["ok"].to_double() == 1.0 && !reply["writeErrors"] && !reply["writeConcernError"];
}

}  // namespace crash
