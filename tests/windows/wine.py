"""Running Windows programs under Wine, without a screen, in a Wine of this checkout's own."""

import os
import shutil
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOME = os.path.join(TOP, 'build', 'wine')
# Debian's package wine64 puts the program here, and only the package wine a name into the path.
PLACES = ('wine64', '/usr/lib/wine/wine64')
QUIET = '-all'
FILES = '-all,+pid,+file,+relay'  # with the registry below: what perf/trace/wine_files.py reads


def program():
    return next(filter(None, map(shutil.which, PLACES)), None)


def environment(debug=QUIET):
    # No screen, and no questions about what a browser or .NET would need.
    return {'WINEPREFIX': HOME, 'WINEDEBUG': debug, 'WINEDLLOVERRIDES': 'mscoree,mshtml=',
            'DISPLAY': '', 'XDG_RUNTIME_DIR': ''}


def prepare():
    """Makes build/wine, once. Of all calls into libraries only flushes are to be traced; what
    else a program does with files shows without that."""
    ready = os.path.join(HOME, 'ready')
    if os.path.exists(ready):
        return
    shutil.rmtree(HOME, ignore_errors=True)
    os.makedirs(HOME)
    run(['wineboot', '--init'])
    run(['reg', 'add', r'HKCU\Software\Wine\Debug', '/v', 'RelayInclude', '/d',
         'kernel32.FlushFileBuffers;kernel32.FlushViewOfFile', '/f'])
    with open(ready, 'w', encoding='ascii'):
        pass


def run(command, debug=QUIET, stderr=subprocess.STDOUT, check=True):
    """Runs a program and returns what subprocess.run returns."""
    return subprocess.run([program(), *command], env=dict(os.environ, **environment(debug)),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
                          text=True, errors='replace', check=check)
