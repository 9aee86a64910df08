// small tree, 2.4: src/mongo/db/db_main.h
// db_main.h - a small stand-in: what db.cpp has from elsewhere
#pragma once

#include "mongo/skeleton.h"

namespace boost {
    namespace program_options {
        template <typename T>
        struct value_of { };
        template <typename T>
        value_of<T> value() { return value_of<T>(); }
        struct options_description {
            explicit options_description( const char* ) { }
            options_description& add_options() { return *this; }
            options_description& operator()( const char* name, const char* help ) {
                text += string( name ) + " " + help + "\n";
                return *this;
            }
            template <typename T>
            options_description& operator()( const char* name, value_of<T>, const char* help ) {
                return (*this)( name, help );
            }
            string text;
        };
    }
}

namespace mongo {
    enum ExitCode { EXIT_BADOPTIONS = 2 };
    inline void dbexit( ExitCode code ) { exit( code ); }
}

string describeOptions();
void processCommandLineOptions( const mongo::OptionTable& params );
