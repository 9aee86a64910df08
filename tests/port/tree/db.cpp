// small tree, 2.4: src/mongo/db/db.cpp
// db.cpp - a small stand-in for the file that holds main and the options

#include "mongo/skeleton.h"

#include "mongo/db/cmdline.h"
#include "mongo/db/db_main.h"
#include "mongo/db/instance.h"

using namespace std;
using namespace mongo;
namespace po = boost::program_options;

namespace mongo {
    CmdLine cmdLine;
}

string describeOptions() {
    po::options_description general_options( "General options" );

    // ( "journalOptions", po ) in a comment
    general_options.add_options()
    ("dbpath", po::value<string>(), "directory for datafiles")
    ("journal", "enable journaling")
    ("journalCommitInterval", po::value<unsigned>(), "how often to group/batch commit (ms)")
    ("journalOptions", po::value<int>(), "journal diagnostic options")
    ("nojournal", "disable journaling (journaling is on by default for 64 bit)")
    ;

    return general_options.text;
}

void processCommandLineOptions( const OptionTable& params ) {
    if( params.count("dbpath") ) {
        cmdLine.dbpath = params["dbpath"].as<string>();
    }
    if( params.count("journalCommitInterval") ) {
        cmdLine.journalCommitInterval = params["journalCommitInterval"].as<unsigned>();
        if( cmdLine.journalCommitInterval <= 1 || cmdLine.journalCommitInterval > 300 ) {
            out() << "--journalCommitInterval out of allowed range (0-300ms)" << endl;
            dbexit( EXIT_BADOPTIONS );
        }
    }
    if( params.count("journalOptions") ) {
        cmdLine.dur = true;
    }
}
