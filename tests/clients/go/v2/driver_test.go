// Package driver runs the Go driver, version 2, against the server at MONGOD_URI.
package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

func connect() (*mongo.Client, error) {
	return mongo.Connect(options.Client().ApplyURI(os.Getenv("MONGOD_URI")))
}

// inserted returns the server's answer to an unordered insertMany with a duplicate key.
func duplicateIndexes(err error) []int {
	var bulk mongo.BulkWriteException
	var found []int
	if errors.As(err, &bulk) {
		for _, each := range bulk.WriteErrors {
			if each.Code == 11000 {
				found = append(found, each.Index)
			}
		}
	}
	return found
}

func TestFiles(t *testing.T) {
	c, db := database(t)
	defer c.Disconnect(ctx)
	bucket := db.GridFSBucket(options.GridFSBucket().SetChunkSizeBytes(100000))
	content := strings.Repeat("0123456789", 60000)
	id, err := bucket.UploadFromStream(ctx, "f", strings.NewReader(content))
	check(t, err)
	var out strings.Builder
	_, err = bucket.DownloadToStream(ctx, id, &out)
	check(t, err)
	equal(t, out.String() == content, true)
	equal(t, count(t, db.Collection("fs.chunks")), int64(6))
	check(t, bucket.Delete(ctx, id))
	equal(t, count(t, db.Collection("fs.chunks")), int64(0))
}

func TestWriteConcerns(t *testing.T) {
	c, db := database(t)
	defer c.Disconnect(ctx)
	journaled := true
	for _, concern := range []*writeconcern.WriteConcern{
		{W: 1}, {W: 1, Journal: &journaled}, writeconcern.Majority(), writeconcern.Unacknowledged(),
	} {
		_, err := db.Collection("w", options.Collection().SetWriteConcern(concern)).InsertOne(ctx, bson.D{})
		if err != nil && !errors.Is(err, mongo.ErrUnacknowledgedWrite) {
			t.Error(concern, err)
		}
	}
	two := options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: 2})
	if _, err := db.Collection("w", two).InsertOne(ctx, bson.D{}); err == nil {
		t.Error("w: 2 is accepted")
	}
}

// A context with a deadline puts maxTimeMS into every command.
func TestDeadlines(t *testing.T) {
	client, err := mongo.Connect(options.Client().ApplyURI(os.Getenv("MONGOD_URI")).SetTimeout(time.Minute))
	check(t, err)
	defer client.Disconnect(ctx)
	c := client.Database("go_deadline").Collection("c")
	_, err = c.InsertOne(ctx, bson.D{{Key: "_id", Value: 1}})
	check(t, err)
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "a", Value: 1}}})
	check(t, err)
	check(t, client.Ping(ctx, nil))
	check(t, client.Database("go_deadline").Drop(ctx))
}

var ctx = context.Background()

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want interface{}) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func database(t *testing.T) (*mongo.Client, *mongo.Database) {
	t.Helper()
	client, err := connect()
	check(t, err)
	return client, client.Database("go_" + strings.ToLower(t.Name()))
}

func count(t *testing.T, c *mongo.Collection) int64 {
	t.Helper()
	n, err := c.CountDocuments(ctx, bson.D{})
	check(t, err)
	return n
}
