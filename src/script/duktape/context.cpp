#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "bson/types.h"
#include "script/duktape/context.h"
#include "script/duktape/heap.h"
#include "script/duktape/natives.h"
#include "script/duktape/prelude.h"
#include "script/duktape/source.h"
#include "script/duktape/values.h"
#include "script/script.h"

namespace script {

namespace {

constexpr std::string_view kFunction = "function";
constexpr std::string_view kSpace = " \t\r\n\v\f";

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$';
}

// Returns the text without space in front.
std::string_view trimmed(std::string_view code) {
    const size_t first = code.find_first_not_of(kSpace);
    return first == std::string_view::npos ? std::string_view() : code.substr(first);
}

bool begins_with_function(std::string_view code) {
    return code.starts_with(kFunction) && code.size() > kFunction.size() &&
           !is_word(code[kFunction.size()]);
}

// Returns where the function at the front ends, by its braces; 0: it does not.
size_t end_of_function(std::string_view code) {
    int depth = 0;
    for (size_t i = 0; i < code.size(); ++i) {
        const char c = code[i];
        if (c == '"' || c == '\'') {
            for (++i; i < code.size() && code[i] != c; ++i)
                if (code[i] == '\\') ++i;
        } else if (code.substr(i, 2) == "//") {
            i = std::min(code.find('\n', i), code.size());
        } else if (code.substr(i, 2) == "/*") {
            i = std::min(code.find("*/", i), code.size() - 1) + 1;
        } else if (c == '{') {
            ++depth;
        } else if (c == '}' && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

bool has_text(std::string_view code, std::string_view text) {
    return code.find(text) != std::string_view::npos;
}

// Whether a return stands in the code, and not only a name with these letters.
bool has_return(std::string_view code) {
    constexpr std::string_view kReturn = "return";
    for (size_t at = code.find(kReturn); at != std::string_view::npos;
         at = code.find(kReturn, at + 1)) {
        const size_t end = at + kReturn.size();
        if ((at == 0 || !is_word(code[at - 1])) && (end == code.size() || !is_word(code[end])))
            return true;
    }
    return false;
}

// Pushes the function of a part of the prelude. The first context compiles it for all others.
void push_prelude(duk_context* context, const char* part) {
    static std::mutex mutex;
    static std::map<const char*, std::string> compiled;
    const std::lock_guard lock(mutex);
    const auto found = compiled.find(part);
    if (found != compiled.end()) {
        std::memcpy(duk_push_fixed_buffer(context, found->second.size()), found->second.data(),
                    found->second.size());
        duk_load_function(context);
        return;
    }
    duk_push_string(context, "prelude");
    duk_compile_lstring_filename(context, DUK_COMPILE_FUNCTION, part, std::strlen(part));
    duk_dup_top(context);
    duk_dump_function(context);
    duk_size_t size = 0;
    const auto* const bytes = static_cast<const char*>(duk_get_buffer(context, -1, &size));
    compiled.emplace(part, std::string(bytes, size));
    duk_pop(context);
}

class DuktapeContext final : public Context {
  public:
    DuktapeContext(const Host& host, size_t memory_max) : heap_(host, memory_max) {
        heap_.enter([this] {
            push_natives(context(), &reach_);
            for (const char* const part :
                 {kPreludeTypes, kPreludeTexts, kPreludeHelpers, kPreludeRuns})
                run_prelude(part);
        });
    }

    int compile(std::string_view code) override {
        code = trimmed(code);
        uses_obj_ = uses_obj_ || has_text(code, "obj");
        // What it hands to commands is code again.
        const std::string kept = reach_.database != nullptr ? with_sources(code) : std::string();
        heap_.enter([&] {
            push_compiled(kept.empty() ? code : std::string_view(kept));
            push_text(context(), code);
            duk_put_prop_literal(context(), -2, SCRIPT_HIDDEN("value"));
            duk_push_heap_stash(context());
            duk_dup(context(), -2);
            duk_put_prop_index(context(), -2, static_cast<duk_uarridx_t>(functions_));
        });
        return functions_++;
    }

    void define(const uint8_t* document) override {
        heap_.enter([&] {
            Fields fields(document);
            while (const Field field = fields.next()) {
                push_text(context(), field.name);
                const std::string name(duk_get_string(context(), -1));
                push_value(context(), field);
                set_global(name);
                duk_pop(context());
            }
        });
    }

    void define_stored(std::string_view name, const uint8_t* element) override {
        Field field;
        field.type = static_cast<bson::Type>(*element);
        field.name = reinterpret_cast<const char*>(element + 1);
        field.value = element + field.name.size() + 2;
        if (field.type == bson::Type::code) uses_obj_ = uses_obj_ || has_text(field.text(), "obj");
        heap_.enter([&] {
            push_text(context(), name);
            const std::string stored(duk_get_string(context(), -1));
            Stored call{&field, this};
            if (duk_safe_call(context(), push_stored, &call, 0, 1) == DUK_EXEC_SUCCESS)
                set_global(stored);
        });
    }

    void open_database(Database* database, std::string_view name) override {
        reach_.database = database;
        heap_.enter([&] {
            push_natives(context(), &reach_);
            run_prelude(kPreludeDatabase);
            duk_push_heap_stash(context());
            duk_get_prop_literal(context(), -1, "openDatabase");
            push_text(context(), name);
            duk_call(context(), 1);
            set_global("db");
        });
    }

    void collect(Emitted* emitted) override {
        reach_.emitted = emitted;
        heap_.enter([&] {
            push_emit(context(), &reach_);
            set_global("emit");
        });
    }

    bool is_true(int function, const uint8_t* document) override {
        bool truth = false;
        heap_.enter([&] {
            call_with(function, document, false);
            truth = duk_to_boolean(context(), -1) != 0;
        });
        return truth;
    }

    void visit(int function, const uint8_t* document) override {
        const Mapping mapping(reach_);
        heap_.enter([&] { call_with(function, document, true); });
    }

    std::string call(int function, const uint8_t* arguments, Result result) override {
        Writer out;
        heap_.enter([&] {
            push_function(function);
            call_and_write(arguments, result, out);
        });
        return std::move(out.bytes());
    }

    std::string call_own(const char* name, const uint8_t* arguments) override {
        Writer out;
        heap_.enter([&] {
            duk_push_heap_stash(context());
            duk_get_prop_string(context(), -1, name);
            call_and_write(arguments, Result::field, out);
        });
        return std::move(out.bytes());
    }

  private:
    // Scripts may emit as long as it lives.
    class Mapping {
      public:
        explicit Mapping(Reach& reach) : reach_(reach) { reach_.maps = true; }
        ~Mapping() { reach_.maps = false; }
        Mapping(const Mapping&) = delete;
        Mapping& operator=(const Mapping&) = delete;

      private:
        Reach& reach_;
    };

    struct Stored {
        const Field* field;
        DuktapeContext* self;
    };

    static duk_ret_t push_stored(duk_context* context, void* call) {
        push_value(context, *static_cast<Stored*>(call)->field);
        return 1;
    }

    duk_context* context() { return heap_.context(); }

    // Calls a part with what is on top, and pops that.
    void run_prelude(const char* part) {
        push_prelude(context(), part);
        duk_dup(context(), -2);
        duk_push_global_object(context());
        duk_push_heap_stash(context());
        duk_get_prop_literal(context(), -1, "proxy");
        duk_remove(context(), -2);
        duk_call(context(), 3);
        duk_pop(context());
    }

    void set_global(const std::string& name) {
        duk_push_global_object(context());
        duk_dup(context(), -2);
        duk_put_prop_lstring(context(), -2, name.data(), name.size());
        duk_pop(context());
    }

    // Pushes what the text is a function of.
    void push_compiled(std::string_view code) {
        if (!begins_with_function(code)) {
            const bool whole = has_return(code) || has_text(code, "\n");
            push_source("(function(){" + std::string(whole ? "" : "return ") + std::string(code) +
                        "\n})");
            return;
        }
        if (const size_t end = end_of_function(code); end > 0) {
            // What stands behind the function means nothing.
            if (try_source("(" + std::string(code.substr(0, end)) + "\n)")) return;
        }
        push_source("(" + std::string(code) + "\n)");
    }

    void push_source(const std::string& source) {
        push_text(context(), source);
        duk_push_string(context(), "script");
        duk_compile(context(), DUK_COMPILE_EVAL);
        duk_call(context(), 0);
    }

    bool try_source(const std::string& source) {
        push_text(context(), source);
        duk_push_string(context(), "script");
        if (duk_pcompile(context(), DUK_COMPILE_EVAL) != 0) {
            duk_pop(context());
            return false;
        }
        duk_call(context(), 0);
        return true;
    }

    void push_function(int function) {
        duk_push_heap_stash(context());
        duk_get_prop_index(context(), -1, static_cast<duk_uarridx_t>(function));
    }

    // Leaves the result on top.
    void call_with(int function, const uint8_t* document, bool kept) {
        push_function(function);
        if (uses_obj_) {
            push_document(context(), document, kept);
            set_global("obj");
            duk_pop(context());
        }
        push_document(context(), document, kept);
        duk_call_method(context(), 0);
    }

    void call_and_write(const uint8_t* arguments, Result result, Writer& out) {
        constexpr int kFlagsOfArguments = 16863;
        constexpr int kTooLarge = 10334;
        duk_idx_t count = 0;
        heap_.set_flags_code(result == Result::eval ? kFlagsOfArguments : kScriptError);
        Fields fields(arguments);
        while (const Field field = fields.next()) {
            push_value(context(), field);
            ++count;
        }
        heap_.set_flags_code(kScriptError);
        duk_call(context(), count);
        const size_t start = out.begin();
        write_value(context(), out, "", -1, result == Result::field ? Top::by_class : Top::fields);
        out.end(start);
        if (out.bytes().size() > static_cast<size_t>(bson::kInternalBytesMax))
            fail_with(kTooLarge, "what the script returns is larger than a document may be");
    }

    Reach reach_;
    Heap heap_;
    int functions_ = 0;
    bool uses_obj_ = false;
};

}  // namespace

std::unique_ptr<Context> open_duktape(const Host& host, size_t memory_max) {
    return std::make_unique<DuktapeContext>(host, memory_max);
}

}  // namespace script
