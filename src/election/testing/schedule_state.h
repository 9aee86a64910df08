// election/testing/schedule_state.h - a random schedule (schedule.h): members with disks, messages
// on their way, and what has been acknowledged. schedule.cpp has its steps, settling.cpp its end.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "election/election.h"
#include "election/testing/memory_coordinator.h"
#include "election/testing/schedule.h"

namespace election::schedule {

inline constexpr int64_t kTimeoutMs = 1000;
inline constexpr Position kNothing{0, 0};

struct Entry {
    int64_t term;
    int64_t id;  // of the write
    bool operator==(const Entry&) const = default;
};

// The disk of a member keeps this.
struct Disk {
    std::vector<Entry> log;
    int64_t known_term = 0;
    Config config;
    int64_t starts = 0;
    bool is_blank = false;
};

struct Node {
    std::unique_ptr<Election> election;  // null: it is down
    Disk disk;
    size_t durable = 0;  // entries of the log
    uint64_t process = 0;
    int64_t clock_ms = 0;
    int64_t clock_step_ms = 0;  // at most, between two ticks
    double speed = 1;
    std::optional<int64_t> leads;
    std::optional<Follow> follows;
    MemberId catches_up_with = kNoMember;
    bool is_stopping = false;
    std::optional<Disk> copy;  // an old one, made while that process ran
    uint64_t copied_process = 0;
};

// Messages among members, and answers of the coordinator.
struct ToHeartbeat {
    MemberId from;
    Heartbeat heartbeat;
    int64_t sent_ms;  // of the asker's clock; -1: a question
};
struct ToAsk {
    MemberId from;
    Ask ask;
};
struct ToReply {
    MemberId from;
    int64_t term;
    Question question;
    bool is_agreed;
};
struct ToReport {
    MemberId from;
    std::string gen;
    int64_t term;
    int64_t config;
    Position durable;
};
struct ToTold {
    MemberId from;
    uint64_t round;
    Election::Known known;
    bool is_question;
};
struct ToHeir {
    std::string gen;
    int64_t term;
};
struct ToAnswer {
    uint64_t number;
    std::optional<Answer> answer;
};
using Body = std::variant<ToHeartbeat, ToAsk, ToReply, ToReport, ToTold, ToHeir, ToAnswer>;
struct Message {
    MemberId to;
    uint64_t process;  // 0: any of it
    Body body;
};
struct Request {
    MemberId from;
    uint64_t process;
    Transact transact;
};

class Schedule {
  public:
    Schedule(uint64_t seed, Aim aim, Counts* counts);
    std::string run(int steps);

  private:
    bool chance(double probability) { return real_(random_) < probability; }
    size_t below(size_t limit) { return random_() % limit; }
    double one_of(std::initializer_list<double> values) {
        return values.begin()[below(values.size())];
    }
    template <typename Queue>
    size_t pick(const Queue& queue) {
        if (chance(late_)) return below(queue.size());
        const size_t back = below(4);
        return queue.size() - 1 > back ? queue.size() - 1 - back : 0;
    }

    void start(MemberId id);
    void kill(MemberId id);
    void step();
    void check_settles();
    void be_well(MemberId id);
    const Node* serving() const;
    std::string describe() const;
    void act(MemberId id);
    void do_actions(MemberId id);
    void moved(MemberId id);
    void write(MemberId id);
    void pull(MemberId id);
    void catch_up(MemberId id);
    void report(MemberId id);
    void deliver();
    void lose(size_t at);
    void give(const Message& message);
    void serve_coordinator();
    void lose_coordinator();
    void change_voters(MemberId id);
    void lead(MemberId id, int64_t term);
    void acknowledge(MemberId id);
    void send(MemberId to, Body body, uint64_t process = 0);
    bool lacks_set() const { return !coordinator_.has("/mongod-dur/s/term"); }
    Position last(const Node& node, size_t count) const {
        if (count == 0) return kNothing;
        return {node.disk.log[count - 1].term, count};
    }
    void fail(std::string what) {
        if (failure_.empty()) failure_ = std::move(what);
    }

    std::mt19937_64 random_;
    std::uniform_real_distribution<double> real_{0, 1};
    const Aim aim_;
    Counts& counts_;
    const Keys keys_{"s"};
    MemoryCoordinator coordinator_;
    bool is_coordinator_up_ = true;
    std::vector<Node> nodes_;
    std::deque<Message> net_;
    std::deque<Request> requests_;
    std::deque<Message> late_messages_;
    std::deque<Request> late_requests_;
    uint64_t processes_ = 0;
    int64_t writes_ = 0;
    std::map<uint64_t, std::pair<MemberId, Ask>> tokens_;  // who has asked what
    uint64_t last_token_ = 0;

    struct Acknowledged {
        size_t index;
        Entry entry;
        int64_t term;  // of the primary
    };
    std::vector<Acknowledged> acknowledged_;
    std::map<size_t, Entry> acknowledged_at_;
    struct Winner {
        MemberId id;
        uint64_t process;
        std::vector<Entry> log;
    };
    std::map<int64_t, Winner> winners_;
    int64_t lost_config_ = 0;  // that a majority knew when the coordinator lost its data
    std::string failure_;

    const bool changes_, loses_, rebuilds_;
    double late_, crash_, slow_, outage_, heartbeats_, candidacies_;
    size_t queue_max_;
};

}  // namespace election::schedule
