"""What a measurement must know of its machine: what it is, and whether anything else uses it.

All figures are the kernel's counters in /proc and /sys. While nothing of ours runs, every busy
processor second and every write of the device is another process's."""

import os
import platform
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SECTOR_BYTES = 512  # of /proc/diskstats, whatever the device has

# Above these a machine is not quiet enough for conclusions.
BUSY_MAX = 0.1         # share of all processors, by others
STEAL_MAX = 0.01       # share of all processors, taken by the host of a virtual machine
WRITES_MAX = 5         # of others on the device, a second
FLOOR_MOVED_MAX = 1.5  # the disk alone: greatest over least, before and after a cell
MOVED_SHARE_MAX = 0.1  # of the cells


def output_of(*command):
    """Standard output of a command, stripped; empty when it cannot be run."""
    try:
        return subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True).stdout.strip()
    except OSError:
        return ''


def lines_of(path):
    """Nothing when there is no such file."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read().splitlines()
    except OSError:
        return []


def mount_of(folder, lines):
    """(file system, source, options) of the mount that has a folder, from /proc/self/mountinfo;
    of mounts on the same place the last one counts. Empty texts where none is known."""
    folder, best = os.path.realpath(folder), None
    for line in lines:
        before, dash, after = line.partition(' - ')
        fields, more = before.split(), after.split()
        if not dash or len(fields) < 6 or len(more) < 2:
            continue
        place = fields[4].replace('\\040', ' ')
        if (folder + '/').startswith(place.rstrip('/') + '/') and (
                best is None or len(place) >= len(best[0])):
            best = place, (more[0], more[1], fields[5])
    return best[1] if best else ('', '', '')


def device_of(folder):
    """The name in /proc/diskstats of the whole device under a folder; '' where it is not known, as
    for a file system without one."""
    number = os.stat(folder).st_dev
    path = os.path.realpath('/sys/dev/block/%d:%d' % (os.major(number), os.minor(number)))
    if not os.path.isdir(path):
        source = mount_of(folder, lines_of('/proc/self/mountinfo'))[1]
        path = os.path.realpath('/sys/class/block/' + os.path.basename(os.path.realpath(source)))
        if not source or not os.path.isdir(path):
            return ''
    if os.path.exists(os.path.join(path, 'partition')):
        path = os.path.dirname(path)
    return os.path.basename(path)


def host(folder):
    """What a reader needs to compare this result with another."""
    file_system, source, options = mount_of(folder, lines_of('/proc/self/mountinfo'))
    device = device_of(folder)
    return {
        'cpu': next((line.split(': ', 1)[1] for line in lines_of('/proc/cpuinfo')
                     if line.startswith('model name') and ': ' in line), ''),
        'cores': os.cpu_count(),
        'kernel': platform.release().split('-')[0],
        'file_system': file_system,
        'mount_options': options,
        'disk': source,
        'device': device,
        'fua': ''.join(lines_of('/sys/class/block/%s/queue/fua' % device)) if device else '',
        'write_cache': (''.join(lines_of('/sys/class/block/%s/queue/write_cache' % device))
                        if device else ''),
        'source': output_of('git', 'log', '-1', '--format=%H', '--', 'src'),
    }


def processor_counters(lines):
    """(busy, stolen, all) ticks of all processors since the start, from /proc/stat."""
    for line in lines:
        if line.startswith('cpu '):
            ticks = [int(word) for word in line.split()[1:9]]
            ticks += [0] * (8 - len(ticks))
            idle, stolen = ticks[3] + ticks[4], ticks[7]
            return sum(ticks) - idle - stolen, stolen, sum(ticks)
    return 0, 0, 0


def device_counters(lines, device, first=7):
    """(writes, bytes written) of a device since the start, from /proc/diskstats; None without."""
    for line in lines:
        words = line.split()
        if len(words) > 9 and words[2] == device:
            return int(words[first]), int(words[first + 2]) * SECTOR_BYTES
    return None


def device_reads(lines, device):
    """(reads, bytes read), likewise."""
    return device_counters(lines, device, 3)


class Watch:
    """The counters from construction to end()."""

    def __init__(self, folder):
        self.device = device_of(folder)
        self.before = self._read()

    def _read(self):
        return (time.monotonic(), processor_counters(lines_of('/proc/stat')),
                device_counters(lines_of('/proc/diskstats'), self.device))

    def end(self):
        """Shares of all processors, and what the device wrote a second."""
        (start, cpu, disk), (end, cpu_after, disk_after) = self.before, self._read()
        seconds = max(end - start, 1e-9)
        busy, stolen, ticks = (after - before for before, after in zip(cpu, cpu_after))
        found = {'seconds': seconds, 'busy': busy / max(ticks, 1), 'steal': stolen / max(ticks, 1)}
        if disk and disk_after:
            found['writes_per_second'] = (disk_after[0] - disk[0]) / seconds
            found['bytes_per_second'] = (disk_after[1] - disk[1]) / seconds
        return found


def idle_watch(folder, seconds):
    """What others do while nothing of ours runs: what we have written is on the device before."""
    os.sync()
    watch = Watch(folder)
    time.sleep(seconds)
    return watch.end()


def quiet(result):
    """(whether the machine was quiet enough for conclusions, why not), from what was watched:
    `idle` (a list of idle_watch()), `steal` (over all), `floors_moved` (share of the cells)."""
    reasons = []
    seconds = max(sum(each['seconds'] for each in result['idle']), 1e-9)

    def mean(name):
        return sum(each.get(name, 0) * each['seconds'] for each in result['idle']) / seconds
    if mean('busy') > BUSY_MAX:
        reasons.append('others kept %.0f %% of the processors busy while nothing was measured (at '
                       'most %.0f %%)' % (100 * mean('busy'), 100 * BUSY_MAX))
    if result['steal'] > STEAL_MAX:
        reasons.append('the host took %.1f %% of the processor time (at most %.0f %%)'
                       % (100 * result['steal'], 100 * STEAL_MAX))
    if mean('writes_per_second') > WRITES_MAX:
        reasons.append('others made %.0f writes/s, %.0f KB/s, on %s (at most %d/s)'
                       % (mean('writes_per_second'), mean('bytes_per_second') / 1e3,
                          result['device'], WRITES_MAX))
    if result['floors_moved'] > MOVED_SHARE_MAX:
        reasons.append('the disk alone changed by more than %.1f times within %.0f %% of the cells '
                       '(at most %.0f %%)' % (FLOOR_MOVED_MAX, 100 * result['floors_moved'],
                                              100 * MOVED_SHARE_MAX))
    return not reasons, reasons


def quiet_text(result):
    """The first lines of a report."""
    fine, reasons = quiet(result)
    text = 'This machine was %s for conclusions' % ('quiet enough' if fine else 'NOT quiet enough')
    text += '.' if fine else ': ' + '; '.join(reasons) + '.'
    text += ' Load average at the start %.1f.' % result['load']
    if not result['device']:
        text += ' Which device it was is not known, so other writers on it could not be seen.'
    return text
