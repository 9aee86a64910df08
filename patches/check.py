#!/usr/bin/env python3
"""Checks the patch series: is everything listed, complete, and does it apply in the strict sense?

    python3 patches/check.py               all checks; one line per finding, exit 1 if there is one
    python3 patches/check.py --self-test   shows each check a sample that passes and one that fails

What is checked
  listing   every entry of patches/series exists, every *.patch is listed, none twice
  text      UTF-8, ends in a newline, no carriage returns, paths begin with a/ and b/
  header    From, Date, Subject, prose, and as the last paragraph the fields of FIELDS, each
            with a value of its vocabulary; a Result that names existing files
  size      at most PRODUCT_LINES_MAX lines of src/ are added and removed, but for tests
  names     one name for a patch, its option, its file, its counters, its tests, its template and
            its Result; one option; a recipe
  value     what is measured is what conf/durable.yaml recommends
  result    the header quotes the table that perf/ab.py makes of its Result, of six pairs at least;
            its Measured-counter is more than 0 with the option on;
            what follows the table says in words what it shows, without figures of its own;
            Awaits-measurement: WHY lets another one, or none, stay until it is measured
  apply     each patch of the series on the one before: no fuzz, no offset
  subsets   every subset of the series applies in series order without fuzz: no two patches edit the
            same lines, or lines near each other
  refresh   `quilt push -a --refresh` changes no byte
It reads the tree, and works in a temporary copy of src/."""

import argparse
import datetime
import email.utils
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'site_scons')]

import ab_table  # noqa: E402
import applying  # noqa: E402
from applying import depends_of, read_series  # noqa: E402
from staging import header_of  # noqa: E402
import write_through_table  # noqa: E402

PROFILE = 'conf/durable.yaml'
# One that wants more shows that the base lacks a seam (README.md).
PRODUCT_LINES_MAX = 250
# Larger ones from before the limit, which may only shrink.
LARGER = {'journal-insert-entries.patch': 745}
# Measured-by -> what makes the table of its results.
TABLES = {'perf/write_through.py': write_through_table.table}

# Field -> pattern of a valid value.
FIELDS = {
    'Option': r'[a-zA-Z]\w*',
    'Yaml': r'[a-z]\w*(\.\w+)+',
    'Values': r'.+',
    'Default': r'.+',
    'Durability': r'.+',
    'On-disk-format': r'(unchanged|.*0x[0-9a-f]{4}.*)',
    'Depends': r'(none|[a-z0-9-]+(, [a-z0-9-]+)*)',
    'Ticket': r'(SERVER-\d+|none)',
    'Upstream-location': r'.+',
    'Upstream-status': r'(not-filed|filed|accepted|rejected)',
    'Measured-by': r'\S+',
    'Measured-value': r'\S+',
    'Measured-base': r'--\S.*',
    'Measured-with': r'{0}(; {0})*'.format(
        r'insert (--\S+ \d+ |--text \S+ |--no-journal )*--clients \d+( at \d+ ms)?'),
    'Measured-counter': r'\w+(\.\w+)+',
    'Result': r'\S+',
    'Awaits-measurement': r'.+',
    'No-recipe': r'.+',
    'Last-update': r'\d{4}-\d{2}-\d{2}',
}
OPTIONAL = {'No-recipe', 'Measured-base', 'Measured-with', 'Measured-counter', 'Awaits-measurement'}
# What a sentence beside a table would say again, and then otherwise than the next table.
FIGURE = re.compile(
    r'[\d.]*\d ?%|\b(?:twice|half|halve[sd]?|thirds?|quarters?|fifths?|sixths?|sevenths?|eighths?'
    r'|tenths?|doubles?d?|\w+ times(?: as| the)|[\w.]+ [0-9.]+ times)\b', re.I)


def check_listing(patches, entries):
    present = {name for name in os.listdir(patches) if name.endswith('.patch')}
    for entry in entries:
        if entry not in present:
            yield '%s is in series but does not exist' % entry
        if entries.count(entry) > 1:
            yield '%s is in series twice' % entry
    for name in sorted(present - set(entries)):
        yield '%s is not in series' % name


def check_text(name, raw):
    try:
        text = raw.decode('utf-8')
    except UnicodeDecodeError as error:
        yield '%s: not UTF-8: %s' % (name, error)
        return
    if not text.endswith('\n'):
        yield '%s: does not end in a newline' % name
    if '\r' in text:
        yield '%s: has carriage returns' % name
    for line in text.splitlines():
        if line.startswith('--- ') and not re.match(r'--- (a/|/dev/null)', line):
            yield '%s: "%s" does not begin with a/' % (name, line)
        if line.startswith('+++ ') and not re.match(r'\+\+\+ (b/|/dev/null)', line):
            yield '%s: "%s" does not begin with b/' % (name, line)


def check_header(name, text, slugs, top):
    header = header_of(text).strip('\n')
    lines = header.split('\n')
    for number, field in enumerate(('From', 'Date', 'Subject')):
        if len(lines) <= number or not lines[number].startswith(field + ': '):
            yield '%s: line %d is not "%s: "' % (name, number + 1, field)
    paragraphs = re.split(r'\n\s*\n', header)
    if len(paragraphs) < 4:
        yield '%s: the header has no prose between subject and fields' % name
    fields = {}
    for line in paragraphs[-1].split('\n'):
        match = re.match(r'([A-Z][A-Za-z-]*): (.*)$', line)
        if not match:
            yield '%s: "%s" in the last paragraph is no field' % (name, line)
            continue
        if match[1] not in FIELDS:
            yield '%s: unknown field "%s"' % (name, match[1])
        fields[match[1]] = match[2]
    for field, pattern in FIELDS.items():
        if field not in fields:
            if field not in OPTIONAL:
                yield '%s: the field "%s" is missing' % (name, field)
        elif not re.fullmatch(pattern, fields[field]):
            yield '%s: "%s: %s" is not a valid value' % (name, field, fields[field])
    if fields.get('Measured-by') == 'perf/ab.py' and 'Measured-with' not in fields:
        yield '%s: the field "Measured-with" is missing: what does it show its effect with?' % name
    yield from check_origin(name, header, fields)
    for field in ('Result', 'Measured-by'):
        path = fields.get(field)
        waits = path == 'none' and 'Awaits-measurement' in fields
        if path and not waits and not os.path.exists(os.path.join(top, path)):
            yield '%s: %s names %s, which does not exist' % (name, field, path)
    for needed in fields.get('Depends', 'none').split(', '):
        if needed != 'none' and needed not in slugs:
            yield '%s: depends on %s, which is not in series' % (name, needed)


def product_lines(text):
    """How many lines of the product a patch adds and removes."""
    counts, path, before, after = 0, '', 0, 0
    for line in text.split('\n'):
        if before > 0 or after > 0:
            before -= line[:1] != '+'
            after -= line[:1] != '-'
            counts += line[:1] in '+-' and path.startswith('src/') and not (
                path.endswith('_test.cpp') or '/testing/' in path)
        elif line.startswith('+++ b/'):
            path = line[len('+++ b/'):]
        elif match := re.match(r'@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@', line):
            before, after = (1 if count is None else int(count) for count in match.groups())
    return counts


def check_size(name, text):
    lines, most = product_lines(text), LARGER.get(name, PRODUCT_LINES_MAX)
    if lines > most:
        yield ('%s: it adds and removes %d lines of src/ beside its tests, %d are the most: move '
               'a seam into the base' % (name, lines, most))
    elif name in LARGER and lines < most:
        yield ('%s: it has %d lines of src/: lower its limit of %d in check.py, or take it away'
               % (name, lines, most))


def check_names(name, text, top):
    """Option journalSayMore: patch journal-say-more, yaml storage.journal.sayMore, file
    say_more.cpp in src/journal/options/, counters dur.sayMore. An option of the base may
    have the unit behind its name in YAML (commitIntervalMs). Options of the flush of data
    files are storage.flushSayMore and flush_say_more.cpp."""
    fields = dict(re.findall(r'^([A-Z][A-Za-z-]*): (.*)$', header_of(text), re.M))
    option = fields.get('Option', '')
    slug = re.sub('([a-z0-9])([A-Z])', r'\1-\2', option).lower()
    if re.match('journal[A-Z]', option):
        own, key, source = option[7].lower() + option[8:], 'storage.journal.', slug[8:]
    elif re.match('(flush|dataFiles?)[A-Z]', option):
        own, key, source = option, 'storage.', slug
    else:
        yield '%s: "Option: %s" does not begin with journal, flush or dataFile' % (name, option)
        return
    if name != slug + '.patch':
        yield '%s: the patch of %s has to be called %s.patch' % (name, option, slug)
    if fields.get('Yaml') not in (key + own, key + own + 'Ms'):
        yield '%s: the Yaml of %s has to be %s' % (name, option, key + own)
    source = 'src/journal/options/%s.cpp' % source.replace('-', '_')
    if '+++ b/%s\n' % source not in text:
        yield '%s: it does not bring %s' % (name, source)
    declared = re.findall(r'^\+    \.name = "(\w+)"', text, re.M)
    if declared not in ([], [option]):
        yield '%s: its options are %s; one patch, one option' % (name, ', '.join(declared))
    counters = re.findall(r'^\+.*(?:MetricsRegistration \w+\(|append_metrics\(out, )"(\w+)"', text,
                          re.M)
    if 'Measured-counter' in fields:
        counters.append(fields['Measured-counter'].split('.')[0])
    for counter in counters:
        if counter != own:
            yield '%s: its counters are in dur.%s, not in dur.%s' % (name, counter, own)
    result = fields.get('Result', 'none')
    if result != 'none' and not result.endswith(slug + '.json'):
        yield '%s: its Result has to be called %s.json, not %s' % (name, slug, result)
    wanted = [['jstests/patches/%s.js'], ['perf/templates/%s.txt', 'perf/templates/windows/%s.txt']]
    if 'No-recipe' not in fields:
        wanted.append(['patches/upstream/%s.py'])
    for paths in wanted:
        if not any(os.path.exists(os.path.join(top, path % slug)) for path in paths):
            yield '%s: there is no %s' % (name, paths[0] % slug)


def check_value(name, text, top):
    """A profile that recommends another value than the measured one recommends what no one has
    measured."""
    fields = dict(re.findall(r'^([A-Z][A-Za-z-]*): (.*)$', header_of(text), re.M))
    with open(os.path.join(top, PROFILE), encoding='utf-8') as file:
        settings = dict(re.findall(r'^ +(\w+): (\S+)$', file.read(), re.M))
    key = fields.get('Yaml', '').rsplit('.', 1)[-1]
    recommended = {'true': 'on', 'false': 'off'}.get(settings.get(key), settings.get(key))
    if recommended not in (None, fields.get('Measured-value')):
        yield ('%s: measured with %s, but %s has %s: %s'
               % (name, fields.get('Measured-value'), PROFILE, key, recommended))


def template_phrases():
    """What the files that ./lab patch new makes ask their author to write."""
    folder = os.path.join(TOP, 'tools', 'lab', 'new_patch')
    for name in sorted(os.listdir(folder)):
        yield from re.findall(r'(?i)\bsays? (?:what|which|why|in a line)[^.,;"\n]*',
                              pathlib.Path(os.path.join(folder, name)).read_text('utf-8'))


def check_written(name, text, top):
    """That it has been written."""
    slug = name[:-len('.patch')]
    places = {name: text}
    for path in ('jstests/patches/%s.js' % slug, 'perf/templates/%s.txt' % slug):
        if os.path.exists(os.path.join(top, path)):
            places[path] = pathlib.Path(os.path.join(top, path)).read_text('utf-8')
    for place, found in places.items():
        for phrase in dict.fromkeys(template_phrases()):
            if phrase in found:
                yield '%s: "%s" is what the template asks for' % (place, phrase)


def check_origin(name, header, fields):
    """Who changed it last, and when: as git writes both."""
    author = (re.search(r'^From: (.*)$', header, re.M) or [None, ''])[1]
    if not re.fullmatch(r'[^<>]*\w <[^<>@\s]+@[\w-]+(\.[\w-]+)+>', author):
        yield '%s: "From: %s" is not "NAME <ADDRESS>"' % (name, author)
    elif re.search(r'[@.]example\.\w+>$', author):
        yield '%s: "From: %s" has no real address' % (name, author)
    text = (re.search(r'^Date: (.*)$', header, re.M) or [None, ''])[1]
    try:
        date = email.utils.parsedate_to_datetime(text)
        if date.tzinfo is None or ab_table.git_date(date.isoformat()) != text:
            raise ValueError
    except (TypeError, ValueError):
        yield '%s: "Date: %s" is no date as of git log --format=%%aD' % (name, text)
        return
    if date > datetime.datetime.now(datetime.timezone.utc):
        yield '%s: "Date: %s" is in the future' % (name, text)
    if date.astimezone(datetime.timezone.utc).date().isoformat() < fields.get('Last-update', ''):
        yield '%s: "Date: %s" is before its last measurement' % (name, text)


def check_result(name, text, top):
    header = header_of(text)
    match = re.search(r'^Result: (\S+)$', header, re.M)
    if not match or not os.path.exists(os.path.join(top, match[1])):
        return  # check_header has said so
    with open(os.path.join(top, match[1]), encoding='utf-8') as file:
        script = (re.search(r'^Measured-by: (\S+)$', header, re.M) or [''] * 2)[1]
        result = json.load(file)
    table = TABLES.get(script, ab_table.table)(result)
    waits = re.search(r'^Awaits-measurement: ', header, re.M)
    if script not in TABLES and result['runs'] < ab_table.PAIRS_MIN and not waits:
        yield ('%s: %s has %d pairs; a test wants %d'
               % (name, match[1], result['runs'], ab_table.PAIRS_MIN))
    for column in idle_columns(result):
        yield ('%s: %s has %s of 0 with the option on, %s: it measured no effect of the patch'
               % (name, match[1], result['counter'], column))
    if table not in header:
        yield ('%s: the header does not quote the table of %s; %s --table prints it'
               % (name, match[1], script))
    # Why a machine was not quiet takes as many lines as there are reasons.
    if len(table.splitlines()) - len(quiet_lines(script, result)) > ab_table.LINES_MAX:
        yield '%s: its table has more than %d lines' % (name, ab_table.LINES_MAX)


def check_prose(name, text, top):
    """Sentences after a table have no figures of their own."""
    prose = header_of(text).partition('\n\nOption: ')[0].partition('\n' + ab_table.FIRST_LINE)[2]
    for found in FIGURE.finditer(prose.partition('\n\n')[2].replace('\n', ' ')):
        yield ('%s: "%s" beside the table: say it in words, the table has the figures'
               % (name, found[0]))


def quiet_lines(script, result):
    return [] if script in TABLES else ab_table.quiet_lines(result)


def idle_columns(result):
    """Where no workload moved the counter with the option on, as the table shows it."""
    for column in ('alone', 'company') if result.get('counter') else ():
        cells = [block[column] for block in result['blocks'] if block.get(column)]
        if cells and not any(float(ab_table.counter_cells(cell)[1]) for cell in cells):
            yield {'alone': 'alone', 'company': 'in the full series'}[column]


def findings(top, patches):
    entries = read_series(patches)
    listing = list(check_listing(patches, entries))
    yield from listing
    if listing:
        return
    slugs = [entry[:-len('.patch')] for entry in entries]
    for entry in entries:
        raw = pathlib.Path(os.path.join(patches, entry)).read_bytes()
        bad = list(check_text(entry, raw))
        yield from bad
        if bad:
            return
        text = raw.decode('utf-8')
        yield from check_header(entry, text, slugs, top)
        yield from check_size(entry, text)
        yield from check_names(entry, text, top)
        yield from check_value(entry, text, top)
        yield from check_result(entry, text, top)
        yield from check_prose(entry, text, top)
        yield from check_written(entry, text, top)
    depends = depends_of(patches)
    applied = list(applying.check_apply(top, patches, entries))
    yield from applied
    yield from applying.check_subsets(top, patches, entries, depends)
    if not applied and entries:
        yield from applying.check_refresh(top, patches, entries)


GOOD_PATCH = pathlib.Path(os.path.join(TOP, 'patches', 'sample.txt')).read_text('utf-8')

RESULT = 'perf/results/x/journal-say-more.json'
ROW = {'per_second': 100, 'p50_us': 10, 'p99_us': 20, 'server_cpu_us': 5, 'inserts_per_commit': 1,
       'bytes_per_commit': 8192, 'writes_per_commit': 1, 'documents_in_all': 600, 'counter': 500}
CELL = {'options': {'without': ['--a', '2'], 'with': ['--a', '2', '--b', '1']},
        'without': 6 * [dict(ROW, counter=0)], 'with': 6 * [ROW], 'without_traced': ROW,
        'with_traced': ROW}
# Of an option that does nothing in this workload.
IDLE_CELL = dict(CELL, **{'with': 6 * [dict(ROW, counter=0)]})
# What perf/ab.py would write of one workload.
GOOD_RESULT = {
    'runs': 6, 'seconds': 1, 'warmup': 0.3, 'counter': 'sayMore.lines',
    'host': {'cores': 2, 'file_system': 'ext4', 'kernel': '6.1'},
    'floor': {'overwrite_4k': {'p50_us': 150, 'p99_us': 400}, 'append_8k': {'p50_us': 250}},
    'blocks': [{'workload': 'insert --clients 1', 'alone': CELL, 'company': CELL}],
}
GOOD_PATCH %= ab_table.table(GOOD_RESULT)


def self_test():
    """(name of the sample, change to the good tree, what the finding must say or None)."""
    def write(tree, path, text):
        os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
        with open(os.path.join(tree, path), 'w', encoding='utf-8', newline='') as file:
            file.write(text)

    def patch(old, new):
        return lambda tree: write(tree, 'patches/journal-say-more.patch',
                                  GOOD_PATCH.replace(old, new))

    def requote(tree, result):
        path = os.path.join(tree, 'patches/journal-say-more.patch')
        text = pathlib.Path(path).read_text('utf-8')
        write(tree, 'patches/journal-say-more.patch',
              text.replace(ab_table.table(GOOD_RESULT), ab_table.table(result)))

    def measured(tree, blocks=GOOD_RESULT['blocks'], **cells):
        result = dict(GOOD_RESULT, blocks=[dict(block, **cells) for block in blocks])
        write(tree, RESULT, json.dumps(result))
        requote(tree, result)

    def larger(path, lines):
        return lambda tree: write(
            tree, 'patches/journal-say-more.patch',
            GOOD_PATCH + '--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n' % (path, lines)
            + ''.join('+%d\n' % number for number in range(lines)))

    second = GOOD_PATCH.replace(' one\n-two\n+two, and more\n three\n',
                                ' one\n-two, and more\n+two, and even more\n three\n')
    second = second.replace('sayMore', 'sayAll').replace('SayMore', 'SayAll').replace('say_more',
                                                                                  'say_all')
    with open(os.path.join(TOP, 'patches', 'samples.json'), encoding='utf-8') as file:
        replaced = json.load(file)  # [name, text of the patch, other text, finding]
    samples = [
        *((name, patch(old, new), wanted) for name, old, new, wanted in replaced),
        ('a good series', lambda tree: None, None),
        ('an entry without a file', lambda tree: write(tree, 'patches/series', 'gone.patch\n'),
         'does not exist'),
        ('an entry twice',
         lambda tree: write(tree, 'patches/series', 2 * 'journal-say-more.patch\n'), 'twice'),
        ('a file without an entry', lambda tree: write(tree, 'patches/other.patch', GOOD_PATCH),
         'not in series'),
        ('a patch called otherwise',
         lambda tree: (os.rename(os.path.join(tree, 'patches/journal-say-more.patch'),
                                 os.path.join(tree, 'patches/journal-more.patch')),
                       write(tree, 'patches/series', 'journal-more.patch\n')),
         'has to be called journal-say-more.patch'),
        ('no shell test', lambda tree: os.remove(
            os.path.join(tree, 'jstests/patches/journal-say-more.js')), 'there is no jstests'),
        ('no template', lambda tree: os.remove(
            os.path.join(tree, 'perf/templates/journal-say-more.txt')), 'there is no perf/temp'),
        ('as many lines as may be', larger('src/y.cpp', PRODUCT_LINES_MAX - 4), None),
        ('a line too many', larger('src/y.cpp', PRODUCT_LINES_MAX - 3),
         'it adds and removes %d lines' % (PRODUCT_LINES_MAX + 1)),
        ('many lines of a test', larger('src/y_test.cpp', 2 * PRODUCT_LINES_MAX), None),
        ('many lines of what tests use', larger('src/z/testing/y.h', 2 * PRODUCT_LINES_MAX), None),
        ('no recipe', lambda tree: os.remove(
            os.path.join(tree, 'patches/upstream/journal-say-more.py')), 'there is no patches/up'),
        ('a value that the profile does not have',
         lambda tree: write(tree, PROFILE, '    sayMore: false\n'), 'has sayMore: off'),
        ('three pairs', lambda tree: write(tree, RESULT, json.dumps(
            dict(GOOD_RESULT, runs=3))), 'has 3 pairs; a test wants 6'),
        ('three pairs until there are six', lambda tree: (
            write(tree, RESULT, json.dumps(dict(GOOD_RESULT, runs=3))),
            patch('Last-update', 'Awaits-measurement: three pairs\nLast-update')(tree),
            requote(tree, dict(GOOD_RESULT, runs=3))), None),
        ('an option that did nothing', lambda tree: measured(tree, alone=IDLE_CELL),
         'sayMore.lines of 0 with the option on, alone'),
        ('an option that did nothing among others', lambda tree: measured(tree, company=IDLE_CELL),
         'sayMore.lines of 0 with the option on, in the full series'),
        ('an option that acts in one workload of two', lambda tree: measured(
            tree, (GOOD_RESULT['blocks'][0], dict(GOOD_RESULT['blocks'][0], alone=IDLE_CELL))),
         None),
        ('a table that is too long',
         lambda tree: write(tree, RESULT, json.dumps(
             dict(GOOD_RESULT, blocks=3 * GOOD_RESULT['blocks']))),
         'more than %d lines' % ab_table.LINES_MAX),
        ('lines that have moved',
         lambda tree: write(tree, 'src/x.cpp', 'zero\none\ntwo\nthree\n'), 'offset'),
        ('two patches on the same line',
         lambda tree: (write(tree, 'patches/series',
                             'journal-say-more.patch\njournal-say-all.patch\n'),
                       write(tree, 'patches/journal-say-all.patch', second)),
         'journal-say-all.patch does not apply to the base by itself'),
        ('two patches on lines of the base beside each other',
         lambda tree: (write(tree, 'patches/series',
                             'journal-say-more.patch\njournal-say-all.patch\n'),
                       write(tree, 'patches/journal-say-all.patch', second.replace(
                           ' one\n-two, and more\n+two, and even more\n three\n',
                           ' one\n two\n-three\n+three, and more\n'))),
         'journal-say-more.patch and journal-say-all.patch edit lines within three of each other, '
         'in src/x.cpp near line 1'),
    ]
    failed = 0
    for name, change, wanted in samples:
        with tempfile.TemporaryDirectory() as tree:
            write(tree, 'patches/series', '# a title\njournal-say-more.patch\n')
            write(tree, 'patches/journal-say-more.patch', GOOD_PATCH)
            shutil.copy2(os.path.join(TOP, 'patches', 'quiltrc'), os.path.join(tree, 'patches'))
            write(tree, 'src/x.cpp', 'one\ntwo\nthree\n')
            os.makedirs(os.path.join(tree, 'patches/upstream'))
            for path in ('perf/ab.py', 'jstests/patches/journal-say-more.js',
                         'perf/templates/journal-say-more.txt',
                         'patches/upstream/journal-say-more.py', PROFILE):
                write(tree, path, '')
            write(tree, RESULT, json.dumps(GOOD_RESULT))
            change(tree)
            found = list(findings(tree, os.path.join(tree, 'patches')))
            good = not found if wanted is None else any(wanted in line for line in found)
            failed += not good
            print('%s %s' % ('ok  ' if good else 'FAIL', name))
            if not good:
                print('\n'.join(found))
    print('%d passed, %d failed' % (len(samples) - failed, failed))
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--self-test', action='store_true')
    if parser.parse_args().self_test:
        sys.exit(1 if self_test() else 0)
    found = list(findings(TOP, os.path.join(TOP, 'patches')))
    for line in found:
        print(line)
    entries = read_series(os.path.join(TOP, 'patches'))
    for entry in entries:
        with open(os.path.join(TOP, 'patches', entry), encoding='utf-8') as file:
            waits = re.search(r'^Awaits-measurement: (.*)$', header_of(file.read()), re.M)
        if waits:
            print('%s waits for ./lab bench: %s' % (entry, waits[1]))
    print('patches: %d in series, %d finding%s'
          % (len(entries), len(found), '' if len(found) == 1 else 's'))
    sys.exit(1 if found else 0)


if __name__ == '__main__':
    main()
