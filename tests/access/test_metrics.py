"""GET /metrics: its text, who may read it, and the dashboard that is made of it."""

import json
import os
import re
import ssl
import urllib.error
import urllib.request
from base64 import b64encode

import pymongo
from prometheus_client.openmetrics import parser

import access
import secured
import server


class Metrics(access.Refusals):
    def start(self, kind, scheme):
        """A client of a server; the function that reads its metrics, {name and label: value}."""
        port = server.free_port()
        folder = self.enterContext(server.scratch('metrics-'))
        running = self.enterContext(kind(access.Case.program, os.path.join(folder, 'db'), [
            '--smallfiles', '--nssize', '1', '--metricsPort', str(port)]))
        client = pymongo.MongoClient(running.uri)
        self.addCleanup(client.close)
        context = scheme == 'https' and ssl.create_default_context(cafile=running.files.ca)

        def read(*login):
            request = urllib.request.Request('%s://127.0.0.1:%d/metrics' % (scheme, port))
            if login:
                request.add_header('Authorization',
                                   'Basic ' + b64encode(':'.join(login).encode()).decode())
            with urllib.request.urlopen(request, timeout=60, context=context or None) as answer:
                self.assertIn('openmetrics-text; version=1.0.0', answer.headers['Content-Type'])
                families = list(parser.text_string_to_metric_families(answer.read().decode()))
            return {sample.name + ' '.join(sample.labels.values()): sample.value
                    for family in families for sample in family.samples}
        return client, read

    def test_what_clients_do_is_counted(self):
        client, read = self.start(server.Server, 'http')
        before = read()
        client.test.c.insert_many([{'_id': i} for i in range(7)])
        self.refused(26, client.test.command, 'collMod', 'missing')
        after = read()
        for name, more in (('opcounters_totalinsert', 7), ('documents_totalinserted', 7),
                           ('op_latencies_ops_totalwrites', 1)):
            self.assertEqual(after['mongodb_' + name] - before['mongodb_' + name], more, name)
        self.assertEqual([after['mongodb_commands_' + name] for name in
                          ('totalinsert', 'failed_totalcollMod')], [1, 1])

    def test_who_may_read_them(self):
        root, read = self.start(secured.TlsServer, 'https')
        for name, roles in (('SCRAM-SHA-1', ['clusterMonitor']),
                            ('SCRAM-SHA-256', ['clusterMonitor', 'readAnyDatabase']),
                            ('other', ['readAnyDatabase'])):
            root.admin.command('createUser', name, pwd='a:b', roles=roles,
                               **({} if name == 'other' else {'mechanisms': [name]}))
            if roles[0] == 'clusterMonitor':
                self.assertGreater(read(name, 'a:b')['mongodb_connections_current'], 0)
        for login, status in (((), 401), (('SCRAM-SHA-1', 'a:c'), 401), (('missing', 'x'), 401),
                              (('other', 'a:b'), 403)):
            with self.assertRaises(urllib.error.HTTPError) as caught:
                read(*login)
            self.assertEqual(caught.exception.code, status)

    def test_the_dashboard_names_what_there_is(self):
        with open(os.path.join(access.TOP, 'src/monitoring/metrics.cpp'), encoding='utf-8') as file:
            given = {name + kind.replace('gauge', '').replace('counter', '_total')
                     for kind, name in re.findall(r'\{(gauge|counter),\s+"(\w+)"', file.read())}
        given |= {'mongodb_server_info', 'mongodb_fs_size_bytes', 'mongodb_fs_used_bytes'}
        path = os.path.join(access.TOP, 'packaging', 'grafana-dashboard.json')
        with open(path, encoding='utf-8') as file:
            expressions = [target['expr'] for panel in json.load(file)['panels']
                           for target in panel.get('targets', ())]
        self.assertLessEqual(set(re.findall(r'mongodb_\w+', ' '.join(expressions))), given)
