#include "monitoring/open_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/dcheck.h"
#include "base/program_version.h"
#include "monitoring/metrics.h"

namespace monitoring {

namespace {

constexpr const char* kCommands = "metrics.commands";

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

bool is_value(const bson::Element& e) {
    return e.is_number() || e.type() == bson::Type::boolean;
}

// Whole numbers stay exact.
std::string number(const bson::Element& e, double factor) {
    if (e.type() == bson::Type::boolean) return e.as_bool() ? "1" : "0";
    if (factor == 1 && e.type() != bson::Type::number_double)
        return fmt::format("{}", e.to_int64());
    return fmt::format("{}", e.to_double() * factor);
}

// Writes the samples of one metric, and its description before the first of them.
class Writer {
  public:
    Writer(const Metric& metric, std::string& out) : metric_(metric), out_(out) {}

    void add(std::string_view label, const bson::Element& value) {
        if (is_value(value)) add(label, number(value, metric_.unit.factor));
    }
    void add(std::string_view label, std::string_view number) {
        if (!is_described_) describe();
        out_ += metric_.name;
        if (metric_.type == Metric::Type::counter) out_ += "_total";
        if (!label.empty())
            out_ += fmt::format("{{{}=\"{}\"}}", metric_.label.name, escaped(label));
        out_ += fmt::format(" {}\n", number);
    }

  private:
    void describe() {
        is_described_ = true;
        out_ += fmt::format("# TYPE {} {}\n", metric_.name,
                            metric_.type == Metric::Type::counter ? "counter" : "gauge");
        if (*metric_.unit.name != '\0')
            out_ += fmt::format("# UNIT {} {}\n", metric_.name, metric_.unit.name);
        out_ += fmt::format("# HELP {} {}\n", metric_.name, escaped(metric_.help));
    }

    const Metric& metric_;
    std::string& out_;
    bool is_described_ = false;
};

void append_list(const Metric& metric, bson::Doc list, Writer& writer) {
    const bool are_commands = std::string_view(metric.path) == kCommands;
    for (const bson::Element& e : list) {
        if (!e.is_object()) continue;
        // Most are used by no client.
        if (are_commands && e.as_doc()["total"].to_int64() == 0) continue;
        writer.add(e.name(), e.as_doc()[metric.label.field]);
    }
}

void append(const Metric& metric, bson::Doc status, std::string& out) {
    Writer writer(metric, out);
    const bson::Element found = status.at_path(metric.path);
    if (*metric.label.name == '\0') return writer.add("", found);
    if (!found.is_object()) return;
    std::string_view keys = metric.label.keys;
    if (keys.empty()) return append_list(metric, found.as_doc(), writer);
    while (!keys.empty()) {
        const std::string_view key = keys.substr(0, keys.find(' '));
        keys.remove_prefix(std::min(key.size() + 1, keys.size()));
        bson::Element value = found.as_doc()[key];
        if (*metric.label.field != '\0')
            value = value.is_object() ? value.as_doc()[metric.label.field] : bson::Element();
        writer.add(key, value);
    }
}

std::string text_at(bson::Doc status, const char* path) {
    const bson::Element e = status.at_path(path);
    return e.is_string() ? escaped(e.as_string()) : std::string();
}

void append_info(bson::Doc status, std::string& out) {
    out += "# TYPE mongodb_server info\n# HELP mongodb_server What runs here.\n";
    out += fmt::format(
        "mongodb_server_info{{version=\"{}\",mongod_dur=\"{}\",storage_engine=\"{}\",set=\"{}\"}} "
        "1\n",
        text_at(status, "version"), base::kProgramVersion, text_at(status, "storageEngine.name"),
        text_at(status, "repl.setName"));
}

void append_disk(const Disk& disk, std::string& out) {
    constexpr Unit kBytes{"bytes"};
    const auto add = [&out](const char* name, const char* help, uint64_t bytes) {
        const Metric metric{Metric::Type::gauge, name, help, "", kBytes};
        Writer(metric, out).add("", fmt::format("{}", bytes));
    };
    DCHECK(disk.used <= disk.size);
    add("mongodb_fs_size_bytes", "Size of the file system that the data lies in.", disk.size);
    add("mongodb_fs_used_bytes", "What is used of it, by all.", disk.used);
}

}  // namespace

std::string open_metrics(bson::Doc status, const std::optional<Disk>& disk) {
    std::string out;
    append_info(status, out);
    for (const Metric& metric : all_metrics())
        append(metric, status, out);
    if (disk) append_disk(*disk, out);
    out += "# EOF\n";
    return out;
}

}  // namespace monitoring
