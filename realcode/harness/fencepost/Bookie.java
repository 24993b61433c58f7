package fencepost;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.util.concurrent.EventExecutor;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.apache.bookkeeper.bookie.CheckpointSource;
import org.apache.bookkeeper.bookie.EntryMemTable;
import org.apache.bookkeeper.bookie.GarbageCollector;
import org.apache.bookkeeper.bookie.LedgerStorage;
import org.apache.bookkeeper.bookie.SortedLedgerStorage;
import org.apache.bookkeeper.common.component.LifecycleComponentStack;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.discover.RegistrationManager;
import org.apache.bookkeeper.meta.LedgerManager;
import org.apache.bookkeeper.meta.LedgerManagerFactory;
import org.apache.bookkeeper.server.Main;
import org.apache.bookkeeper.server.conf.BookieConfiguration;
import org.apache.bookkeeper.server.service.BookieService;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.apache.bookkeeper.stats.StatsLogger;

/** One real bookie, which is started as by `bookkeeper bookie`, crashed, restarted and observed. */
final class Bookie {
    private static final int HEADER = 512;    // bytes of a journal file
    final String name;
    private final File folder;
    private final int port;
    private final Settings settings;
    private LifecycleComponentStack server;
    private AutoCloseable driver;    // the metadata driver of a boot without its check, which the server does not close
    private CountDownLatch readable = new CountDownLatch(0);
    private CountDownLatch down = new CountDownLatch(0);    // while it is up, phase two waits
    boolean keepsReads;    // whether its read cache keeps what was read
    private CountDownLatch deletion = new CountDownLatch(0);    // while it is up, the collector does not delete
    private Future<?> collection;
    private boolean holdsJournal;
    private Thread syncs;    // the thread that syncs the journal, while it is held
    private long others;
    final JournalMark mark = new JournalMark(this);

    /**
     * The settings that all bookies have in common.
     *
     * <p>With `journals` above 0 the journal's mark is driven: there are as many journals, files of the smallest size,
     * and no file is kept behind the mark.
     */
    record Settings(String metadata, String storage, boolean journal, boolean checks, int journals, int directories) { }

    Bookie(String name, File folder, int port, Settings settings) {
        this.name = name;
        this.folder = folder;
        this.port = port;
        this.settings = settings;
    }

    boolean isUp() {
        return server != null;
    }

    void start() throws Exception {
        start(Main.buildBookieServer(new BookieConfiguration(configuration())));
    }

    /** Boots, and keeps phase one of the data integrity check from reading metadata until `check` (since 4.15). */
    void startUnchecked() throws Exception {
        readable = new CountDownLatch(1);
        ServerConfiguration conf = configuration();
        driver = (AutoCloseable) Class.forName("org.apache.bookkeeper.bookie.BookieResources")
            .getMethod("createMetadataDriver", ServerConfiguration.class, StatsLogger.class)
            .invoke(null, conf, NullStatsLogger.INSTANCE);
        LifecycleComponentStack built;
        try {
            built = unchecked(conf);
        } catch (Exception failure) {
            closeDriver();
            throw failure;
        }
        start(built);
    }

    /** Builds a server over our own metadata driver, in which ledgers cannot be listed before `check`. */
    private LifecycleComponentStack unchecked(ServerConfiguration conf) throws Exception {
        Object builder = Class.forName("org.apache.bookkeeper.server.EmbeddedServer")
            .getMethod("builder", BookieConfiguration.class).invoke(null, new BookieConfiguration(conf));
        LedgerManagerFactory factory = held((LedgerManagerFactory) call(driver, "getLedgerManagerFactory"), readable);
        builder.getClass().getMethod("registrationManager", RegistrationManager.class)
            .invoke(builder, call(driver, "createRegistrationManager"));
        builder.getClass().getMethod("ledgerManagerFactory", LedgerManagerFactory.class).invoke(builder, factory);
        return (LifecycleComponentStack) call(call(builder, "build"), "getLifecycleComponentStack");
    }

    /** Closes the ZooKeeper session of our own driver: while it is open, the name of the bookie stays taken. */
    private void closeDriver() throws Exception {
        if (driver != null) {
            driver.close();
            driver = null;
        }
    }

    /** Lets phase one read metadata, and waits until it is over. */
    void check() throws Exception {
        readable.countDown();
        Object phaseOne = field(field(component("DataIntegrityService"), "check"), "preBootFuture");
        if (phaseOne == null) {
            throw new IllegalStateException(name + " has not begun phase one");
        }
        ((Future<?>) phaseOne).get(30, TimeUnit.SECONDS);
    }

    /** A list of ledgers that cannot be read until the latch is down. */
    private static LedgerManagerFactory held(LedgerManagerFactory real, CountDownLatch readable) {
        return proxy(LedgerManagerFactory.class, (ignored, method, arguments) -> {
            Object found = method.invoke(real, arguments);
            if (!method.getName().equals("newLedgerManager")) {
                return found;
            }
            return proxy(LedgerManager.class, (unused, asked, given) -> {
                if (asked.getName().equals("getLedgerRanges")) {
                    readable.await();
                }
                return asked.invoke(found, given);
            });
        });
    }

    static <T> T proxy(Class<T> type, java.lang.reflect.InvocationHandler handler) {
        return type.cast(java.lang.reflect.Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    /**
     * Starts a server. A bookie that does not start is down afterwards.
     *
     * <p>It has shut down its own storage, and reading a RocksDB that is closed ends the process.
     */
    private void start(LifecycleComponentStack built) throws Exception {
        server = built;
        keepsReads = false;
        boolean runs = false;
        try {
            holdPhaseTwo();
            server.start();
            runs = (Boolean) call(service().getServer().getBookie(), "isRunning");
        } finally {
            if (!runs) {
                stop();
            }
        }
        if (!runs) {
            throw new IllegalStateException(name + " does not start");
        }
    }

    /**
     * Keeps phase two of the data integrity check from running while the bookie is up.
     *
     * <p>It would recover the ledgers in limbo, and close them, in threads that no command waits for.
     */
    private void holdPhaseTwo() throws Exception {
        down = new CountDownLatch(1);
        CountDownLatch held = down;
        for (Object component : components("DataIntegrityService")) {
            ((ExecutorService) field(component, "scheduler")).submit(() -> {
                held.await();
                return null;
            });
        }
    }

    /** Shuts down as an operator does: data in memory is flushed. */
    void stop() throws Exception {
        try {
            stopListening();
            server.close();
        } finally {
            down.countDown();
            server = null;
            closeDriver();
        }
    }

    /**
     * Asks the threads of the network to close the listening socket, which they do before they end.
     *
     * <p>Without this the port of a bookie that is down may stay taken. BookKeeper leaves the socket to Netty, and
     * Netty 4.2 does not close it if the shutdown is asked for late in a round of the thread
     * (SingleThreadIoEventLoop.run). Netty 4.1 does, and its oldest versions cannot list the channels.
     */
    private void stopListening() throws Exception {
        Object netty = field(service().getServer(), "nettyServer");
        for (String group : List.of("acceptorGroup", "eventLoopGroup")) {
            for (EventExecutor loop : loops(netty, group)) {
                if (!loop.isShuttingDown()) {
                    loop.execute(() -> closeServerChannels(loop));
                }
            }
        }
    }

    private static Iterable<EventExecutor> loops(Object netty, String group) throws Exception {
        try {
            return (EventLoopGroup) field(netty, group);
        } catch (NoSuchFieldException notInThisRelease) {
            return List.of();
        }
    }

    private static void closeServerChannels(EventExecutor loop) {
        try {
            for (Iterator<?> found = (Iterator<?>) call(loop, "registeredChannelsIterator"); found.hasNext();) {
                if (found.next() instanceof ServerChannel channel) {
                    channel.close();
                }
            }
        } catch (Exception notInThisNetty) {
            return;
        }
    }

    /**
     * Ends as a killed process does: data that is not in a file is lost.
     *
     * <p>A journal that is not held writes its queue first. The answer that an entry is missing does not wait for the
     * fence's record (ReadEntryProcessorV3), and chance would decide whether the record comes before the end.
     */
    void crash() throws Exception {
        if (!holdsJournal && syncs == null) {
            drainJournal();
        }
        Path kept = folder.toPath().resolveSibling(name + ".kept");
        copy(folder.toPath(), kept);
        holdJournal(false);
        letSync();
        mark.forget();
        stop();
        delete(folder.toPath());
        Files.move(kept, folder.toPath());
    }

    /** Ends as a process on a machine that loses power does: the journal has the records of the last sync. */
    void losePower() throws Exception {
        crash();
        delete(folder.toPath().resolve("journal"));
        copy(synced(), folder.toPath().resolve("journal"));
    }

    /** Syncs the journal, and keeps it from syncing what it writes afterwards. */
    @SuppressWarnings({"deprecation", "removal"})
    void holdSync() throws Exception {
        letSync();
        drainJournal();
        Thread thread = (Thread) field(((List<?>) field(service().getServer().getBookie(), "journals")).get(0), "forceWriteThread");
        while (thread.getState() != Thread.State.WAITING) {    // it holds no lock then
            Thread.sleep(1);
        }
        thread.suspend();
        syncs = thread;
        if (Files.exists(synced())) {
            delete(synced());
        }
        copy(folder.toPath().resolve("journal"), synced());
    }

    /** Lets the journal sync. */
    @SuppressWarnings({"deprecation", "removal"})
    void letSync() {
        if (syncs != null) {
            syncs.resume();
            syncs = null;
        }
    }

    private Path synced() {
        return folder.toPath().resolveSibling(name + ".synced");
    }

    /** Empties a disk: journal, ledger or index. */
    void loseDisk(String disk) throws IOException {
        delete(folder.toPath().resolve(disk));
    }

    /** Stops the journal from writing, or lets it go on. */
    @SuppressWarnings({"deprecation", "removal"})
    void holdJournal(boolean hold) {
        holdsJournal = hold;
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("BookieJournal-" + port)) {
                if (hold) {
                    thread.suspend();
                } else {
                    thread.resume();
                }
            }
        }
    }

    /** Makes the bookie hang: it answers no more requests. */
    void suspend() throws Exception {
        call(service().getServer(), "suspendProcessing");
    }

    /**
     * Cuts the ledger's first entry and everything after it from the journal of a crashed bookie.
     *
     * <p>The process then seems to have ended between two records.
     */
    void tearJournal(long ledger) throws IOException {
        try (Stream<Path> found = Files.walk(folder.toPath().resolve("journal"))) {
            for (Path path : (Iterable<Path>) found.filter(p -> p.toString().endsWith(".txn"))::iterator) {
                byte[] bytes = Files.readAllBytes(path);
                int torn = firstEntry(ByteBuffer.wrap(bytes), ledger);
                Arrays.fill(bytes, torn, bytes.length, (byte) 0);
                Files.write(path, bytes);
            }
        }
    }

    /** Returns the position of the record of the ledger's first entry in a journal file, or of the end of the records. */
    private static int firstEntry(ByteBuffer journal, long ledger) {
        int end = HEADER;
        for (Record found : records(journal)) {
            if (found.ledger() == ledger && found.entry() >= 0) {
                return found.start();
            }
            end = found.end();
        }
        return end;
    }

    /** A record in a journal file: its ledger, its entry (below 0 if it is something else) and its place. */
    record Record(long ledger, long entry, int start, int end) { }

    /** Returns the records of a journal file in their order. */
    static List<Record> records(ByteBuffer journal) {
        List<Record> found = new ArrayList<>();
        int at = HEADER;
        while (at + 4 <= journal.capacity() && journal.getInt(at) != 0) {
            int length = journal.getInt(at);
            if (length == -0x100) {    // padding
                at += 8 + journal.getInt(at + 4);
            } else {
                found.add(new Record(journal.getLong(at + 4), journal.getLong(at + 4 + 8), at, at + 4 + length));
                at += 4 + length;
            }
        }
        return found;
    }

    /** Waits until the journal has written its queue. */
    void drainJournal() throws Exception {
        CountDownLatch written = new CountDownLatch(1);
        service().getServer().getBookie().forceLedger(0, (rc, ledger, entry, address, ctx) -> written.countDown(), null);
        if (!written.await(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException(name + ": its journal has not written for 30 s");
        }
    }

    /** Stores an entry of another ledger, so that the bookie is busy. */
    void storeOther() throws Exception {
        storeOther(Integer.MAX_VALUE, 16);
    }

    /** Stores an entry of another ledger, with so many bytes of content. */
    void storeOther(long other, int size) throws Exception {
        ByteBuf entry = Unpooled.buffer().writeLong(other).writeLong(others++).writeLong(-1).writeBytes(new byte[size]);
        CountDownLatch stored = new CountDownLatch(1);
        service().getServer().getBookie().addEntry(entry, false,
            (rc, ledger, id, address, ctx) -> stored.countDown(), null, new byte[20]);
        if (!stored.await(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException(name + ": an entry was not stored for 30 s");
        }
    }

    /** Flushes as SyncThread does before a clean stop and after a replay. */
    void flush() throws Exception {
        ((Future<?>) call(field(service().getServer().getBookie(), "syncThread"), "requestFlush")).get();
        cleanUp();
    }

    /** Waits until DbLedgerStorage has removed the deleted ledgers from its indexes, in a thread of its own. */
    private void cleanUp() throws Exception {
        if (isDb()) {
            ((ExecutorService) field(folderStorage(), "cleanupExecutor")).submit(() -> { }).get();
        }
    }

    /**
     * Empties the read cache of DbLedgerStorage, as reads of other ledgers do in time.
     *
     * <p>It keeps entries that have been read, also those that the bookie has deleted or dropped since.
     */
    void emptyReadCache() throws Exception {
        if (!isDb() || keepsReads) {
            return;
        }
        for (Object directory : (List<?>) field(storage(), "ledgerStorageList")) {
            emptyReadCache(field(directory, "readCache"));
        }
    }

    private static void emptyReadCache(Object cache) throws Exception {
        Method put = cache.getClass().getMethod("put", long.class, long.class, ByteBuf.class);
        ByteBuf other = Unpooled.wrappedBuffer(new byte[(int) field(cache, "segmentSize")]);
        for (long entry = 0; entry < ((List<?>) field(cache, "cacheSegments")).size(); entry++) {
            put.invoke(cache, Integer.MAX_VALUE, entry, other);
        }
    }

    /**
     * Takes a checkpoint.
     *
     * <p>DbLedgerStorage takes one every flushInterval, the others when an entry log or a memory table is full. With
     * InterleavedLedgerStorage the entry log is filled first.
     */
    void checkpoint() throws Exception {
        if (settings.storage().endsWith("InterleavedLedgerStorage")) {
            beginLog();
        }
        Object sync = field(service().getServer().getBookie(), "syncThread");
        Object mark = call(field(sync, "checkpointSource"), "newCheckpoint");
        Method method = sync.getClass().getMethod("checkpoint",
            Class.forName("org.apache.bookkeeper.bookie.CheckpointSource$Checkpoint"));
        method.setAccessible(true);
        method.invoke(sync, mark);
        ((ExecutorService) field(sync, "executor")).submit(() -> { }).get();    // the checkpoint that a full entry log asked for
        cleanUp();
    }

    // The entry log, a file behind a buffer.

    private Object logs() throws Exception {
        return call(field(folderStorage(), "entryLogger"), "getEntryLogManager");
    }

    /** Begins another entry log. */
    void beginLog() throws Exception {
        Object logs = logs();
        Method full = logs.getClass().getDeclaredMethod("createNewLog", long.class);
        full.setAccessible(true);
        full.invoke(logs, -1L);
    }

    /** Writes the memory table of SortedLedgerStorage to the buffer of the entry log. */
    void writeTable() throws Exception {
        EntryMemTable table = (EntryMemTable) field(storage(), "memTable");
        table.flush((SortedLedgerStorage) storage(), CheckpointSource.Checkpoint.MAX);
    }

    /** Flushes the entry log; with DbLedgerStorage also the write cache, which has an entry of another ledger. */
    void flushLog() throws Exception {
        if (isDb()) {
            storeOther();
            ((LedgerStorage) folderStorage()).flush();
        } else {
            call(field(folderStorage(), "entryLogger"), "flush");
        }
    }

    /**
     * Flushes the entry log on a disk that has room for the first byte of its buffer.
     *
     * <p>All writes of the flush go to a disk without room. It fails and keeps its buffer. The byte is written to the
     * file then, before anything else looks at it.
     */
    void fillDisk() throws Exception {
        if (field(logs(), "activeLogChannel") == null) {
            beginLog();
        }
        Object log = field(logs(), "activeLogChannel");
        FileChannel real = (FileChannel) field(log, "fileChannel");
        try (FileChannel full = FileChannel.open(Path.of("/dev/full"), StandardOpenOption.WRITE)) {
            set(log, "fileChannel", full);
            flushLog();
        } catch (IOException | InvocationTargetException planted) {
            ByteBuf buffer = (ByteBuf) field(log, "writeBuffer");
            real.write(buffer.nioBuffer(0, 1));
            return;
        } finally {
            set(log, "fileChannel", real);
        }
        throw new IllegalStateException(name + ": the flush does not fail");
    }

    /**
     * Runs the collector of over-replicated ledgers until it deletes the ledger, and holds the deletion.
     *
     * <p>It then has the ledger's lock, and has read metadata that does not name this bookie. Returns whether it
     * deletes; if not, it has ended.
     */
    boolean beginCollecting(long ledger, long seconds) throws Exception {
        Object thread = collectorThread();
        GarbageCollector collector = (GarbageCollector) field(thread, "garbageCollector");
        GarbageCollector.GarbageCleaner cleaner = (GarbageCollector.GarbageCleaner) field(thread, "garbageCleaner");
        Field last = collector.getClass().getDeclaredField("lastOverReplicatedLedgerGcTimeMillis");
        last.setAccessible(true);
        last.set(collector, 0L);    // the collector's interval, one day, is over
        CountDownLatch found = new CountDownLatch(1);
        CountDownLatch goes = new CountDownLatch(1);
        AtomicBoolean deletes = new AtomicBoolean();
        deletion = goes;
        ExecutorService runner = Executors.newSingleThreadExecutor();
        collection = runner.submit(() -> {
            try {
                collector.gc(id -> {
                    if (id == ledger) {
                        deletes.set(true);
                        found.countDown();
                        await(goes);
                        cleaner.clean(id);    // other ledgers of the bookie stay
                    }
                });
            } finally {
                found.countDown();
            }
        });
        runner.shutdown();
        if (!found.await(seconds, TimeUnit.SECONDS)) {
            throw new IllegalStateException(name + ": its collector has not ended for " + seconds + " s");
        }
        return deletes.get();
    }

    /** Lets the collector delete the ledger, and waits until it has ended. */
    void collect(long seconds) throws Exception {
        deletion.countDown();
        collection.get(seconds, TimeUnit.SECONDS);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    private Object collectorThread() throws Exception {
        return field(folderStorage(), "gcThread");
    }

    Object real() throws Exception {
        return service().getServer().getBookie();
    }

    Settings settings() {
        return settings;
    }

    Path folder() {
        return folder.toPath();
    }

    private boolean isDb() {
        return settings.storage().endsWith("DbLedgerStorage");
    }

    /** Returns the storage of the bookie's only folder of ledgers. */
    private Object folderStorage() throws Exception {
        Object storage = storage();
        if (storage instanceof SortedLedgerStorage) {
            return field(storage, "interleavedLedgerStorage");
        }
        return isDb() ? ((List<?>) field(storage, "ledgerStorageList")).get(0) : storage;
    }

    LedgerStorage storage() throws Exception {
        return (LedgerStorage) field(service().getServer().getBookie(), "ledgerStorage");
    }

    boolean isInLimbo(long ledger) throws Exception {
        try {
            Method method = LedgerStorage.class.getMethod("hasLimboState", long.class);    // 4.15
            return (Boolean) method.invoke(storage(), ledger);
        } catch (NoSuchMethodException | java.lang.reflect.InvocationTargetException none) {
            return false;
        }
    }

    private BookieService service() throws Exception {
        return (BookieService) component("BookieService");
    }

    private Object component(String type) throws Exception {
        return components(type).stream().findFirst().orElseThrow(
            () -> new IllegalStateException(name + ": no " + type + " in this release, so set up"));
    }

    private List<?> components(String type) throws Exception {
        return ((List<?>) field(server, "components")).stream()
            .filter(component -> component.getClass().getSimpleName().equals(type)).toList();
    }

    private ServerConfiguration configuration() {
        ServerConfiguration conf = new ServerConfiguration();
        conf.setMetadataServiceUri(settings.metadata());
        conf.setBookieId(name);
        conf.setBookiePort(port);
        conf.setListeningInterface("lo");
        conf.setAllowLoopback(true);
        conf.setAdvertisedAddress("127.0.0.1");
        conf.setJournalDirsName(paths("journal", settings.journals()));
        conf.setLedgerDirNames(paths("ledger", settings.directories()));
        conf.setIndexDirName(paths("index", settings.directories()));
        if (settings.journals() > 0) {
            conf.setProperty("journalMaxSizeMB", 1);
            conf.setProperty("journalMaxBackups", 0);
        }
        conf.setLedgerStorageClass(settings.storage());
        conf.setProperty("journalWriteData", settings.journal());
        conf.setProperty("dataIntegrityCheckingEnabled", settings.checks());
        conf.setProperty("dataIntegrityChecking", settings.checks());
        conf.setProperty("dataIntegrityStampMissingCookies", settings.checks());
        conf.setFlushInterval(3_600_000);
        conf.setDiskUsageThreshold(0.999f);
        conf.setDiskUsageWarnThreshold(0.998f);
        conf.setMinUsableSizeForEntryLogCreation(1);
        conf.setAllowMultipleDirsUnderSameDiskPartition(true);
        conf.setEntryLogFilePreAllocationEnabled(false);
        conf.setProperty("journalPreAllocSizeMB", 1);
        conf.setProperty("dbStorage_writeCacheMaxSizeMb", settings.journals() > 0 ? 64 : 4);
        conf.setProperty("dbStorage_readAheadCacheMaxSizeMb", 4);
        conf.setProperty("serverNumIOThreads", 1);
        conf.setHttpServerEnabled(false);
        conf.setAutoRecoveryDaemonEnabled(false);
        conf.setProperty("enableStatistics", false);
        return conf;
    }

    /** Makes the folders of a part, one if the number is 0: `journal`, `journal2` and so on. */
    private String[] paths(String part, int number) {
        String[] made = new String[Math.max(1, number)];
        for (int i = 0; i < made.length; i++) {
            File folderOfPart = new File(folder, i == 0 ? part : part + (i + 1));
            folderOfPart.mkdirs();
            made[i] = folderOfPart.getPath();
        }
        return made;
    }

    static Object field(Object object, String name) throws Exception {
        return declared(object, name).get(object);
    }

    private static Field declared(Object object, String name) throws NoSuchFieldException {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException above) {
                continue;
            }
        }
        throw new NoSuchFieldException(object.getClass() + "." + name);
    }

    static void set(Object object, String name, Object value) throws Exception {
        declared(object, name).set(object, value);
    }

    static Object call(Object object, String name) throws Exception {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Method method = type.getDeclaredMethod(name);
                method.setAccessible(true);
                return method.invoke(object);
            } catch (NoSuchMethodException above) {
                continue;
            }
        }
        throw new NoSuchMethodException(object.getClass() + "." + name);
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> found = Files.walk(from)) {
            for (Path path : (Iterable<Path>) found::iterator) {
                Files.copy(path, to.resolve(from.relativize(path)));
            }
        }
    }

    static void delete(Path root) throws IOException {
        if (!Files.exists(root)) {
            return;
        }
        try (Stream<Path> found = Files.walk(root)) {
            for (Path path : (Iterable<Path>) found.sorted(Comparator.reverseOrder())::iterator) {
                Files.delete(path);
            }
        }
    }
}
