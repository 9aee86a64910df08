"""What copy_databases.py and restore_dump.py share: collections are made on a server, documents
sent in batches, byte by byte, and indexes built by their definitions as they are. Then catalogue
and documents of the server are compared with what was meant. What the server will not have, or has
otherwise, is named."""

import hashlib
import sys

from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from pymongo import errors

import definitions

LEFT_OUT = ('local', 'config')  # databases of a server's own
FUNCTIONS = 'system.js'  # what users have stored, whatever its name is
BATCH_DOCUMENTS = 1000
BATCH_BYTES = 8 << 20
ALL_INDEXES = 1000  # more than a collection can have
NAMESPACE_EXISTS, NAMESPACE_NOT_FOUND = 48, 26
INVALID_BSON = (22, 10307, 10334)  # of servers of today, and by the number of its place
NO_SUCH_COMMAND = (59, None)
# No other form of a definition would help: of its documents, of indexes that are there.
OF_DOCUMENTS = (11000, 11001, 17280, 85, 86)
REFUSALS = (errors.OperationFailure, errors.DocumentTooLarge, errors.InvalidDocument, BSONError,
            OverflowError, TypeError, ValueError)


def raw(client, database, name):
    """A collection whose documents are as bytes."""
    return client[database].get_collection(name, codec_options=raw_options(client))


def is_of_the_server(collection):
    return collection.startswith('system.') and collection != FUNCTIONS


def raw_options(client):
    return client.codec_options.with_options(document_class=RawBSONDocument)


def listed_collections(client, database, *names):
    """{name: options} of all or of these, without what a server has for itself."""
    only = {'filter': {'name': {'$in': names}}} if names else {}
    listed = client[database].with_options(
        codec_options=raw_options(client)).list_collections(**only)
    return {each['name']: dict(each.get('options', {}).items()) for each in listed
            if not is_of_the_server(each['name'])}


def listed_indexes(client, database, name):
    """The definitions as the server has them, numbers in their types."""
    try:
        reply = client[database].command(
            {'listIndexes': name, 'cursor': {'batchSize': ALL_INDEXES}},
            codec_options=raw_options(client))
    except errors.OperationFailure as error:
        if error.code == NAMESPACE_NOT_FOUND:
            return []
        if error.code not in NO_SUCH_COMMAND:
            raise
        return list(raw(client, database, 'system.indexes').find(
            {'ns': '%s.%s' % (database, name)}))  # up to 2.6
    if reply['cursor']['id'] != 0:
        raise ValueError('%s.%s has more indexes than one reply holds' % (database, name))
    return list(reply['cursor']['firstBatch'])


class Content:
    """A checksum of documents that does not depend on their order, and how many there were."""

    def __init__(self):
        self.count, self.sum = 0, 0

    def add(self, document):
        self.count += 1
        self.sum += int.from_bytes(hashlib.sha256(document.raw).digest(), 'big')

    def __eq__(self, other):
        return (self.count, self.sum) == (other.count, other.sum)


class IntoServer:
    """`done` is the word for it: copied, or restored; `same` for what is as it was."""

    def __init__(self, target, done, same):
        self.target, self.done, self.same = target, done, same
        self.complaints = {}  # (where, of what): texts
        self.taken = []  # of this database: what `close` compares and says

    def complain(self, where, error, what=''):
        known = self.complaints.setdefault((where, what), [])
        if str(error) in known:
            return
        known.append(str(error))
        place = where + (', ' + what if what else '')
        print('  NOT %s  %s: %s' % (self.done.upper(), place, error))

    def is_whole(self, where):
        return not any(place == where for place, _ in self.complaints)

    def take(self, database, name, options, documents, indexes):
        """One collection, or view. `documents` are RawBSONDocuments."""
        where = database + '.' + name
        if sys.stderr.isatty():
            print('%s ...' % where, file=sys.stderr)
        try:
            self._take(database, name, options, documents, indexes)
        except errors.OperationFailure as error:  # the others may go
            self.complain(where, 'not all of it: %s' % definitions.short(error))

    def _take(self, database, name, options, documents, indexes):
        where = database + '.' + name
        if not self.make(database, name, options):
            return
        if 'viewOn' in options:
            self.taken.append((database, name, options, [], 0))
            return
        sent = self.send(database, name, documents)
        # Before there is an index by which documents expire.
        self.compare_documents(database, name, sent)
        indexes = [each for each in indexes if self.is_definition(where, each)]
        self.build(database, name, options, indexes)
        self.taken.append((database, name, options, indexes, sent.count))

    def make(self, database, name, options):
        """Whether the collection is there now, and empty: documents may be sent. What the target
        will not have of its options is named."""
        where = database + '.' + name
        try:
            if raw(self.target, database, name).find_one() is not None:
                self.complain(where, 'it has documents on the target already')
                return False
        except REFUSALS as error:
            self.complain(where, definitions.short(error))
            return False
        asked = definitions.options_to_send(options)
        reason = None
        for form in definitions.milder_options(asked):
            try:
                self.target[database].command({'create': name, **form})
            except REFUSALS as error:
                if getattr(error, 'code', None) == NAMESPACE_EXISTS:
                    return True  # and empty; it is compared like one that was made
                reason = reason or error
                continue
            if reason is not None:
                self.complain_of_changes(where, 'options', asked, form, reason)
            return True
        self.complain(where, definitions.short(reason))
        return False

    def complain_of_changes(self, where, what, asked, kept, reason):
        """Where another form means the same, nothing is lost."""
        changes = definitions.changes(asked, kept)
        if changes:
            self.complain(where, 'made %s, since the target says: %s'
                          % (changes, definitions.short(reason)), what)

    def send(self, database, name, documents):
        """Returns the Content that the server has taken."""
        target = raw(self.target, database, name)
        taken, batch, size = Content(), [], 0
        for document in documents:
            batch.append(document)
            size += len(document.raw)
            if len(batch) == BATCH_DOCUMENTS or size >= BATCH_BYTES:
                self._insert(target, batch, taken)
                batch, size = [], 0
        if batch:
            self._insert(target, batch, taken)
        return taken

    def _insert(self, target, batch, taken):
        refused = {}
        try:
            # A validator may have come when they were there. Empty timestamps stay as they are.
            reply = target.database.command(
                'insert', target.name, documents=batch, ordered=False,
                bypassDocumentValidation=True, bypassEmptyTsReplacement=True)
            refused = {one['index']: one['errmsg'] for one in reply.get('writeErrors', [])}
        except REFUSALS as error:
            of_one = not isinstance(error, errors.OperationFailure) or error.code in INVALID_BSON
            if len(batch) > 1 and of_one:  # the others may be good
                for document in batch:
                    self._insert(target, [document], taken)
                return
            if not of_one:
                raise
            refused = {0: definitions.short(error)}
        for number, document in enumerate(batch):
            if number in refused:
                self.complain(target.full_name, 'a document: %s' % refused[number])
            else:
                taken.add(document)

    def compare_documents(self, database, name, sent):
        arrived = Content()
        for document in raw(self.target, database, name).find():
            arrived.add(document)
        if arrived != sent:
            self.complain(database + '.' + name,
                          '%d documents were sent, the target has %d, not all the same'
                          % (sent.count, arrived.count))

    def is_definition(self, where, index):
        key = index.get('key') if definitions.is_document(index) else None
        if definitions.is_document(key) and len(list(key.items())) > 0:
            return True
        self.complain(where, 'an index has no key: %.200s' % (index,))
        return False

    def build(self, database, name, options, indexes):
        for index in indexes:
            if not definitions.is_of_id(index):
                self._build(database, name, definitions.index_to_send(
                    index, options.get('collation')))

    def _build(self, database, name, asked):
        where, what = database + '.' + name, index_words(asked)
        reason = None
        for form in definitions.milder_definitions(asked, where):
            try:
                self.target[database].command({'createIndexes': name, 'indexes': [form]})
            except REFUSALS as error:
                reason = reason or error
                if getattr(error, 'code', None) in OF_DOCUMENTS:
                    reason = error
                    break
                continue
            if reason is not None:
                self.complain_of_changes(where, what, asked, form, reason)
            return
        self.complain(where, definitions.short(reason), what)

    def compare_catalogue(self, database, name, options, indexes):
        """Names what the target says of it and what was not named yet; returns how many indexes it
        has, with that of _id."""
        where = database + '.' + name
        listed = listed_collections(self.target, database, name)
        if name not in listed:
            self.complain(where, 'the target does not have it')
            return 0
        differ = definitions.differences(definitions.comparable_options(options),
                                         definitions.comparable_options(listed[name]))
        if differ and (where, 'options') not in self.complaints:
            self.complain(where, 'the target has another %s' % ', '.join(differ), 'options')
        if 'viewOn' in options:
            return 0
        found = listed_indexes(self.target, database, name)
        by_name = {each['name']: definitions.comparable_index(each) for each in found}
        for index in indexes:
            what = index_words(index)
            if definitions.is_of_id(index) or (where, what) in self.complaints:
                continue
            if index.get('name') not in by_name:
                self.complain(where, 'the target does not have it', what)
                continue
            wanted = definitions.comparable_index(index)
            differ = definitions.differences(wanted, by_name[index['name']])
            if differ:
                self.complain(where, 'the target has another %s' % ', '.join(differ), what)
        known = {index.get('name') for index in indexes}
        if self.is_whole(where):
            for each in found:
                if each['name'] not in known and not definitions.is_of_id(each):
                    self.complain(where, 'only the target has it', index_words(each))
        return len(found)

    def close(self):
        """When all of a database is done: compares its catalogue, and says of each collection what
        it has now. What differs has been named before its line."""
        for database, name, options, indexes, documents in self.taken:
            where = database + '.' + name
            count = self.compare_catalogue(database, name, options, indexes)
            if 'viewOn' not in options:
                print('%s: %d documents, %d indexes, %s'
                      % (where, documents, count,
                         self.same if self.is_whole(where) else 'not all as they were: see above'))
            elif self.is_whole(where):
                print('%s: a view of %s' % (where, options['viewOn']))
        self.taken = []

    def leave(self, script, how):
        """Ends the process with 1 when something was not done."""
        count = sum(map(len, self.complaints.values()))
        if count:
            raise SystemExit('%s: %d things were not %s, %s' % (script, count, self.done, how))


def index_words(index):
    return 'index %s' % (index.get('name'),)
