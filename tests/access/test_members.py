"""Members of a replica set that log in to each other by a key (--keyFile)."""

import contextlib
import os

import pymongo
from pymongo import ReadPreference

import access
from access import LOGIN_FAILED, UNAUTHORIZED

import certificates
import secured
import server
from set_member import OPTIONS, PRIMARY, SECONDARY, SETTINGS, SetMember, wait_until

KEY = 'The/key+of\nthe set===\n'
SHOWN_KEY = ''.join(KEY.split())  # as a password
NOT_OF_THE_SET, NO_CONFIGURATION = 93, 94
ROLE_NOT_FOUND, INVALID_CONFIGURATION = 31, 93


class Members(access.Refusals):
    def setUp(self):
        self.folder = self.enterContext(server.scratch('members-'))
        self.members = []
        self.tls = {}  # of clients

    def key_file(self, text=KEY, mode=0o600):
        path = os.path.join(self.folder, 'key-%d' % len(os.listdir(self.folder)))
        with open(path, 'w', encoding='utf-8', opener=secured.private) as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def start(self, *options):
        dbpath = os.path.join(self.folder, 'db-%d' % len(self.members))
        self.members.append(self.enterContext(SetMember(access.Case.program, dbpath,
                                                        OPTIONS + list(options))))
        return self.members[-1]

    def client(self, member, user=None, password='pw', database='admin', **options):
        who = {'username': user, 'password': password, 'authSource': database} if user else {}
        client = pymongo.MongoClient('127.0.0.1', member.port, directConnection=True, **who,
                                     **self.tls, **options)
        self.addCleanup(client.close)
        return client

    def config(self, version=1):
        return {'_id': 'rs0', 'version': version, 'settings': SETTINGS, 'members': [
            {'_id': number, 'host': member.host, 'priority': int(number == 0)}
            for number, member in enumerate(self.members)]}

    def state(self, member):
        try:
            return self.client(member, 'root').admin.command('replSetGetStatus')['myState']
        except pymongo.errors.OperationFailure as refusal:
            # Before the configuration comes there is no user either.
            self.assertIn(refusal.code, (LOGIN_FAILED, NOT_OF_THE_SET, NO_CONFIGURATION))
            return None

    def initiate(self):
        outside = self.client(self.members[0])
        outside.admin.command('replSetInitiate', self.config())
        outside.admin.command('createUser', 'root', pwd='pw', roles=['root'])

    def begin(self, count):
        for _ in range(count):
            self.start('--keyFile', self.key_file())
        self.initiate()
        for member in self.members[1:]:
            self.wait_for_secondary(member)
        return [self.client(member, 'root', read_preference=ReadPreference.NEAREST)
                for member in self.members]

    def wait_for_secondary(self, member):
        wait_until('%s is a secondary; %s' % (member.host, member.tail(5)),
                   lambda: self.state(member) == SECONDARY)

    @staticmethod
    def wait_for_count(collection, count):
        wait_until('there are %d in %s' % (count, collection.full_name),
                   lambda: collection.count_documents({}) == count)

    def test_a_set_copies_and_follows(self):
        primary, *others = self.begin(3)
        primary.test.c.insert_many([{'_id': number} for number in range(500)])
        for other in others:
            self.wait_for_count(other.test.c, 500)

        def all_known():
            return [member['state'] for member in others[0].admin.command('replSetGetStatus')[
                'members']] == [PRIMARY, SECONDARY, SECONDARY]
        wait_until('a secondary knows the states of all', all_known)
        self.refused(UNAUTHORIZED, self.client(self.members[1]).test.c.find_one)

    def check_hand_over(self, old, new):
        self.client(old, 'root').admin.command({'replSetStepDown': 60})
        wait_until('%s is the primary; %s' % (new.host, new.tail(5)),
                   lambda: self.state(new) == PRIMARY)
        written = self.client(new, 'root').handed.get_collection(
            'c', write_concern=pymongo.WriteConcern(w=2, j=True, wtimeout=60000))
        written.insert_one({'by': new.host})
        self.wait_for_secondary(old)
        self.assertIsNotNone(self.client(
            old, 'root', read_preference=ReadPreference.NEAREST).handed.c.find_one(
                {'by': new.host}))

    def test_one_hands_over_to_another(self):
        self.begin(2)
        first, second = self.members
        self.check_hand_over(first, second)
        self.check_hand_over(second, first)
        # Users are made by the new one, and known to all.
        self.check_hand_over(first, second)
        self.client(second, 'root').admin.command(
            'createUser', 'later', pwd='pw', roles=['read'], writeConcern={'w': 2, 'j': True})
        self.client(first, 'later').admin.command('ping')

    def test_what_becomes_of_a_user_reaches_those_who_are_logged_in_elsewhere(self):
        primary, secondary = self.begin(2)
        primary.test.c.insert_one({'_id': 1})
        for name in ('loses', 'goes'):
            primary.test.command('createUser', name, pwd='pw', roles=['read'])
        self.wait_for_count(secondary.admin['system.users'], 3)
        loses, goes = [self.client(self.members[1], name, database='test',
                                   read_preference=ReadPreference.NEAREST).test
                       for name in ('loses', 'goes')]
        for client in (loses, goes):
            self.wait_for_count(client.c, 1)
        primary.test.command('revokeRolesFromUser', 'loses', roles=['read'])
        primary.test.command('dropUser', 'goes')
        wait_until('the users are changed',
                   lambda: secondary.admin['system.users'].count_documents({'roles': []}) == 1
                   and secondary.admin['system.users'].count_documents({}) == 2)
        for client in (loses, goes):
            self.refused(UNAUTHORIZED, client.c.find_one)

    def test_what_becomes_of_a_role_does_too(self):
        primary, secondary = self.begin(2)
        primary.test.c.insert_one({'_id': 1})
        read = [{'resource': {'db': 'test', 'collection': 'c'}, 'actions': ['find']}]
        for name in ('changed', 'dropped'):
            primary.test.command('createRole', name, privileges=read, roles=[])
            primary.test.command('createUser', name, pwd='pw', roles=[name])
        self.wait_for_count(secondary.admin['system.users'], 3)
        clients = [self.client(self.members[1], name, database='test',
                               read_preference=ReadPreference.NEAREST).test
                   for name in ('changed', 'dropped')]
        for client in clients:
            self.wait_for_count(client.c, 1)
        primary.test.command('updateRole', 'changed', privileges=[])
        primary.test.command('dropRole', 'dropped')
        wait_until('the roles are changed', lambda: [
            each['privileges'] for each in secondary.admin['system.roles'].find()] == [[]])
        for client in clients:
            self.refused(UNAUTHORIZED, client.c.find_one)

    def test_another_key_is_not_enough(self):
        self.start('--keyFile', self.key_file())
        outsider = self.start('--keyFile', self.key_file('another/key'))
        self.initiate()
        root = self.client(self.members[0], 'root')

        def refused_there():
            seen = root.admin.command('replSetGetStatus')['members'][1]
            return 'Authentication failed' in seen['lastHeartbeatMessage']
        wait_until('the outsider refuses the key', refused_there)
        self.assertIsNone(self.state(outsider))
        # With the key it takes part.
        outsider.stop()
        outsider.options[outsider.options.index('--keyFile') + 1] = self.key_file()
        outsider.start_again()
        self.wait_for_secondary(outsider)

    def test_the_key_is_a_login_of_its_own(self):
        primary, = self.begin(1)
        for mechanism in ('SCRAM-SHA-1', 'SCRAM-SHA-256'):
            member = self.client(self.members[0], '__system', SHOWN_KEY, 'local',
                                 authMechanism=mechanism)
            self.assertEqual(member.admin['system.users'].count_documents({}), 1)
            who = member.admin.command('connectionStatus')['authInfo']
            self.assertEqual(who['authenticatedUsers'], [{'user': '__system', 'db': 'local'}])
            self.assertEqual(who['authenticatedUserRoles'], [{'role': '__system', 'db': 'admin'}])
            member.admin.command('replSetHeartbeat', 'rs0')
        for user, password, database in (('__system', SHOWN_KEY + 'x', 'local'),
                                         ('__system', SHOWN_KEY, 'admin')):
            self.refused(LOGIN_FAILED, self.client(self.members[0], user, password,
                                                   database).admin.command, 'listDatabases')
        self.refused(UNAUTHORIZED, primary.admin.command, 'replSetHeartbeat', 'rs0')
        # The role cannot be given away.
        self.refused(ROLE_NOT_FOUND, primary.admin.command, 'createUser', 'x', pwd='pw',
                     roles=['__system'])

    def test_a_secondary_makes_no_first_user(self):
        for _ in range(2):
            self.start('--keyFile', self.key_file())
        self.client(self.members[0]).admin.command('replSetInitiate', self.config())
        secondary = self.members[1]

        def state():
            member = self.client(secondary, '__system', SHOWN_KEY, 'local')
            try:
                return member.admin.command('replSetGetStatus')['myState']
            except pymongo.errors.OperationFailure:
                return None
        wait_until('it is a secondary', lambda: state() == SECONDARY)
        secondary.stop()
        secondary.options += ['--firstUserFile', self.key_file('root\npw\n')]
        secondary.start_again()
        wait_until('it follows again', lambda: state() == SECONDARY)
        member = self.client(secondary, '__system', SHOWN_KEY, 'local',
                             read_preference=ReadPreference.NEAREST)
        self.assertEqual(member.admin['system.users'].count_documents({}), 0)

    def test_a_key_implies_logins(self):
        for options, open_to_all in ((['--keyFile', self.key_file()], False), ([], True)):
            member = self.start('--bind_ip', '0.0.0.0', *options)
            with open(member.log_path, encoding='utf-8', errors='replace') as log:
                self.assertEqual('can connect without logging in' in log.read(), open_to_all)

    def test_without_a_key_there_are_no_others(self):
        for _ in range(2):
            self.start('--auth')
        text = self.refused(INVALID_CONFIGURATION, self.client(self.members[0]).admin.command,
                            'replSetInitiate', self.config())
        self.assertIn('--keyFile', str(text))

    def test_a_key_file_that_others_may_read_or_that_is_none_is_refused(self):
        for path, said in ((self.key_file(mode=0o640), 'too open'),
                           (self.key_file('short'), 'has length 5, must be between 6 and 1024'),
                           (self.key_file('a-key-with-dashes'), 'invalid char in key file'),
                           (os.path.join(self.folder, 'none'), 'error opening file')):
            with contextlib.suppress(IndexError):
                self.members.pop()
            with self.assertRaises(server.ServerError) as caught:
                self.start('--keyFile', path)
            self.assertIn(said, str(caught.exception))

    def test_members_of_a_set_over_tls_look_at_each_others_certificates(self):
        files = certificates.Certificates(os.path.join(self.folder, 'certificates'))
        over_tls = ['--tlsMode', 'requireTLS', '--tlsCAFile', files.ca,
                    '--tlsAllowConnectionsWithoutCertificates', '--keyFile', self.key_file(),
                    '--tlsCertificateKeyFile']
        self.tls = {'tls': True, 'tlsCAFile': files.ca}
        for certificate in (files.server, files.server, files.for_another_name):
            self.start(*over_tls, certificate)
        self.initiate()
        self.wait_for_secondary(self.members[1])
        primary, secondary = [self.client(member, 'root', read_preference=ReadPreference.NEAREST)
                              for member in self.members[:2]]
        large = 'x' * 5000000
        primary.test.c.insert_many([{'_id': number, 'large': large} for number in range(3)])
        self.wait_for_count(secondary.test.c, 3)
        self.assertEqual(secondary.test.c.find_one(2)['large'], large)

        def says_why():
            seen = primary.admin.command('replSetGetStatus')['members'][2]
            return seen['health'] == 0 and 'IP address mismatch' in seen['lastHeartbeatMessage']
        wait_until('the other certificate is refused', says_why)
        first, second, _ = self.members
        self.check_hand_over(first, second)
        self.check_hand_over(second, first)

    def test_members_over_tls_need_an_authority(self):
        files = certificates.Certificates(os.path.join(self.folder, 'certificates'))
        for _ in range(2):
            self.start('--tlsMode', 'requireTLS', '--tlsCertificateKeyFile', files.server)
        self.tls = {'tls': True, 'tlsCAFile': files.ca}
        text = self.refused(INVALID_CONFIGURATION, self.client(self.members[0]).admin.command,
                            'replSetInitiate', self.config())
        self.assertIn('--tlsCAFile', str(text))
