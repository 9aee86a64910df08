// Random places and words, with the indexes of their kinds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "command/commands/testing/differential.h"

namespace command::differential {

namespace {

using Texts = std::vector<const char*>;

const Texts kWords = {"fox",   "foxes", "Fox",   "jump",         "jumping",
                      "the",   "and",   "dog",   "dogs",         "lazy",
                      "don't", "a_b",   "quick", "na\xc3\xafve", "\xc3\xa9t\xc3\xa9",
                      "x"};
const Texts kBetween = {" ", " ", " ", ", ", "-", "  "};
const Texts kLanguages = {"english", "french", "none", "german"};
// Values that are no places, of which each kind of index takes some.
const Texts kNoPlaces = {"null", "[]", "{}", "{\"$undefined\": true}"};
const Texts kNoWords = {"null", "5", "{\"x\": \"fox\"}", "[[\"fox\"]]", "[]"};

std::string in_quotes(const std::string& word) {
    return '"' + word + '"';
}

std::string operation(const char* name, const std::string& operand) {
    return fmt::format(R"({{"{}": {}}})", name, operand);
}

}  // namespace

// A multiple of a quarter, often a whole one.
std::string Generator::number(int low, int high) {
    const int whole = low + below(high - low + 1);
    return chance(60) ? std::to_string(whole) : fmt::format("{}", whole + below(4) / 4.0);
}

std::string Generator::pair() {
    if (subject_ == Subject::sphere) return position();
    const std::string x = number(-6, 5), y = number(-6, 5);
    return chance(15) ? fmt::format(R"({{"x": {}, "y": {}}})", x, y)
                      : fmt::format("[{}, {}]", x, y);
}

// A position on the sphere: near the base of the seed, or anywhere.
std::string Generator::position() {
    double x = below(361) - 180, y = below(181) - 90;
    if (chance(90)) {
        x = base_x_ + (below(25) - 12) / 4.0;
        y = base_y_ + (below(25) - 12) / 4.0;
    }
    if (x > 180) x -= 360;
    if (x < -180) x += 360;
    return fmt::format("[{}, {}]", x, std::clamp(y, -90.0, 90.0));
}

// The ring of a small square or triangle.
std::string Generator::ring() {
    const double size = (1 + below(8)) / 4.0;
    const double x = std::clamp(base_x_ + (below(17) - 8) / 4.0, -180.0, 180 - size);
    const double y = std::clamp(base_y_ + (below(17) - 8) / 4.0, -90.0, 90 - size);
    const std::string low = fmt::format("[{}, {}]", x, y);
    const std::string fourth = chance(70) ? fmt::format("[{}, {}], ", x, y + size) : "";
    return fmt::format("[{}, [{}, {}], [{}, {}], {}{}]", low, x + size, y, x + size, y + size,
                       fourth, low);
}

std::string Generator::area() {
    if (chance(75)) return fmt::format(R"({{"type": "Polygon", "coordinates": [{}]}})", ring());
    return fmt::format(R"({{"type": "MultiPolygon", "coordinates": [[{}], [{}]]}})", ring(),
                       ring());
}

std::string Generator::geometry() {
    const auto made = [](const char* type, const std::string& coordinates) {
        return fmt::format(R"({{"type": "{}", "coordinates": {}}})", type, coordinates);
    };
    switch (below(10)) {
        case 0:
            return made("LineString", fmt::format("[{}, {}]", position(), position()));
        case 1:
            return made("MultiPoint", fmt::format("[{}, {}]", position(), position()));
        case 2:
            return made("MultiLineString", fmt::format("[[{}, {}], [{}, {}]]", position(),
                                                       position(), position(), position()));
        case 3:
            return fmt::format(R"({{"type": "GeometryCollection", "geometries": [{}, {}]}})",
                               made("Point", position()), area());
        case 4:
        case 5:
            return area();
        default:
            return made("Point", position());
    }
}

std::string Generator::words(int most) {
    std::string made = pick(kWords);
    for (int n = below(most); n > 0; --n)
        made += pick(kBetween) + pick(kWords);
    return made;
}

Node Generator::special_value() {
    switch (subject_) {
        case Subject::flat:
            if (chance(10)) return any_of(kNoPlaces);
            return text(chance(80) ? pair() : fmt::format("[{}, {}]", pair(), pair()));
        case Subject::sphere:
            if (chance(10)) return any_of(kNoPlaces);
            return text(chance(15) ? position() : geometry());
        default:
            if (chance(15)) return any_of(kNoWords);
            if (chance(75)) return text(in_quotes(words(6)));
            return text(fmt::format("[{}, {}]", in_quotes(words(4)), in_quotes(words(4))));
    }
}

Node Generator::special_document(int id) {
    Node made = object();
    made.set("_id", text(std::to_string(id)));
    if (chance(95)) {
        if (special_path_ == "g") {
            made.set("g", special_value());
        } else if (chance(60)) {
            made.set("d", object().set("g", special_value()));
        } else {
            Node several = array();
            for (int n = below(4); n > 0; --n)
                several.push(object().set("g", special_value()));
            made.set("d", std::move(several));
        }
    }
    if (subject_ == Subject::words && chance(20))
        made.set("language", text(in_quotes(pick(kLanguages))));
    if (chance(90)) made.set("a", chance(90) ? scalar() : value(1));
    if (chance(50)) made.set("b", scalar());
    return made;
}

// An index of the seed's kind, often with plain fields beside the special one.
Node Generator::special_index() {
    Node key = object();
    Node made = object();
    const bool others = chance(50);
    if (subject_ == Subject::words) {
        if (others && chance(50)) key.set("a", any_of({"1", "-1"}));
        key.set(chance(80) ? special_path_ : "$**", text(in_quotes("text")));
        if (chance(25)) key.set("h", text(in_quotes("text")));
        if (others && key.members.front().name != "a") key.set("a", text("1"));
        prefix_ = key.members.front().name == "a" ? std::vector<std::string>{"a"}
                                                  : std::vector<std::string>();
        if (chance(30)) made.set("weights", text(fmt::format(R"({{"{}": 3}})", special_path_)));
        if (chance(40)) made.set("default_language", text(in_quotes(pick(kLanguages))));
        if (chance(60)) made.set("textIndexVersion", any_of({"1", "2", "3"}));
    } else if (subject_ == Subject::flat && chance(80)) {
        key.set(special_path_, text(in_quotes("2d")));
        if (others) key.set("a", text("1"));
        if (chance(60)) made.set("bits", text(std::to_string(2 + below(31))));
        if (chance(60)) made.set("min", text("-8")).set("max", text("8.5"));
    } else {
        if (others && chance(50)) key.set("a", any_of({"1", "-1"}));
        key.set(special_path_, text(in_quotes("2dsphere")));
        if (others) key.set(chance(50) ? "a" : "b", text("1"));
        if (chance(60)) made.set("2dsphereIndexVersion", any_of({"1", "2", "3"}));
        if (chance(30)) made.set("coarsestIndexedLevel", text(std::to_string(below(8))));
        if (chance(30)) made.set("finestIndexedLevel", text(std::to_string(8 + below(12))));
    }
    made.set("key", std::move(key));
    if (chance(15)) made.set("partialFilterExpression", partial_filter(1));
    return made;
}

void Generator::make_special_data(Case& out) {
    static const std::vector<std::pair<double, double>> kBases = {
        {0, 0}, {179.5, 10}, {-179.75, -5}, {10, 89.5}, {30, -89.75}, {45, 45}, {-120.5, 30.25}};
    std::tie(base_x_, base_y_) =
        kBases[static_cast<size_t>(below(static_cast<int>(kBases.size())))];
    special_path_ = chance(70) ? "g" : "d.g";
    places_ = {"a", "a", "b"};
    depth_ = 0;
    // Rings around a place are many only where there are many documents.
    const int many = chance(85) ? 1 + below(8) : (chance(80) ? 9 + below(30) : 150 + below(150));
    for (int i = 0; i < many; ++i)
        out.documents.push(special_document(i));
    out.indexes.push(special_index());
    if (chance(40)) out.indexes.push(special_index());
    if (chance(60)) out.indexes.push(index());
    for (const auto& [ignored, made] : out.indexes.members) {
        keys_.push_back(*made.find("key"));
        if (const Node* partial = made.find("partialFilterExpression"))
            filters_.push_back(*partial);
    }
}

// $geoWithin or $geoIntersects.
Node Generator::predicate() {
    const auto within = [](const char* shape, const std::string& operand) {
        return text(operation("$geoWithin", operation(shape, operand)));
    };
    const auto xy = [&] {
        return subject_ == Subject::sphere ? position()
                                           : fmt::format("[{}, {}]", number(-6, 5), number(-6, 5));
    };
    if (chance(15)) return within("$centerSphere", fmt::format("[{}, {}]", xy(), below(9) / 100.0));
    if (subject_ == Subject::flat && chance(85)) {
        switch (below(3)) {
            case 0:
                return within("$box", fmt::format("[{}, {}]", xy(), xy()));
            case 1:
                return within("$center", fmt::format("[{}, {}]", xy(), number(0, 6)));
            default:
                return within("$polygon", fmt::format("[{}, {}, {}]", xy(), xy(), xy()));
        }
    }
    if (chance(40)) return within("$geometry", area());
    return text(operation("$geoIntersects", operation("$geometry", geometry())));
}

Node Generator::plain_condition() {
    Node made = object();
    made.set(chance(70) ? "a" : "b", chance(40) ? scalar() : operators(1));
    return made;
}

Node Generator::special_filter(int depth) {
    if (subject_ == Subject::words) return chance(30) ? object() : plain_condition();
    Node made = chance(40) ? plain_condition() : object();
    if (depth > 0 && chance(30)) {
        Node parts = array();
        for (int n = 1 + below(3); n > 0; --n)
            parts.push(special_filter(depth - 1));
        made.set(any_of({"$or", "$or", "$and", "$nor"}).text, std::move(parts));
        return made;
    }
    if (special_path_ == "d.g" && chance(20))
        return made.set("d", object().set("$elemMatch", object().set("g", predicate())));
    return made.set(special_path_, chance(15) ? object().set("$not", predicate()) : predicate());
}

// A find of what is near.
Node Generator::near() {
    Node made = object().set("path", text(in_quotes(special_path_)));
    const std::string farthest = chance(50) ? number(0, 5) : "";
    const std::string nearest = chance(25) ? number(0, 2) : "";
    Node operators = object();
    if (chance(subject_ == Subject::sphere ? 70 : 15)) {
        const std::string point =
            fmt::format(R"({{"type": "Point", "coordinates": {}}})", position());
        Node operand = object().set("$geometry", text(point));
        if (!farthest.empty()) operand.set("$maxDistance", text(farthest + "00000"));
        if (!nearest.empty()) operand.set("$minDistance", text(nearest + "00000"));
        operators.set(chance(80) ? "$near" : "$nearSphere", std::move(operand));
    } else {
        const bool sphere = chance(subject_ == Subject::sphere ? 80 : 25);
        const auto shown = [&](const std::string& distance) {
            return text(sphere ? fmt::format("{}", std::stod(distance) / 20) : distance);
        };
        operators.set(sphere ? "$nearSphere" : "$near",
                      text(subject_ == Subject::sphere
                               ? position()
                               : fmt::format("[{}, {}]", number(-6, 5), number(-6, 5))));
        if (!farthest.empty()) operators.set("$maxDistance", shown(farthest));
        if (!nearest.empty()) operators.set("$minDistance", shown(nearest));
    }
    made.set("near", std::move(operators));
    if (chance(40)) made.set("filter", plain_condition());
    if (chance(60)) {
        made.set("limit", text(std::to_string(1 + below(chance(70) ? 4 : 120))));
        if (chance(30)) made.set("skip", text(std::to_string(below(4))));
    }
    return made;
}

Node Generator::near_stage() {
    Node stage = object();
    const bool sphere = subject_ == Subject::sphere || chance(15);
    if (sphere && chance(60)) {
        stage.set("near",
                  text(fmt::format(R"({{"type": "Point", "coordinates": {}}})", position())));
        if (chance(40)) stage.set("maxDistance", text(number(0, 5) + "00000"));
        if (chance(20)) stage.set("minDistance", text(number(0, 2) + "00000"));
        stage.set("spherical", text("true"));
    } else {
        stage.set("near", text(sphere ? position()
                                      : fmt::format("[{}, {}]", number(-6, 5), number(-6, 5))));
        const bool radians = sphere || chance(25);
        if (chance(20)) stage.set("minDistance", text(radians ? "0.02" : number(0, 2)));
        if (chance(40))
            stage.set("maxDistance",
                      text(radians ? fmt::format("{}", below(9) / 25.0) : number(0, 5)));
        stage.set("spherical", text(radians ? "true" : "false"));
    }
    stage.set("distanceField", text(in_quotes("dist")));
    stage.set("key", text(in_quotes(special_path_)));
    if (chance(40)) stage.set("query", plain_condition());
    if (chance(20)) stage.set("distanceMultiplier", any_of({"2", "0.5", "1000"}));
    Node made = object().set("stage", std::move(stage));
    return made.set("limit", text(std::to_string(1 + below(chance(50) ? 5 : 99))));
}

Node Generator::text_search() {
    std::string search;
    for (int n = 1 + below(3); n > 0; --n) {
        if (!search.empty()) search += ' ';
        if (chance(25)) search += '-';
        search += chance(75) ? pick(kWords) : fmt::format("\\\"{}\\\"", words(2));
    }
    Node clause = object().set("$search", text(in_quotes(search)));
    if (chance(25)) clause.set("$language", text(in_quotes(pick(kLanguages))));
    if (chance(20)) clause.set("$caseSensitive", text("true"));
    if (chance(20)) clause.set("$diacriticSensitive", text("true"));
    Node made = object().set("text", std::move(clause));
    Node filter = special_filter(0);
    for (const std::string& field : prefix_)
        if (chance(95)) filter.set(field, scalar());
    made.set("filter", std::move(filter));
    if (chance(15)) made.set("or", plain_condition());
    if (chance(40)) made.set("sort", text("true"));
    if (chance(30)) made.set("limit", text(std::to_string(1 + below(4))));
    return made;
}

Node Generator::special_read() {
    if (subject_ == Subject::words && chance(85)) return object().set("text", text_search());
    if (subject_ != Subject::words && chance(25)) return object().set("near", near());
    if (subject_ != Subject::words && chance(20)) return object().set("geoNear", near_stage());
    Node filter = special_filter(2);
    switch (below(6)) {
        case 0:
            return object().set("count", object().set("query", std::move(filter)));
        case 1:
            return object().set(
                "distinct",
                object().set("key", text(in_quotes("a"))).set("query", std::move(filter)));
        case 2: {
            Node stages = array();
            stages.push(object().set("$match", std::move(filter)));
            return object().set("aggregate", object().set("pipeline", std::move(stages)));
        }
        default: {
            Node find = object().set("filter", std::move(filter));
            if (chance(30)) find.set("sort", object().set("_id", any_of({"1", "-1"})));
            return object().set("find", std::move(find));
        }
    }
}

// The modifiers change, move, add or take away what the index holds.
Node Generator::special_modifiers() {
    const std::string at = special_path_;
    const std::string inside = at + (chance(50) ? ".0" : ".1");
    std::vector<std::pair<const char*, Node>> all = {
        {"$set", object().set(at, special_value())},
        {"$set", object().set(at, special_value()).set("a", scalar())},
        {"$unset", object().set(at, text("1"))},
        {"$set", object().set("a", scalar())},
        {"$rename", object().set(at, text(in_quotes("h")))},
        {"$rename", object().set("h", text(in_quotes(at)))},
        {"$push", object().set(at, special_value())},
        {"$addToSet", object().set(at, special_value())},
        {"$pop", object().set(at, any_of({"1", "-1"}))},
        {"$pull", object().set(at, special_value())},
        {"$set", object().set("d", any_of({"null", "[]", "{}"}))},
        {"$set", object().set("pad", text(in_quotes(std::string(400, 'p'))))},
    };
    if (subject_ == Subject::words) {
        all.push_back({"$set", object().set("language", text(in_quotes(pick(kLanguages))))});
        all.push_back({"$set", object().set(inside, text(in_quotes(words(2))))});
        all.push_back({"$set", object().set("h", text(in_quotes(words(3))))});
    } else {
        const std::string coordinate =
            subject_ == Subject::sphere ? at + ".coordinates" + inside.substr(at.size()) : inside;
        all.push_back({"$inc", object().set(coordinate, any_of({"1", "-0.5"}))});
        all.push_back({"$mul", object().set(coordinate, any_of({"0.5", "-1"}))});
        all.push_back({"$min", object().set(coordinate, text("0"))});
        all.push_back({"$max", object().set(coordinate, text("1"))});
        all.push_back({"$bit", object().set(coordinate, text(R"({"xor": 1})"))});
    }
    auto& [name, operand] = all[static_cast<size_t>(below(static_cast<int>(all.size())))];
    return object().set(name, std::move(operand));
}

Node Generator::special_write() {
    Node q = chance(40) ? object() : special_filter(1);
    if (chance(15)) return object().set("delete", object().set("q", std::move(q)));
    Node update = object().set("q", std::move(q));
    if (chance(15)) {
        Node fields = object().set(special_path_, text(in_quotes(chance(50) ? "$h" : "$$REMOVE")));
        Node stages = array();
        stages.push(object().set("$set", std::move(fields)));
        update.set("u", std::move(stages));
    } else {
        update.set("u", special_modifiers());
    }
    return object().set("update", update.set("multi", text("true")));
}

}  // namespace command::differential
