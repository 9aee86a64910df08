"""Turns the rooms of src/ into targets: one static library each, its tests, its programs.

A room's test binary links the whole room (not only what the tests call) against nothing but the
rooms that its SConscript lists, so a call across the wrong border fails to link there. A folder
testing/ inside a room holds what only tests use: it becomes a library of its own that no program
links.

The compiler runs inside build/<selection> with relative names only. The command line and the debug
information are then the same for every selection and every checkout: ccache shares the objects,
and two builds of one selection are identical byte for byte.

src/base/precompiled.h, and for tests base/testing/precompiled.h, is compiled first and put in front
of every C++ file by the compilers that can. Its precompiled form has other bytes each time, what is
compiled with it has not: SCons and ccache know it by a checksum of what it was made from."""

import glob
import json
import os
import shutil
import time

import SCons.Script as scons
from SCons.Node.Alias import default_ans as aliases

FIRST_GUESS_AFTER = 8  # compiled files

# Storage engines that the build knows.
ENGINES = ('mmapv1', 'rocksdb', 'wiredTiger')

# The header of each kind of object.
PRECOMPILED = {'product': 'base/precompiled.h', 'tests': 'base/testing/precompiled.h'}

# In KB: below that g++ does not look for what it could reuse. By default it begins at what the
# precompiled header of tests alone has, and spends a seventh of the time of a large file on it.
COLLECTED_FROM = '--param ggc-min-heapsize=400000'

# ccache takes a precompiled header for what its checksum says, and not for its time.
CCACHE_SETTINGS = {
    'CCACHE_NOHASHDIR': '1',  # file-prefix-map takes the folder out
    'CCACHE_PCH_EXTSUM': '1',
    'CCACHE_SLOPPINESS': 'pch_defines,time_macros',
}

# At -O2 g++ 12 sees out-of-bounds copies in correct calls of std::vector and std::string; the
# address sanitizer finds the real ones.
WARNINGS = ('-Wall -Wextra -Werror -Wno-array-bounds -Wno-stringop-overflow '
            '-Wno-stringop-overread -Wno-restrict')


class House:
    def __init__(self, stage, system, opt, test_opt, engines=()):
        self.stage, self.system, self.engines = stage, system, engines
        self.rooms, self.programs, self.fuzz_targets = {}, {}, {}
        self.count = Count()
        self.made = {}  # archive or program: what it is made of, in the order of its command
        self.env = self._environment(opt)
        self.kinds = {'product': {}, 'tests': {'COMMON_FLAGS': self._flags(test_opt)}}
        self.checksums = {}  # kind of object: the file that changes with its precompiled header
        for kind, header in PRECOMPILED.items():
            if system.precompiles and os.path.exists(os.path.join(stage, 'src', header)):
                self._precompile(kind, header)

    def room(self, needs=(), libs=(), programs=None, keep_all=False, systems=('linux',),
             test_programs=None, test_needs=(), engine=None, shared=None, header=None):
        """Declares the room whose SConscript is being read.

        needs     rooms it may use, named as in src/ ("mmapv1" for storage/mmapv1)
        libs      outside libraries it links; one with a folder is a file, for this compiler only:
                  without it the room does not exist
        test_needs
                  rooms that only its tests, and what is in its testing/, may use too
        programs  {name: source file with main()}
        keep_all  programs link every object of the room, also those without a caller: files that
                  register themselves
        systems   those that it compiles for
        test_programs
                  as programs, of files in testing/: they link what tests link, and are built when
                  they are named
        engine    the storage engine that it belongs to: one of those that are asked for, or the
                  room does not exist
        header    of an outside library: where it is not installed the room does not exist
        shared    file in bin/: the room alone as a shared object, beside its library, built with
                  mongod if of no engine. What it needs of other rooms is in their headers"""
        if self.system.name not in systems or engine not in (None, *self.engines):
            return
        if header and not os.path.exists(os.path.join(self.system.root, 'usr/include', header)):
            return
        stage = scons.Dir('#' + self.stage).abspath
        files = [os.path.join(stage, lib) for lib in libs if '/' in lib]
        if files and self.system.tool('gcc') != 'gcc' or not all(map(os.path.exists, files)):
            return
        folder = os.path.relpath(scons.Dir('.').srcnode().abspath, scons.Dir('#').abspath)
        name = os.path.basename(folder)
        self.rooms[name] = Room(name, folder, needs, libs, programs or {}, keep_all,
                                self.system.other_folders, test_programs or {}, test_needs,
                                shared, engine)

    def program(self, name, sources, libs, default=True, preloaded=False):
        """Declares a program outside src/ that uses no room.

        preloaded a library of one C file for LD_PRELOAD instead, in bin/ as well
        default   built when no target is named; not for what needs more than setup/apt.txt"""
        if self.system.name != 'linux':
            return
        self.programs[name] = [scons.File(source) for source in sources], libs, default, preloaded

    def fuzz_target(self, name, needs, also=()):
        """Declares a program of libFuzzer, for scons fuzz=1: fuzz_<name>, of <name>.cpp.

        needs     rooms it may use, the one that it is about first
        also      source files beside that one"""
        self.fuzz_targets[name] = [scons.File(file) for file in (name + '.cpp', *also)], needs

    def build(self):
        tests, programs = [], []
        for room in self.rooms.values():
            if room.files('*.cpp'):
                tests += self._targets_of(room, programs)
        for name, (sources, libs, default, preloaded) in self.programs.items():
            if preloaded:
                binary = self._preloaded(name, sources)
            else:
                binary = self._link(name, [self._object(str(source)) for source in sources], [],
                                    libs)
            programs += [binary] if default else []
        if self.system.precompiles:
            # Compiled only, so that a change of what they use is seen before they run next.
            tests += [self._object(str(file)) for files, _ in self.fuzz_targets.values()
                      for file in files]
        if self.system.fuzz_flags:
            programs = [self._fuzz_program(*target) for target in self.fuzz_targets.items()]
        self.env.Alias('libs', [room.library for room in self.rooms.values() if room.library])
        self.env.Alias('tests', tests)
        self.env.Alias('programs', programs)
        self.env.Default(programs or 'libs')
        database = self.env.Command('#%s/compile_commands.json' % self.stage, [],
                                    scons.Action(self._write_compile_commands, 'write   $TARGET'))
        self.env.AlwaysBuild(database)
        self.env.Alias('compile_commands', database)
        commands = self.env.Command('#%s/commands.json' % self.stage, [],
                                    scons.Action(self._write_commands, 'write   $TARGET'))
        self.env.AlwaysBuild(commands)
        self.env.Alias('commands', commands)

    def _environment(self, opt):
        env = scons.Environment(tools=['gcc', 'g++', 'gnulink', 'ar'], ENV=dict(os.environ))
        for name, value in CCACHE_SETTINGS.items():
            env['ENV'].setdefault(name, value)
        env.Replace(
            CCACHE='ccache' if shutil.which('ccache') else '',
            CC=self.system.tool('gcc'),
            CXX=self.system.tool('g++'),
            STAGE=self.stage,
            TO_STAGE=self._relative,
            CPPPATH=['#%s/src' % self.stage],
            SYSTEM_INCLUDES=self.system.includes(self.stage),
            COMMON_FLAGS=self._flags(opt),
            LINK_FLAGS=self.system.link_flags,
            PROGSUFFIX=self.system.program_suffix,
            CXXCOM='cd $STAGE && $CCACHE $CXX -std=c++20 $FLAGS $PRECOMPILED $COMPILE',
            CCCOM='cd $STAGE && $CCACHE $CC -std=c11 $FLAGS $COMPILE',
            FLAGS=WARNINGS + ' $COMMON_FLAGS $_CPPDEFFLAGS -Isrc $SYSTEM_INCLUDES',
            PRECOMPILED='',
            COMPILE='-c -o ${TO_STAGE(TARGET)} ${TO_STAGE(SOURCE)}',
            ARCOM='cd $STAGE && rm -f ${TO_STAGE(TARGET)} && '
                  '$ARCHIVER rcsD ${TO_STAGE(TARGET)} ${TO_STAGE(SOURCES)}',
            ARCHIVER=self.system.archiver,
            RANLIBCOM='',
            LINKCOM='cd $STAGE && $CXX $LINK_FLAGS -o ${TO_STAGE(TARGET)} $LINK_INPUTS',
        )
        if not scons.ARGUMENTS.get('verbose'):
            env.Replace(CXXCOMSTR='compile ${COUNT()}${TO_STAGE(SOURCE)}',
                        CCCOMSTR='compile ${COUNT()}$SOURCE', ARCOMSTR='archive $TARGET',
                        LINKCOMSTR='link    $TARGET', COUNT=self.count)
        return env

    def _flags(self, opt):
        levels = [word for word in opt.split() if word.startswith('-O')]
        optimised = levels[-1:] not in ([], ['-O0'])
        return (opt.split() + self.system.compile_flags
                + (self.system.optimised_flags if optimised else [])
                + ['-ffile-prefix-map=%s=.' % scons.Dir('#' + self.stage).abspath])

    def _precompile(self, kind, header):
        """Lets all objects of a kind begin with this header of src/."""
        name = 'precompiled/%s.h' % kind
        targets = ['#%s/%s%s' % (self.stage, name, end) for end in ('', '.gch', '.gch.sum')]
        compiler = '$CXX -std=c++20 $FLAGS -w'  # it warns of #pragma once
        action = ('cd $STAGE && cp ${{TO_STAGE(SOURCE)}} {name} && '
                  '$CCACHE {compiler} -x c++-header -c {name} -o {name}.gch && '
                  '{compiler} -x c++-header -E -P -dD {name} | sha256sum > {name}.gch.sum'
                  ).format(name=name, compiler=compiler)
        made = self.env.Command(targets, '#%s/src/%s' % (self.stage, header),
                                scons.Action(action, 'compile ${TO_STAGE(SOURCE)}'),
                                **self.kinds[kind])
        self.checksums[kind] = made[2]
        # What the compiler reads is the .gch beside this name. ccache wants the second word.
        self.kinds[kind]['PRECOMPILED'] = '-include %s -fpch-preprocess %s' % (name, COLLECTED_FROM)

    def _write_commands(self, target, source, env):
        """How one changed file gets into a program, for tests/mutants/run.py."""
        words = {'compile': '$CXX -std=c++20 $FLAGS', 'link': '$CXX $LINK_FLAGS'}
        commands = {key: env.subst(text).split() for key, text in words.items()}
        with open(str(target[0]), 'w', encoding='utf-8') as file:
            json.dump(dict(commands, made=self.made), file, indent=1)

    def _relative(self, nodes):
        nodes = nodes if isinstance(nodes, (list, tuple)) or hasattr(nodes, '__iter__') else [nodes]
        return ' '.join(os.path.relpath(str(node), self.stage) for node in nodes)

    def _object(self, source):
        inside = os.path.relpath(source, self.stage)
        if inside.startswith('..'):
            inside = source
        target = os.path.join(self.stage, 'obj', os.path.splitext(inside)[0] + '.o')
        kind = 'tests' if inside.endswith('_test.cpp') or '/testing/' in inside else 'product'
        made = self.env.StaticObject('#' + target, '#' + source, **self.kinds[kind])[0]
        if kind in self.checksums and source.endswith('.cpp'):
            self.env.Depends(made, self.checksums[kind])
        return made

    def _write_compile_commands(self, target, source, env):
        """For clang tools: without the launcher, and without what only g++ knows."""
        flags = env.subst('-std=c++20 -Wall -Wextra -pthread $_CPPDEFFLAGS -Isrc $SYSTEM_INCLUDES')
        folder = scons.Dir('#' + self.stage).abspath
        entries = [{'directory': folder, 'file': name, 'command': 'c++ %s -c %s' % (flags, name)}
                   for room in self.rooms.values()
                   for name in (os.path.relpath(path, self.stage) for path in room.files('*.cpp'))]
        with open(str(target[0]), 'w', encoding='utf-8') as file:
            json.dump(entries, file, indent=1)

    def _targets_of(self, room, programs):
        """Makes the room's targets, adds its programs to `programs`, returns its test binary."""
        if room.sources():
            room.library = self._library(room.name, room.sources())
        if room.testing():
            self._library(room.name + '_testing', room.testing())
        for name, main in room.programs.items():
            source = os.path.join(room.folder, main)
            if os.path.exists(source):
                programs.append(self._link(name, [self._object(source)], [room]))
        made = []
        if room.shared:
            programs.append(self._shared(room))
            made += [] if room.engine else programs[-1:]
        for name, main in room.test_programs.items():
            self._link(name, [self._object(os.path.join(room.folder, main))], [room], test=True)
        for kind, libs in (('test', ['gtest_main', 'gtest']),
                           ('bench', ['benchmark_main', 'benchmark'])):
            if room.files('*_%s.cpp' % kind):
                objects = [self._object(source) for source in room.files('*_%s.cpp' % kind)]
                binary = self._link('%s_%s' % (kind, room.name), objects, [room], libs, test=True)
                made += [binary] if kind == 'test' else []
        return made

    def _library(self, name, sources):
        objects = [self._object(source) for source in sources]
        self.made['lib/lib%s.a' % name] = self._relative(objects).split()
        return self.env.StaticLibrary('#%s/lib/lib%s.a' % (self.stage, name), objects)[0]

    def _link(self, name, objects, rooms, libs=(), flags=(), test=False):
        """A program of these objects and rooms. A test links the whole of its room, and what the
        rooms that it can see have in testing/."""
        needed = self._closure(rooms, test)
        outside = list(libs)
        for room in needed:
            outside += [lib for lib in room.libs if lib not in outside]
        archives = []
        words = [os.path.relpath(str(node), self.stage) for node in objects]
        if test:
            for room in needed:
                if room.testing():
                    archives.append(self._archive(room.name + '_testing'))
                    words.append(os.path.relpath(str(archives[-1]), self.stage))
        for room in needed:
            if not room.sources():
                continue
            archives.append(self._archive(room.name))
            word = os.path.relpath(str(archives[-1]), self.stage)
            if room.keep_all or (test and room is rooms[0]):
                words += ['-Wl,--whole-archive', word, '-Wl,--no-whole-archive']
            else:
                words.append(word)
        words += ['-l' + lib for lib in outside] + list(flags)
        self.made['bin/' + name] = words
        env = self.env.Clone(LINK_INPUTS=words)
        binary = env.Program('#%s/bin/%s' % (self.stage, name), objects + archives)[0]
        env.Alias(name, binary)
        return binary

    def _fuzz_program(self, name, files_and_needs):
        files, needs = files_and_needs
        return self._link('fuzz_' + name, [self._object(str(file)) for file in files],
                          [self.rooms[need] for need in needs], flags=self.system.fuzz_flags,
                          test=True)

    def _shared(self, room):
        flags = self.env['COMMON_FLAGS'] + ['-fPIC', '-fvisibility=hidden']
        objects = []
        for source in room.sources():
            inside = os.path.splitext(os.path.relpath(source, self.stage))[0]
            # Their own flags do not go with the precompiled header.
            objects += self.env.StaticObject('#%s/obj/shared/%s.o' % (self.stage, inside),
                                             '#' + source, COMMON_FLAGS=flags)
        words = ['-shared'] + [self._relative(node) for node in objects]
        words += [lib if '/' in lib else '-l' + lib for lib in room.libs]
        env = self.env.Clone(LINK_INPUTS=words, PROGSUFFIX='')
        env['LINK_FLAGS'] = [flag for flag in env['LINK_FLAGS'] if flag != '-pie']
        binary = env.Program('#%s/bin/%s' % (self.stage, room.shared), objects)[0]
        # What loads it: the server, and tests of the rooms around it.
        env.Alias([room.shared] + ([] if room.engine else ['mongod', 'tests', 'loaded_parts']),
                  binary)
        return binary

    def _preloaded(self, name, sources):
        """A library for LD_PRELOAD. No sanitizer: it is loaded into other programs."""
        binary = self.env.Command(
            '#%s/bin/%s' % (self.stage, name), sources,
            scons.Action('cd $STAGE && $CC -std=c11 -O2 %s -shared -fPIC -o ${TO_STAGE(TARGET)} '
                         '${TO_STAGE(SOURCE)}' % WARNINGS, 'link    $TARGET'))[0]
        self.env.Alias(name, binary)
        return binary

    def _archive(self, name):
        return scons.File('#%s/lib/lib%s.a' % (self.stage, name))

    def _closure(self, rooms, test):
        """The rooms and all they need, users before the used, as the linker wants them."""
        order = []

        def visit(room):
            if room in order:
                return
            for name in reversed(room.needs + (room.test_needs if test else [])):
                if name not in self.rooms:
                    print("scons: room '%s' needs '%s', which has no SConscript"
                          % (room.name, name))
                    scons.Exit(2)
                visit(self.rooms[name])
            order.append(room)

        for room in reversed(rooms):
            visit(room)
        return order[::-1]


class Count:
    """Says before each compilation how far the build is: "12/390 (about 4 min left) "."""

    def __init__(self):
        self.objects, self.looked_at = set(), set()
        self.compiled, self.started = 0, None

    def expect(self, targets):
        """Counts what these targets, nodes or names, are made of."""
        rest = [node for target in targets for node in self._nodes(target)]
        seen = set()
        while rest:
            node = rest.pop()
            if node not in seen:
                seen.add(node)
                if str(node).endswith('.o'):
                    self.objects.add(node)
                rest += node.sources
        scons.Progress(self._look_at)

    @staticmethod
    def _nodes(target):
        if not isinstance(target, str):
            return [target]
        alias = aliases.lookup(target)
        return [alias] if alias else [scons.Entry('#' + target)]

    def _look_at(self, node):
        """SCons goes through all that might need work, also what needs none."""
        if node in self.objects:
            self.looked_at.add(node)

    def __call__(self):
        now = time.monotonic()
        if self.started is None:
            self.started = now
        self.compiled += 1
        left = len(self.objects) - len(self.looked_at)
        text = '%d/%d' % (len(self.looked_at), len(self.objects))
        if self.compiled > FIRST_GUESS_AFTER:
            seconds = (now - self.started) / self.compiled * left
            text += ' (about %s left)' % ('%d min' % round(seconds / 60) if seconds >= 90
                                          else '%d s' % seconds)
        return text + ' '


class Room:
    """One folder of src/ with its subfolders, as far as these are not rooms themselves."""

    def __init__(self, name, folder, needs, libs, programs, keep_all, skipped_folders,
                 test_programs, test_needs, shared, engine):
        self.name, self.folder, self.programs = name, folder, programs
        self.needs, self.libs, self.test_needs = list(needs), list(libs), list(test_needs)
        self.library = None
        self.keep_all, self.shared, self.engine = keep_all, shared, engine
        self.skipped_folders, self.test_programs = skipped_folders, test_programs

    def sources(self):
        mains = {os.path.join(self.folder, main) for main in self.programs.values()}
        others = set(self.files('*_test.cpp')) | set(self.files('*_bench.cpp')) | mains
        others |= {os.path.join(self.folder, main) for main in self.test_programs.values()}
        others |= set(self.testing())
        return [path for path in self.files('*.cpp') if path not in others]

    def testing(self):
        mains = {os.path.join(self.folder, main) for main in self.test_programs.values()}
        return [path for path in self.files('*.cpp') if path not in mains
                and 'testing' in os.path.relpath(path, self.folder).split(os.sep)[:-1]]

    def files(self, pattern):
        found = []
        for folder, folders, _ in os.walk(self.folder):
            folders[:] = [sub for sub in sorted(folders) if sub not in self.skipped_folders
                          and not os.path.exists(os.path.join(folder, sub, 'SConscript'))]
            found += sorted(glob.glob(os.path.join(folder, pattern)))
        return found
