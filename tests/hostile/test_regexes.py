"""Regular expressions that take long: each has an end, and indexes do not change what matches."""

import struct
import time

from test_computation import INTERRUPTED, TIME_LIMIT, WORK_LIMIT, find, regex
from hostile import ANSWER_SECONDS_MAX, Case, Connection, document, element


class Regular(Case):
    def test_large_texts(self):
        """No step is counted where a search only looks for where it might begin."""
        self.client.run({'insert': 'large', 'documents': [{'_id': 1, 's': 'a' * 8000000}]})
        many = '|'.join(['needle'] * 4000)
        for pattern in ('(?>a*)[bc]', '(a*)*\\1[bc]', '(?=(a*))\\1\\1[bc]',
                        'a*[bc]', '^(?:a*+[bc]|.)*$', '(?:.*x)?.*[bc]', 'a' * 20000 + '[bc]',
                        '(?:%s|a*[bc])' % many):
            with self.subTest(pattern[:40]):
                started = time.monotonic()
                self.refused((TIME_LIMIT, WORK_LIMIT, 2), find('large', {'s': regex(pattern)}))
                self.assertLess(time.monotonic() - started, ANSWER_SECONDS_MAX / 2)
        with Connection(self.server.port) as victim:
            victim.start(find('large', {'s': regex('a*[bc]')}, maxTimeMS=0))
            self.client.run({'killOp': 1, 'op': self.find_operation('large', 'find')}, 'admin')
            self.refused((INTERRUPTED, WORK_LIMIT), victim.finish)
        self.client.run({'drop': 'large'})

    def test_index_and_scan_agree(self):
        """Also where a text is no UTF-8."""
        texts = [b'ab\xff', b'ab\xff\xfe', b'ab', b'abc', b'a\xff', b'\xffab', b'abd']
        documents = [document(element(16, '_id', struct.pack('<i', i)),
                              element(2, 's', struct.pack('<i', len(text) + 1) + text + b'\0'))
                     for i, text in enumerate(texts)]
        for name in ('scanned', 'indexed'):
            self.client.run({'insert': name}, sequences=[('documents', documents)])
        self.client.run({'createIndexes': 'indexed', 'indexes': [{'key': {'s': 1}, 'name': 's'}]})
        for pattern in ('^ab', '^abc', '^ab.', '^a', 'b', '^', '^a|b', '\\Aab'):
            for wanted in (regex(pattern), {'$not': regex(pattern)}, {'$in': [regex(pattern)]}):
                found = [sorted(each['_id'] for each in self.client.run(
                    {'find': name, 'filter': {'s': wanted}, 'projection': {'_id': 1}})
                                ['cursor']['firstBatch']) for name in ('scanned', 'indexed')]
                self.assertEqual(found[0], found[1], (pattern, wanted))
        for name in ('scanned', 'indexed'):
            self.client.run({'drop': name})

    def test_catastrophic(self):
        """A search that would take for ever is an error; it is never taken for `no match`."""
        for pattern in ('^(a+)+$', '^(a|aa)+$', '^(a*)*$'):
            with self.subTest(pattern):
                self.refused(2, {'find': 'text', 'filter': {'s': regex(pattern)}})
                self.refused(2, {'delete': 'text', 'deletes': [
                    {'q': {'s': {'$not': regex(pattern)}}, 'limit': 0}]})
        self.assertEqual(self.client.run({'count': 'text'})['n'], 20)

    def test_many(self):
        self.run_all([
            ('or', find('text', {'$or': [{'s': regex('.*.*%dx' % i)} for i in range(2000)]})),
            ('in', find('text', {'s': {'$in': [regex('x{1,999}(a|b){1,999}%d' % i)
                                               for i in range(1000)]}})),
            ('repeats', find('text', {'s': regex('((((a{1,100}){1,100}){1,100}){1,100})')})),
            ('heap', find('text', {'s': regex('(?:(a)(b)?){1,1000}{1,50}')}))])
