// small tree, 2.4: src/mongo/db/cmdline.h
// cmdline.h - a small stand-in
#pragma once

#include "mongo/skeleton.h"

namespace mongo {

    struct CmdLine {
        CmdLine() : dur(true), preallocj(true), journalCommitInterval(0) { }
        string dbpath;
        bool dur;
        bool preallocj;
        unsigned journalCommitInterval;   // ms; 0 is the default
    };
    extern CmdLine cmdLine;

}
