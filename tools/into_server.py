"""What copy_databases.py and restore_dump.py share: collections are made on a server, documents
sent in batches, byte by byte, and indexes built; what the server will not have is named."""

from bson.raw_bson import RawBSONDocument
from pymongo import errors

LEFT_OUT = ('local', 'config')  # databases of a server's own
BATCH_DOCUMENTS = 1000
BATCH_BYTES = 8 << 20
# The options of a collection that every server of today takes, and those about the files of
# the server that it was on. The target is asked for the others.
COLLECTION_OPTIONS = ('capped', 'size', 'max')
OF_ITS_FILES = ('create', 'autoIndexId', 'flags', 'usePowerOf2Sizes', '$nExtents', 'temp', 'uuid',
                'idIndex')
NOT_OF_INDEXES = ('v', 'ns', 'key', 'background', 'dropDups')


def raw(client, database, name):
    """A collection whose documents are as bytes."""
    options = client.codec_options.with_options(document_class=RawBSONDocument)
    return client[database].get_collection(name, codec_options=options)


class IntoServer:
    """`done` is the word for it: copied, or restored."""

    def __init__(self, target, done):
        self.target, self.done = target, done
        self.complaints = []

    def complain(self, where, error):
        text = '%s: %s' % (where, error)
        self.complaints.append(text)
        print('  NOT %s  %s' % (self.done.upper(), text))

    def make(self, database, name, options):
        """Whether the collection is there now, and empty: documents may be sent. What the target
        will not have of its options is named."""
        where = database + '.' + name
        if self.target[database][name].find_one() is not None:
            self.complain(where, 'it has documents on the target already')
            return False
        options = {key: options[key] for key in options if key not in OF_ITS_FILES}
        plain = {key: options[key] for key in COLLECTION_OPTIONS if key in options}
        if not self._create(database, name, options):
            # A view without what it shows would be a collection.
            if options == plain or 'viewOn' in options or not self._create(database, name, plain):
                return False
        return 'viewOn' not in options

    def _create(self, database, name, options):
        try:
            self.target[database].create_collection(name, **options)
        except errors.CollectionInvalid:
            pass  # empty
        except (errors.OperationFailure, errors.ConfigurationError, TypeError,
                ValueError) as error:
            self.complain(database + '.' + name, error)
            return False
        return True

    def send(self, database, name, documents):
        """Sends RawBSONDocuments; returns how many the server has taken."""
        target = raw(self.target, database, name)
        batch, size, taken = [], 0, 0
        for document in documents:
            batch.append(document)
            size += len(document.raw)
            if len(batch) == BATCH_DOCUMENTS or size >= BATCH_BYTES:
                taken += self._insert(target, batch)
                batch, size = [], 0
        return taken + self._insert(target, batch)

    def _insert(self, target, batch):
        try:
            if batch:
                # A validator may have come when they were there.
                target.insert_many(batch, ordered=False, bypass_document_validation=True)
            return len(batch)
        except errors.BulkWriteError as error:
            for one in error.details['writeErrors']:
                self.complain(target.full_name, 'a document: ' + one['errmsg'])
            return error.details['nInserted']

    def build(self, database, name, indexes):
        """Builds indexes; returns how many there are then, with that of _id."""
        target = self.target[database][name]
        for index in indexes:
            keys = list(index['key'].items())
            if keys == [('_id', 1)]:
                continue
            options = {key: value for key, value in index.items() if key not in NOT_OF_INDEXES}
            try:
                target.create_index(keys, **options)
            except (errors.PyMongoError, TypeError, ValueError) as error:
                self.complain('%s.%s, index %s' % (database, name, index.get('name')), error)
        return len(list(target.list_indexes()))

    def leave(self, script, how):
        """Ends the process with 1 when something was not done."""
        if self.complaints:
            raise SystemExit('%s: %d things were not %s, %s'
                             % (script, len(self.complaints), self.done, how))
