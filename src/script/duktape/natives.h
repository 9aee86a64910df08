// script/duktape/natives.h - what the prelude (prelude.h) cannot do in JavaScript.
#pragma once

#include "script/duktape/engine.h"
#include "script/script.h"

namespace script {

// What scripts of a context may reach; found by its heap.
struct Reach {
    Database* database = nullptr;
    Emitted* emitted = nullptr;
    bool maps = false;  // a map function runs, which alone may emit
};

// Pushes an object with these functions. Each ends the script where the server does not let it go
// on, and throws a JavaScript error for what the script did wrong.
void push_natives(duk_context* context, Reach* reach);

// Pushes the function emit.
void push_emit(duk_context* context, Reach* reach);

}  // namespace script
