// Package driver runs mgo, a Go driver of the years of the old server that knows only its opcodes
// and the commands of 2.4 to 3.0, against the server at MONGOD_PORT.
package driver

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
)

// database connects and returns a database of the test's own.
func database(t *testing.T) *mgo.Database {
	t.Helper()
	session, err := mgo.DialWithInfo(&mgo.DialInfo{
		Addrs: []string{"127.0.0.1:" + os.Getenv("MONGOD_PORT")}, Direct: true, Timeout: time.Minute})
	check(t, err)
	t.Cleanup(session.Close)
	return session.DB("mgo_" + strings.ToLower(t.Name()))
}

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

func TestCrud(t *testing.T) {
	c := database(t).C("c")
	check(t, c.Insert(bson.M{"_id": 1, "a": 1}, bson.M{"_id": 2}, bson.M{"_id": 3}))
	if err := c.Insert(bson.M{"_id": 1}); !mgo.IsDup(err) {
		t.Error("not a duplicate key:", err)
	}
	check(t, c.Update(bson.M{"_id": 1}, bson.M{"$inc": bson.M{"a": 4}}))
	equal(t, c.Update(bson.M{"_id": 77}, bson.M{"$set": bson.M{"a": 1}}), mgo.ErrNotFound)
	info, err := c.UpdateAll(bson.M{"_id": bson.M{"$gt": 1}}, bson.M{"$set": bson.M{"b": 1}})
	check(t, err)
	equal(t, []int{info.Updated, info.Matched}, []int{2, 2})
	info, err = c.Upsert(bson.M{"_id": 9}, bson.M{"$set": bson.M{"n": 1}})
	check(t, err)
	equal(t, info.UpsertedId, 9)
	var found struct{ A, N int }
	check(t, c.FindId(1).One(&found))
	equal(t, found.A, 5)
	_, err = c.FindId(9).Apply(mgo.Change{Update: bson.M{"$inc": bson.M{"n": 1}}, ReturnNew: true}, &found)
	check(t, err)
	equal(t, found.N, 2)
	n, err := c.Find(bson.M{"b": 1}).Count()
	check(t, err)
	equal(t, n, 2)
	var values []int
	check(t, c.Find(nil).Distinct("b", &values))
	equal(t, values, []int{1})
	check(t, c.RemoveId(9))
	info, err = c.RemoveAll(nil)
	check(t, err)
	equal(t, info.Removed, 3)
	equal(t, c.Find(nil).One(&found), mgo.ErrNotFound)
}

func TestCursors(t *testing.T) {
	c := database(t).C("c")
	bulk := c.Bulk()
	for n := 0; n < 1000; n++ {
		bulk.Insert(bson.M{"_id": n, "m": n % 7})
	}
	_, err := bulk.Run()
	check(t, err)
	iter := c.Find(nil).Sort("-_id").Batch(10).Prefetch(0.5).Iter()
	var document struct {
		Id int "_id"
	}
	expected := 999
	for iter.Next(&document) {
		equal(t, document.Id, expected)
		expected--
	}
	check(t, iter.Close())
	equal(t, expected, -1)
	var some []bson.M
	check(t, c.Find(bson.M{"m": 3}).Skip(140).Limit(10).Select(bson.M{"m": 1, "_id": 0}).All(&some))
	equal(t, some, []bson.M{{"m": 3}, {"m": 3}, {"m": 3}})
	iter = c.Find(nil).Batch(5).Iter()
	equal(t, iter.Next(&document), true)
	check(t, iter.Close())
	var groups []bson.M
	check(t, c.Pipe([]bson.M{{"$group": bson.M{"_id": "$m", "n": bson.M{"$sum": 1}}},
		{"$sort": bson.M{"_id": 1}}}).All(&groups))
	equal(t, len(groups), 7)
	var plan bson.M
	check(t, c.FindId(3).Explain(&plan))
	equal(t, plan["executionStats"].(bson.M)["nReturned"], 1)
	if err := c.Find(bson.M{"a": bson.M{"$nosuch": 1}}).One(&document); err == nil || err == mgo.ErrNotFound {
		t.Error("an unknown operator is accepted:", err)
	}
}

func TestTailableCursor(t *testing.T) {
	c := database(t).C("c")
	check(t, c.Create(&mgo.CollectionInfo{Capped: true, MaxBytes: 100000}))
	check(t, c.Insert(bson.M{"_id": 1}))
	iter := c.Find(nil).Tail(20 * time.Second)
	var document bson.M
	equal(t, iter.Next(&document), true)
	inserted := make(chan error)
	go func() { inserted <- c.With(c.Database.Session.Copy()).Insert(bson.M{"_id": 2}) }()
	equal(t, iter.Next(&document), true)
	equal(t, document["_id"], 2)
	check(t, <-inserted)
	check(t, iter.Close())
}

func TestIndexesAndCollections(t *testing.T) {
	db := database(t)
	c := db.C("c")
	check(t, c.EnsureIndex(mgo.Index{Key: []string{"a", "-b"}, Unique: true, Background: true}))
	check(t, c.EnsureIndex(mgo.Index{Key: []string{"t"}, ExpireAfter: time.Hour, Sparse: true}))
	indexes, err := c.Indexes()
	check(t, err)
	equal(t, len(indexes), 3)
	check(t, c.DropIndex("a", "-b"))
	if err := c.DropIndex("a", "-b"); err == nil {
		t.Error("an index was dropped twice")
	}
	names, err := db.CollectionNames()
	check(t, err)
	equal(t, strings.Contains(fmt.Sprint(names), "c"), true)
	check(t, c.DropCollection())
	check(t, db.DropDatabase())
	databases, err := db.Session.DatabaseNames()
	check(t, err)
	equal(t, strings.Contains(fmt.Sprint(databases), db.Name), false)
}

func TestSafety(t *testing.T) {
	c := database(t).C("c")
	session := c.Database.Session
	for _, safe := range []*mgo.Safe{{}, {J: true}, {FSync: true}, {WMode: "majority"}, nil} {
		session.SetSafe(safe)
		check(t, c.Insert(bson.M{"n": 1}))
	}
	session.SetSafe(&mgo.Safe{})
	n, err := c.Count()
	check(t, err)
	equal(t, n, 5)
	check(t, session.Ping())
	build, err := session.BuildInfo()
	check(t, err)
	equal(t, build.VersionAtLeast(2, 4), true)
	check(t, session.FsyncLock())
	check(t, session.FsyncUnlock())
}

func TestFiles(t *testing.T) {
	fs := database(t).GridFS("fs")
	content := strings.Repeat("0123456789", 60000)
	file, err := fs.Create("f")
	check(t, err)
	_, err = io.WriteString(file, content)
	check(t, err)
	check(t, file.Close())
	file, err = fs.Open("f")
	check(t, err)
	_, err = file.Seek(300000, io.SeekStart)
	check(t, err)
	rest, err := io.ReadAll(file)
	check(t, err)
	equal(t, string(rest) == content[300000:], true)
	check(t, file.Close())
	check(t, fs.Remove("f"))
	n, err := fs.Chunks.Count()
	check(t, err)
	equal(t, n, 0)
}
