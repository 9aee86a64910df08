// small tree, 2.6 3.4: src/mongo/db/mongod_options.h
// mongod_options.h - a small stand-in
#pragma once

#include "mongo/skeleton.h"

namespace mongo {

    namespace moe {
#if VERSION == 26
        enum Type { Switch, Bool, Int, Unsigned, Double, String };
        enum Source { SourceAllLegacy, SourceYAMLConfig };
        typedef OptionTable Environment;
        class Description {
        public:
            Description& hidden() { return *this; }
            Description& setSources( Source ) { return *this; }
        };
        class OptionSection {
        public:
            Description& addOptionChaining( const string& dotted, const string& name, Type type,
                                            const string& help ) {
                std::ostringstream line;
                line << name << ' ' << dotted << ' ' << type << ' ' << help << '\n';
                text += line.str();
                return _last;
            }
            void addSection( const OptionSection& section ) { text += section.text; }
            string text;
        private:
            Description _last;
        };
#else  // VERSION
            enum Type { Switch, Bool, Int, Unsigned, Double, String };
            enum Source { SourceAllLegacy, SourceYAMLConfig };
            typedef OptionTable Environment;
            class Description {
            public:
                Description& hidden() { return *this; }
                Description& setSources(Source) { return *this; }
            };
            class OptionSection {
            public:
                explicit OptionSection(const char* = "") {}
                Description& addOptionChaining(const string& dotted, const string& name, Type type,
                                               const string& help, const string& = "") {
                    std::ostringstream line;
                    line << name << ' ' << dotted << ' ' << type << ' ' << help << '\n';
                    text += line.str();
                    return _last;
                }
                void addSection(const OptionSection& section) { text += section.text; }
                string text;
            private:
                Description _last;
            };
#endif  // VERSION
    }

    Status addMongodOptions( moe::OptionSection* options );
#if VERSION == 26
    Status storeMongodOptions( const moe::Environment& params, const std::vector<string>& args );
#else  // VERSION
Status storeMongodOptions(const moe::Environment& params);
#endif  // VERSION

}
