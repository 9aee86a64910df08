"""Runs programs that install something: their output goes into a log, a line now and then says what
they are at, and Ctrl-C ends them as soon as they can be ended without harm."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

from lab import base

LOG = os.path.join(base.BUILD, 'setup.log')
SILENCE_SECONDS_MAX = 20  # after that it says what it is at
TAIL_LINES, LINE_MAX = 20, 70
DPKG_AT_WORK = re.compile(r'^(Selecting previously|Preparing to unpack|Unpacking|Setting up) ',
                          re.M)


def log():
    return pathlib.Path(LOG).read_text('utf-8', errors='replace')


def need_root(what):
    """Before anything is hidden in a log, so that the sentence and sudo's question show."""
    if os.getuid() == 0:
        return
    try:
        run = subprocess.run(['sudo', '-v'])
    except FileNotFoundError:
        base.give_up('need root to %s: become root or install sudo, then try again' % what)
    if run.returncode != 0:
        base.give_up('need root to %s, and sudo did not allow it' % what)


def attempt(*command, as_root=False):
    """Runs it; returns its exit code. With sudo where root is needed and this is another user."""
    sudo = ['sudo'] if as_root and os.getuid() != 0 else []
    with open(LOG, 'wb') as output, interruptible(), signals_blocked() as unblock:
        with subprocess.Popen([*sudo, *command], stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT,
                              preexec_fn=lambda: ignore_interrupts() or unblock()) as worker:
            try:
                unblock()
                return wait(worker)
            except KeyboardInterrupt:
                ignore_interrupts()
                base.say('stopping; waiting until that can be left')
                stop(worker, sudo)
                base.say('stopped')
                sys.exit(base.EXIT_INTERRUPTED)


def ignore_interrupts():
    """Ctrl-C reaches all processes of a terminal: it is for us to end the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def signals_blocked():
    """Until the function that it gives is called: a process of ours would go on alone if a signal
    came while it is being started."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})

    def unblock():
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield unblock
    finally:
        unblock()


@contextlib.contextmanager
def interruptible():
    """SIGTERM ends us as Ctrl-C does, for that long."""
    def interrupt(*_):
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def wait(worker):
    seconds = 0
    while True:
        try:
            return worker.wait(timeout=SILENCE_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            seconds += SILENCE_SECONDS_MAX
            last = log().replace('\r', '').rstrip('\n').split('\n')[-1][:LINE_MAX]
            base.say('  %d s: %s' % (seconds, last or 'at work'))


def stop(worker, sudo):
    """Ends it and what it has started, and waits for its end. dpkg is let go on: cut off, it would
    leave packages half installed."""
    if not DPKG_AT_WORK.search(log()):
        # pip and npm go on when only the first process ends. Only root may signal sudo, which
        # passes on nothing from its own group: what it has started is signalled instead.
        doomed = list(processes_under(worker.pid))
        if sudo:
            subprocess.run([*sudo, 'kill', '-TERM', *map(str, doomed)], stderr=subprocess.DEVNULL)
        else:
            for pid in [worker.pid, *doomed]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
    worker.wait()


def processes_under(pid):
    """Those that it has started, and those that these have started."""
    children = []
    with contextlib.suppress(OSError):
        for thread in os.listdir('/proc/%d/task' % pid):
            with open('/proc/%d/task/%s/children' % (pid, thread), encoding='ascii') as file:
                children += map(int, file.read().split())
    for child in children:
        yield child
        yield from processes_under(child)


def must(*command, as_root=False):
    """As attempt(); a failure ends the process, with the end of the output."""
    if attempt(*command, as_root=as_root) != 0:
        give_up_about(command)


def give_up_about(command):
    print('\n'.join(log().rstrip('\n').split('\n')[-TAIL_LINES:]), file=sys.stderr)
    base.give_up("'%s' failed; the whole output is in %s" % (' '.join(command), LOG))
