// options/option.h - one description per option, and its value.
//
// An option is an object of static life that holds everything there is to say about it: names,
// type, range, default, help, whether it can change while the server runs, and what acknowledged
// work it can cost in the worst case. It registers itself. Reading the command line and
// configuration files (server/read_options.cpp), range errors, --help, getParameter and
// setParameter, getCmdLineOpts, docs/options.md, the man page and shell completion are made from
// it. Adding an option means describing it, here or in the room that uses it, and using it:
//
//     inline Integer cursor_minutes({
//         .name = "cursorMinutes",
//         .yaml = {"net.cursorMinutes"},
//         .group = Group::network,
//         .value_name = "N",
//         .unit = "minutes",
//         .default_value = 10,
//         .range = Range{1, 1440},
//         .help = "Close cursors that are unused for so long. Default {default}.",
//     });
//     ... options::cursor_minutes.get() ...
//
// The catalogue (options/catalogue.h) holds those of the base; options of the journal that patches
// add lie in journal/options/, a file each, so that no two of them touch the same lines.
//
// Options are registered before main() starts. They may be read and set from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace options {

// The alternatives of Value, in their order.
enum class Type { flag, integer, number, text, list };
using Value = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

// The headings of --help, in its order.
enum class Group {
    general,
    network,
    security,
    storage,
    journal,
    added_to_journal,  // under the same heading, by name: each in a file of its own
    replication,
    logging,
    process,
    parameters,  // only server parameters: not on the command line
    absent,      // of parts that this server does not have
};

// Both ends are allowed.
struct Range {
    double low;
    double high;
};

// Whether it is a server parameter, and when setParameter may change it.
enum class Parameter { no, read_only, at_start, at_runtime, always };

// The origin of a new value.
enum class Source {
    start_up,   // command line or configuration file
    parameter,  // setParameter, as a command or at the start
};

// Another name of an option, which it had in an old server.
struct OldName {
    const char* name = "";  // after "--"
    const char* yaml = "";
    // Its words for the option's values: old, today's. None: the same values.
    std::vector<std::pair<const char*, const char*>> words = {};
    const char* switch_for = "";  // not empty: a flag, which stands for this value
};

// Texts may contain {name}, {default}, {choices}, {low}, {high}; {value} where one is refused.
struct Description {
    const char* name = "";  // after "--", in old "name = value" lines, and as a parameter
    char letter = 0;        // after "-"
    std::vector<const char*> yaml = {};  // dotted names, the usual one first; none: not in YAML
    std::vector<OldName> old_names = {};
    bool yaml_opposite = false;  // a flag whose YAML switch has the opposite sense
    // The words that YAML has for values: each with the value it stands for.
    std::vector<std::pair<const char*, Value>> yaml_words = {};
    Group group = Group::general;
    const char* value_name = "";  // "PORT" in --help; not for flags and choices
    const char* unit = "";
    // Its alternative is the option's type; in force until another one is set.
    Value default_value = false;
    const char* default_text = "";  // for people, where the value does not say it
    // Returns the default that follows from how much memory the process may have; null: it does not
    // depend on that.
    Value (*default_of_memory)(int64_t bytes) = nullptr;
    std::vector<const char*> choices = {};  // the only values, as text
    const char* choice_error = "";  // said about others, where the usual sentence is not wanted
    std::optional<Range> range = {};
    std::optional<Range> parameter_range = {};  // of setParameter, where it differs
    // The same for values out of range.
    const char* range_error = "";
    const char* parameter_range_error = "";
    void (*check)(const Value& value) = nullptr;  // throws base::Error when it is not possible
    const char* engine = "";  // the only value of --storageEngine that knows it; empty: each
    // Whether each engine knows this option of Group::added_to_journal; mmapv1 alone knows the
    // others of it.
    bool of_each_engine = false;
    const char* help = "";  // what it does, unit and range, default, what larger and smaller cost
    // The most acknowledged work that can be lost in the worst case; empty: no more than without
    // it.
    const char* loss = "";

    Parameter parameter = Parameter::no;
    const char* parameter_name = "";   // where it is not `name`
    const char* parameter_error = "";  // not empty: setParameter refuses each value, saying this
    bool tells_old_value = true;       // the reply of setParameter has `was`
    bool shown_whole = false;  // a number that getParameter shows as an integer if it is one
    // A parameter only while the server has a journal; so are all of Group::added_to_journal.
    bool needs_journal = false;

    bool hidden = false;       // not in --help
    bool secret = false;       // its value is shown nowhere
    const char* ignored = "";  // not empty: accepted without effect, and why. Worth a warning
    const char* refused = "";  // not empty: known, but not available, and why
};

class Option {
  public:
    // Ends the process when the name is taken.
    explicit Option(Description description);
    Option(const Option&) = delete;
    Option& operator=(const Option&) = delete;
    ~Option();

    const Description& description() const { return description_; }
    // The only value of --storageEngine that knows it; empty: each.
    std::string_view engine() const;
    Type type() const { return static_cast<Type>(description_.default_value.index()); }
    bool is_on_command_line() const { return description_.group != Group::parameters; }
    // Its name as a parameter; empty if it is none.
    std::string_view parameter_name() const;

    Value value() const;
    // Whether a value was given; otherwise the default is in force.
    bool is_set() const { return is_set_.load(std::memory_order_relaxed); }

    // `value` is of the option's type. Throws base::Error (kBadValue) with a text that names the
    // option and what is allowed, and changes nothing then.
    void set(const Value& value, Source source = Source::start_up);
    void set_text(std::string_view text, Source source = Source::start_up);

    // Its default follows from so much memory, if it is one of those; a value that was set stays.
    void take_default_of(int64_t memory_bytes);

    // `changed` is called with the value in force now, and with each new one, by the thread that
    // sets it. One follower at a time; empty: none any more, and no call is under way when this
    // returns.
    void follow(std::function<void(const Value&)> changed);

  protected:
    int64_t whole() const { return whole_.load(std::memory_order_relaxed); }
    double real() const { return real_.load(std::memory_order_relaxed); }

  private:
    friend struct OptionReset;  // options/testing/reset.h
    void check(const Value& value, Source source) const;
    void store(Value value);

    const Description description_;
    mutable std::mutex mutex_;
    Value value_;                             // guarded by mutex_
    std::function<void(const Value&)> told_;  // guarded by follow_mutex_
    std::mutex follow_mutex_;                 // taken before mutex_
    std::atomic<bool> is_set_{false};
    std::atomic<int64_t> whole_{0};  // a flag, an integer, or the place of a text in choices
    std::atomic<double> real_{0};
};

class Flag : public Option {
  public:
    using Option::Option;
    bool get() const { return whole() != 0; }
};

class Integer : public Option {
  public:
    using Option::Option;
    int64_t get() const { return whole(); }
};

class Number : public Option {
  public:
    using Option::Option;
    double get() const { return real(); }
};

class Text : public Option {
  public:
    using Option::Option;
    std::string get() const { return std::get<std::string>(value()); }
    // The place of the value in `choices`, which it must have: cheap.
    int choice() const { return static_cast<int>(whole()); }
};

class List : public Option {
  public:
    using Option::Option;
    std::vector<std::string> get() const { return std::get<std::vector<std::string>>(value()); }
};

// Returns the options in the order of --help: by group, then as they are written, or by name
// (Group::added_to_journal, Group::parameters).
std::vector<Option*> all();
// Tells all options how much memory the process may have. Called before values are read.
void take_defaults_of(int64_t memory_bytes);
// Returns the option by its name on the command line. Returns null if there is none.
Option* find(std::string_view name);

// Returns `text` as a value of the option's type. Numbers are decimal. Returns nothing if it is
// none.
std::optional<Value> parse_value(const Option& option, std::string_view text);
// Returns the value as it would stand on the command line.
std::string value_text(const Value& value);
// Returns the text that --help shows after the name: choices are shown as "a | b". It is empty for
// flags.
std::string value_name(const Option& option);
// Returns the text that {default} stands for.
std::string default_text(const Option& option);
// `text` with the names in braces filled in.
std::string fill_in(const Option& option, std::string_view text, std::string_view value = {});

}  // namespace options
