// The one file that compiles the engine.
#define DUK_COMPILING_DUKTAPE

#include "script/duktape/engine.h"
#include "script/duktape/engine_sources.h"
