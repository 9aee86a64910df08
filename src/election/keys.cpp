#include "election/keys.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/dcheck.h"

namespace election {

namespace {

template <typename Number>
bool read_number(std::string_view text, Number* out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
    return error == std::errc() && end == text.data() + text.size();
}

// Takes what stands before the separator, and the separator, off the front.
std::string_view take_until(std::string_view& text, char separator) {
    const size_t at = text.find(separator);
    const std::string_view word = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    return word;
}

// Takes "name=value" off the front.
bool take_field(std::string_view& text, std::string_view name, std::string_view* value) {
    std::string_view word = take_until(text, ' ');
    if (take_until(word, '=') != name || word.empty()) return false;
    *value = word;
    return true;
}

template <typename Number>
bool take_field(std::string_view& text, std::string_view name, Number* value) {
    std::string_view word;
    return take_field(text, name, &word) && read_number(word, value);
}

std::optional<Term> read_term(std::string_view text) {
    Term term;
    std::string_view start, gen;
    if (!take_field(text, "t", &term.number) || !take_field(text, "primary", &term.primary) ||
        !take_field(text, "start", &start) || !take_field(text, "config", &term.config) ||
        !take_field(text, "gen", &gen) || !text.empty())
        return {};
    term.start = start;
    term.gen = gen;
    return term;
}

bool read_voters(std::string_view list, std::vector<Voter>& voters) {
    while (!list.empty()) {
        std::string_view word = take_until(list, ',');
        Voter voter;
        if (!read_number(take_until(word, ':'), &voter.id) || !read_number(word, &voter.priority))
            return false;
        voters.push_back(voter);
    }
    return true;
}

std::optional<Config> read_config(std::string_view text) {
    std::string_view head = take_until(text, '\n');
    Config config;
    std::string_view voters;
    if (!take_field(head, "version", &config.version) || !take_field(head, "voters", &voters) ||
        !read_voters(voters, config.voters))
        return {};
    config.document = text;
    return config;
}

std::optional<Start> read_start(std::string_view text) {
    Start start;
    std::string_view id;
    if (!take_field(text, "start", &id) || !take_field(text, "starts", &start.starts)) return {};
    start.id = id;
    return start;
}

std::optional<Position> read_position(std::string_view text) {
    Position position;
    uint32_t seconds = 0, number = 0;
    if (!read_number(take_until(text, ','), &position.term) ||
        !read_number(take_until(text, ','), &seconds) || !read_number(text, &number))
        return {};
    position.ts = uint64_t{seconds} << 32 | number;
    return position;
}

std::string text_of(const Start& start) {
    return fmt::format("start={} starts={}", start.id, start.starts);
}

// The first string behind all that begin with this one.
std::string behind(std::string prefix) {
    DCHECK(!prefix.empty() && prefix.back() < 0x7f);
    ++prefix.back();
    return prefix;
}

}  // namespace

Keys::Keys(std::string_view set)
    : prefix_(fmt::format("/mongod-dur/{}/", set)), all_{prefix_, behind(prefix_)} {}

std::string Keys::member(MemberId id) const {
    return fmt::format("{}member/{}", prefix_, id);
}

std::string Keys::seals(int64_t term) const {
    return fmt::format("{}seal/{:016x}/", prefix_, term);
}

std::string Keys::seal(int64_t term, MemberId id) const {
    return fmt::format("{}{}", seals(term), id);
}

std::string Keys::text_of(const Term& term) {
    return fmt::format("t={} primary={} start={} config={} gen={}", term.number, term.primary,
                       term.start.empty() ? "none" : term.start, term.config, term.gen);
}

std::string Keys::text_of(const Config& config) {
    std::string text = fmt::format("version={} voters=", config.version);
    for (const Voter& voter : config.voters)
        fmt::format_to(std::back_inserter(text), "{}{}:{}", text.back() == '=' ? "" : ",", voter.id,
                       voter.priority);
    return text + '\n' + config.document;
}

std::string Keys::text_of(Position position) {
    return fmt::format("{},{},{}", position.term, position.ts >> 32,
                       static_cast<uint32_t>(position.ts));
}

std::optional<View> Keys::view(const Answer& answer, std::string* what) const {
    View view;
    const auto find = [&answer](const std::string& key) -> const std::string* {
        const auto found = answer.found.find(key);
        return found == answer.found.end() ? nullptr : &found->second;
    };
    const auto rubbish = [what](const std::string& key) {
        *what = key;
        return std::nullopt;
    };
    if (const std::string* const text = find(prefix_ + "term")) {
        view.term = read_term(*text);
        view.term_text = *text;
        if (!view.term) return rubbish(prefix_ + "term");
    }
    if (const std::string* const text = find(prefix_ + "config")) {
        view.config = read_config(*text);
        if (!view.config) return rubbish(prefix_ + "config");
    }
    if (view.term && (!view.config || view.config->version != view.term->config))
        return rubbish(prefix_ + "config");
    const std::string members = prefix_ + "member/";
    const std::string seals = this->seals(view.term ? view.term->number : 0);
    for (const auto& [key, text] : answer.found) {
        MemberId id = 0;
        if (key.starts_with(members)) {
            const std::optional<Start> start = read_start(text);
            if (!read_number(std::string_view(key).substr(members.size()), &id) || !start)
                return rubbish(key);
            view.members[id] = *start;
            view.member_texts[id] = text;
        } else if (key.starts_with(seals)) {
            const std::optional<Position> position = read_position(text);
            if (!read_number(std::string_view(key).substr(seals.size()), &id) || !position)
                return rubbish(key);
            view.seals[id] = {text, *position};
        }
    }
    return view;
}

Transaction Keys::hello(MemberId self, const Start& start, const View& seen) const {
    const auto before = seen.member_texts.find(self);
    Compare is_as_seen{member(self), {}};
    if (before != seen.member_texts.end()) is_as_seen.value = before->second;
    return {{{prefix_ + "term", seen.term_text}, is_as_seen},
            {{member(self), election::text_of(start)}},
            {},
            all_};
}

Transaction Keys::seal(MemberId self, const Start& start, Position last, const View& seen) const {
    const std::string key = seal(seen.term->number, self);
    return {
        {{prefix_ + "term", seen.term_text}, {member(self), election::text_of(start)}, {key, {}}},
        {{key, text_of(last)}},
        {},
        all_};
}

Transaction Keys::elect(MemberId self, const Start& start, const std::vector<MemberId>& sealed,
                        const View& seen) const {
    Transaction transaction{{{prefix_ + "term", seen.term_text}}, {}, {}, all_};
    for (const MemberId id : sealed)
        transaction.compares.push_back({seal(seen.term->number, id), seen.seals.at(id).text});
    Term next = *seen.term;
    ++next.number;
    next.primary = self;
    next.start = start.id;
    transaction.puts.push_back({prefix_ + "term", text_of(next)});
    transaction.removes.push_back({prefix_ + "seal/", seals(seen.term->number)});
    return transaction;
}

Transaction Keys::renew(const View& seen) const {
    Term next = *seen.term;
    ++next.number;
    return {{{prefix_ + "term", seen.term_text}}, {{prefix_ + "term", text_of(next)}}, {}, all_};
}

Transaction Keys::reconfigure(const Config& next, const View& seen) const {
    Term term = *seen.term;
    term.config = next.version;
    return {{{prefix_ + "term", seen.term_text}},
            {{prefix_ + "term", text_of(term)}, {prefix_ + "config", text_of(next)}},
            {},
            all_};
}

Transaction Keys::create(const Term& term, const Config& config) const {
    DCHECK(term.config == config.version);
    return {{{prefix_ + "term", {}}},
            {{prefix_ + "term", text_of(term)}, {prefix_ + "config", text_of(config)}},
            {},
            all_};
}

}  // namespace election
