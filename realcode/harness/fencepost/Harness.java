package fencepost;

import com.google.common.util.concurrent.WaitingAdd;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.bookie.LedgerStorage;
import org.apache.bookkeeper.client.AsyncCallback.AddCallback;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.BookKeeperAdmin;
import org.apache.bookkeeper.client.DefaultEnsemblePlacementPolicy;
import org.apache.bookkeeper.client.HeldClient;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.client.LedgerHandleAdv;
import org.apache.bookkeeper.client.Racks;
import org.apache.bookkeeper.client.api.LedgerEntries;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.conf.ClientConfiguration;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.meta.LedgerUnderreplicationManager;
import org.apache.bookkeeper.meta.ZkLedgerUnderreplicationManager;
import org.apache.bookkeeper.net.BookieId;
import org.apache.bookkeeper.replication.HeldWorker;
import org.apache.bookkeeper.versioning.LongVersion;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/**
 * Real bookies, a real ZooKeeper and real clients in one process. Each line on stdin gets one answer.
 *
 * <p>A line is a command and `name=value` pairs; an answer is a JSON object, `{"ok": …}` or `{"error": …}`. The
 * answers go to a stream of their own, which the last argument names: stdout is also the JVM's, and any library's.
 */
public final class Harness {
    private static final byte[] PASSWORD = "fencepost".getBytes(StandardCharsets.UTF_8);
    private static final Map<String, String> STORAGES = Map.of(
        "sorted", "org.apache.bookkeeper.bookie.SortedLedgerStorage",
        "interleaved", "org.apache.bookkeeper.bookie.InterleavedLedgerStorage",
        "db", "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage");

    private static final String UNDER_REPLICATED = "/ledgers/underreplication";
    private static final int QUIET_LOOKS = 10;
    /** The time in which a bookie must not answer a request that waits for a sync. */
    private static final int UNSYNCED_MILLISECONDS = 50;

    private final File folder;
    private final Post post = new Post();
    private final Map<String, HeldClient> clients = new TreeMap<>();
    private final Map<String, LedgerHandle> handles = new TreeMap<>();
    /** The adds that are made and not queued, by client and content. */
    private final Map<String, Runnable> made = new TreeMap<>();
    private final Map<String, Bookie> bookies = new TreeMap<>();
    private final Map<String, HeldWorker> workers = new TreeMap<>();
    private NIOServerCnxnFactory zooKeeper;
    private ZooKeeperServer store;
    private String metadata;
    private BookKeeper onlooker;
    private long seconds = 30;
    private long ledger = -1;
    /** The metadata of the ledger when it was deleted; null if it was not. */
    private Map<String, Object> deleted;

    private Harness(File folder) {
        this.folder = folder;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(arguments[1]), false, StandardCharsets.UTF_8);
        System.setOut(System.err);    // what Java code prints goes to the log
        Harness harness = new Harness(new File(arguments[0]));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null && !line.equals("stop"); line = in.readLine()) {
            out.println(harness.answer(line));
            out.flush();
        }
        Runtime.getRuntime().halt(0);    // the folder is temporary; the starting process deletes it
    }

    private String answer(String line) {
        try {
            String[] words = line.trim().split(" ");
            Map<String, String> given = new LinkedHashMap<>();
            for (String word : Arrays.asList(words).subList(1, words.length)) {
                int at = word.indexOf('=');
                given.put(word.substring(0, at), word.substring(at + 1));
            }
            Object found = run(words[0], given);
            return Json.write(post.failure == null ? Map.of("ok", found) : Map.of("failed", line + ": " + post.failure));
        } catch (Throwable failure) {
            failure.printStackTrace();
            Throwable cause = failure;
            while (cause.getCause() != null && cause.getMessage() == null) {
                cause = cause.getCause();
            }
            return Json.write(Map.of("error", cause.getClass().getSimpleName() + ": " + cause.getMessage()));
        }
    }

    private Object run(String command, Map<String, String> given) throws Exception {
        switch (command) {
            case "start":
                return start(given);
            case "create":
                create(given);
                break;
            case "create-again":
                createAgain(given);
                break;
            case "keep-reads":
                bookies.get(given.get("bookie")).keepsReads = true;
                break;
            case "forget":
                forget();
                return Map.of();
            case "make":
                make(given);
                return Map.of();
            case "push":
                push(given);
                break;
            case "open":
                open(given);
                break;
            case "close":
                close(given);
                break;
            case "place":
                client(given.get("client")).replacement = given.get("bookie");
                return Map.of();
            case "deliver":
                return deliver(Integer.parseInt(given.get("id")), given.getOrDefault("syncs", ""));
            case "hand":
                post.hand(Integer.parseInt(given.get("id")), null);
                break;
            case "time-out":
                post.hand(Integer.parseInt(given.get("id")), BKException.Code.TimeoutException);
                break;
            case "metadata":
                metadata(given.get("client"), Integer.parseInt(given.getOrDefault("calls", "100")),
                    Integer.parseInt(given.getOrDefault("after", "0")));
                break;
            case "worker":
                clients.get(given.get("client")).holdWorker("yes".equals(given.get("hold")));
                break;
            case "crash":
                bookies.get(given.get("bookie")).crash();
                if ("yes".equals(given.get("torn"))) {
                    bookies.get(given.get("bookie")).tearJournal(ledger);
                }
                return Map.of();
            case "shut-down":
                bookies.get(given.get("bookie")).stop();
                return Map.of();
            case "boot":
                bookies.get(given.get("bookie")).start();
                for (String worker : workers.keySet()) {
                    awaitBookies(clients.get(worker));
                }
                return Map.of();
            case "boot-unchecked":
                bookies.get(given.get("bookie")).startUnchecked();
                return Map.of();
            case "check":
                bookies.get(given.get("bookie")).check();
                return Map.of();
            case "journal":
                bookies.get(given.get("bookie")).holdJournal("yes".equals(given.get("hold")));
                if ("no".equals(given.get("hold"))) {
                    bookies.get(given.get("bookie")).drainJournal();
                }
                return Map.of();
            case "sync":
                if ("yes".equals(given.get("hold"))) {
                    bookies.get(given.get("bookie")).holdSync();
                } else {
                    bookies.get(given.get("bookie")).letSync();
                }
                return Map.of();
            case "lose-power":
                bookies.get(given.get("bookie")).losePower();
                return Map.of();
            case "force":
                force(given);
                break;
            case "learn":
                clients.get(given.get("client")).learn(ledger,
                    onlooker.getLedgerManager().readLedgerMetadata(ledger).get().getVersion(), seconds);
                break;
            case "read":
                read(given);
                break;
            case "lose-disk":
                bookies.get(given.get("bookie")).loseDisk(given.get("disk"));
                return Map.of();
            case "delete-cookie":
                remove("/ledgers/cookies/" + given.get("bookie"));
                return Map.of();
            case "suspend":
                bookies.get(given.get("bookie")).suspend();
                return Map.of();
            case "store-other":
                bookies.get(given.get("bookie")).storeOther();
                return Map.of();
            case "flush":
                bookies.get(given.get("bookie")).flush();
                return Map.of();
            case "checkpoint":
                bookies.get(given.get("bookie")).checkpoint();
                return Map.of();
            case "write-table":
                bookies.get(given.get("bookie")).writeTable();
                return Map.of();
            case "fill-disk":
                bookies.get(given.get("bookie")).fillDisk();
                return Map.of();
            case "flush-log":
                bookies.get(given.get("bookie")).flushLog();
                return Map.of();
            case "begin-log":
                bookies.get(given.get("bookie")).beginLog();
                return Map.of();
            case "begin-sample":
                bookies.get(given.get("bookie")).mark.beginSample(seconds);
                return Map.of();
            case "sample":
                bookies.get(given.get("bookie")).mark.sample(seconds);
                return Map.of();
            case "end-checkpoint":
                bookies.get(given.get("bookie")).mark.endCheckpoint();
                return Map.of();
            case "flush-directory":
                bookies.get(given.get("bookie")).mark.flush(
                    "other".equals(given.get("directory")), ledger, "yes".equals(given.get("rolls")));
                return Map.of();
            case "fail-flush":
                bookies.get(given.get("bookie")).mark.failFlush(ledger);
                return Map.of();
            case "marked-files":
                return bookies.get(given.get("bookie")).mark.files();
            case "read-lac":
                readLac(given);
                break;
            case "recover":
                recover(given);
                break;
            case "read-again":
                readAgain(given.get("client"));
                break;
            case "start-worker":
                workers.put(given.get("client"), new HeldWorker(client(given.get("client")), metadata, post));
                break;
            case "take":
                take(given);
                break;
            case "finish":
                workers.get(given.get("client")).finish(seconds);
                break;
            case "stop-worker":
                workers.get(given.get("client")).stop();
                break;
            case "end-session":
                endSession(given.get("client"));
                break;
            case "delete":
                deleted = metadataStore();
                onlooker.deleteLedger(ledger);
                break;
            case "begin-collecting":
                return Map.of("deletes", bookies.get(given.get("bookie")).beginCollecting(ledger, seconds));
            case "collect":
                bookies.get(given.get("bookie")).collect(seconds);
                return Map.of();
            case "look":
                break;
            default:
                throw new IllegalArgumentException("no command " + command);
        }
        settle();
        return look();
    }

    // Starting bookies and clients.

    private Object start(Map<String, String> given) throws Exception {
        seconds = Long.parseLong(given.getOrDefault("seconds", "30"));
        Racks.number = Integer.parseInt(given.getOrDefault("racks", "0"));
        store = new ZooKeeperServer(new File(folder, "zk"), new File(folder, "zk"), 2000);
        zooKeeper = new NIOServerCnxnFactory();
        zooKeeper.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
        zooKeeper.startup(store);
        metadata = "zk+hierarchical://127.0.0.1:" + zooKeeper.getLocalPort() + "/ledgers";
        ServerConfiguration conf = new ServerConfiguration();
        conf.setMetadataServiceUri(metadata);
        if (!BookKeeperAdmin.initNewCluster(conf)) {
            throw new IllegalStateException("the metadata store cannot be set up");
        }
        Bookie.Settings settings = new Bookie.Settings(metadata, STORAGES.get(given.get("storage")),
            !"no".equals(given.get("journal")), "yes".equals(given.get("checks")),
            Integer.parseInt(given.getOrDefault("journals", "0")), Integer.parseInt(given.getOrDefault("directories", "1")));
        String[] ports = given.getOrDefault("ports", "").split(",");
        for (int i = 1; i <= Integer.parseInt(given.get("bookies")); i++) {
            int port = ports.length >= i && !ports[i - 1].isEmpty() ? Integer.parseInt(ports[i - 1]) : freePort();
            Bookie bookie = new Bookie("b" + i, new File(folder, "b" + i), port, settings);
            bookies.put("b" + i, bookie);
            bookie.start();
        }
        onlooker = new BookKeeper(clientConfiguration());
        for (int i = 1; i < settings.journals(); i++) {
            HeldClient.skipLedger(onlooker, seconds);    // a ledger's id chooses its journal; the first ledger is on the last one
        }
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("zookeeper", org.apache.zookeeper.Version.getVersion());
        found.put("jdk", System.getProperty("java.version"));
        return found;
    }

    private static int freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private ClientConfiguration clientConfiguration() {
        ClientConfiguration conf = new ClientConfiguration();
        conf.setMetadataServiceUri(metadata);
        conf.setEnsemblePlacementPolicy(Racks.number > 0 ? Racks.class : DefaultEnsemblePlacementPolicy.class);
        conf.setEnforceMinNumFaultDomainsForWrite(Racks.number > 0);
        conf.setNumWorkerThreads(1);
        conf.setNumIOThreads(1);
        conf.setAddEntryTimeout(3600);
        conf.setReadEntryTimeout(3600);
        conf.setZkTimeout(60_000);
        conf.setThrottleValue(0);
        conf.setSpeculativeReadTimeout(3_600_000);
        conf.setFirstSpeculativeReadLACTimeout(0);
        return conf;
    }

    private HeldClient client(String name) throws Exception {
        HeldClient found = clients.get(name);
        if (found == null) {
            found = new HeldClient(name, clientConfiguration(), post);
            clients.put(name, found);
        }
        return found;
    }

    /** Removes a node of the metadata store, if it is there. */
    private void remove(String path) throws Exception {
        ZooKeeper zk = new ZooKeeper(
            "127.0.0.1:" + zooKeeper.getLocalPort(), 10_000, event -> { });
        try {
            if (zk.exists(path, false) != null) {
                zk.delete(path, -1);
            }
        } finally {
            zk.close();
        }
    }

    // Actions of applications.

    private void create(Map<String, String> given) throws Exception {
        String name = given.get("client");
        HeldClient client = client(name);
        client.ensemble = List.of(given.get("ensemble").split(","));
        int writeQuorum = Integer.parseInt(given.get("wq"));
        int ackQuorum = Integer.parseInt(given.get("aq"));
        if ("yes".equals(given.get("deferred"))) {
            created(name, BKException.Code.OK, client.createDeferred(writeQuorum, ackQuorum, PASSWORD).get(seconds, TimeUnit.SECONDS));
        } else if ("given".equals(given.get("ids"))) {
            LedgerHandle handle = client.createLedgerAdv(client.ensemble.size(), writeQuorum, ackQuorum, BookKeeper.DigestType.CRC32, PASSWORD);
            WaitingAdd.throttle(handle, LedgerHandle.class);
            created(name, BKException.Code.OK, handle);
        } else {
            client.asyncCreateLedger(client.ensemble.size(), writeQuorum, ackQuorum, BookKeeper.DigestType.CRC32, PASSWORD,
                (rc, handle, ctx) -> created(name, rc, handle), null, Map.of());
        }
        while (ledger < 0) {
            Thread.sleep(1);
        }
    }

    /** Creates a ledger with the id of the deleted one. */
    private void createAgain(Map<String, String> given) throws Exception {
        String name = given.get("client");
        HeldClient client = client(name);
        client.ensemble = List.of(given.get("ensemble").split(","));
        CompletableFuture<Integer> made = new CompletableFuture<>();
        client.asyncCreateLedgerAdv(ledger, client.ensemble.size(), Integer.parseInt(given.get("wq")),
            Integer.parseInt(given.get("aq")), BookKeeper.DigestType.CRC32, PASSWORD, (rc, handle, ctx) -> {
                if (handle != null) {
                    handles.put(name, handle);
                }
                made.complete(rc);
            }, null, Map.of());
        post.tell(name + ": created again: " + name(made.get(seconds, TimeUnit.SECONDS)));
        deleted = null;
    }

    private void created(String name, int rc, LedgerHandle handle) {
        handles.put(name, handle);
        ledger = handle.getId();
        post.tell(name + ": created: " + name(rc));
    }

    private void force(Map<String, String> given) {
        String force = given.get("client") + ": force " + given.get("number") + ": ";
        post.tell(force + "begins");
        handles.get(given.get("client")).force().whenComplete((done, failure) ->
            post.tell(force + name(failure == null ? BKException.Code.OK : BKException.getExceptionCode(failure))));
    }

    /** Reads an entry, whose number is the model's, one above the code's; or `batch` entries from it on. */
    private void read(Map<String, String> given) throws Exception {
        long entry = Long.parseLong(given.get("entry"));
        String read = given.get("client") + ": read " + entry + ": ";
        LedgerHandle handle = handles.get(given.get("client"));
        (given.containsKey("batch") ? HeldClient.readBatch(handle, entry - 1, Integer.parseInt(given.get("batch")))
            : handle.readAsync(entry - 1, entry - 1)).whenComplete((entries, failure) -> post.tell(
                read + (failure == null ? "OK:" + contents(entries) : name(BKException.getExceptionCode(failure)))));
    }

    private static String contents(LedgerEntries entries) {
        StringBuilder found = new StringBuilder();
        entries.forEach(entry -> found.append(" ").append(new String(entry.getEntryBytes(), StandardCharsets.UTF_8)));
        return found.toString();
    }

    /** Leaves the ledger and its held requests; the next ledger is created on the same bookies. */
    private void forget() throws Exception {
        for (HeldClient client : clients.values()) {
            client.holdWorker(false);
        }
        for (Bookie bookie : bookies.values()) {
            bookie.holdJournal(false);
            bookie.letSync();
            bookie.keepsReads = false;
        }
        for (Map.Entry<String, HeldWorker> worker : workers.entrySet()) {
            worker.getValue().stop();
            clients.remove(worker.getKey()).close();
            remove(ZkLedgerUnderreplicationManager.getUrLedgerZnode(UNDER_REPLICATED + "/ledgers", ledger));
        }
        workers.clear();
        settle();
        handles.clear();
        made.clear();
        post.clear();
        deleted = null;
        ledger = -1;
    }

    /** Makes an add, which is queued and sent when its content is pushed. With a given id its thread waits in the call. */
    private void make(Map<String, String> given) {
        made.put(key(given), given.containsKey("entry") ? WaitingAdd.begun(() -> addWithId(given))
            : HeldClient.make(handles.get(given.get("client")), content(given), added(given)));
    }

    private static String key(Map<String, String> given) {
        return given.get("client") + " " + given.get("content") + given.getOrDefault("again", "");
    }

    private void addWithId(Map<String, String> given) {
        ((LedgerHandleAdv) handles.get(given.get("client"))).asyncAddEntry(
            Long.parseLong(given.get("entry")) - 1, content(given), added(given), null);
    }

    private void push(Map<String, String> given) {
        Runnable waiting = made.remove(key(given));
        if (waiting != null) {
            waiting.run();
        } else if (given.containsKey("entry")) {
            addWithId(given);
        } else {
            handles.get(given.get("client")).asyncAddEntry(content(given), added(given), null);
        }
    }

    private static byte[] content(Map<String, String> given) {
        return given.get("content").getBytes(StandardCharsets.UTF_8);
    }

    private AddCallback added(Map<String, String> given) {
        String add = given.get("client") + ": add " + (given.containsKey("again") ? "again " : "") + given.get("content") + ": ";
        return (rc, handle, entry, ctx) -> post.tell(add + name(rc));
    }

    private void open(Map<String, String> given) throws Exception {
        String name = given.get("client");
        if ("v2".equals(given.get("protocol")) && !clients.containsKey(name)) {
            clients.put(name, new HeldClient(name, clientConfiguration().setUseV2WireProtocol(true), post));
        }
        HeldClient client = client(name);
        client.holdsChanges = "held".equals(given.get("changes"));
        org.apache.bookkeeper.client.AsyncCallback.OpenCallback opened = (rc, handle, ctx) -> {
            if (handle != null) {
                handles.put(name, handle);
            }
            String at = handle == null ? "" : " at " + handle.getLastAddConfirmed();
            post.tell(name + ": opened: " + name(rc) + at);
        };
        if ("no".equals(given.get("recovery"))) {
            client.asyncOpenLedgerNoRecovery(ledger, BookKeeper.DigestType.CRC32, PASSWORD, opened, null);
        } else {
            client.asyncOpenLedger(ledger, BookKeeper.DigestType.CRC32, PASSWORD, opened, null);
        }
    }

    private void close(Map<String, String> given) {
        String name = given.get("client");
        handles.get(name).asyncClose(
            (rc, handle, ctx) -> post.tell(name + ": closed: " + name(rc) + " at " + handle.getLastAddConfirmed()), null);
    }

    /**
     * Begins to copy the ledger's entries of a bookie to another, as `bookkeeper shell recover` does.
     *
     * <p>Reads of metadata are delivered until a request to a bookie is held, or the result is there.
     */
    private void recover(Map<String, String> given) throws Exception {
        String name = given.get("client");
        HeldClient client = client(name);
        awaitBookies(client);
        int since = post.size();
        int told = post.told().size();
        admin(client).asyncRecoverBookieData(ledger, Set.of(BookieId.parse(given.get("bookie"))), false, false,
            (rc, ctx) -> post.tell(name + ": recovered: " + name(rc)), null);
        Post.until(seconds, name + " has sent nothing", () -> {
            for (Held held : post.held(name, "zk")) {
                post.deliver(held.id, seconds);
                post.hand(held.id, null);
            }
            return post.copies(name, since) || post.told().size() > told;
        });
    }

    /** Marks the ledger as the auditor does, and lets the worker take it. */
    private void take(Map<String, String> given) throws Exception {
        String name = given.get("client");
        awaitBookies(client(name));
        LedgerUnderreplicationManager list =
            onlooker.getMetadataClientDriver().getLedgerManagerFactory().newLedgerUnderreplicationManager();
        list.markLedgerUnderreplicated(ledger, given.get("bookie"));
        list.close();
        workers.get(name).take(seconds);
    }

    /** Waits until the client knows which bookies are up. */
    private void awaitBookies(HeldClient client) throws Exception {
        Post.until(seconds, client.name + " has not learnt which bookies are up",
            () -> bookies.values().stream().allMatch(bookie -> client.knows(bookie.name, bookie.isUp())));
    }

    /** Ends the session of a worker in the metadata store, and waits until the worker's client has learnt it. */
    private void endSession(String name) throws Exception {
        ZooKeeper zk = clients.get(name).zooKeeper();
        long before = zk.getSessionId();
        store.closeSession(before);
        Post.until(seconds, name + " has not learnt that its session has ended",
            () -> zk.getSessionId() != before && zk.getState().isConnected() && workers.get(name).hasLearnt());
        awaitBookies(clients.get(name));
    }

    /**
     * Delivers a metadata write that fails, and the read that follows from it.
     *
     * <p>A handle may have been told of the change before it wrote. Then there is no such write.
     */
    private void readAgain(String name) throws Exception {
        settle();
        long now = ((LongVersion) onlooker.getLedgerManager().readLedgerMetadata(ledger).get().getVersion()).getLongVersion();
        if (post.held(name, "zk").stream().anyMatch(held -> held.kind.equals("write-metadata") && held.replaces < now)) {
            metadata(name, 2, 0);
        }
    }

    /** Since 4.17 only an administrator with a configuration has a LedgerFragmentReplicator. */
    private BookKeeperAdmin admin(BookKeeper client) throws Exception {
        try {
            return BookKeeperAdmin.class.getConstructor(BookKeeper.class, ClientConfiguration.class)
                .newInstance(client, clientConfiguration());
        } catch (NoSuchMethodException before) {
            return new BookKeeperAdmin(client);
        }
    }

    private void readLac(Map<String, String> given) {
        String name = given.get("client");
        handles.get(name).asyncTryReadLastConfirmed(
            (rc, lac, ctx) -> post.tell(name + ": last add confirmed: " + name(rc) + " " + lac), null);
    }

    /**
     * Delivers a request and returns its answer.
     *
     * <p>The journal of the bookie that is given may sync only after a moment. `early` says whether the request has
     * been answered before.
     */
    private Object deliver(int id, String syncs) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        post.begin(id);
        if (!syncs.isEmpty()) {
            Thread.sleep(UNSYNCED_MILLISECONDS);
            found.put("early", post.isAnswered(id));
            bookies.get(syncs).letSync();
        }
        post.await(id, seconds);
        found.put("answer", name(post.get(id).rc));
        return found;
    }

    /**
     * Delivers calls to the metadata store, and the calls that follow from them, `calls` at most.
     *
     * <p>The first `after` calls stay held.
     */
    private void metadata(String client, int calls, int after) throws Exception {
        for (int made = 0; made < calls; made++) {
            settle();
            List<Held> held = post.held(client, "zk");
            if (held.size() <= after) {
                return;
            }
            post.deliver(held.get(after).id, seconds);
            post.hand(held.get(after).id, null);
        }
    }

    // Observations at rest.

    /**
     * Waits until nothing happens any more.
     *
     * <p>Threads hand work to each other, so it is not enough that each was idle once.
     */
    private void settle() throws Exception {
        long before = -1;
        for (int quiet = 0; quiet < QUIET_LOOKS; quiet = post.activity() == before && post.quiet() ? quiet + 1 : 0) {
            before = post.activity();
            for (HeldClient client : clients.values()) {
                client.drain(seconds);
            }
        }
    }

    private Map<String, Object> look() throws Exception {
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("requests", post.fresh().stream().map(Harness::request).toList());
        seen.put("told", post.told());
        seen.put("metadata", ledger < 0 ? Map.of() : deleted != null ? deleted : metadataStore());
        Map<String, Object> insides = new LinkedHashMap<>();
        for (Bookie bookie : bookies.values()) {
            insides.put(bookie.name, bookie.isUp() ? inside(bookie) : Map.of("up", false));
        }
        seen.put("bookies", insides);
        Map<String, Object> lacs = new LinkedHashMap<>();
        handles.forEach((name, handle) -> lacs.put(name, handle.getLastAddConfirmed()));
        seen.put("lacs", lacs);
        Map<String, Object> readers = new TreeMap<>();
        handles.forEach((name, handle) -> {
            if (clients.get(name).holdsChanges) {
                readers.put(name, Map.of("closed", handle.isClosed(), "fragments", fragments(handle.getLedgerMetadata())));
            }
        });
        if (!readers.isEmpty()) {
            seen.put("readers", readers);
        }
        if (!workers.isEmpty() && ledger >= 0) {
            seen.put("locked", isLocked());
        }
        return seen;
    }

    /** Whether the ledger's lock in the list of under-replicated ledgers is there. */
    private boolean isLocked() {
        String path = ZkLedgerUnderreplicationManager.getUrLedgerLockZnode(UNDER_REPLICATED + "/locks", ledger);
        return store.getZKDatabase().getNode(path) != null;
    }

    private static List<Object> fragments(LedgerMetadata metadata) {
        List<Object> fragments = new ArrayList<>();
        metadata.getAllEnsembles().forEach((first, ensemble) -> fragments.add(
            Map.of("first", first, "ensemble", ensemble.stream().map(Object::toString).toList())));
        return fragments;
    }

    private static Map<String, Object> request(Held held) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("id", held.id);
        found.put("client", held.client);
        found.put("kind", held.kind);
        found.put("to", held.to);
        found.put("entry", held.entry);
        found.put("lac", held.lac);
        found.put("content", held.content);
        return found;
    }

    private Map<String, Object> metadataStore() throws Exception {
        LedgerMetadata now = onlooker.getLedgerManager().readLedgerMetadata(ledger).get().getValue();
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("state", now.getState().toString());
        found.put("last", now.isClosed() ? now.getLastEntryId() : -1L);
        found.put("length", now.getLength());
        found.put("fragments", fragments(now));
        return found;
    }

    private Map<String, Object> inside(Bookie bookie) throws Exception {
        LedgerStorage storage = bookie.storage();
        boolean fenced;
        try {
            fenced = storage.isFenced(ledger);
        } catch (Exception unknownLedger) {
            fenced = false;
        }
        bookie.emptyReadCache();
        List<Object> entries = new ArrayList<>();
        for (long entry = 0; entry < 8 && storage.ledgerExists(ledger); entry++) {    // a bookie asks so before it reads
            try {
                io.netty.buffer.ByteBuf found = storage.getEntry(ledger, entry);
                byte[] payload = new byte[found.readableBytes() - 40];
                found.getBytes(found.readerIndex() + 40, payload);
                entries.add(Map.of("entry", entry, "lac", found.getLong(found.readerIndex() + 16),
                    "content", new String(payload, StandardCharsets.UTF_8)));
                found.release();
            } catch (Exception absent) {
                continue;
            }
        }
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("up", true);
        seen.put("lac", lastAddConfirmed(storage));
        seen.put("fenced", fenced);
        seen.put("limbo", bookie.isInLimbo(ledger));
        seen.put("entries", entries);
        if (bookie.settings().journals() > 0) {
            seen.put("unsafe", bookie.mark.unsafe(ledger, entries.stream().map(e -> (Long) ((Map<?, ?>) e).get("entry")).toList()));
            seen.put("mark file gone", bookie.mark.isFileGone());
        }
        return seen;
    }

    /** Returns the LAC that the bookie tells readers: the highest that came with an add. */
    private long lastAddConfirmed(LedgerStorage storage) {
        try {
            return storage.getLastAddConfirmed(ledger);
        } catch (Exception unknownLedger) {
            return -1;
        }
    }

    private static String name(int rc) {
        return rc == BKException.Code.OK ? "OK" : BKException.create(rc).getClass().getSimpleName().substring(2);
    }
}
