"""The systems that the build makes programs for: compiler, flags, outside libraries.

A folder inside a room that is named like one of SOURCE_FOLDERS holds what only that system
compiles."""

import os
import shlex
import shutil
import subprocess

from staging import StagingError

SOURCE_FOLDERS = {'linux': 'posix', 'windows': 'windows'}
PACKAGES = ['libbson-1.0', 'libmongoc-1.0', 'fmt', 'yaml-cpp', 'libpcre2-8']
# Debian's cross compiler, and its libraries for arm64: setup/arm64/libraries.py unpacks them.
ARM64_TRIPLET = 'aarch64-linux-gnu'
ARM64_LIBS = os.path.join('build', 'arm64-libs')
# Debian has the compiler, but no libraries for Windows: setup/windows/libraries.py makes them.
WINDOWS_COMPILER = 'x86_64-w64-mingw32-%s-posix'
WINDOWS_LIBS = os.path.join('build', 'windows-libs')
# libFuzzer belongs to clang; older ones than this do not read all of the sources.
CLANG = '16'


class System:
    """What SCons needs to know of one system.

    tool              name of the compiler (gcc, g++) -> command
    archiver          command that makes libraries
    compile_flags     beside those that every object gets
    optimised_flags   the same of objects that are optimised
    link_flags        first in a link command
    fuzz_flags        what makes a fuzz target of a program; none: only other programs are made
    program_suffix    of an executable file
    root              folder of its system: where outside libraries are
    precompiles       whether objects begin with a precompiled header"""

    precompiles = False
    optimised_flags = []
    fuzz_flags = []
    root = '/'

    def __init__(self, name):
        self.name = name
        self.other_folders = {folder for system, folder in SOURCE_FOLDERS.items() if system != name}


def system_includes(root='', environment=None):
    """-isystem words for the headers of outside libraries below a folder, as pkg-config says."""
    words = []
    for package in PACKAGES:
        # Not every program needs all of them: what is missing is reported where it is included.
        run = subprocess.run(['pkg-config', '--cflags-only-I', package], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        words += ['-isystem' + root + word[2:] for word in shlex.split(run.stdout)]
    return list(dict.fromkeys(words))


class Linux(System):
    precompiles = True
    program_suffix = ''
    archiver = 'ar'

    def __init__(self, sanitize='', hardened=True, checked=False):
        super().__init__('linux')
        self.compile_flags = ['-pthread', '-fPIE'] + ['-DMONGOD_DUR_CHECKS'] * checked
        # gold needs half the time of the usual linker.
        self.link_flags = ['-pthread', '-pie', '-fuse-ld=gold', '-Wl,-z,relro', '-Wl,-z,now',
                           '-Wl,-z,noexecstack']
        # A mistake in the code ends the program instead of serving an attacker. A sanitizer looks
        # at more than these, and does not work with some.
        if hardened and not sanitize:
            self.compile_flags += ['-fstack-protector-strong', '-fstack-clash-protection',
                                   '-D_GLIBCXX_ASSERTIONS']
            self.optimised_flags = ['-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=3']
        if sanitize:
            self.compile_flags += ['-fsanitize=' + sanitize, '-fno-sanitize-recover=all',
                                   '-fno-omit-frame-pointer', '-Wno-maybe-uninitialized',
                                   '-Wno-tsan']
            self.link_flags += ['-fsanitize=' + sanitize]

    def tool(self, name):
        return name

    def includes(self, stage):
        """-isystem words for the headers of outside libraries."""
        return system_includes()


class Fuzz(Linux):
    """This machine by clang: fuzz targets, with the address and undefined sanitizers."""

    precompiles = False

    def __init__(self):
        super().__init__(hardened=False)
        if not shutil.which(self.tool('g++')):
            raise StagingError('fuzz=1 needs %s; `./lab test fuzz` installs it' % self.tool('g++'))
        sanitizers = 'address,undefined'
        # Warnings are g++'s business. It defines that name when it sanitizes, clang does not.
        self.compile_flags += ['-fsanitize=fuzzer-no-link,' + sanitizers, '-w',
                               '-fno-sanitize-recover=all', '-fno-omit-frame-pointer',
                               '-D__SANITIZE_ADDRESS__']
        self.link_flags += ['-fsanitize=' + sanitizers]
        self.fuzz_flags = ['-fsanitize=fuzzer']

    def tool(self, name):
        return {'gcc': 'clang-', 'g++': 'clang++-'}[name] + CLANG


class Arm64(Linux):
    precompiles = False
    archiver = ARM64_TRIPLET + '-ar'

    def __init__(self, top, stage, checked):
        super().__init__(checked=checked)
        libs = os.path.join(top, ARM64_LIBS)
        if not shutil.which(self.tool('g++')) or not os.path.isdir(libs):
            raise StagingError('platform=arm64 needs the cross compiler and %s; '
                               '`./lab test arm64` installs both' % ARM64_LIBS)
        self.root = libs
        self.libs = os.path.relpath(libs, os.path.join(top, stage))
        folders = ['%s/%s/%s' % (self.libs, usr, ARM64_TRIPLET) for usr in ('usr/lib', 'lib')]
        self.compile_flags = self.compile_flags + ['--sysroot=' + self.libs]
        self.link_flags = self.link_flags + ['--sysroot=' + self.libs, '-L' + folders[0]] + [
            '-Wl,-rpath-link,' + folder for folder in folders]

    def tool(self, name):
        return '%s-%s' % (ARM64_TRIPLET, name)

    def includes(self, stage):
        root = os.path.join(stage, self.libs, 'usr')
        environment = dict(os.environ, PKG_CONFIG_LIBDIR='%s/lib/%s/pkgconfig' % (
            root, ARM64_TRIPLET))
        return system_includes(self.libs, environment)


class Windows(System):
    program_suffix = '.exe'
    archiver = 'ar'

    def __init__(self, top, stage):
        super().__init__('windows')
        libs = os.path.join(top, WINDOWS_LIBS)
        if not shutil.which(self.tool('g++')) or not os.path.isdir(libs):
            raise StagingError('platform=windows needs the cross compiler and %s; '
                               '`./lab setup windows` installs both' % WINDOWS_LIBS)
        self.libs = os.path.relpath(libs, os.path.join(top, stage))
        # Windows 10, which has timers finer than the clock's tick.
        self.compile_flags = ['-pthread', '-D_WIN32_WINNT=0x0A00', '-DWIN32_LEAN_AND_MEAN',
                              '-DNOMINMAX', '-D_GLIBCXX_ASSERTIONS', '-fstack-protector-strong']
        # The time stamp would make two builds differ. Random addresses and no execution of data are
        # what this linker does by itself.
        self.link_flags = ['-static', '-fstack-protector-strong', '-Wl,--no-insert-timestamp',
                           '-L%s/lib' % self.libs]

    def tool(self, name):
        return WINDOWS_COMPILER % name

    def includes(self, stage):
        return ['-isystem' + self.libs + '/include']


def system_of(platform, top, stage, sanitize, variant):
    if platform == 'windows':
        return Windows(top, stage)
    if platform == 'arm64':
        return Arm64(top, stage, variant == 'checked')
    if variant == 'fuzz':
        return Fuzz()
    return Linux(sanitize, hardened=variant != 'unhardened', checked=variant == 'checked')
