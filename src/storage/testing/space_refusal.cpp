#include "storage/testing/space_refusal.h"

#include "storage/space_request.h"

namespace storage {

namespace {
void (*g_hook)() = nullptr;
}  // namespace

// In the place of that of storage/space_request.cpp, in each program that names what follows.
void ask_for_space() {
    if (g_hook != nullptr) g_hook();
}

void test::on_space_request(void (*hook)()) {
    g_hook = hook;
}

}  // namespace storage
