package fencepost;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.apache.bookkeeper.bookie.CheckpointSource;
import org.apache.bookkeeper.bookie.LedgerStorage;

/**
 * The journal's mark of one bookie with DbLedgerStorage, moved by one checkpoint or flush at a time.
 *
 * <p>Other ledgers write to each journal and each directory before each of these calls: a position moves only with a
 * record, and a flush of an empty write cache does nothing.
 */
final class JournalMark {
    /** Other ledgers, one for each journal and each directory; the id of a ledger chooses both. */
    private static final long OTHERS = 1L << 30;
    private static final int SMALL = 16;
    private static final int LARGE = 300_000;
    /** The large records after which a journal of 1 MB must have begun a new file. */
    private static final int MANY = 16;

    private final Bookie bookie;
    private CheckpointSource.Checkpoint checkpoint;    // of the SyncThread, while it is under way
    private Future<CheckpointSource.Checkpoint> sampling;
    private CountDownLatch last = new CountDownLatch(0);    // while it is up, the last journal is not sampled

    JournalMark(Bookie bookie) {
        this.bookie = bookie;
    }

    // The SyncThread's checkpoint.

    /** Begins a checkpoint in a thread of its own, which waits before it samples the last journal. */
    void beginSample(long seconds) throws Exception {
        storeOthers();
        CheckpointSource source = source();
        List<?> journals = (List<?>) Bookie.field(source, "checkpointSourcesList");
        CheckpointSource real = (CheckpointSource) journals.get(journals.size() - 1);
        CountDownLatch reached = new CountDownLatch(1);
        CountDownLatch goes = new CountDownLatch(1);
        AtomicBoolean first = new AtomicBoolean(true);
        CheckpointSource held = Bookie.proxy(CheckpointSource.class, (ignored, method, arguments) -> {
            if (method.getName().equals("newCheckpoint") && first.getAndSet(false)) {
                reached.countDown();
                goes.await();
            }
            return pass(real, method, arguments);
        });
        List<Object> replaced = new ArrayList<>(journals);
        replaced.set(replaced.size() - 1, held);
        Bookie.set(source, "checkpointSourcesList", replaced);
        last = goes;
        ExecutorService thread = Executors.newSingleThreadExecutor();
        sampling = thread.submit(source::newCheckpoint);
        thread.shutdown();
        if (!reached.await(seconds, TimeUnit.SECONDS)) {
            throw new IllegalStateException(bookie.name + " has not sampled its first journal for " + seconds + " s");
        }
    }

    /** Lets the SyncThread sample the last journal; a bookie with one journal begins its checkpoint here. */
    void sample(long seconds) throws Exception {
        storeOthers();
        last.countDown();
        checkpoint = sampling == null ? source().newCheckpoint() : sampling.get(seconds, TimeUnit.SECONDS);
        sampling = null;
    }

    /** Ends the checkpoint as the SyncThread does: flushes the storage up to it, and completes it. */
    void endCheckpoint() throws Exception {
        storeOthers();
        Object sync = Bookie.field(bookie.real(), "syncThread");
        Method method = sync.getClass().getMethod("checkpoint", CheckpointSource.Checkpoint.class);
        method.setAccessible(true);
        method.invoke(sync, checkpoint);
        checkpoint = null;
    }

    /** Leaves the checkpoint under way, as a bookie does that ends. */
    void forget() {
        last.countDown();
        checkpoint = null;
        sampling = null;
    }

    // Flushes of the storage itself.

    /** Flushes the ledger's directory or another one; `rolls` begins a new journal file first. */
    void flush(boolean other, long ledger, boolean rolls) throws Exception {
        storeOthers();
        if (rolls) {
            roll();
        }
        directory(other ? ledger + 1 : ledger).flush();
    }

    /** Stores large entries until the current position of the last journal is in a later file than the checkpoint's. */
    private void roll() throws Exception {
        long file = fileOf(checkpoint);
        for (int stored = 0; fileOf(source().newCheckpoint()) <= file; stored++) {
            if (stored == MANY) {
                throw new IllegalStateException(bookie.name + " does not begin a new journal file");
            }
            bookie.storeOther(OTHERS + journals() - 1, LARGE);
        }
    }

    /** Flushes the ledger's directory, whose batch of locations cannot be written. */
    void failFlush(long ledger) throws Exception {
        storeOthers();
        LedgerStorage directory = directory(ledger);
        Object index = Bookie.field(directory, "entryLocationIndex");
        Object locations = Bookie.field(index, "locationsDb");
        Class<?> type = Class.forName("org.apache.bookkeeper.bookie.storage.ldb.KeyValueStorage");
        Class<?> batch = Class.forName("org.apache.bookkeeper.bookie.storage.ldb.KeyValueStorage$Batch");
        Bookie.set(index, "locationsDb", Bookie.proxy(type, (ignored, method, arguments) -> {
            Object found = pass(locations, method, arguments);
            return !method.getName().equals("newBatch") ? found : Bookie.proxy(batch, (unused, asked, given) -> {
                if (asked.getName().equals("flush")) {
                    throw new IOException("planted: the locations cannot be written");
                }
                return pass(found, asked, given);
            });
        }));
        try {
            directory.flush();
        } catch (IOException planted) {
            return;
        } finally {
            Bookie.set(index, "locationsDb", locations);
        }
        throw new IllegalStateException(bookie.name + ": the flush does not fail");
    }

    private static Object pass(Object real, Method method, Object[] arguments) throws Throwable {
        method.setAccessible(true);
        try {
            return method.invoke(real, arguments);
        } catch (InvocationTargetException failure) {
            throw failure.getCause();
        }
    }

    private void storeOthers() throws Exception {
        for (int i = 0; i < Math.max(journals(), bookie.settings().directories()); i++) {
            bookie.storeOther(OTHERS + i, SMALL);
        }
    }

    private int journals() {
        return bookie.settings().journals();
    }

    private CheckpointSource source() throws Exception {
        return (CheckpointSource) Bookie.field(Bookie.field(bookie.real(), "syncThread"), "checkpointSource");
    }

    private LedgerStorage directory(long ledger) throws Exception {
        List<?> all = (List<?>) Bookie.field(bookie.storage(), "ledgerStorageList");
        return (LedgerStorage) all.get((int) (ledger % all.size()));
    }

    /** Returns the id of the file that a checkpoint names in the last journal. */
    private static long fileOf(CheckpointSource.Checkpoint checkpoint) throws Exception {
        List<?> journals = (List<?>) Bookie.field(checkpoint, "checkpoints");
        Object mark = Bookie.field(Bookie.field(journals.get(journals.size() - 1), "mark"), "curMark");
        return (Long) Bookie.call(mark, "getLogFileId");
    }

    // Observations.

    /** Returns whether the files that the checkpoint under way and the mark name are gone. */
    Map<String, Object> files() throws Exception {
        boolean gone = checkpoint != null && !Files.exists(file(journals() - 1, fileOf(checkpoint)));
        return Map.of("checkpoint", gone, "mark", isFileGone());
    }

    /** Whether the mark on disk of some journal names a file that is not there: the replay of a boot fails. */
    boolean isFileGone() throws IOException {
        for (int journal = 0; journal < journals(); journal++) {
            Position mark = onDisk(journal);
            if (mark.file() > 0 && !Files.exists(file(journal, mark.file()))) {
                return true;
            }
        }
        return false;
    }

    /** Returns those of the entries whose record the mark has passed, and that no flush has written. */
    List<Object> unsafe(long ledger, List<Long> entries) throws Exception {
        Position mark = onDisk(journals() - 1);
        Map<Long, Position> records = records(ledger);
        Object index = Bookie.field(directory(ledger), "entryLocationIndex");
        Method location = index.getClass().getMethod("getLocation", long.class, long.class);
        List<Object> found = new ArrayList<>();
        for (long entry : entries) {
            Position record = records.get(entry);
            boolean passed = record == null || !mark.isBefore(record);
            if (passed && (Long) location.invoke(index, ledger, entry) == 0) {
                found.add(entry);
            }
        }
        return found;
    }

    /** A position in a journal. */
    private record Position(long file, long offset) {
        boolean isBefore(Position other) {
            return file < other.file || file == other.file && offset < other.offset;
        }
    }

    /** Returns the mark that a boot reads: the latest of all ledger directories (Journal.LastLogMark.readLog). */
    private Position onDisk(int journal) throws IOException {
        String name = journals() == 1 ? "lastMark" : "lastMark." + journal;
        Position latest = new Position(0, 0);
        try (Stream<Path> found = Files.walk(bookie.folder())) {
            for (Path path : (Iterable<Path>) found.filter(p -> p.getFileName().toString().equals(name))::iterator) {
                ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(path));
                Position mark = new Position(bytes.getLong(), bytes.getLong());
                latest = latest.isBefore(mark) ? mark : latest;
            }
        }
        return latest;
    }

    private Path folder(int journal) {
        return bookie.folder().resolve(journal == 0 ? "journal" : "journal" + (journal + 1)).resolve("current");
    }

    private Path file(int journal, long id) {
        return folder(journal).resolve(Long.toHexString(id) + ".txn");
    }

    /** Returns the end of the last record of each entry of the ledger, in the files of its journal. */
    private Map<Long, Position> records(long ledger) throws IOException {
        Map<Long, Position> found = new HashMap<>();
        try (Stream<Path> files = Files.list(folder(journals() - 1))) {
            for (Path path : (Iterable<Path>) files.filter(p -> p.toString().endsWith(".txn")).sorted()::iterator) {
                long file = Long.parseLong(path.getFileName().toString().replace(".txn", ""), 16);
                for (Bookie.Record record : Bookie.records(ByteBuffer.wrap(Files.readAllBytes(path)))) {
                    if (record.ledger() == ledger) {
                        found.put(record.entry(), new Position(file, record.end()));
                    }
                }
            }
        }
        return found;
    }
}
