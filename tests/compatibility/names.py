"""What current servers document: stages, operators and commands, each with a request that uses it.

A name stands for itself; `lacking` in page.py says how a server answers that does not have it.
"""

# name: specification
STAGES = {
    '$addFields': {'a': 1}, '$bucket': {'groupBy': '$a', 'boundaries': [0, 9], 'default': 9},
    '$bucketAuto': {'groupBy': '$a', 'buckets': 2}, '$changeStream': {},
    '$collStats': {'count': {}}, '$count': 'n', '$currentOp': {},
    '$densify': {'field': 'a', 'range': {'step': 1, 'bounds': 'full'}},
    '$documents': [{'a': 1}], '$facet': {'x': []}, '$fill': {'output': {'a': {'value': 1}}},
    '$geoNear': {'near': [1, 2], 'distanceField': 'd'},
    '$graphLookup': {'from': 'c', 'startWith': '$a', 'connectFromField': 'a', 'connectToField': 'b',
                     'as': 'x'},
    '$group': {'_id': None}, '$indexStats': {}, '$limit': 1, '$listLocalSessions': {},
    '$listSampledQueries': {}, '$listSearchIndexes': {}, '$listSessions': {},
    '$lookup': {'from': 'c', 'localField': 'a', 'foreignField': 'a', 'as': 'x'}, '$match': {'a': 1},
    '$merge': {'into': 'd'}, '$out': 'd', '$planCacheStats': {}, '$project': {'a': 1},
    '$querySettings': {}, '$queryStats': {}, '$redact': '$$KEEP', '$replaceRoot': {'newRoot': {}},
    '$replaceWith': {'a': 1}, '$sample': {'size': 1}, '$search': {}, '$searchMeta': {},
    '$set': {'a': 1},
    '$setWindowFields': {'sortBy': {'a': 1}, 'output': {'r': {'$rank': {}}}}, '$skip': 1,
    '$sort': {'a': 1}, '$sortByCount': '$a', '$unionWith': 'c', '$unset': 'a', '$unwind': '$l',
    '$vectorSearch': {},
}

EXPRESSIONS = '''
abs acos acosh add allElementsTrue and anyElementTrue arrayElemAt arrayToObject asin asinh atan
atan2 atanh avg binarySize bitAnd bitNot bitOr bitXor bsonSize ceil cmp concat concatArrays cond
convert cos cosh dateAdd dateDiff dateFromParts dateFromString dateSubtract dateToParts
dateToString dateTrunc dayOfMonth dayOfWeek dayOfYear degreesToRadians divide eq exp filter first
firstN floor function getField gt gte hour ifNull in indexOfArray indexOfBytes indexOfCP isArray
isNumber isoDayOfWeek isoWeek isoWeekYear last lastN let literal ln log log10 lt lte ltrim map max
maxN median mergeObjects meta millisecond min minN minute mod month multiply ne not objectToArray
or percentile pow radiansToDegrees rand range reduce regexFind regexFindAll regexMatch replaceAll
replaceOne reverseArray round rtrim second setDifference setEquals setField setIntersection
setIsSubset setUnion sin sinh size slice sortArray split sqrt stdDevPop stdDevSamp strcasecmp
strLenBytes strLenCP substr substrBytes substrCP subtract sum switch tan tanh toBool toDate
toDecimal toDouble toHashedIndexKey toInt toLong toLower toObjectId toString toUpper toUUID trim
trunc tsIncrement tsSecond type unsetField week year zip
'''.split()

ACCUMULATORS = {
    '$accumulator': {}, '$addToSet': '$a', '$avg': '$a',
    '$bottom': {'sortBy': {'a': 1}, 'output': '$a'},
    '$bottomN': {'n': 1, 'sortBy': {'a': 1}, 'output': '$a'}, '$count': {}, '$first': '$a',
    '$firstN': {'n': 1, 'input': '$a'}, '$last': '$a', '$lastN': {'n': 1, 'input': '$a'},
    '$max': '$a', '$maxN': {'n': 1, 'input': '$a'},
    '$median': {'input': '$a', 'method': 'approximate'}, '$mergeObjects': '$o', '$min': '$a',
    '$minN': {'n': 1, 'input': '$a'},
    '$percentile': {'input': '$a', 'p': [0.5], 'method': 'approximate'}, '$push': '$a',
    '$stdDevPop': '$a', '$stdDevSamp': '$a', '$sum': '$a',
    '$top': {'sortBy': {'a': 1}, 'output': '$a'},
    '$topN': {'n': 1, 'sortBy': {'a': 1}, 'output': '$a'},
}

# Those that only $setWindowFields has.
WINDOW_FUNCTIONS = {
    '$covariancePop': ['$a', '$b'], '$covarianceSamp': ['$a', '$b'], '$denseRank': {},
    '$derivative': {'input': '$a'}, '$documentNumber': {},
    '$expMovingAvg': {'input': '$a', 'N': 2}, '$integral': {'input': '$a'}, '$linearFill': '$a',
    '$locf': '$a', '$minMaxScaler': {'input': '$a'}, '$rank': {},
    '$shift': {'output': '$a', 'by': 1},
}

# name: filter
FILTERS = {
    '$all': {'a': {'$all': [1]}}, '$alwaysFalse': {'$alwaysFalse': 1},
    '$alwaysTrue': {'$alwaysTrue': 1}, '$and': {'$and': [{'a': 1}]},
    '$bitsAllClear': {'a': {'$bitsAllClear': 1}}, '$bitsAllSet': {'a': {'$bitsAllSet': 1}},
    '$bitsAnyClear': {'a': {'$bitsAnyClear': 1}}, '$bitsAnySet': {'a': {'$bitsAnySet': 1}},
    '$comment': {'$comment': 'x'}, '$elemMatch': {'l': {'$elemMatch': {'$gt': 1}}},
    '$eq': {'a': {'$eq': 1}}, '$exists': {'a': {'$exists': True}}, '$expr': {'$expr': True},
    '$geoIntersects': {'a': {'$geoIntersects': {'$geometry': {'type': 'Point',
                                                              'coordinates': [1, 2]}}}},
    '$geoWithin': {'a': {'$geoWithin': {'$box': [[1, 2], [3, 4]]}}}, '$gt': {'a': {'$gt': 1}},
    '$gte': {'a': {'$gte': 1}}, '$in': {'a': {'$in': [1]}},
    '$jsonSchema': {'$jsonSchema': {'required': ['a']}}, '$lt': {'a': {'$lt': 1}},
    '$lte': {'a': {'$lte': 1}}, '$mod': {'a': {'$mod': [2, 0]}}, '$ne': {'a': {'$ne': 1}},
    '$near': {'p': {'$near': [1, 2]}}, '$nearSphere': {'p': {'$nearSphere': [1, 2]}},
    '$nin': {'a': {'$nin': [1]}}, '$nor': {'$nor': [{'a': 1}]},
    '$not': {'a': {'$not': {'$gt': 1}}}, '$or': {'$or': [{'a': 1}]},
    '$regex': {'a': {'$regex': 'x'}}, '$sampleRate': {'$sampleRate': 0.5},
    '$size': {'a': {'$size': 1}}, '$text': {'$text': {'$search': 'x'}},
    '$type': {'a': {'$type': 'int'}}, '$where': {'$where': 'true'},
}

# name: update of {_id: 1, a: 1, l: [1, 2], s: [{x: 1}]}
UPDATES = {
    '$[]': {'$inc': {'l.$[]': 1}}, '$addToSet': {'$addToSet': {'l': 3}},
    '$bit': {'$bit': {'a': {'or': 2}}}, '$currentDate': {'$currentDate': {'d': True}},
    '$each': {'$push': {'l': {'$each': [4]}}}, '$inc': {'$inc': {'a': 1}},
    '$max': {'$max': {'a': 5}}, '$min': {'$min': {'a': 0}}, '$mul': {'$mul': {'a': 2}},
    '$pop': {'$pop': {'l': 1}},
    '$position': {'$push': {'l': {'$each': [4], '$position': 0}}}, '$pull': {'$pull': {'l': 1}},
    '$pullAll': {'$pullAll': {'l': [1]}}, '$push': {'$push': {'l': 4}},
    '$rename': {'$rename': {'a': 'z'}}, '$set': {'$set': {'a': 2}},
    '$setOnInsert': {'$setOnInsert': {'q': 1}},
    '$slice': {'$push': {'l': {'$each': [4], '$slice': 2}}},
    '$sort': {'$push': {'l': {'$each': [4], '$sort': 1}}}, '$unset': {'$unset': {'a': 1}},
    'a pipeline': [{'$set': {'a': 3}}],
}

COMMANDS = '''
abortTransaction aggregate analyze appendOplogNote authenticate autoCompact buildInfo bulkWrite
cloneCollectionAsCapped collMod collStats commitTransaction compact connectionStatus
convertToCapped count create createIndexes createRole createUser currentOp dataSize dbHash dbStats
delete distinct drop dropAllRolesFromDatabase dropAllUsersFromDatabase dropConnections dropDatabase
dropIndexes dropRole dropUser endSessions explain find findAndModify fsync fsyncUnlock
getAuditConfig getClusterParameter getCmdLineOpts getDefaultRWConcern getLog getMore getParameter
getnonce grantPrivilegesToRole grantRolesToRole grantRolesToUser hello hostInfo insert
invalidateUserCache killAllSessions killAllSessionsByPattern killCursors killOp killSessions
listCollections listCommands listDatabases listIndexes lockInfo logRotate logout mapReduce
planCacheClear planCacheClearFilters planCacheListFilters planCacheSetFilter ping profile reIndex
refreshSessions renameCollection replSetGetStatus replSetInitiate revokePrivilegesFromRole
revokeRolesFromRole revokeRolesFromUser rolesInfo rotateCertificates saslContinue saslStart
serverStatus setClusterParameter setDefaultRWConcern setFeatureCompatibilityVersion setParameter
setQuerySettings setUserWriteBlockMode shutdown startSession top update updateRole updateUser
usersInfo validate whatsmyuri
'''.split()
