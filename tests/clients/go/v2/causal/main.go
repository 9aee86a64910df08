// The client of tests/programs/node/causal.js by the Go driver.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// again sends what meets the hand-over once more; the driver has sent it twice.
func again(operation func() error) error {
	for {
		err := operation()
		if err == nil || err == mongo.ErrNoDocuments || mongo.IsDuplicateKeyError(err) {
			return err
		}
		fmt.Println("again", err)
	}
}

var inserts = mongo.Pipeline{{{Key: "$match", Value: bson.M{"operationType": "insert"}}}}

// watch prints the events of so many writes, and begins anew by the last token now and then.
func watch(ctx context.Context, c *mongo.Collection, stream *mongo.ChangeStream, writes int) {
	for events := 1; events <= writes; events++ {
		if !stream.Next(ctx) {
			log.Fatal(stream.Err())
		}
		var event struct {
			DocumentKey struct {
				ID int `bson:"_id"`
			} `bson:"documentKey"`
		}
		check(stream.Decode(&event))
		fmt.Println("event", event.DocumentKey.ID)
		if events%100 == 0 {
			token := stream.ResumeToken()
			check(stream.Close(ctx))
			var err error
			stream, err = c.Watch(ctx, inserts, options.ChangeStream().SetResumeAfter(token))
			check(err)
		}
	}
	check(stream.Close(ctx))
}

func main() {
	ctx := context.Background()
	writes, err := strconv.Atoi(os.Getenv("CAUSAL_WRITES"))
	check(err)
	client, err := mongo.Connect(options.Client().ApplyURI(os.Getenv("MONGOD_URI")))
	check(err)
	written := client.Database("test").Collection("causal")
	read := client.Database("test").Collection("causal",
		options.Collection().SetReadPreference(readpref.Secondary()))
	stream, err := written.Watch(ctx, inserts)
	check(err)
	seen := make(chan bool)
	go func() {
		watch(ctx, written, stream, writes)
		close(seen)
	}()
	session, err := client.StartSession(options.Session().SetCausalConsistency(
		os.Getenv("CAUSAL_CONSISTENCY") != "0"))
	check(err)
	in := mongo.NewSessionContext(ctx, session)
	for number := 0; number < writes; number++ {
		_ = again(func() error {
			_, err := written.InsertOne(in, bson.M{"_id": number})
			return err
		})
		if again(func() error { return read.FindOne(in, bson.M{"_id": number}).Err() }) != nil {
			fmt.Println("missed", number)
		}
	}
	session.EndSession(ctx)
	<-seen
	check(client.Disconnect(ctx))
}
