"""The commands on a page for people, and what the page says they print.

Lines of an indented block that begin with "$ " are commands; what follows, up to the next one or
the end of the block, is what they print. The blocks of a page run in order, in one folder and one
shell. Numbers, dates and identifiers may differ; a line "..." stands for any lines. A command that
ends otherwise than with 0 says so behind it: "# exit code 1"."""

import os
import pathlib
import re
import subprocess
import threading

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Before a command: a block of a list is indented further than one of the page.
PROMPT = re.compile(r'( {4,})\$ (.*)$')
END = 'end of the command'
SECONDS_MAX = 300  # only ends a command that hangs


class Command:
    """A command of a page with the lines it is said to print."""

    def __init__(self, line, indent, text):
        self.line, self.indent, self.text, self.said = line, indent, text, []


def commands_of(lines):
    """The commands of a page, in order. A command that ends in a backslash goes on."""
    found, inside = [], False
    for number, line in enumerate(lines):
        prompt = PROMPT.match(line)
        indent = found[-1].indent if found else ''
        if prompt:
            found.append(Command(number, *prompt.groups()))
            inside = True
        elif inside and not found[-1].said and found[-1].text.endswith('\\'):
            found[-1].text += '\n' + line[len(indent):]
        elif inside and line.startswith(indent):
            found[-1].said.append(line[len(indent):])
        elif line:
            inside = False
        elif inside and found[-1].said and found[-1].said[-1]:
            found[-1].said.append('')  # perhaps between lines of output
    for command in found:
        while command.said and not command.said[-1]:
            command.said.pop()
    return found


def plain(text):
    """Without what differs from run to run."""
    text = re.sub(r'\b[0-9a-f]{24,}\b', '#', text)
    text = re.sub(r'\b\d{8}-\d{6}\b', '#', text)  # a date, with the time where there are two
    return ' '.join(re.sub(r'\d+([.:,]\d+)*', '#', text).split())


def agree(said, got):
    """Whether lines of output are those of the page, whose "..." stands for any."""
    if not said:
        return not got
    if said[0] == '...':
        return any(agree(said[1:], got[n:]) for n in range(len(got) + 1))
    return bool(got) and plain(said[0]) == plain(got[0]) and agree(said[1:], got[1:])


class Shell:
    """A bash, which keeps its variables and its place from command to command."""

    def __init__(self, folder, environment):
        self.folder = folder
        # Words that stand otherwise on the page: what is there -> what it is here.
        self.replaced = {}
        self.bash = subprocess.Popen(
            ['bash'], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, bufsize=1, env=dict(os.environ, **environment))

    def run(self, text):
        """What the command prints, as lines, and its exit code."""
        for there, here in self.replaced.items():
            text = text.replace(there, here)
        # Nothing that a command starts may read what is meant for the shell.
        self.bash.stdin.write('{ %s\n} < /dev/null\necho "%s $?"\n' % (text, END))
        self.bash.stdin.flush()
        lines = []
        hangs = threading.Timer(SECONDS_MAX, self.bash.kill)
        hangs.start()
        try:
            return self.read(lines)
        finally:
            hangs.cancel()

    def read(self, lines):
        for line in self.bash.stdout:
            line = line.rstrip('\n')
            before, mark, code = line.rpartition(END + ' ')
            if mark:
                return lines + ([before] if before else []), int(code)
            for there, here in self.replaced.items():
                line = line.replace(here, there)
            lines.append(line.replace(self.folder, '/srv'))
        return lines, -1

    def close(self):
        """Ends it; returns what it has left running, for a sentence."""
        self.bash.stdin.close()
        self.bash.wait()
        return []


def run_page(page, shell, totals, not_run=(), write=False):
    """Runs the commands of a page, but `not_run`, in a shell, which is closed then.

    write    puts what they print now into the page"""
    lines = pathlib.Path(os.path.join(TOP, page)).read_text('utf-8').split('\n')
    commands = [command for command in commands_of(lines) if command.text not in not_run]
    passed, failed = 0, 0
    new = {}
    for command in commands:
        got, code = shell.run(command.text)
        got = '\n'.join(got).strip('\n').split('\n') if any(got) else []
        new[command.line] = got
        expected = int((re.search(r'# exit code (\d+)$', command.text) or [0, 0])[1])
        if code == expected and (write or agree(command.said, got)):
            passed += 1
            continue
        failed += 1
        print('%s:%d: $ %s\n   exit code %d; it prints\n%s\n   the page says\n%s'
              % (page, command.line + 1, command.text, code,
                 '\n'.join('      ' + line for line in got),
                 '\n'.join('      ' + line for line in command.said)))
    left = shell.close()
    if left:
        failed += 1
        print('%s: a server still runs on %s' % (page, ', '.join(left)))
    if write:
        write_page(page, lines, commands, new)
    totals.add(page, passed, failed)


def write_page(page, lines, commands, new):
    """The page with the output that there was now, but where it has "..."."""
    out = list(lines)
    for command in reversed(commands):
        if '...' in command.said:
            continue
        begin = command.line + 1 + command.text.count('\n')
        out[begin:begin + len(command.said)] = [command.indent + line if line else ''
                                                for line in new[command.line]]
    pathlib.Path(os.path.join(TOP, page)).write_text('\n'.join(out), 'utf-8')
