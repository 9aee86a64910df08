// dbpath_check: is this dbpath whole?
#include <unistd.h>

#include <boost/program_options.hpp>
#include <csignal>
#include <iostream>

#include "base/error.h"
#include "base/escape_control_chars.h"
#include "os/confined_file_system.h"
#include "tools/dbpath_check.h"

namespace {

namespace po = boost::program_options;

enum Exit : int { kConsistent = 0, kDamaged = 1, kCannotCheck = 2 };

constexpr const char* kUsage = R"(Usage: dbpath_check [options] DBPATH

Checks every database in the data directory of a stopped server (MMAPv1 files of
MongoDB 2.4 to 3.x or of mongod-dur) and changes nothing: files are mapped privately,
after they have been read once from end to end.

What is checked, per database
  device           every byte of every file can be read
  namespace file   hashes, reach, duplicates, blocks of further indexes
  data files       headers; extents lie side by side, none twice, none past the end
  collections      record chains, deleted lists, counts; every byte of an extent is in one
                   live or one deleted record; the ring of capped collections
  documents        well-formed BSON
  indexes          every bucket and the order of all entries; each entry names a live
                   document; the keys derived from the documents are exactly the entries
  catalogue        system.namespaces, system.indexes and the namespace file agree

How to read the table
  data             bytes of documents with their padding, without record headers
  free             part of the storage that waits on deleted lists for new documents
  result           "ok", or how many errors were found; the errors follow the table

Exit code: 0 consistent, 1 errors were found, 2 the dbpath cannot be checked.

Each error names the file, the byte in it (hexadecimal) and the collection:
  ERROR: shop.0 at 0x41a4: shop.orders: no valid record at ...
A database that cannot be opened is read piece by piece, as mongod --salvage does.

What to do about errors: an index error goes away when the index is dropped and built
again. For others take a backup of the files first, then write what can be read with
mongod --salvage and restore it into an empty dbpath.

Examples
  dbpath_check /var/lib/mongodb
  dbpath_check --quiet --db shop --directoryperdb /srv/db
)";

int run(int argc, char** argv) {
    tools::DbpathCheckOptions options;
    bool no_keys = false;
    po::options_description visible("Options");
    auto add = visible.add_options();
    add("help,h", "show this text");
    add("db", po::value(&options.databases)->value_name("NAME")->composing(),
        "check only this database; may be given several times");
    add("directoryperdb", po::bool_switch(&options.directory_per_db),
        "each database lies in a directory of its own");
    add("no-keys", po::bool_switch(&no_keys),
        "do not compare index entries with the documents (faster)");
    add("leaks", po::bool_switch(&options.show_leaks),
        "list space without an owner: left by compact, aborted repairs or 2.4 servers");
    add("quiet,q", po::bool_switch(&options.quiet), "print errors and the last line only");
    po::options_description all;
    all.add(visible).add_options()("dbpath", po::value(&options.dbpath));
    po::positional_options_description positions;
    positions.add("dbpath", 1);
    po::variables_map given;
    po::store(po::command_line_parser(argc, argv).options(all).positional(positions).run(), given);
    po::notify(given);
    if (given.contains("help")) {
        std::cout << kUsage << '\n' << visible;
        return kConsistent;
    }
    if (options.dbpath.empty()) {
        std::cerr << "dbpath_check: give the data directory; --help explains\n";
        return kCannotCheck;
    }
    options.compare_keys = !no_keys;
    const auto files = os::confined_file_system(
        options.dbpath, {os::join(options.dbpath, "journal")});  // looked into, never changed
    const auto result = tools::check_dbpath(*files, options, std::cout);
    return result.errors == 0 ? kConsistent : kDamaged;
}

}  // namespace

int main(int argc, char** argv) {
    // A sector that could be read a moment ago, or a file that is truncated during the check.
    std::signal(SIGBUS, [](int) {
        constexpr std::string_view kText =
            "dbpath_check: a page of a mapped file can no longer be read; start again, and look at "
            "the log of the kernel\n";
        [[maybe_unused]] const auto told = ::write(STDERR_FILENO, kText.data(), kText.size());
        ::_exit(kCannotCheck);
    });
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::cerr << "dbpath_check: " << base::escape_control_chars(error.what()) << '\n';
        return kCannotCheck;
    }
}
