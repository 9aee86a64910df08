"""How a version of the server declares and stores an option (upstream map 2): steps for a recipe.

2.4 has Boost's program options in db.cpp, 2.6 and 3.4 have tables of their own in
mongod_options.cpp. A value that is refused ends the start with exit code 2."""

from port.source import dedent
from port.steps import AtStart, Before, Include, Receiver

TYPES = {'unsigned': ('unsigned', 'Unsigned'), 'string': ('std::string', 'String'),
         'flag': ('bool', 'Switch')}


def steps_for(option, version):
    if version == '2.4':
        return [Include('db.cpp', 'dur_options.h', 'instance.h', where='before'),
                _declare_24(option), _store_24(option)]
    beside = 'instance.h' if version == '2.6' else None
    return [Include('mongod_options.cpp', 'dur_options.h', beside,
                    where='before' if beside else 'after'),
            _declare(option, version), _store(option, version)]


def quoted(text, indent, width=74):
    """A C++ string literal, on several lines if need be."""
    lines, line = [], ''
    for word in text.split(' '):
        if line and len(line) + len(word) > width:
            lines.append(line)
            line = ''
        line += word + ' '
    lines.append(line[:-1])
    return ('\n' + indent).join('"%s"' % line for line in lines)


def _declare_24(option):
    value = '' if option.type == 'flag' else 'po::value<%s>(), ' % TYPES[option.type][0]
    code = '("%s", %s\n    %s)' % (option.name, value, quoted(option.help, '    '))
    return BeforeEntry('db.cpp', '( "journalOptions" , po', code.replace(', \n', ',\n'))


class BeforeEntry(Before):
    """Our lines before the anchor itself, which is a link of a chain of calls."""

    def apply(self, tree):
        source = tree.source(self.file)
        start = source.the(self.anchor, self.scope)[0]
        source.change([source.insertion_before(start, self.text(tree))])


def _store_24(option):
    refuse = ['out() << %s', '      << std::endl;', 'dbexit( EXIT_BADOPTIONS );']
    return Before('db.cpp', 'count ( "journalOptions" )',
                  _store_code(option, option.name, 'dbpath', refuse),
                  captures={'params': Receiver('db.cpp', 'count ( "journalOptions" )', 'count')})


def _declare(option, version):
    anchor, scope = {
        '2.6': ('addOptionChaining ( "storage.journal.commitIntervalMs"', 'addMongodOptions'),
        '3.4': ('"journalCommitInterval" , moe', None),
    }[version]
    code = '$options.addOptionChaining(\n        "%s", "%s", moe::%s,\n        %s);' % (
        option.dotted, option.name, TYPES[option.type][1], quoted(option.help, '        '))
    return Before('mongod_options.cpp', anchor, code, scope,
                  captures={'options': Receiver('mongod_options.cpp', anchor, 'addOptionChaining',
                                                scope)})


def _store(option, version):
    refuse = ['return Status(ErrorCodes::BadValue,', '              %s);']
    code = _store_code(option, option.dotted, 'storage.dbPath', refuse)
    if version == '2.6':
        anchor = 'count ( "storage.journal.debugFlags" )'
        return Before('mongod_options.cpp', anchor, code, 'storeMongodOptions',
                      captures={'params': Receiver('mongod_options.cpp', anchor, 'count',
                                                   'storeMongodOptions')})
    return AtStart('mongod_options.cpp', None, code.replace('$params', 'params'),
                   'storeMongodOptions')


def _refusal(lines, message):
    """The statements that refuse a value; the message is C++, on several lines if need be."""
    message = message.replace('\n', '\n' + ' ' * 22)
    return '\n'.join('        ' + (line % message if '%s' in line else line) for line in lines)


def _store_code(option, key, dbpath, refuse):
    """The `if` that stores an option. `$params` is the table of values."""
    of = '$params'
    type_name = TYPES[option.type][0]
    if option.type == 'flag':
        # In a file it may be false.
        value = 'true' if refuse[0].startswith('out') else '%s["%s"].as<bool>()' % (of, key)
    else:
        value = '%s["%s"].as<%s>()' % (of, key, type_name)
    const = 'const %s value = %s;' % (type_name, value)
    lines = ['if (%s.count("%s")) {' % (of, key), '    ' + const]
    if option.refuse:
        lines += ['    if (%s) {' % option.refuse,
                  _refusal(refuse, '"--%s %s"' % (option.name, option.message)), '    }']
    if option.needs_dbpath:
        lines += ['    std::string dbpath = "/data/db";', '    if (%s.count("%s"))' % (of, dbpath),
                  '        dbpath = %s["%s"].as<std::string>();' % (of, dbpath)]
    for condition, message in option.late:
        lines += ['    if (%s) {' % condition, _refusal(refuse, message), '    }']
    lines += ['    ' + line for line in dedent(option.store).split('\n')]
    return '\n'.join(lines + ['}'])
