"""Object mappers for Python, as an application uses them: ODMantic and Beanie. Both open sessions
where a server announces them, and do not work where it does not."""

import unittest

import beanie
import case
import odmantic
import pymongo
from motor.motor_asyncio import AsyncIOMotorClient


class Author(odmantic.Model):
    name: str = odmantic.Field(unique=True)
    books: int = odmantic.Field(default=0, index=True)


class Tree(odmantic.Model):
    name: str
    height: float
    planted_by: Author = odmantic.Reference()


class Odmantic(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = AsyncIOMotorClient(case.URI)
        self.addCleanup(self.client.close)
        self.engine = odmantic.AIOEngine(client=self.client, database='odmantic')
        for model in (Author, Tree):
            await self.engine.get_collection(model).drop()
        await self.engine.configure_database([Author, Tree])

    async def test_one_object(self):
        author = Author(name='Ada')
        await self.engine.save(author)
        author.books = 3
        await self.engine.save(author)
        found = await self.engine.find_one(Author, Author.name == 'Ada')
        self.assertEqual((found.id, found.books), (author.id, 3))
        await self.engine.delete(found)
        self.assertIsNone(await self.engine.find_one(Author, Author.name == 'Ada'))

    async def test_many(self):
        await self.engine.save_all([Author(name='a%d' % n, books=n) for n in range(250)])
        self.assertEqual(await self.engine.count(Author, Author.books >= 200), 50)
        found = await self.engine.find(Author, Author.books < 150, sort=Author.books.desc())
        self.assertEqual([author.books for author in found], list(range(149, -1, -1)))
        await self.engine.remove(Author, Author.books < 100)
        self.assertEqual(await self.engine.count(Author), 150)

    async def test_a_unique_field(self):
        await self.engine.save(Author(name='twice'))
        with self.assertRaises(odmantic.exceptions.DuplicateKeyError):
            await self.engine.save(Author(name='twice'))

    async def test_a_session_of_its_own(self):
        async with self.engine.session() as session:
            await session.save(Author(name='in a session', books=1))
            self.assertEqual(await session.count(Author), 1)

    async def test_a_transaction_is_refused(self):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            async with self.engine.transaction() as transaction:
                await transaction.save(Author(name='never'))
                await transaction.commit()
        self.assertEqual(caught.exception.code, 20)
        self.assertEqual(await self.engine.count(Author), 0)


class Note(beanie.Document):
    title: beanie.Indexed(str, unique=True)
    tags: list[str] = []
    reads: int = 0

    class Settings:
        name = 'notes'


class Beanie(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = pymongo.AsyncMongoClient(case.URI)
        self.addAsyncCleanup(self.client.close)
        await self.client.beanie.notes.drop()
        await beanie.init_beanie(database=self.client.beanie, document_models=[Note])

    async def test_one_document(self):
        note = await Note(title='first', tags=['a']).insert()
        note.tags.append('b')
        await note.save()
        await note.set({Note.reads: 1})
        await note.inc({Note.reads: 2})
        found = await Note.get(note.id)
        self.assertEqual((found.tags, found.reads), (['a', 'b'], 3))
        await found.delete()
        self.assertEqual(await Note.count(), 0)

    async def test_many(self):
        await Note.insert_many([Note(title='n%03d' % n, reads=n) for n in range(300)])
        found = await Note.find(Note.reads > 100, Note.reads <= 250).sort(-Note.reads).to_list()
        self.assertEqual([note.reads for note in found], list(range(250, 100, -1)))
        await Note.find(Note.reads < 100).update({'$set': {'tags': ['old']}})
        self.assertEqual(await Note.find(Note.tags == ['old']).count(), 100)
        self.assertEqual(await Note.find_all().sum(Note.reads), sum(range(300)))
        await Note.find(Note.reads >= 100).delete()
        self.assertEqual(await Note.count(), 100)

    async def test_in_a_session(self):
        async with self.client.start_session() as session:
            note = await Note(title='in a session').insert(session=session)
            async with beanie.BulkWriter(session=session) as bulk:
                await Note.find_one(Note.id == note.id).inc({Note.reads: 5}, bulk_writer=bulk)
            self.assertEqual((await Note.get(note.id, session=session)).reads, 5)

    async def test_a_unique_field(self):
        await Note(title='twice').insert()
        with self.assertRaises(pymongo.errors.DuplicateKeyError):
            await Note(title='twice').insert()


if __name__ == '__main__':
    case.main(Odmantic, Beanie)
