// election/keys.h - what the coordinator keeps for a set, and every transaction on it.
//
//   PREFIX/term        t=7 primary=1 start=9a3e55107cc0b2d4 config=3 gen=5f1c09aa37d2e481
//   PREFIX/config      version=3 voters=0:1,1:1,2:0.5       and behind a newline the document
//   PREFIX/member/1    start=9a3e55107cc0b2d4 starts=12
//   PREFIX/seal/0000000000000007/1      7,1764348000,12     the last position: term, seconds,
//   number
//
// PREFIX is /mongod-dur/SET. Terms in keys are hexadecimal, so that they sort. Transactions compare
// values, byte for byte as they were read, and never revisions, which begin anew when the data of
// the coordinator is made again. Each reads everything below PREFIX at its end: that is little.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "election/types.h"

namespace election {

struct Compare {
    std::string key;
    std::optional<std::string> value;  // nothing: there is no such key
};
struct Put {
    std::string key;
    std::string value;
};
struct Range {
    std::string begin;
    std::string end;  // the first key behind it
};

// If all compares hold, puts and then removes; in any case reads `read` at the end. All of it is
// one step, linearizable, also where nothing is compared or changed.
struct Transaction {
    std::vector<Compare> compares;
    std::vector<Put> puts;
    std::vector<Range> removes;
    Range read;
};
struct Answer {
    bool succeeded = false;
    std::map<std::string, std::string> found;
};

// Where the sets' data is. Nothing: no answer came in time, and the transaction may be done, now or
// later. `why` says what happened then.
class Coordinator {
  public:
    virtual ~Coordinator() = default;
    virtual std::optional<Answer> run(const Transaction& transaction, std::string* why) = 0;
};

// What an answer shows.
struct View {
    struct Seal {
        std::string text;
        Position position;
    };
    std::optional<Term> term;  // nothing: the coordinator does not know the set
    std::string term_text;
    std::optional<Config> config;
    std::map<MemberId, Start> members;
    std::map<MemberId, std::string> member_texts;
    std::map<MemberId, Seal> seals;  // of that term
};

class Keys {
  public:
    explicit Keys(std::string_view set);

    // Nothing: a value is none that a member has written; `what` names its key then.
    std::optional<View> view(const Answer& answer, std::string* what) const;

    Transaction read() const { return {{}, {}, {}, all_}; }
    // The member is running as that process. `seen` may have another one of it.
    Transaction hello(MemberId self, const Start& start, const View& seen) const;
    // The process of the member promises to follow no primary of the term in `seen`.
    Transaction seal(MemberId self, const Start& start, Position last, const View& seen) const;
    // The term after the one in `seen`, by the seals of these members.
    Transaction elect(MemberId self, const Start& start, const std::vector<MemberId>& sealed,
                      const View& seen) const;
    // The primary of that term goes on in the next one.
    Transaction renew(const View& seen) const;
    Transaction reconfigure(const Config& next, const View& seen) const;
    // The set begins, or is made known again to a coordinator that has lost it.
    Transaction create(const Term& term, const Config& config) const;

    static std::string text_of(const Term& term);
    static std::string text_of(const Config& config);
    static std::string text_of(Position position);

  private:
    std::string member(MemberId id) const;
    std::string seal(int64_t term, MemberId id) const;
    std::string seals(int64_t term) const;

    const std::string prefix_;  // with a slash at its end
    const Range all_;
};

}  // namespace election
