// storage/mmapv1/salvage/dump_directory.h - writes collections as mongorestore reads them:
//
//   OUT/<database>/<collection>.bson           the documents, one behind the other
//   OUT/<database>/<collection>.metadata.json  options and indexes, extended JSON
//
// A character that a file name cannot have, and '%', is written as '%' and two hexadecimal digits.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/mmapv1/salvage/salvage_database.h"

namespace mmapv1 {

class DumpDirectory {
  public:
    // Makes the directory. Throws base::Error when there is a file of that name, or a directory
    // that is not empty.
    DumpDirectory(os::FileSystem& files, std::string path);
    ~DumpDirectory();

    // These do the work of a SalvageSink's functions of the same names. Throw os::IoError; what was
    // written before is whole.
    void begin(const std::string& db, const std::string& collection);
    void document(bson::Doc doc);
    // Returns which options and indexes are left out: mongorestore could not read them, since their
    // texts are no UTF-8, or there are more than a server makes.
    [[nodiscard]] std::vector<std::string> end(const SalvagedCollection& collection);

    // The name of a collection's files, without its ending.
    static std::string file_name(const std::string& collection);

  private:
    void flush();

    os::FileSystem& files_;
    const std::string path_;
    std::string stem_;                   // of the files being written
    std::map<std::string, int> others_;  // collections of one file name, by the first one's stem
    std::unique_ptr<os::File> documents_;
    std::vector<uint8_t> buffer_;
};

}  // namespace mmapv1
