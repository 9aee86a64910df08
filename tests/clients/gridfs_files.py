"""GridFS with pymongo of today: files in chunks, ranges of them, deletion, checks by filemd5."""

import datetime
import hashlib
import io
import os
import random
import unittest

import bson
import case
import gridfs
import pymongo
from gridfs import errors

CHUNK = 255 * 1024


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = cls.enterClassContext(pymongo.MongoClient(case.URI))

    def setUp(self):
        self.db = self.client.files
        self.fs = gridfs.GridFS(self.db)
        self.bucket = gridfs.GridFSBucket(self.db)
        self.content = random.Random(1).randbytes(3 * CHUNK + 17)

    def tearDown(self):
        self.client.drop_database('files')

    def test_put_and_get(self):
        for size in (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, len(self.content)):
            part = self.content[:size]
            file_id = self.fs.put(part, filename='f%d' % size, metadata={'size': size})
            out = self.fs.get(file_id)
            self.assertEqual((out.read(), out.length, out.metadata), (part, size, {'size': size}))
            self.assertEqual(self.db.fs.chunks.count_documents({'files_id': file_id}),
                             (size + CHUNK - 1) // CHUNK)
        self.assertEqual(self.fs.list()[:2], ['f0', 'f1'])
        self.assertTrue(self.fs.exists(filename='f1'))
        self.assertFalse(self.fs.exists(filename='f2'))

    def test_the_indexes_that_the_first_file_makes(self):
        self.fs.put(b'x', filename='a')
        self.assertEqual(self.db.fs.files.index_information()['filename_1_uploadDate_1']['key'],
                         [('filename', 1), ('uploadDate', 1)])
        chunks = self.db.fs.chunks.index_information()['files_id_1_n_1']
        self.assertEqual((chunks['key'], chunks['unique']), ([('files_id', 1), ('n', 1)], True))

    def test_ranges(self):
        out = self.fs.get(self.fs.put(self.content))
        for start, count in ((0, 10), (CHUNK - 5, 10), (2 * CHUNK, CHUNK), (CHUNK * 3, 17)):
            out.seek(start)
            self.assertEqual(out.read(count), self.content[start:start + count])
        out.seek(-7, os.SEEK_END)
        self.assertEqual(out.read(), self.content[-7:])
        lines = b'one\ntwo\n' + b'x' * CHUNK + b'\nlast'
        out = self.fs.get(self.fs.put(lines))
        self.assertEqual([out.readline() for _ in range(4)], lines.splitlines(keepends=True))

    def test_versions_of_a_name(self):
        first = datetime.datetime(2020, 1, 1)
        for number in range(3):
            file_id = self.fs.put(b'%d' % number, filename='v')
            self.db.fs.files.update_one({'_id': file_id}, {'$set': {
                'uploadDate': first + datetime.timedelta(days=number)}})
        self.assertEqual([self.fs.get_version('v', n).read() for n in (0, 1, -1, -2)],
                         [b'0', b'1', b'2', b'1'])
        self.assertEqual(self.fs.get_last_version('v').read(), b'2')
        self.assertRaises(errors.NoFile, self.fs.get_version, 'v', 3)
        self.assertEqual([f.read() for f in self.fs.find({'filename': 'v'}).sort('uploadDate', -1)],
                         [b'2', b'1', b'0'])

    def test_delete_and_rename(self):
        file_id = self.bucket.upload_from_stream('a', io.BytesIO(self.content), CHUNK // 2)
        self.bucket.rename(file_id, 'b')
        out = io.BytesIO()
        self.bucket.download_to_stream_by_name('b', out)
        self.assertEqual(out.getvalue(), self.content)
        self.bucket.delete(file_id)
        self.assertEqual(self.db.fs.chunks.count_documents({}), 0)
        self.assertRaises(errors.NoFile, self.bucket.delete, file_id)
        self.assertRaises(errors.NoFile, self.fs.get, file_id)

    def test_an_id_is_taken_once(self):
        self.fs.put(b'1', _id='own')
        self.assertRaises(errors.FileExists, self.fs.put, b'2', _id='own')
        self.assertEqual(self.fs.get('own').read(), b'1')

    def test_a_missing_chunk_is_noticed(self):
        file_id = self.fs.put(self.content)
        self.db.fs.chunks.delete_one({'files_id': file_id, 'n': 1})
        self.assertRaises(errors.CorruptGridFile, self.fs.get(file_id).read)

    def test_filemd5(self):
        for size in (0, 1, CHUNK, len(self.content)):
            part = self.content[:size]
            file_id = self.fs.put(part, chunk_size=CHUNK if size else 10)
            self.assertEqual(self.db.command('filemd5', file_id, root='fs')['md5'],
                             hashlib.md5(part).hexdigest())
        self.assertEqual(self.db.command('filemd5', bson.ObjectId(), root='fs')['md5'],
                         hashlib.md5(b'').hexdigest())
        file_id = gridfs.GridFS(self.db, collection='other').put(self.content)
        self.assertEqual(self.db.command('filemd5', file_id, root='other')['md5'],
                         hashlib.md5(self.content).hexdigest())
        self.db.other.chunks.delete_one({'files_id': file_id, 'n': 1})
        with self.assertRaises(pymongo.errors.OperationFailure):
            self.db.command('filemd5', file_id, root='other')


if __name__ == '__main__':
    case.main(Files)
