// Package driver runs the Go driver with its defaults against the server at MONGOD_URI. The cases are
// the same for versions 1 and 2; each has a folder with its modules and, in version_test.go, what is
// called differently there. The runner puts the two files together, and writes /v2 into the imports.
package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
	"go.mongodb.org/mongo-driver/mongo/writeconcern"
)

var ctx = context.Background()

// database connects and returns a database of the test's own.
func database(t *testing.T, settings ...*options.ClientOptions) *mongo.Database {
	t.Helper()
	all := append([]*options.ClientOptions{options.Client().ApplyURI(os.Getenv("MONGOD_URI"))}, settings...)
	client, err := connect(all)
	check(t, err)
	t.Cleanup(func() { check(t, client.Disconnect(ctx)) })
	return client.Database("go_" + strings.ToLower(t.Name()))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// fails wants a server error with a code.
func fails(t *testing.T, err error, code int) {
	t.Helper()
	var server mongo.ServerError
	if !errors.As(err, &server) || !server.HasErrorCode(code) {
		t.Errorf("got %v, want an error with code %d", err, code)
	}
}

func count(t *testing.T, c *mongo.Collection) int64 {
	t.Helper()
	n, err := c.CountDocuments(ctx, bson.D{})
	check(t, err)
	return n
}

func TestCrud(t *testing.T) {
	c := database(t).Collection("c")
	one, err := c.InsertOne(ctx, bson.M{"_id": 1, "a": 1})
	check(t, err)
	equal(t, one.InsertedID, 1)
	_, err = c.InsertOne(ctx, bson.M{"_id": 1})
	if !mongo.IsDuplicateKeyError(err) {
		t.Error("not a duplicate key:", err)
	}
	_, err = c.InsertMany(ctx, []any{bson.M{"_id": 2}, bson.M{"_id": 3}})
	check(t, err)
	update, err := c.UpdateMany(ctx, bson.M{"_id": bson.M{"$gt": 1}}, bson.M{"$set": bson.M{"b": 1}})
	check(t, err)
	equal(t, []int64{update.MatchedCount, update.ModifiedCount}, []int64{2, 2})
	update, err = c.UpdateOne(ctx, bson.M{"_id": 9}, bson.M{"$inc": bson.M{"n": 1}}, upsert)
	check(t, err)
	equal(t, update.UpsertedID, 9)
	var found struct{ N int32 }
	check(t, c.FindOneAndUpdate(ctx, bson.M{"_id": 9}, bson.M{"$inc": bson.M{"n": 4}},
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&found))
	equal(t, found.N, 5)
	equal(t, c.FindOne(ctx, bson.M{"_id": 77}).Err(), mongo.ErrNoDocuments)
	equal(t, distinct(t, c, "b"), []int32{1})
	estimate, err := c.EstimatedDocumentCount(ctx)
	check(t, err)
	equal(t, estimate, 4)
	deleted, err := c.DeleteMany(ctx, bson.M{})
	check(t, err)
	equal(t, deleted.DeletedCount, 4)
	_, err = c.UpdateOne(ctx, bson.M{}, bson.M{"$nosuch": bson.M{"a": 1}})
	fails(t, err, 9)
}

func TestCursors(t *testing.T) {
	db := database(t)
	c := db.Collection("c")
	documents := make([]any, 1000)
	for n := range documents {
		documents[n] = bson.D{{Key: "_id", Value: n}, {Key: "m", Value: n % 7}}
	}
	_, err := c.InsertMany(ctx, documents)
	check(t, err)
	cursor, err := c.Find(ctx, bson.M{"m": 3}, options.Find().SetBatchSize(2).SetSort(bson.M{"_id": -1}))
	check(t, err)
	var all []bson.M
	check(t, cursor.All(ctx, &all))
	equal(t, len(all), 143)
	equal(t, all[0]["_id"], 997)
	cursor, err = c.Find(ctx, bson.M{}, options.Find().SetBatchSize(5))
	check(t, err)
	equal(t, cursor.Next(ctx), true)
	check(t, cursor.Close(ctx))
	cursor, err = c.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$group", Value: bson.M{"_id": "$m", "n": bson.M{"$sum": 1}}}},
		{{Key: "$sort", Value: bson.M{"_id": 1}}}}, options.Aggregate().SetBatchSize(2))
	check(t, err)
	check(t, cursor.All(ctx, &all))
	equal(t, len(all), 7)
	equal(t, all[6]["n"], 142)
	_, err = c.Find(ctx, bson.M{"a": bson.M{"$nosuch": 1}})
	fails(t, err, 2)
}

func TestTailableCursor(t *testing.T) {
	db := database(t)
	check(t, db.CreateCollection(ctx, "c", options.CreateCollection().SetCapped(true).SetSizeInBytes(100000)))
	c := db.Collection("c")
	_, err := c.InsertOne(ctx, bson.M{"_id": 1})
	check(t, err)
	cursor, err := c.Find(ctx, bson.M{}, options.Find().SetCursorType(options.TailableAwait).SetMaxAwaitTime(20*time.Second))
	check(t, err)
	equal(t, cursor.Next(ctx), true)
	inserted := make(chan error)
	go func() {
		_, err := c.InsertOne(ctx, bson.M{"_id": 2})
		inserted <- err
	}()
	equal(t, cursor.Next(ctx), true)
	equal(t, cursor.Current.Lookup("_id").AsInt64(), 2)
	check(t, <-inserted)
	check(t, cursor.Close(ctx))
}

func TestBulkWrites(t *testing.T) {
	c := database(t).Collection("c")
	result, err := c.BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(bson.M{"_id": 1}),
		mongo.NewUpdateOneModel().SetFilter(bson.M{"_id": 1}).SetUpdate(bson.M{"$set": bson.M{"a": 1}}),
		mongo.NewReplaceOneModel().SetFilter(bson.M{"_id": 2}).SetReplacement(bson.M{"b": 1}).SetUpsert(true),
		mongo.NewDeleteOneModel().SetFilter(bson.M{"_id": 1})})
	check(t, err)
	equal(t, []int64{result.InsertedCount, result.ModifiedCount, result.UpsertedCount, result.DeletedCount},
		[]int64{1, 1, 1, 1})
	_, err = c.InsertMany(ctx, []any{bson.M{"_id": 3}, bson.M{"_id": 2}, bson.M{"_id": 4}},
		options.InsertMany().SetOrdered(false))
	var bulk mongo.BulkWriteException
	if !errors.As(err, &bulk) || len(bulk.WriteErrors) != 1 || bulk.WriteErrors[0].Index != 1 {
		t.Error("not one error at index 1:", err)
	}
	equal(t, count(t, c), 3)
}

func TestIndexes(t *testing.T) {
	c := database(t).Collection("c")
	name, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "a", Value: 1}},
		Options: options.Index().SetUnique(true)})
	check(t, err)
	equal(t, name, "a_1")
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "b", Value: 1}},
		Options: options.Index().SetName("a_1")})
	fails(t, err, 86)
	specs, err := c.Indexes().ListSpecifications(ctx)
	check(t, err)
	equal(t, len(specs), 2)
	equal(t, *specs[1].Unique, true)
	check(t, dropIndex(c, "a_1"))
	fails(t, dropIndex(c, "a_1"), 27)
	check(t, dropAllIndexes(c))
}

func TestCollectionsAndDatabases(t *testing.T) {
	db := database(t)
	check(t, db.CreateCollection(ctx, "c"))
	fails(t, db.CreateCollection(ctx, "c", options.CreateCollection().SetCapped(true).SetSizeInBytes(4096)), 48)
	names, err := db.ListCollectionNames(ctx, bson.M{"name": "c"})
	check(t, err)
	equal(t, names, []string{"c"})
	check(t, db.Collection("never_there").Drop(ctx))
	names, err = db.Client().ListDatabaseNames(ctx, bson.M{"name": db.Name()})
	check(t, err)
	equal(t, names, []string{db.Name()})
	check(t, db.Drop(ctx))
	names, err = db.Client().ListDatabaseNames(ctx, bson.M{"name": db.Name()})
	check(t, err)
	equal(t, len(names), 0)
}

func TestFiles(t *testing.T) {
	db := database(t)
	files := openFiles(t, db, options.GridFSBucket().SetChunkSizeBytes(100000))
	content := strings.Repeat("0123456789", 60000)
	id, err := files.upload("f", strings.NewReader(content))
	check(t, err)
	var out strings.Builder
	check(t, files.download(id, &out))
	equal(t, out.String() == content, true)
	equal(t, count(t, db.Collection("fs.chunks")), 6)
	check(t, files.delete(id))
	equal(t, count(t, db.Collection("fs.chunks")), 0)
}

func TestWriteConcerns(t *testing.T) {
	db := database(t)
	journaled := true
	for _, concern := range []*writeconcern.WriteConcern{
		{W: 1}, {W: 1, Journal: &journaled}, writeconcern.Majority(), writeconcern.Unacknowledged()} {
		c := db.Collection("c", options.Collection().SetWriteConcern(concern))
		_, err := c.InsertOne(ctx, bson.D{})
		if !errors.Is(err, errUnacknowledged) {
			check(t, err)
		}
	}
	two := options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: 2})
	_, err := db.Collection("c", two).InsertOne(ctx, bson.D{})
	code := 2
	if strings.Contains(os.Getenv("MONGOD_URI"), "replicaSet=") {
		code = 100 // a set of one member
	}
	fails(t, err, code)
}

// A client with a time limit puts maxTimeMS into every command.
func TestTimeLimitOnEveryCommand(t *testing.T) {
	db := database(t, options.Client().SetTimeout(time.Minute))
	c := db.Collection("c")
	check(t, db.Client().Ping(ctx, nil))
	_, err := c.InsertOne(ctx, bson.M{"_id": 1})
	check(t, err)
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "a", Value: 1}}})
	check(t, err)
	equal(t, count(t, c), 1)
	check(t, db.Drop(ctx))
}

// What one session opens the others do not read, and its end is the end of its cursors.
func TestSessions(t *testing.T) {
	db := database(t)
	c := db.Collection("c")
	insert := func(ctx context.Context) error {
		_, err := c.InsertMany(ctx, []any{bson.M{"_id": 1}, bson.M{"_id": 2}, bson.M{"_id": 3}})
		return err
	}
	check(t, inSession(db.Client(), insert))
	var cursor struct {
		Cursor struct {
			ID int64 `bson:"id"`
		} `bson:"cursor"`
	}
	open := func(ctx context.Context) error {
		find := bson.D{{Key: "find", Value: "c"}, {Key: "batchSize", Value: 1}}
		if err := db.RunCommand(ctx, find).Decode(&cursor); err != nil {
			return err
		}
		more := bson.D{{Key: "getMore", Value: cursor.Cursor.ID}, {Key: "collection", Value: "c"},
			{Key: "batchSize", Value: 1}}
		if err := db.RunCommand(ctx, more).Err(); err != nil {
			return err
		}
		other := func(ctx context.Context) error { return db.RunCommand(ctx, more).Err() }
		fails(t, inSession(db.Client(), other), 50738)
		return nil
	}
	check(t, inSession(db.Client(), open))
	equal(t, count(t, c), 3)
	end := bson.D{{Key: "killAllSessions", Value: bson.A{}}}
	check(t, db.Client().Database("admin").RunCommand(ctx, end).Err())
	kill := bson.D{{Key: "killCursors", Value: "c"}, {Key: "cursors", Value: bson.A{cursor.Cursor.ID}}}
	var killed struct {
		NotFound []int64 `bson:"cursorsNotFound"`
	}
	check(t, db.RunCommand(ctx, kill).Decode(&killed))
	equal(t, len(killed.NotFound), 1)
}

func TestChangeStreamsWhichOnlyASetHas(t *testing.T) {
	db := database(t)
	c := db.Collection("c")
	stream, err := c.Watch(ctx, mongo.Pipeline{})
	if !strings.Contains(os.Getenv("MONGOD_URI"), "replicaSet") {
		if err == nil || !strings.Contains(err.Error(), "changeStream") {
			t.Error("a change stream opened:", err)
		}
		return
	}
	check(t, err)
	for i := 0; i < 3; i++ {
		_, err := c.InsertOne(ctx, bson.M{"_id": i})
		check(t, err)
	}
	var event struct {
		Kind string `bson:"operationType"`
		Key  bson.M `bson:"documentKey"`
	}
	equal(t, stream.Next(ctx), true)
	token := stream.ResumeToken()
	check(t, stream.Close(ctx))
	stream, err = db.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(token))
	check(t, err)
	for i := 1; i < 3; i++ {
		equal(t, stream.Next(ctx), true)
		check(t, stream.Decode(&event))
		equal(t, fmt.Sprint(event.Kind, event.Key), fmt.Sprint("insert", bson.M{"_id": i}))
	}
	check(t, stream.Close(ctx))
}

func TestWhatAServerOfOldHasNot(t *testing.T) {
	db := database(t)
	c := db.Collection("c")
	_, err := c.InsertOne(ctx, bson.M{"_id": 1})
	check(t, err)
	insert := func(ctx context.Context) error {
		_, err := c.InsertOne(ctx, bson.M{"_id": 2})
		return err
	}
	if inTransaction(db.Client(), insert) == nil {
		t.Error("a transaction started")
	}
	equal(t, count(t, c), 1)
}
