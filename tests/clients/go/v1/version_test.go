package driver

import (
	"context"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/gridfs"
	"go.mongodb.org/mongo-driver/mongo/options"
)

var upsert = options.Update().SetUpsert(true)

// What an unacknowledged write returns.
var errUnacknowledged = mongo.ErrUnacknowledgedWrite

func connect(settings []*options.ClientOptions) (*mongo.Client, error) {
	return mongo.Connect(ctx, settings...)
}

func distinct(t *testing.T, c *mongo.Collection, field string) []any {
	t.Helper()
	values, err := c.Distinct(ctx, field, bson.M{})
	check(t, err)
	return values
}

func dropIndex(c *mongo.Collection, name string) error {
	_, err := c.Indexes().DropOne(ctx, name)
	return err
}

func dropAllIndexes(c *mongo.Collection) error {
	_, err := c.Indexes().DropAll(ctx)
	return err
}

type files struct{ bucket *gridfs.Bucket }

func openFiles(t *testing.T, db *mongo.Database, settings *options.BucketOptions) files {
	t.Helper()
	bucket, err := gridfs.NewBucket(db, settings)
	check(t, err)
	return files{bucket}
}

func (f files) upload(name string, content io.Reader) (any, error) {
	return f.bucket.UploadFromStream(name, content)
}

func (f files) download(id any, out io.Writer) error {
	_, err := f.bucket.DownloadToStream(id, out)
	return err
}

func (f files) delete(id any) error { return f.bucket.Delete(id) }

func inSession(client *mongo.Client, do func(context.Context) error) error {
	return client.UseSession(ctx, func(ctx mongo.SessionContext) error { return do(ctx) })
}

func inTransaction(client *mongo.Client, do func(context.Context) error) error {
	return client.UseSession(ctx, func(ctx mongo.SessionContext) error {
		if err := ctx.StartTransaction(); err != nil {
			return err
		}
		return do(ctx)
	})
}
