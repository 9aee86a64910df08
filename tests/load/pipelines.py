"""A document of 58 MB between the stages of a pipeline, by each kind of stage that copies one.

None may be stored, and no reply may have one: the last stage tells how much arrived. All within
the server's own limit (memoryLimitMB), and its memory stays below them."""

import bson
from client import MB, Client, Failure, Watched, at_most

PARTS = 4
PART_BYTES = 14_500_000
OPERATION_BYTES, SERVER_BYTES = 410 * MB, 256 * MB
MADE = {'$group': {'_id': None, 'parts': {'$push': '$$ROOT'}}}
STAGES = {
    'match': [{'$match': {'parts.0._id': 0}}],
    'sort': [{'$sort': {'x': 1}}],
    'skip and limit': [{'$skip': 0}, {'$limit': 5}],
    'project': [{'$project': {'parts': 1, 'x': {'$literal': 1}}}],
    'two projections': [{'$project': {'q': '$parts'}}, {'$project': {'parts': '$q'}}],
    'addFields': [{'$addFields': {'x': 1}}],
    'redact': [{'$redact': '$$DESCEND'}],
    'replaceRoot': [{'$replaceRoot': {'newRoot': '$$ROOT'}}],
    'map': [{'$project': {'parts': {'$map': {'input': '$parts', 'as': 'p', 'in': '$$p'}}}}],
    'group again': [{'$group': {'_id': 1, 'parts': {'$first': '$parts'}}}],
    'facet': [{'$facet': {'parts': [{'$unwind': '$parts'}]}}],
    'unwind': [{'$unwind': '$parts'}, MADE],
}


def run(stage, directory):
    with Watched(stage, directory, ['--smallfiles']) as watched:
        with Client(watched.start()) as client:
            for number in range(PARTS):
                client.run({'insert': 'parts'}, 'load', ('documents', bson.encode(
                    {'_id': number, 'text': 'x' * PART_BYTES})))
            for name, stages in STAGES.items():
                reply = client.run({'aggregate': 'parts', 'cursor': {}, 'pipeline': [
                    MADE, *stages, {'$project': {'_id': 0, 'n': {'$size': '$parts'}}}]}, 'load')
                if reply['cursor']['firstBatch'] != [{'n': PARTS}]:
                    raise Failure('%s: %r' % (name, reply['cursor']['firstBatch']))
        memory = watched.memory()
        at_most('memory of its own, MB', memory, OPERATION_BYTES + SERVER_BYTES)
        watched.close()
    return '%d kinds of stages, %d MB' % (len(STAGES), memory / MB)
