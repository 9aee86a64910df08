"""Where things are, and what all commands do: say a sentence, give up, become another program."""

import os
import signal
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SETUP = os.path.join(TOP, 'setup')
BUILD = os.path.join(TOP, 'build')
DATA = os.path.join(TOP, 'data')
DRIVER_PYTHON = os.path.join(BUILD, 'venv', 'bin', 'python')

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

# Modules of other folders that are asked for what they know.
sys.path[1:1] = [os.path.join(TOP, folder) for folder in ('site_scons', 'tests/lib', 'perf')]


def say(text):
    print('lab: ' + text, file=sys.stderr, flush=True)


def give_up(text, code=EXIT_FAILED):
    say(text)
    sys.exit(code)


def become(program, *words):
    """This process is that program from now on; it is looked for in PATH."""
    sys.stdout.flush()
    # Python ignores SIGPIPE, and what it becomes would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execvp(program, [program, *words])


def become_python(path, *words):
    become(sys.executable, os.path.join(TOP, path), *words)


def become_script(name, *words):
    """This process is that script of perf/ from now on, with the drivers that it needs."""
    become(DRIVER_PYTHON, os.path.join(TOP, 'perf', 'launch.py'),
           os.path.join(TOP, 'perf', name + '.py'), *words)


def give_up_with_help(parser):
    """Where a word is missing without which there is nothing to do."""
    parser.print_help(sys.stderr)
    sys.exit(EXIT_USAGE)
