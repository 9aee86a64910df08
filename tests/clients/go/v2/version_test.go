package driver

import (
	"context"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

var upsert = options.UpdateOne().SetUpsert(true)

// What an unacknowledged write returns.
var errUnacknowledged error

func connect(settings []*options.ClientOptions) (*mongo.Client, error) {
	return mongo.Connect(settings...)
}

func distinct(t *testing.T, c *mongo.Collection, field string) []int32 {
	t.Helper()
	var values []int32
	check(t, c.Distinct(ctx, field, bson.M{}).Decode(&values))
	return values
}

func dropIndex(c *mongo.Collection, name string) error { return c.Indexes().DropOne(ctx, name) }

func dropAllIndexes(c *mongo.Collection) error { return c.Indexes().DropAll(ctx) }

type files struct{ bucket *mongo.GridFSBucket }

func openFiles(_ *testing.T, db *mongo.Database, settings *options.BucketOptionsBuilder) files {
	return files{db.GridFSBucket(settings)}
}

func (f files) upload(name string, content io.Reader) (any, error) {
	return f.bucket.UploadFromStream(ctx, name, content)
}

func (f files) download(id any, out io.Writer) error {
	_, err := f.bucket.DownloadToStream(ctx, id, out)
	return err
}

func (f files) delete(id any) error { return f.bucket.Delete(ctx, id) }

func inSession(client *mongo.Client, do func(context.Context) error) error {
	return client.UseSession(ctx, do)
}

func inTransaction(client *mongo.Client, do func(context.Context) error) error {
	return client.UseSession(ctx, func(ctx context.Context) error {
		if err := mongo.SessionFromContext(ctx).StartTransaction(); err != nil {
			return err
		}
		return do(ctx)
	})
}
