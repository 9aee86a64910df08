// small tree, 2.4 2.6: src/mongo/db/commands/parameters.cpp
// parameters.cpp - a small stand-in

#include "mongo/skeleton.h"

#if VERSION == 24
#include "mongo/db/cmdline.h"
#else  // VERSION
#include "storage_options.h"
#endif  // VERSION

namespace mongo {

    // get and set, by name; the last word of a class's name is no other class: CmdSetter
    class CmdSet;

    struct Argument {
        double value;
        double Number() const { return value; }
    };
    typedef std::map<string, Argument> Arguments;

    class CmdGet {
    public:
        bool run( BSONObjBuilder& result ) {
            bool all = true;
#if VERSION == 24
            if( cmdLine.dur && all ) {
                result.append( "journalCommitInterval", cmdLine.journalCommitInterval );
#else  // VERSION
            if( isJournalingEnabled() && all ) {
                result.append( "journalCommitInterval", getJournalCommitInterval() );
#endif  // VERSION
            }
            return true;
        }
    } cmdGet;

    class CmdSet {
    public:
        bool run( Arguments& cmdObj, string& errmsg ) {
            int s = 0;
            bool found = false;
            if( cmdObj.count( "journalCommitInterval" ) ) {
#if VERSION == 24
                if( !cmdLine.dur ) {
#else  // VERSION
                if( !isJournalingEnabled() ) {
#endif  // VERSION
                    errmsg = "journaling is off";
                    return false;
                }
                int x = (int) cmdObj["journalCommitInterval"].Number();
                verify( x > 1 && x < 500 );
#if VERSION == 24
                cmdLine.journalCommitInterval = x;
#else  // VERSION
                setJournalCommitInterval( x );
#endif  // VERSION
                log() << "setParameter journalCommitInterval=" << x << std::endl;
                s++;
            }
            return s > 0 && !found;
        }
    } cmdSet;

    bool setInterval( double value ) {
        Arguments arguments;
        arguments["journalCommitInterval"].value = value;
        string errmsg;
        return cmdSet.run( arguments, errmsg );
    }
    string getInterval() {
        BSONObjBuilder result;
        cmdGet.run( result );
        return result.obj().toString();
    }

}
