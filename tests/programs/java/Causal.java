// The client of tests/programs/node/causal.js by the Java driver.

import static com.mongodb.client.model.Aggregates.match;
import static com.mongodb.client.model.Filters.eq;

import com.mongodb.ClientSessionOptions;
import com.mongodb.ErrorCategory;
import com.mongodb.MongoException;
import com.mongodb.MongoWriteException;
import com.mongodb.ReadPreference;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoChangeStreamCursor;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.changestream.ChangeStreamDocument;
import java.util.List;
import java.util.function.Supplier;
import org.bson.Document;
import org.bson.conversions.Bson;

class Causal {
    static final int WRITES = Integer.parseInt(System.getenv("CAUSAL_WRITES"));
    static final List<Bson> INSERTS = List.of(match(eq("operationType", "insert")));

    /** Sends what meets the hand-over once more; the driver has sent it twice. */
    static <T> T again(Supplier<T> operation) {
        for (;;) {
            try {
                return operation.get();
            } catch (MongoException error) {
                if (error instanceof MongoWriteException write
                        && write.getError().getCategory() == ErrorCategory.DUPLICATE_KEY) {
                    return null;
                }
                System.out.println("again " + error.getMessage().lines().findFirst().orElse(""));
            }
        }
    }

    /** Prints the events of so many writes, and begins anew by the last token now and then. */
    static void watch(MongoCollection<Document> collection,
                      MongoChangeStreamCursor<ChangeStreamDocument<Document>> stream) {
        for (int events = 1; events <= WRITES; events++) {
            var event = stream.next();
            System.out.println("event " + event.getDocumentKey().getInt32("_id").getValue());
            if (events % 100 == 0) {
                stream.close();
                stream = collection.watch(INSERTS).resumeAfter(event.getResumeToken()).cursor();
            }
        }
        stream.close();
    }

    public static void main(String[] arguments) throws InterruptedException {
        try (var client = MongoClients.create(System.getenv("MONGOD_URI"))) {
            var written = client.getDatabase("test").getCollection("causal");
            var read = written.withReadPreference(ReadPreference.secondary());
            var stream = written.watch(INSERTS).cursor();
            var watching = new Thread(() -> watch(written, stream));
            watching.start();
            boolean causal = !"0".equals(System.getenv("CAUSAL_CONSISTENCY"));
            try (ClientSession session = client.startSession(
                         ClientSessionOptions.builder().causallyConsistent(causal).build())) {
                for (int number = 0; number < WRITES; number++) {
                    int id = number;
                    again(() -> written.insertOne(session, new Document("_id", id)));
                    if (again(() -> read.find(session, eq("_id", id)).first()) == null) {
                        System.out.println("missed " + number);
                    }
                }
            }
            watching.join();
        }
    }
}
