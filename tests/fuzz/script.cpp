// Fuzz target: the text of a script, compiled, run, and its result read.
#include "base/error.h"
#include "script/duktape/context.h"
#include "script/duktape/testing/host.h"
#include "target.h"

namespace {

constexpr size_t kMemoryMax = size_t{16} * 1024 * 1024;
constexpr int64_t kTicksMax = 500'000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string code(reinterpret_cast<const char*>(data), size);
    const bson::Object document = bson::make("a", 1, "10", int64_t{1} << 60, "s", "x");
    script::TestHost host;
    host.limit_ticks(kTicksMax);
    bool taken = false;
    {
        const auto context = script::open_duktape(host.host(), kMemoryMax);
        script::error_code([&] {
            const int function = context->compile(code);
            taken = true;
            context->is_true(function, document.doc().data());
            const std::string result = context->call(
                function, bson::make("0", document).doc().data(), script::Context::Result::field);
            fuzz::expect(bson::Doc(result.data()).size() == static_cast<int32_t>(result.size()),
                         "a result is a document");
        });
    }
    fuzz::expect(host.held() == 0, "a context gives back what it took");
    return taken ? fuzz::kTaken : fuzz::kNoInput;
}
