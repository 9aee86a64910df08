"""Beanie and ODMantic, each with what belongs together in a transaction."""

import asyncio
import contextlib
import os

import beanie
import odmantic
import pymongo
from motor.motor_asyncio import AsyncIOMotorClient


class Note(beanie.Document):
    title: beanie.Indexed(str, unique=True)


class Author(odmantic.Model):
    name: str


async def beanie_keeps_both_or_none(client):
    await beanie.init_beanie(client.beanie, document_models=[Note])
    async with client.start_session() as session:
        async with await session.start_transaction():
            await Note(title='one').insert(session=session)
            await Note(title='two').insert(session=session)
            assert await Note.count() == 0
        try:
            async with await session.start_transaction():
                await Note(title='three').insert(session=session)
                await Note(title='one').insert(session=session)
        except pymongo.errors.DuplicateKeyError:
            pass
    assert [each.title async for each in Note.find_all().sort('title')] == ['one', 'two']


async def odmantic_keeps_what_is_committed(_):
    engine = odmantic.AIOEngine(AsyncIOMotorClient(os.environ['MONGOD_URI']), 'odmantic')
    await engine.configure_database([Author])
    async with engine.transaction() as transaction:
        await transaction.save(Author(name='Ada'))
        await transaction.commit()
    async with engine.transaction() as transaction:
        await transaction.save(Author(name='Ben'))
        await transaction.abort()
    assert [each.name for each in await engine.find(Author)] == ['Ada']


async def main():
    async with pymongo.AsyncMongoClient(os.environ['MONGOD_URI']) as client:
        for check in (beanie_keeps_both_or_none, odmantic_keeps_what_is_committed):
            word = 'FAIL'
            with contextlib.suppress(Exception):
                await check(client)
                word = 'ok'
            print('%s: %s' % (word, check.__name__))

asyncio.run(main())
