// Spring Data MongoDB as its guide shows it: a template, a repository, indexes, aggregations; on a
// member of a set transactions. Its own tests are not in the packages that the registry has.

import static org.springframework.data.mongodb.core.aggregation.Aggregation.group;
import static org.springframework.data.mongodb.core.aggregation.Aggregation.lookup;
import static org.springframework.data.mongodb.core.aggregation.Aggregation.match;
import static org.springframework.data.mongodb.core.aggregation.Aggregation.newAggregation;
import static org.springframework.data.mongodb.core.query.Criteria.where;
import static org.springframework.data.mongodb.core.query.Query.query;

import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import java.util.List;
import java.util.Objects;
import org.bson.Document;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.Version;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.data.mongodb.MongoTransactionManager;
import org.springframework.data.mongodb.core.BulkOperations;
import org.springframework.data.mongodb.core.CollectionOptions;
import org.springframework.data.mongodb.core.FindAndModifyOptions;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.SimpleMongoClientDatabaseFactory;
import org.springframework.data.mongodb.core.aggregation.AggregationResults;
import org.springframework.data.mongodb.core.aggregation.AggregationUpdate;
import org.springframework.data.mongodb.core.index.Index;
import org.springframework.data.mongodb.core.index.IndexOperations;
import org.springframework.data.mongodb.core.index.PartialIndexFilter;
import org.springframework.data.mongodb.core.query.Collation;
import org.springframework.data.mongodb.core.query.Query;
import org.springframework.data.mongodb.core.query.Update;
import org.springframework.data.mongodb.core.schema.JsonSchemaProperty;
import org.springframework.data.mongodb.core.schema.MongoJsonSchema;
import org.springframework.data.mongodb.core.validation.Validator;
import org.springframework.data.mongodb.repository.Aggregation;
import org.springframework.data.mongodb.repository.MongoRepository;
import org.springframework.data.mongodb.repository.support.MongoRepositoryFactory;
import org.springframework.transaction.support.TransactionTemplate;

public class Program {
    public static class Person {
        @Id public String id;
        public String name;
        public int age;
        public List<String> tags;
        @Version public Long version;

        public Person() {}

        public Person(String name, int age, String... tags) {
            this.name = name;
            this.age = age;
            this.tags = List.of(tags);
        }
    }

    public interface People extends MongoRepository<Person, String> {
        List<Person> findByAgeGreaterThanOrderByAgeDesc(int age);

        List<Person> findByNameIgnoreCase(String name);

        long countByTagsContaining(String tag);

        @org.springframework.data.mongodb.repository.Query("{$expr: {$gt: ['$age', ?0]}}")
        List<Person> older(int age);

        @Aggregation({"{$unwind: '$tags'}", "{$group: {_id: '$tags', n: {$sum: 1}}}",
                      "{$sort: {_id: 1}}"})
        AggregationResults<Document> tagCounts();
    }

    interface Act {
        void run() throws Exception;
    }

    static int passed;
    static int failed;

    static void check(String name, Act act) {
        try {
            act.run();
            passed++;
            System.out.println("ok: " + name);
        } catch (Exception | AssertionError error) {
            failed++;
            System.out.println("FAIL: " + name);
            error.printStackTrace(System.out);
        }
    }

    static void same(Object got, Object want) {
        if (!Objects.equals(got, want)) throw new AssertionError(got + ", not " + want);
    }

    static void fails(Class<? extends Exception> kind, Act act) throws Exception {
        try {
            act.run();
        } catch (Exception error) {
            if (kind.isInstance(error)) return;
            throw error;
        }
        throw new AssertionError("no " + kind);
    }

    static Query named(String name) {
        return query(where("name").is(name));
    }

    static void indexes(MongoTemplate template) {
        IndexOperations indexes = template.indexOps(Person.class);
        indexes.createIndex(new Index().on("name", Sort.Direction.ASC).unique());
        indexes.createIndex(new Index().on("age", Sort.Direction.ASC).named("adults")
                                .partial(PartialIndexFilter.of(where("age").gte(18))));
        same(indexes.getIndexInfo().size(), 3);
        same(indexes.getIndexInfo().get(2).getPartialFilterExpression(),
             "{\"age\": {\"$gte\": 18}}");
    }

    static void writes(People people) throws Exception {
        people.saveAll(List.of(new Person("Ada", 36, "a", "b"), new Person("Ben", 20, "b"),
                               new Person("Cy", 9)));
        fails(DuplicateKeyException.class, () -> people.save(new Person("Ada", 1)));
        same(people.count(), 3L);
        Person first = people.findByNameIgnoreCase("cy").get(0);
        Person second = people.findByNameIgnoreCase("cy").get(0);
        first.age = 10;
        people.save(first);
        fails(OptimisticLockingFailureException.class, () -> people.save(second));
    }

    static void queries(MongoTemplate template, People people) {
        same(people.findByAgeGreaterThanOrderByAgeDesc(10).get(0).name, "Ada");
        same(people.countByTagsContaining("b"), 2L);
        same(people.older(30).size(), 1);
        same(people.findAll(PageRequest.of(1, 2, Sort.by("name"))).getContent().get(0).name, "Cy");
        Query anyCase = named("ADA").collation(Collation.of("en").strength(2));
        same(template.find(anyCase, Person.class).size(), 1);
        same(template.findDistinct("tags", Person.class, String.class), List.of("a", "b"));
    }

    static void updates(MongoTemplate template) {
        Update older = new Update().inc("age", 1);
        same(template.updateMulti(new Query(), older, Person.class).getModifiedCount(), 3L);
        Person ben = template.findAndModify(named("Ben"), new Update().push("tags", "z"),
                                            FindAndModifyOptions.options().returnNew(true),
                                            Person.class);
        same(ben.tags, List.of("b", "z"));
        Update filtered = new Update().set("tags.$[t]", "y").filterArray(where("t").is("z"));
        template.updateFirst(named("Ben"), filtered, Person.class);
        same(template.findOne(named("Ben"), Person.class).tags, List.of("b", "y"));
        AggregationUpdate next =
            AggregationUpdate.update().set("next").toValueOf(
                new Document("$add", List.of("$age", 1)));
        template.updateMulti(new Query(), next, Person.class);
        same(template.count(query(where("next").is(38)), Person.class), 1L);
        Update made = new Update().set("age", 5).setOnInsert("version", 0L);
        same(template.upsert(named("Di"), made, Person.class).getMatchedCount(), 0L);
        BulkOperations bulk = template.bulkOps(BulkOperations.BulkMode.UNORDERED, Person.class);
        bulk.insert(new Person("Ed", 1));
        bulk.remove(named("Di"));
        same(bulk.execute().getDeletedCount(), 1);
    }

    static void aggregates(MongoTemplate template, People people) {
        same(people.tagCounts().getMappedResults(),
             List.of(new Document("_id", "a").append("n", 1),
                     new Document("_id", "b").append("n", 2),
                     new Document("_id", "y").append("n", 1)));
        Document sum = template.aggregate(
            newAggregation(match(where("age").gt(1)), lookup("person", "name", "name", "same"),
                           group().sum("age").as("sum")),
            Person.class, Document.class).getUniqueMappedResult();
        same(sum.getInteger("sum"), 37 + 21 + 11);
    }

    static void schemas(MongoTemplate template) throws Exception {
        MongoJsonSchema positive = MongoJsonSchema.builder().required("n")
            .properties(JsonSchemaProperty.int32("n").gt(0)).build();
        template.createCollection("checked",
                                  CollectionOptions.empty().validator(Validator.schema(positive)));
        template.insert(new Document("n", 1), "checked");
        fails(DataIntegrityViolationException.class,
              () -> template.insert(new Document("n", -1), "checked"));
        template.createView("grown", Person.class, match(where("age").gt(18)));
        same(template.count(new Query(), "grown"), 2L);
    }

    static void commits(TransactionTemplate transaction, MongoTemplate template) {
        transaction.executeWithoutResult(status -> {
            template.insert(new Person("Ada", 36));
            template.updateFirst(named("Ada"), new Update().inc("age", 1), Person.class);
            same(template.findOne(named("Ada"), Person.class).age, 37);
            same(others(template), 0L);
        });
        same(template.findOne(named("Ada"), Person.class).age, 37);
    }

    /** As another client counts them. */
    static long others(MongoTemplate template) {
        try (MongoClient client = MongoClients.create(System.getenv("MONGOD_URI"))) {
            return client.getDatabase(template.getDb().getName()).getCollection("person")
                .countDocuments();
        }
    }

    static void rollsBack(TransactionTemplate transaction, MongoTemplate template)
        throws Exception {
        fails(IllegalStateException.class, () -> transaction.executeWithoutResult(status -> {
            template.insert(new Person("Ben", 1));
            throw new IllegalStateException();
        }));
        transaction.executeWithoutResult(status -> {
            template.remove(named("Ada"), Person.class);
            status.setRollbackOnly();
        });
        fails(DuplicateKeyException.class, () -> transaction.executeWithoutResult(status -> {
            template.insert(new Person("Cy", 1));
            template.insert(template.findOne(named("Ada"), Document.class, "person"), "person");
        }));
        same(template.count(new Query(), Person.class), 1L);
    }

    /** Two that change one document: the second is to be tried again. */
    static void conflicts(TransactionTemplate transaction, MongoTemplate template)
        throws Exception {
        Update one = new Update().inc("age", 1);
        fails(DataAccessException.class, () -> transaction.executeWithoutResult(outer -> {
            template.count(new Query(), Person.class);
            Thread other = new Thread(() -> template.updateFirst(named("Ada"), one, Person.class));
            other.start();
            join(other);
            template.updateFirst(named("Ada"), one, Person.class);
        }));
        same(template.findOne(named("Ada"), Person.class).age, 38);
    }

    static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    static void transactions(MongoClient client) {
        var factory = new SimpleMongoClientDatabaseFactory(client, "transactions");
        MongoTemplate template = new MongoTemplate(factory);
        var transaction = new TransactionTemplate(new MongoTransactionManager(factory));
        template.createCollection(Person.class);
        check("a transaction commits", () -> commits(transaction, template));
        check("a transaction rolls back", () -> rollsBack(transaction, template));
        check("a transaction in conflict", () -> conflicts(transaction, template));
    }

    public static void main(String[] arguments) {
        try (MongoClient client = MongoClients.create(System.getenv("MONGOD_URI"))) {
            MongoTemplate template = new MongoTemplate(client, "spring");
            People people = new MongoRepositoryFactory(template).getRepository(People.class);
            check("indexes", () -> indexes(template));
            check("writes", () -> writes(people));
            check("queries", () -> queries(template, people));
            check("updates", () -> updates(template));
            check("aggregates", () -> aggregates(template, people));
            check("schemas and views", () -> schemas(template));
            Document hello = client.getDatabase("admin").runCommand(new Document("hello", 1));
            if (hello.containsKey("setName")) transactions(client);
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }
}
