// script/duktape/prelude.h - what scripts find in their global object beside the language, in
// JavaScript: the classes of BSON values, the helpers of the old shell, its object db.
//
// Each part is a function of three values: what natives.h gives, the global object, and the
// constructor Proxy, which scripts do not see.
#pragma once

namespace script {

extern const char* const kPreludeTypes;
extern const char* const kPreludeTexts;
extern const char* const kPreludeHelpers;
extern const char* const kPreludeRuns;
extern const char* const kPreludeDatabase;

}  // namespace script
