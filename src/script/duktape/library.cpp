// The symbol that the program finds in the shared object of this room.
#include "base/program_version.h"
#include "script/duktape/context.h"

extern "C" {
__attribute__((visibility("default"))) extern const script::Library mongod_dur_script_library;
const script::Library mongod_dur_script_library{
    base::kProgramVersion,
    [](const script::Host& host, size_t memory_max) {
        return script::open_duktape(host, memory_max);
    },
};
}
