"""A set of three members with elections, and the three etcds that these need, on this machine.

Machine N has the member mN and the etcd eN. With a network each one has an address of its own
(network namespaces, which need root), so that it can be cut off; else all have 127.0.0.1."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

import pymongo
from pymongo import errors

MACHINES = (1, 2, 3)
MEMBERS, ETCDS = ['m1', 'm2', 'm3'], ['e1', 'e2', 'e3']
SET = 'rs0'
SECONDS_MAX = 60  # only ends a wait that hangs
BRIDGE, SUBNET = 'mddur', '10.77.0.'
TERM = re.compile(r'^(\S+) .*replica set \S+: term (\d+)$', re.M)


class ClusterError(Exception):
    """What was asked for cannot be done; the text says why."""


def wait_until(what, condition):
    limit = time.monotonic() + SECONDS_MAX
    while not condition():
        if time.monotonic() > limit:
            raise ClusterError('waited in vain: ' + what)
        time.sleep(0.02)


def network(*words):
    done = subprocess.run(['ip', *words], capture_output=True, text=True)
    if done.returncode:
        raise ClusterError('ip %s: %s' % (' '.join(words), done.stderr.strip()))


class Program:
    """One of the six. Its process is no child of the program that looks at it later."""

    def __init__(self, cluster, name, port):
        self.cluster, self.name, self.port, self.pid = cluster, name, port, 0
        self.number = int(name[1:])
        self.address = SUBNET + str(10 + self.number) if cluster.has_network else '127.0.0.1'
        self.place = os.path.join(cluster.folder, name)
        self.log = self.place + '.log'
        self.child, self.environment = None, {}

    @property
    def host(self):
        return '%s:%d' % (self.address, self.port)

    def is_alive(self):
        if self.child is not None:
            return self.child.poll() is None
        try:
            return self.place.encode() in pathlib.Path('/proc/%d/cmdline' % self.pid).read_bytes()
        except OSError:
            return False

    def start(self):
        if self.is_alive():
            return
        os.makedirs(self.place, exist_ok=True)
        inside = (['ip', 'netns', 'exec', BRIDGE + str(self.number)] if self.cluster.has_network
                  else [])
        with open(self.log, 'ab') as log:
            self.child = subprocess.Popen(inside + self.command(), stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log, start_new_session=True,
                                          env=dict(os.environ, **self.environment))
        self.pid = self.child.pid  # `ip` becomes the program

    def send(self, number):
        if self.is_alive():
            os.kill(self.pid, number)

    def kill(self, number=signal.SIGKILL):
        self.send(number)
        wait_until('the end of ' + self.name, lambda: not self.is_alive())

    def text_of_log(self):
        try:
            return pathlib.Path(self.log).read_text('utf-8', errors='replace')
        except FileNotFoundError:
            return ''


class Etcd(Program):
    @property
    def url(self):
        return 'http://' + self.host

    @property
    def peer_url(self):
        return 'http://%s:%d' % (self.address, self.port + 1)

    def command(self):
        every = ','.join('%s=%s' % (each.name, each.peer_url) for each in self.cluster.etcds)
        return ['etcd', '--name', self.name, '--data-dir', self.place, '--logger', 'zap',
                '--listen-client-urls', self.url, '--advertise-client-urls', self.url,
                '--listen-peer-urls', self.peer_url, '--initial-advertise-peer-urls', self.peer_url,
                '--initial-cluster', every, '--initial-cluster-state', 'new',
                '--pre-vote']  # one that was cut off unseats no leader when it is back

    def ask(self, what, question=None, seconds=1):
        asked = urllib.request.Request('%s/v3/maintenance/%s' % (self.url, what),
                                       json.dumps(question or {}).encode())
        with urllib.request.urlopen(asked, timeout=seconds) as reply:
            return json.load(reply)

    def lead(self):
        """Makes it the leader; of etcds that have one."""
        number = self.ask('status')['header']['member_id']
        leader = next(each for each in self.cluster.etcds if each.state() == 'leader')
        if leader is not self:
            leader.ask('transfer-leadership', {'targetID': number}, seconds=10)

    def state(self):
        """leader, follower, or why it is none."""
        try:
            said = self.ask('status')
        except OSError:
            return 'does not answer' if self.is_alive() else 'dead'
        leader = said.get('leader', '0')
        if leader == '0':
            return 'has no leader'
        return 'leader' if leader == said['header']['member_id'] else 'follower'


class Member(Program):
    def command(self):
        coordinator = ','.join(each.url for each in self.cluster.etcds)
        return [self.cluster.program, '--dbpath', self.place, '--port', str(self.port),
                '--bind_ip', self.address, '--nounixsocket', '--replSet', SET, '--coordinator',
                coordinator, *self.cluster.options, *self.cluster.own_options.get(self.name, ())]

    def client(self, seconds=1.0):
        ms = int(seconds * 1000)
        return pymongo.MongoClient(self.address, self.port, directConnection=True,
                                   serverSelectionTimeoutMS=ms, connectTimeoutMS=ms,
                                   socketTimeoutMS=ms)

    def run(self, command, *arguments, seconds=1.0):
        with self.client(seconds) as client:
            return client.admin.command(command, *arguments)

    def hello(self):
        try:
            return self.run('hello')
        except errors.PyMongoError:
            return {}

    def answers(self):
        if not self.is_alive():
            raise ClusterError('%s has ended; %s says why' % (self.name, self.log))
        return bool(self.hello())

    def terms(self):
        """[(time, number)] of the terms that it has led."""
        return [(when, int(term)) for when, term in TERM.findall(self.text_of_log())]


class Cluster:
    """`options`: further ones of each mongod; `own_options`, by name, of one. What runs is kept in
    the folder, and found again."""

    def __init__(self, folder, program, options=(), has_network=False, free_ports=False,
                 own_options=None):
        self.folder, self.program, self.options = os.path.abspath(folder), program, list(options)
        self.own_options = own_options or {}
        self.kept = os.path.join(self.folder, 'cluster.json')
        self.has_network = has_network
        known = {}
        if os.path.exists(self.kept):
            known = json.loads(pathlib.Path(self.kept).read_text('utf-8'))
            self.program, self.options = known['program'], known['options']
            self.has_network = known['network']
        ports = known.get('ports', free_ports and unused_ports() or usual_ports(self.has_network))
        self.etcds = [Etcd(self, name, ports[name]) for name in ETCDS]
        self.members = [Member(self, name, ports[name]) for name in MEMBERS]
        self.programs = {each.name: each for each in self.members + self.etcds}
        for name, pid in known.get('pids', {}).items():
            self.programs[name].pid = pid

    @property
    def uri(self):
        return 'mongodb://%s/?replicaSet=%s' % (','.join(each.host for each in self.members), SET)

    def save(self):
        with open(self.kept, 'w', encoding='utf-8') as file:
            json.dump({'program': self.program, 'options': self.options,
                       'network': self.has_network,
                       'ports': {name: each.port for name, each in self.programs.items()},
                       'pids': {name: each.pid for name, each in self.programs.items()}}, file)

    def primary(self):
        """Which member takes writes; None."""
        return next((each for each in self.members
                     if each.is_alive() and each.hello().get('isWritablePrimary')), None)

    def wait_for_primary(self):
        wait_until('a primary', lambda: self.primary() is not None)
        return self.primary()

    def up(self, settings=None):
        """Starts what does not run, joins what is cut off, and begins the set where there is none.
        Returns the primary."""
        os.makedirs(self.folder, exist_ok=True)
        if self.has_network:
            self.make_network()
        for each in self.programs.values():
            self.join(each.name)
            each.start()
        self.save()
        wait_until('etcd has a leader', lambda: sorted(
            each.state() for each in self.etcds) == ['follower', 'follower', 'leader'])
        for each in self.members:
            wait_until('%s answers; %s' % (each.name, each.log), each.answers)
        first = self.members[0]
        if 'setName' not in first.hello() and all('setName' not in m.hello() for m in self.members):
            first.run('replSetInitiate', {
                '_id': SET, 'settings': settings or {},
                'members': [{'_id': m.number, 'host': m.host} for m in self.members]}, seconds=30)
        self.wait_for_primary()
        wait_until('two secondaries, each with a vote', self.is_whole)
        return self.wait_for_primary()

    def is_whole(self):  # without an entry of the term, a member may be about to take some back
        with contextlib.suppress(errors.PyMongoError, AttributeError):
            status = self.primary().run('replSetGetStatus')
            return (status['votingMembersCount'] == len(MEMBERS) and
                    all(each['optime']['t'] == status['term'] for each in status['members']) and
                    sum(bool(each.hello().get('secondary')) for each in self.members) == 2)
        return False

    def keep_logs(self, folder):
        """Puts them there, and what each member says of the set."""
        os.makedirs(folder, exist_ok=True)
        for each in self.programs.values():
            shutil.copy(each.log, folder)
        for each in self.members:
            with contextlib.suppress(errors.PyMongoError):
                said = json.dumps(each.run('replSetGetStatus'), default=str, indent=1)
                pathlib.Path(folder, each.name + '.status').write_text(said, 'utf-8')

    def down(self):
        if not os.path.exists(self.kept):
            return  # nothing was started
        for each in self.members + self.etcds:
            self.join(each.name)
            each.send(signal.SIGCONT)
            each.send(signal.SIGTERM)
        for member in self.members:
            wait_until('the end of ' + member.name, lambda each=member: not each.is_alive())
        for etcd in self.etcds:  # which would wait for the others, and has all on the disk
            etcd.kill()
        if self.has_network:
            self.remove_network()

    def make_network(self):
        if os.path.exists('/sys/class/net/' + BRIDGE):
            if os.path.exists(self.kept):
                return
            raise ClusterError('another cluster has the network %s' % BRIDGE)
        network('link', 'add', BRIDGE, 'type', 'bridge')
        network('addr', 'add', SUBNET + '1/24', 'dev', BRIDGE)
        network('link', 'set', BRIDGE, 'up')
        for number in MACHINES:
            name = BRIDGE + str(number)
            network('netns', 'add', name)
            network('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
            network('link', 'set', name, 'master', BRIDGE, 'up')
            network('-n', name, 'addr', 'add', '%s%d/24' % (SUBNET, 10 + number), 'dev', 'eth0')
            network('-n', name, 'link', 'set', 'eth0', 'up')
            network('-n', name, 'link', 'set', 'lo', 'up')

    def remove_network(self):
        for number in MACHINES:
            network('link', 'del', BRIDGE + str(number))  # with its namespace it would go later
            network('netns', 'del', BRIDGE + str(number))
        network('link', 'del', BRIDGE)

    def cut(self, name):
        """Its machine is cut off, silently."""
        if not self.has_network:
            raise ClusterError('a cut needs addresses of their own, which root can give: '
                               './lab cluster down, then sudo ./lab cluster up')
        network('link', 'set', BRIDGE + name[1:], 'down')

    def join(self, name):
        if self.has_network:
            network('link', 'set', BRIDGE + name[1:], 'up')


def usual_ports(has_network):
    step = 0 if has_network else 1
    return {**{name: 27017 + step * at for at, name in enumerate(MEMBERS)},
            **{name: 23790 + 2 * step * at for at, name in enumerate(ETCDS)}}


def unused_ports():
    taken, found = [], []
    with contextlib.ExitStack() as held:
        while len(found) < len(MEMBERS + ETCDS):
            try:
                for port in (0, 1):
                    port += port and taken[-1]
                    one = held.enter_context(socket.create_server(('127.0.0.1', port)))
                    taken.append(one.getsockname()[1])
            except OSError:
                continue
            found.append(taken[-2])
    return dict(zip(MEMBERS + ETCDS, found))
