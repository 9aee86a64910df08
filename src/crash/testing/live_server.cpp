#include "crash/testing/live_server.h"

#include <stdexcept>

#include "command/families/families.h"
#include "wire/handler.h"
#include "wire/message.h"

namespace crash {

namespace {

// Of the journal thread, for one commit: the fixed schedule has three at most.
constexpr int kMostSleeps = 100;

class Woken final : public wire::Waker {
  public:
    explicit Woken(const std::function<void()>& told) : told_(told) {}
    void wake() override {
        woken_ = true;
        told_();
    }
    bool woken() const { return woken_; }

  private:
    const std::function<void()>& told_;
    bool woken_ = false;
};

}  // namespace

LiveServer::LiveServer(os::SimFileSystem& disk, os::StepClock& clock, const Setting& setting)
    : clock_(clock),
      engine_(mmapv1::open_engine(setting.engine_options(), disk, clock_)),
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

bson::Object LiveServer::run(const std::string& db, const bson::Object& command,
                             const std::function<void()>& committed) {
    bson::Buffer message, reply;
    {
        wire::MsgWriter writer(message, 0);
        bson::Builder body = writer.body();
        body.append_all(command).append("$db", db);
        body.finish();
        writer.finish();
    }
    Woken waker(committed);
    wire::ConnectionInfo info;
    info.number = ++connections_;
    info.remote = "127.0.0.1:1";
    const auto session = service_->open(info, waker);
    wire::Step step = session->serve({message.data(), message.size()}, reply);
    for (int sleeps = 0; step.kind == wire::Step::Kind::suspend; ++sleeps) {
        if (sleeps == kMostSleeps) throw std::runtime_error("nobody makes the awaited commit");
        if (!waker.woken()) step_journal();
        step = session->resume(reply);
    }
    constexpr size_t kBodyAt = 21;
    return reply.size() > kBodyAt ? bson::Object(bson::Doc(reply.data() + kBodyAt))
                                  : bson::Object();
}

void LiveServer::stop() {
    clock_.run_free();
    service_ = nullptr;
    catalog_ = nullptr;
    engine_->shutdown();
}

bool succeeded(const bson::Object& reply) {
    return reply["ok"].to_double() == 1.0 && !reply["writeErrors"] && !reply["writeConcernError"];
}

}  // namespace crash
