// journal_dump: command line around tools/journal_dump.h.

#include <boost/program_options.hpp>
#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "base/escape_control_chars.h"
#include "os/confined_file_system.h"
#include "tools/journal_dump.h"

namespace po = boost::program_options;

namespace {

constexpr const char* kIntroduction =
    R"(journal_dump - show what is in the journal of an MMAPv1 server

  journal_dump [options] PATH...

PATH is a journal file (j._0), a journal directory or a dbpath. Nothing is changed, so it is safe
beside a running server: the last section may then be shown as torn, because it is being written.

Each file is shown from its header on. A section is one group commit:

  section  24576  seq 0  268 bytes, 8192 on disk  495 raw  checksum ok
           |      |      |          |             |
           |      |      |          |             operations before compression
           |      |      |          with padding up to the file's unit
           |      |      header, compressed operations, footer
           |      number; rising, as a rule milliseconds since the server's start
           offset in the file

and below it what it does to the data files, in the order of replay:

    created  test.ns  16777216 bytes
    write    test.0    @16552     8 bytes  00000000b0410000

A file may end in a torn or cut-off section, or in sections of a former life (recycled file): that
is how a crash leaves it, and recovery stops there. If an intact section follows, committed data was
damaged; the line says DAMAGE, and the exit status is 1.

Exit status: 0 undamaged, 1 damaged or unreadable, 2 wrong usage.

Options)";

int run(int argc, char** argv) {
    tools::DumpOptions options;
    std::vector<std::string> paths;
    po::options_description shown(kIntroduction);
    auto add = shown.add_options();
    add("help,h", "show this text");
    add("sections,s", "show sections only, not their operations");
    add("totals,t", "show totals only");
    add("hex", po::value(&options.hex_bytes)->default_value(options.hex_bytes)->value_name("N"),
        "show the first N bytes of each write");
    po::options_description all;
    all.add(shown).add_options()("path", po::value(&paths));
    po::positional_options_description positional;
    positional.add("path", -1);
    po::variables_map given;
    try {
        po::store(po::command_line_parser(argc, argv).options(all).positional(positional).run(),
                  given);
        po::notify(given);
    } catch (const po::error& e) {
        std::cerr << "journal_dump: " << e.what() << "; --help shows the usage\n";
        return 2;
    }
    if (given.contains("help")) {
        std::cout << shown;
        return 0;
    }
    if (paths.empty()) {
        std::cerr << "journal_dump: give a journal file, a journal directory or a dbpath; --help "
                     "shows more\n";
        return 2;
    }
    options.operations = !given.contains("sections");
    std::ostream nowhere(nullptr);
    std::ostream& out = given.contains("totals") ? nowhere : std::cout;
    tools::DumpResult totals;
    for (const std::string& given_path : paths) {
        // The directory may come from elsewhere: with pipes in it, or with links.
        const bool is_directory = os::real_file_system().is_directory(given_path);
        const std::string path =
            is_directory ? given_path : std::filesystem::weakly_canonical(given_path).string();
        const auto files = os::confined_file_system(
            is_directory ? path : std::filesystem::path(path).parent_path().string(),
            {os::join(path, "journal")});
        const std::vector<std::string> found = tools::journal_files_at(*files, path);
        for (const std::string& file : found) {
            options.is_last = &file == &found.back();
            totals.add(tools::dump_file(*files, file, options, out));
        }
    }
    tools::print_totals(totals, std::cout);
    return totals.damaged ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const base::Error& e) {
        std::cerr << "journal_dump: " << base::escape_control_chars(e.what()) << "\n";
        return 1;
    }
}
