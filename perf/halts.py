"""Whether processors that have nothing to do halt here so deeply that a lone client waits for them
(journalAwake), and a way to keep them from it for a whole measurement.

A durable insert of a lone client is three or four waits: for the disk, for the thread that commits,
for the reply. Each ends with a processor that has to leave its halt; in a virtual machine it leaves
through its host. What that takes is measured as what a sleep is late: once as things are, once with
a process of the policy SCHED_IDLE on each processor, which keeps it running and yields to all else.
"""

import contextlib
import os
import struct
import subprocess
import sys
import textwrap

import machine

SLEEP_US = 150  # about what a quick disk takes for a flush
SLEEPS = 300
BINDS_US = 10   # later than this a halt is a share of a lone client's insert that can be seen
LATENCY_FILE = '/dev/cpu_dma_latency'
IDLE_DRIVER = '/sys/devices/system/cpu/cpuidle/current_driver'
PR_SET_TIMERSLACK = 29


class CannotHold(SystemExit):
    """Why processors cannot be kept from halting here; ends the program with that sentence."""

    def __init__(self, why):
        super().__init__('%s: --awake: %s' % (os.path.basename(sys.argv[0]), why))


SPINNER = '''
import os
os.sched_setaffinity(0, {%d})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(flush=True)
while os.getppid() == %d:
    pass
'''
# In a process of its own: its timers are exact.
SLEEPER = '''
import ctypes, statistics, time
ctypes.CDLL(None).prctl(%d, 1, 0, 0, 0)
late = []
for _ in range(%d):
    before = time.perf_counter()
    time.sleep(%g)
    late.append((time.perf_counter() - before) * 1e6 - %g)
print(statistics.median(late))
''' % (PR_SET_TIMERSLACK, SLEEPS, SLEEP_US / 1e6, SLEEP_US)


def late_us():
    """How much later than asked for a sleep ends; the median of some, in us."""
    found = subprocess.run([sys.executable, '-c', SLEEPER], stdout=subprocess.PIPE, text=True,
                           check=True)
    return float(found.stdout)


@contextlib.contextmanager
def spinners():
    """A process on each processor that keeps it from halting, while nothing else is to run."""
    started = []
    try:
        for processor in sorted(os.sched_getaffinity(0)):
            started.append(subprocess.Popen(
                [sys.executable, '-c', SPINNER % (processor, os.getpid())], stdout=subprocess.PIPE))
            started[-1].stdout.readline()  # it is on its way
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()
            process.stdout.close()


def measure():
    """For a result: {'late_us', 'late_awake_us', 'idle_driver'}."""
    before = late_us()
    with spinners():
        awake = late_us()
    return {'late_us': before, 'late_awake_us': awake, 'idle_driver': idle_driver()}


def idle_driver():
    """Its name; '' where the system has none, as in most virtual machines."""
    name = ''.join(machine.lines_of(IDLE_DRIVER))
    return '' if name == 'none' else name


def lines(result, width):
    """For a report; nothing for a result that was kept before this was measured."""
    found = []
    if 'halts' in result:
        found += textwrap.wrap(text(result['halts']), width)
    if result.get('awake'):
        found.append('The processors were kept from halting for all of them (--awake).')
    return found


def text(found):
    cost = found['late_us'] - found['late_awake_us']
    line = ('A sleep of %d us ends %.0f us late, and %.0f us late while the processors are kept '
            'from halting: ' % (SLEEP_US, found['late_us'], found['late_awake_us']))
    if cost < BINDS_US:
        return line + 'halts do not bind this machine.'
    line += ('halts bind this machine, and a lone client waits for several of them with each '
             'insert. ')
    if found['idle_driver']:
        return line + 'journalAwake, or --awake for all that is measured, keeps them off.'
    return line + ('It has no idle driver, so %s changes nothing here: what keeps a processor from '
                   'halting is a setting of the host (halt polling).' % LATENCY_FILE)


@contextlib.contextmanager
def held_off(wanted):
    """While it lasts no processor halts deeply; does nothing unless wanted. Throws CannotHold."""
    if not wanted:
        yield
        return
    if not idle_driver():
        raise CannotHold('this system has no idle driver (%s), so that %s has no effect'
                         % (IDLE_DRIVER, LATENCY_FILE))
    try:
        file = open(LATENCY_FILE, 'wb', buffering=0)
    except OSError as error:
        raise CannotHold('%s; it needs root' % error) from error
    with file:
        file.write(struct.pack('=i', 0))
        yield


def add_option(parser):
    parser.add_argument('--awake', action='store_true',
                        help='keeps the processors from halting while all is measured, by '
                             + LATENCY_FILE)
