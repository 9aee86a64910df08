#include "command/commands/change_stream.h"

#include <utility>

#include "base/error.h"
#include "catalog/names.h"
#include "command/cursor/batch.h"
#include "command/cursor/query_cursors.h"
#include "command/streams/stream_source.h"
#include "dialect/pipelines.h"
#include "query/stage/update_pipeline.h"
#include "replica/member.h"

namespace command {

namespace {

constexpr int kOnlyInSets = 40573;
constexpr int64_t kFirstBatchBytes = 4 * 1024 * 1024;

bson::Element stage_of(bson::Doc stages) {
    return stages.first().as_doc().first();
}

// The members that have to have what is before that place.
MembersAwaited awaited_for(const Invocation& invocation, const bson::Object& token) {
    const replica::Member& member = *invocation.service.context().member;
    MembersAwaited awaited;
    awaited.of = MembersAwaited::Of::log;
    awaited.rollbacks = invocation.rollbacks;
    awaited.position = ResumeToken::parse(token.doc()).position;
    awaited.need.durable = true;
    const std::shared_ptr<const replica::Config> config = member.config();
    replica::Need majority{.members = 1, .mode = "majority", .durable = true};
    if (config != nullptr && !majority.is_met_by_primary(*config))
        awaited.need = std::move(majority);
    return awaited;
}

}  // namespace

bool is_change_stream(const Invocation& invocation, bson::Doc stages) {
    const bson::Element first = stages.first();
    return invocation.dialect().has(dialect::kChangesAreStreamed) && first.is_object() &&
           first.as_doc().first().name() == "$changeStream";
}

void check_change_stream(const Invocation& invocation, const PipelineRequest& request) {
    if (invocation.service.context().member == nullptr)
        base::fail(kOnlyInSets, "The $changeStream stage is only supported on replica sets");
    if (request.explain)
        base::fail(base::kInvalidOptions, "explain of a $changeStream is not supported");
    query::check_stage_names(request.stages);
    check_stream_stages(request.stages);
}

void run_change_stream(Invocation& invocation, const PipelineRequest& request,
                       std::shared_ptr<query::Pipeline> stages) {
    const std::string_view collection =
        request.whole_database ? std::string_view() : catalog::split(request.source_ns).collection;
    StreamRequest asked = read_stream_request(stage_of(request.stages), invocation.db, collection);
    auto cursor = std::make_unique<Cursor>();
    cursor->ns = request.ns;
    cursor->collection_ns = oplog::kSetLog;  // no drop ends it
    cursor->tailable = cursor->await_data = cursor->follows_changes = true;
    cursor->source = std::make_unique<StreamSource>(invocation.client,
                                                    invocation.service.context().member->log(),
                                                    std::move(asked), std::move(stages));
    BatchLimits limits;
    limits.documents = request.batch_size;
    limits.max_bytes = kFirstBatchBytes;
    limits.may_be_empty = true;
    bool exhausted = false;
    bson::Builder reply = invocation.reply->sub_object("cursor");
    {
        bson::Builder batch = reply.sub_array("firstBatch");
        fill_array(*cursor, limits, batch, &exhausted);
    }
    cursor->returned = 0;
    const bson::Object token = cursor->source->resume_token();
    MembersAwaited awaited = awaited_for(invocation, token);
    reply.append("postBatchResumeToken", token).append("id", int64_t{0});
    const size_t id_offset = reply.buffer().size() - sizeof(int64_t);
    reply.append("ns", request.ns);
    if (!cursor->source->has_ended()) {
        note_opener(*cursor, invocation.client);
        awaited.cursor = invocation.service.cursors().add(std::move(cursor));
    }
    // Nothing fails from here on: the client learns the cursor's id.
    reply.buffer().store<int64_t>(id_offset, awaited.cursor);
    invocation.client.report().left_open = awaited.cursor;
    invocation.suspension.add_members(awaited);
}

bool may_follow(const Invocation& invocation, const Rights& rights, const bson::Element& spec) {
    constexpr auth::Actions kFollows = auth::action::find | auth::action::changeStream;
    if (spec.is_object() && spec.as_doc()["allChangesForCluster"].truthy())
        return rights.anywhere(kFollows);
    const bson::Element target = invocation.first();
    return rights.on(invocation.db, target.is_string() ? target.as_string() : std::string_view(),
                     kFollows);
}

void append_stream_place(Invocation& invocation, const bson::Object& token, int64_t cursor,
                         bson::Builder& reply) {
    if (token.empty()) return;
    reply.append("postBatchResumeToken", token);
    MembersAwaited awaited = awaited_for(invocation, token);
    awaited.cursor = cursor;
    invocation.suspension.add_members(awaited);
}

}  // namespace command
