#define PCRE2_CODE_UNIT_WIDTH 8

#include "query/match/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <exception>
#include <new>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/thread_scratch.h"
#include "query/match/regex_syntax.h"
#include "sched/memory.h"
#include "sched/tick.h"

namespace query {

namespace {

uint32_t compile_options(std::string_view flags) {
    uint32_t options = PCRE2_UTF;
    for (const char flag : flags) {
        switch (flag) {
            case 'i':
                options |= PCRE2_CASELESS;
                break;
            case 'm':
                options |= PCRE2_MULTILINE;
                break;
            case 's':
                options |= PCRE2_DOTALL;
                break;
            case 'x':
                options |= PCRE2_EXTENDED;
                break;
            default:
                break;
        }
    }
    return options;
}

// The library's memory counts towards the operation's. No exception may cross its frames.
void* take(PCRE2_SIZE bytes, void*) {
    try {
        return sched::memory::reallocate(nullptr, bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void give_back(void* p, void*) {
    sched::memory::release(p);
}

// Returns what the library gives; throws if that is null for want of memory.
template <typename T>
T* made(T* p) {
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

pcre2_general_context* memory_context() {
    static pcre2_general_context* const context =
        made(pcre2_general_context_create(take, give_back, nullptr));
    return context;
}

// The library counts steps from each place in the text where a match may begin, and a step may go
// over the whole text: these limit the memory for backtracking, but no time. Time is limited by
// watching a search without an end in sight (Regex::search).
constexpr uint32_t kStepsMax = 1'000'000;
constexpr uint32_t kHeapKilobytesMax = 20'000;
// A search that takes no more characters looked at than about this is let go: some milliseconds.
constexpr uint64_t kQuickSteps = 10'000'000;
// Fewer steps from each place are not worth trying.
constexpr uint64_t kFewSteps = 100;
// Compiled to machine code, large patterns take much more memory than they are worth.
constexpr size_t kMachineCodeBytesMax = 16 * 1024;
// Characters in ranges for which others may stand that differ only in case. To compile a pattern is
// one call, which nothing ends: so many take some ten milliseconds.
constexpr uint64_t kFoldedMax = uint64_t{1} << 25;
// A pattern compiled or a text searched counts kTicks (sched/tick.h), and one more for each
// kBytesPerTick of text.
constexpr int64_t kTicks = 16;
constexpr size_t kBytesPerTick = 128;
constexpr size_t kPatternBytesPerStep = 1024;

void count_bytes(size_t bytes) {
    sched::tick(kTicks + static_cast<int64_t>(bytes / kBytesPerTick));
}

// The state that a watched search gives to its caller.
struct Watch {
    std::exception_ptr failure;
    size_t at = 0;  // in the text, at the last item
    // The cost of an item, which may examine text without going on: a reference compares text, and
    // stays where it is if that is another one.
    int64_t ticks_per_item = 1;
};

// Called before each item of a watched pattern: the one before it may have gone over all of the
// text. No exception may cross the library's frames.
int on_item(pcre2_callout_block* item, void* watched) {
    Watch& watch = *static_cast<Watch*>(watched);
    try {
        const size_t now = item->current_position;
        const size_t passed = now > watch.at ? now - watch.at : watch.at - now;
        watch.at = now;
        sched::tick(watch.ticks_per_item + static_cast<int64_t>(passed / kBytesPerTick));
        return 0;
    } catch (...) {
        watch.failure = std::current_exception();
        return PCRE2_ERROR_CALLOUT;
    }
}

bool has_references(const pcre2_code* code) {
    uint32_t highest = 0;
    pcre2_pattern_info(code, PCRE2_INFO_BACKREFMAX, &highest);
    return highest > 0;
}

// The tools of a thread's searches: a place for offsets (only whether something matched is of
// interest), and the limits of the search that runs.
class Searcher {
  public:
    Searcher() {
        pcre2_set_heap_limit(context_.get(), kHeapKilobytesMax);
        pcre2_set_callout(context_.get(), on_item, &watch_);
    }

    // Searches as pcre2_match does, from `start` on. A match that begins behind `last` is not
    // looked for, if the code was compiled for that. `data` receives its place; null: it is of no
    // interest.
    int match(const pcre2_code* code, std::string_view text, uint32_t steps, size_t start = 0,
              size_t last = PCRE2_UNSET, uint32_t options = 0, pcre2_match_data* data = nullptr) {
        if (data == nullptr) data = data_.get();
        pcre2_set_match_limit(context_.get(), steps);
        pcre2_set_offset_limit(context_.get(), last);
        watch_.failure = nullptr;
        watch_.at = start;
        watch_.ticks_per_item =
            has_references(code) ? 1 + static_cast<int64_t>(text.size() / kBytesPerTick) : 1;
        const int result = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                       start, options, data, context_.get());
        if (watch_.failure) std::rethrow_exception(std::exchange(watch_.failure, nullptr));
        // Much backtracking outgrows the small stack of machine code; the interpreter has a heap.
        const bool again = result == PCRE2_ERROR_JIT_STACKLIMIT && (options & PCRE2_NO_JIT) == 0;
        return again ? match(code, text, steps, start, last, options | PCRE2_NO_JIT, data) : result;
    }

  private:
    struct Free {
        void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
        void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
    };
    Watch watch_;
    std::unique_ptr<pcre2_match_data, Free> data_{made(pcre2_match_data_create(1, nullptr))};
    std::unique_ptr<pcre2_match_context, Free> context_{made(pcre2_match_context_create(nullptr))};
};

Searcher& searcher() {
    return base::thread_scratch<Searcher>();
}

// A compiled pattern, as machine code too where that is worth its memory.
class Code {
  public:
    explicit Code(pcre2_code* code) : code_(code) {
        size_t bytes = 0;
        pcre2_pattern_info(code, PCRE2_INFO_SIZE, &bytes);
        if (bytes > kMachineCodeBytesMax) return;
        if (pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) != 0) return;  // only slower
        // Mapped by the library itself, past what counts memory.
        pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &bytes);
        sched::memory::count_taken(bytes);
        machine_code_bytes_ = bytes;
    }
    ~Code() { sched::memory::count_released(machine_code_bytes_); }
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
    const pcre2_code* get() const { return code_.get(); }

  private:
    struct Free {
        void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    };
    std::unique_ptr<pcre2_code, Free> code_;
    size_t machine_code_bytes_ = 0;
};

}  // namespace

struct Regex::Compiled {
    Compiled(pcre2_code* code, std::string source, uint32_t with)
        : plain(code), words(std::move(source)), options(with) {}
    ~Compiled() { delete watched_.load(std::memory_order_relaxed); }
    Compiled(const Compiled&) = delete;
    Compiled& operator=(const Compiled&) = delete;

    // Returns the code with a call before each item; null if that makes it too large to be
    // compiled. It is made when it is first asked for, by any thread.
    const Code* watched();

    const Code plain;
    const std::string words;  // as the library was given them
    const uint32_t options;

  private:
    std::atomic<Code*> watched_{nullptr};
    std::atomic<bool> unwatchable_{false};
};

// The text that is searched, from where on, and the object that receives the place of a match.
struct Regex::Target {
    std::string_view text;
    size_t start = 0;
    uint32_t options = 0;
    pcre2_match_data* data = nullptr;
};

namespace {

// A thread's stack can take this much nesting; the old library had no limit of its own.
constexpr uint32_t kNestedGroupsMax = 1000;

// Shared by all patterns, never changed.
pcre2_compile_context* compile_context() {
    static pcre2_compile_context* const context = [] {
        pcre2_compile_context* one = made(pcre2_compile_context_create(memory_context()));
        pcre2_set_parens_nest_limit(one, kNestedGroupsMax);
#ifdef PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK
        pcre2_set_compile_extra_options(one, PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK);
#endif
        return one;
    }();
    return context;
}

// Null for a bad pattern; then `error` and `offset` say why and where.
pcre2_code* compile(std::string_view pattern, uint32_t options, int* error, PCRE2_SIZE* offset) {
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                     options, error, offset, compile_context());
    constexpr int kNoMemory = PCRE2_ERROR_HEAP_FAILED;
    if (code == nullptr && *error == kNoMemory) throw std::bad_alloc();
    return code;
}

// The pattern in an error message: cut, and without what is no plain text.
std::string shown(std::string_view pattern) {
    constexpr size_t kShownMax = 200;
    std::string text(pattern.substr(0, kShownMax));
    std::ranges::replace_if(
        text, [](char c) { return static_cast<uint8_t>(c) - 0x20U >= 0x5fU; }, '?');
    return '/' + text + (pattern.size() > kShownMax ? "..." : "/");
}

std::string message_of(int error) {
    char text[256] = "";
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
    return text;
}

// Patterns, flags and texts end at their first NUL, as they did for the old server.
std::string_view up_to_nul(std::string_view text) {
    return text.substr(0, text.find('\0'));
}

// Texts that are not UTF-8 match nothing. These codes lie side by side.
bool is_not_utf8(int result) {
    return result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21;
}

// Whether a search takes no more than a few steps from each place of the text, each of them over
// one character: no repeats, no groups, no alternatives, nothing that stands for text of any
// length.
bool is_linear(std::string_view pattern) {
    if (pattern.find_first_of("*+?{(|") != std::string_view::npos) return false;
    return pattern.find("\\X") == std::string_view::npos;
}

}  // namespace

const Code* Regex::Compiled::watched() {
    if (unwatchable_.load(std::memory_order_relaxed)) return nullptr;
    if (const Code* there = watched_.load(std::memory_order_acquire)) return there;
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* const code = compile(words, options | PCRE2_AUTO_CALLOUT, &error, &offset);
    if (code == nullptr) {
        unwatchable_.store(true, std::memory_order_relaxed);
        return nullptr;
    }
    auto made_now = std::make_unique<Code>(code);
    Code* there = nullptr;
    if (watched_.compare_exchange_strong(there, made_now.get(), std::memory_order_acq_rel))
        return made_now.release();
    return there;
}

Regex::Regex(std::string_view pattern, std::string_view flags)
    : pattern_(up_to_nul(pattern)), flags_(up_to_nul(flags)) {
    if (pattern.size() > kPatternBytesMax)
        base::fail(base::kBadValue, "Regular expression is too long");
    const uint64_t folded = caseless_range_characters(pattern_, flags_);
    if (folded > kFoldedMax)
        base::fail(base::kBadValue,
                   "Regular expression {} has too many large ranges of characters for a comparison "
                   "without case",
                   shown(pattern_));
    sched::tick_bytes(folded, sched::PerTick::converted, 0);
    // The offset limit lets a search that cannot be watched be cut into pieces.
    const uint32_t options = compile_options(flags_) | PCRE2_USE_OFFSET_LIMIT;
    int error = 0;
    PCRE2_SIZE offset = 0;
    std::string words = pattern_;
    pcre2_code* code = compile(words, options, &error, &offset);
    if (code == nullptr) {
        std::string newer = in_pcre2_syntax(pattern_, (options & PCRE2_EXTENDED) != 0);
        int ignored = 0;
        PCRE2_SIZE nowhere = 0;
        if (newer != pattern_) {
            words = std::move(newer);
            code = compile(words, options, &ignored, &nowhere);
        }
    }
    if (code == nullptr)
        base::fail(base::kBadValue, "Regular expression {} is invalid: {} (at byte {})",
                   shown(pattern_), message_of(error), offset);
    compiled_ = std::make_unique<Compiled>(code, std::move(words), options);
    linear_ = is_linear(pattern_);
    bool whole = false;
    std::string begin = prefix(&whole);
    if (whole && !begin.empty()) wanted_prefix_ = std::move(begin);
    count_bytes(pattern_.size());
}

Regex::~Regex() = default;

bool Regex::search(std::string_view text) const {
    text = up_to_nul(text);
    // An index that gives all texts between two bounds examines no more of them than this.
    if (!wanted_prefix_.empty()) return text.starts_with(wanted_prefix_);
    // A step may go over all characters that the pattern names.
    const size_t per_byte = 1 + pattern_.size() / kPatternBytesPerStep;
    count_bytes(text.size() * per_byte);
    const int result = match({.text = text});
    if (result >= 0) return true;
    if (result != PCRE2_ERROR_NOMATCH && !is_not_utf8(result)) fail_search(text, result);
    return false;
}

void Regex::fail_search(std::string_view text, int result) const {
    base::fail(base::kBadValue,
               "Regular expression {} could not be matched against a text of {} bytes: {}",
               shown(pattern_), text.size(), message_of(result));
}

bool Regex::find(std::string_view text, size_t start, sched::Vector<Part>* parts) const {
    DCHECK(start <= text.size());
    const size_t per_byte = 1 + pattern_.size() / kPatternBytesPerStep;
    count_bytes((text.size() - start) * per_byte);
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data(
        made(pcre2_match_data_create_from_pattern(compiled_->plain.get(), memory_context())),
        pcre2_match_data_free);
    // If `start` is not 0, an earlier search has checked that the text is UTF-8.
    const uint32_t options = start == 0 ? 0 : PCRE2_NO_UTF_CHECK;
    const int result = match({text, start, options, data.get()});
    if (result == PCRE2_ERROR_NOMATCH || is_not_utf8(result)) return false;
    if (result < 0) fail_search(text, result);
    const PCRE2_SIZE* const places = pcre2_get_ovector_pointer(data.get());
    parts->clear();
    for (const uint32_t i : sched::rounds<uint32_t>(0, pcre2_get_ovector_count(data.get()))) {
        const bool took_part = i < static_cast<uint32_t>(result) && places[2 * i] != PCRE2_UNSET;
        parts->push_back(took_part ? Part{places[2 * i], places[2 * i + 1]} : Part{});
    }
    return true;
}

// The library's answer. Whatever the pattern and the text are, ticks are counted as the search goes
// on.
int Regex::match(const Target& target) const {
    Searcher& with = searcher();
    const pcre2_code* const plain = compiled_->plain.get();
    const uint64_t bytes = target.text.size() - target.start + 1;
    const auto match_all = [&](const pcre2_code* code, uint32_t steps) {
        return with.match(code, target.text, steps, target.start, PCRE2_UNSET, target.options,
                          target.data);
    };
    if (linear_ && bytes * (pattern_.size() + 1) <= kQuickSteps) return match_all(plain, kStepsMax);
    // Usually a short text needs few steps; if not, it is searched once more.
    const uint64_t steps = std::min<uint64_t>(kQuickSteps / (bytes * bytes), kStepsMax);
    if (!linear_ && steps >= kFewSteps) {
        const int result = match_all(plain, static_cast<uint32_t>(steps));
        if (result != PCRE2_ERROR_MATCHLIMIT) return result;
    }
    if (const Code* watched = compiled_->watched()) return match_all(watched->get(), kStepsMax);
    return match_in_pieces(target);
}

// A pattern too large to be watched: some places of the text at a time. \G would mean the place
// where a piece begins; with it all is one piece.
int Regex::match_in_pieces(const Target& target) const {
    Searcher& with = searcher();
    const std::string_view text = target.text;
    const uint64_t bytes = text.size() - target.start + 1;
    const auto steps = static_cast<uint32_t>(
        std::clamp<uint64_t>(100 * kQuickSteps / bytes, kFewSteps, kStepsMax));
    const bool whole = pattern_.find("\\G") != std::string::npos;
    const size_t piece = whole ? text.size() : std::max<size_t>(kQuickSteps / bytes / kFewSteps, 1);
    uint32_t options = target.options;
    for (size_t start = target.start;;) {
        size_t last = std::min(start + piece, text.size());
        while (last < text.size() && (static_cast<uint8_t>(text[last]) & 0xC0) == 0x80)
            ++last;  // not within a character
        const int result =
            with.match(compiled_->plain.get(), text, steps, start, last, options, target.data);
        if (result != PCRE2_ERROR_NOMATCH || last == text.size()) return result;
        options = PCRE2_NO_UTF_CHECK;  // it has been examined
        start = last;
        sched::tick(kTicks * static_cast<int64_t>(piece));
    }
}

}  // namespace query
