// Debezium's embedded engine with its MongoDB connector. It prints a line for each change, "change
// OP ID AFTER", keeps how far it came in a file, and ends when its standard input does.
// Usage: java Capture.java FOLDER

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.IOException;
import java.util.Properties;
import java.util.concurrent.Executors;

class Capture {
    static final ObjectMapper MAPPER = new ObjectMapper();

    static void show(ChangeEvent<String, String> event) {
        if (event.value() == null) {
            return;  // the empty record that follows a delete
        }
        try {
            JsonNode value = MAPPER.readTree(event.value());
            JsonNode key = MAPPER.readTree(event.key());
            System.out.println("change " + value.get("op").asText() + " " + key.get("id").asText()
                               + " " + value.get("after").asText(""));
        } catch (IOException error) {
            System.out.println("failure " + error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        var properties = new Properties();
        properties.setProperty("name", "capture");
        properties.setProperty("connector.class",
                               "io.debezium.connector.mongodb.MongoDbConnector");
        properties.setProperty("mongodb.connection.string", System.getenv("MONGOD_URI"));
        properties.setProperty("topic.prefix", "captured");
        properties.setProperty("collection.include.list", "shop.orders");
        properties.setProperty("capture.mode", "change_streams_update_full");
        properties.setProperty("snapshot.mode", "initial");
        properties.setProperty("offset.storage",
                               "org.apache.kafka.connect.storage.FileOffsetBackingStore");
        properties.setProperty("offset.storage.file.filename", arguments[0] + "/offsets");
        properties.setProperty("offset.flush.interval.ms", "0");
        properties.setProperty("retriable.restart.connector.wait.ms", "100");
        properties.setProperty("key.converter.schemas.enable", "false");
        properties.setProperty("value.converter.schemas.enable", "false");
        var engine = DebeziumEngine.create(Json.class).using(properties).notifying(Capture::show)
            .using((success, message, error) -> {
                if (!success) {
                    System.out.println("failure " + message + " " + error);
                }
            }).build();
        var executor = Executors.newSingleThreadExecutor();
        executor.execute(engine);
        while (System.in.read() >= 0) {
        }
        engine.close();
        executor.shutdown();
    }
}
