import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.BookKeeperAdmin;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.conf.ClientConfiguration;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.net.BookieId;
import org.apache.bookkeeper.proto.BookieClient;

/**
 * An ordinary program: several threads add entries to a ledger as fast as the client lets them.
 *
 * <p>It holds nothing and changes nothing. It counts the adds that are never answered, and looks for the copies of
 * each entry that was acknowledged. `init URI` sets up the cluster. Otherwise the arguments are the URI, E, WQ, AQ, the
 * client's throttle, the threads and the most adds under way at a time (0: no limit), the client's
 * addEntryQuorumTimeoutSec, and the file for its answers, one for each line on stdin: `bookies`, `begin`, `end`.
 */
public final class PlainClient {
    private static final byte[] PASSWORD = "plain".getBytes(StandardCharsets.UTF_8);
    private static final int READS = 500;    // at a time
    private static final int WARM = 200;    // entries before the fault
    /** No answer for so long, with all bookies up, is no answer ever. The time-out of an add is 5 s. */
    private static final long SILENCE_MILLISECONDS = 15_000;

    private final BookKeeper client;
    private final int[] quorums;
    private final int threads;
    private final int most;

    private PlainClient(BookKeeper client, int[] quorums, int threads, int most) {
        this.client = client;
        this.quorums = quorums;
        this.threads = threads;
        this.most = most;
    }

    public static void main(String[] given) throws Exception {
        if (given[0].equals("init")) {
            ServerConfiguration conf = new ServerConfiguration();
            conf.setMetadataServiceUri(given[1]);
            System.exit(BookKeeperAdmin.initNewCluster(conf) ? 0 : 1);
        }
        ClientConfiguration conf = new ClientConfiguration();
        conf.setMetadataServiceUri(given[0]);
        conf.setThrottleValue(Integer.parseInt(given[4]));
        conf.setAddEntryQuorumTimeout(Integer.parseInt(given[7]));
        int[] quorums = {Integer.parseInt(given[1]), Integer.parseInt(given[2]), Integer.parseInt(given[3])};
        PlainClient program = new PlainClient(new BookKeeper(conf), quorums, Integer.parseInt(given[5]), Integer.parseInt(given[6]));
        PrintStream out = new PrintStream(new FileOutputStream(given[8]), true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Trial trial = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line) {
                case "bookies":
                    out.println(answer("bookies", "" + new BookKeeperAdmin(program.client).getAvailableBookies().size()));
                    break;
                case "begin":
                    trial = program.new Trial();
                    out.println(answer("ensemble", trial.begin()));
                    break;
                default:
                    out.println(answer("found", trial.end()));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static String answer(String name, String text) {
        return "{\"ok\": {\"" + name + "\": \"" + text + "\"}}";
    }

    /** One ledger, from its creation to the count of its copies. */
    private final class Trial {
        private final Queue<Long> acked = new ConcurrentLinkedQueue<>();
        private final AtomicLong called = new AtomicLong();
        private final AtomicLong answered = new AtomicLong();
        private final Map<String, AtomicLong> errors = new ConcurrentHashMap<>();
        private final List<Thread> adding = new ArrayList<>();
        private final Semaphore underWay = new Semaphore(most == 0 ? Integer.MAX_VALUE : most);
        private LedgerHandle ledger;
        private List<BookieId> first;
        private volatile boolean goesOn = true;

        /** Creates the ledger and begins to add; returns the bookies of its ensemble. */
        String begin() throws Exception {
            ledger = client.createLedger(quorums[0], quorums[1], quorums[2], BookKeeper.DigestType.CRC32C, PASSWORD);
            for (int i = 0; i < threads; i++) {
                adding.add(new Thread(this::add));
                adding.get(i).setDaemon(true);
                adding.get(i).start();
            }
            first = fragments().firstEntry().getValue();
            while (acked.size() < WARM) {
                Thread.sleep(10);
            }
            return String.join(" ", first.stream().map(BookieId::toString).toList());
        }

        private void add() {
            byte[] content = new byte[100];
            while (goesOn) {
                try {
                    if (!underWay.tryAcquire(100, TimeUnit.MILLISECONDS)) {
                        continue;
                    }
                } catch (InterruptedException ended) {
                    return;
                }
                called.incrementAndGet();
                ledger.asyncAddEntry(content, (rc, handle, entry, context) -> {
                    if (rc == BKException.Code.OK) {
                        acked.add(entry);
                    } else {
                        errors.computeIfAbsent(BKException.getMessage(rc), name -> new AtomicLong()).incrementAndGet();
                        goesOn = false;
                    }
                    answered.incrementAndGet();
                    underWay.release();
                }, null);
            }
        }

        /** Ends the adds, and returns what became of them. All bookies are up. */
        String end() throws Exception {
            goesOn = false;
            for (Thread thread : adding) {
                thread.join(SILENCE_MILLISECONDS);
            }
            long seen = -1;
            while (answered.get() < called.get() && answered.get() != seen) {
                seen = answered.get();
                for (long waited = 0; waited < SILENCE_MILLISECONDS && answered.get() < called.get() && answered.get() == seen; waited += 100) {
                    Thread.sleep(100);
                }
            }
            long waiting = called.get() - answered.get();
            String head = waiting > 0 ? head() : "-";
            NavigableMap<Long, List<BookieId>> fragments = fragments();
            long[] found = copies(fragments);
            return "acked=" + acked.size() + " waiting=" + waiting + " errors=" + errors.toString().replace(" ", "")
                + " changed=" + (fragments.lastEntry().getValue().equals(first) ? 0 : 1) + " below_wq=" + found[0] + " below_aq=" + found[1] + " nowhere=" + found[2] + " head=" + head;
        }

        private NavigableMap<Long, List<BookieId>> fragments() throws Exception {
            return new TreeMap<>(client.getLedgerManager().readLedgerMetadata(ledger.getId()).get().getValue().getAllEnsembles());
        }

        /** Returns whether the oldest add that waits was sent to the ensemble of the metadata: `new`, or `old`. */
        private String head() throws Exception {
            Object first = ((Iterable<?>) field(ledger, "pendingAddOps")).iterator().next();
            return field(first, "ensemble").equals(fragments().lastEntry().getValue()) ? "new" : "old";
        }

        /** Counts the acked entries with fewer than WQ, fewer than AQ, and no copies on the bookies that the metadata names. */
        private long[] copies(NavigableMap<Long, List<BookieId>> fragments) throws Exception {
            Method method = BookKeeper.class.getDeclaredMethod("getBookieClient");
            method.setAccessible(true);
            BookieClient bookies = (BookieClient) method.invoke(client);
            Semaphore reads = new Semaphore(READS);
            Map<Long, AtomicLong> copies = new ConcurrentHashMap<>();
            for (long entry : acked) {
                List<BookieId> ensemble = fragments.floorEntry(entry).getValue();
                copies.put(entry, new AtomicLong());
                for (int i = 0; i < quorums[1]; i++) {
                    reads.acquire();
                    bookies.readEntry(ensemble.get((int) ((entry + i) % ensemble.size())), ledger.getId(), entry, (rc, id, number, content, context) -> {
                        if (rc == BKException.Code.OK) {
                            copies.get(number).incrementAndGet();
                        } else if (rc != BKException.Code.NoSuchEntryException && rc != BKException.Code.NoSuchLedgerExistsException) {
                            copies.get(number).addAndGet(1_000);    // not known
                        }
                        reads.release();
                    }, null, 0);
                }
            }
            reads.acquire(READS);
            return new long[] {
                copies.values().stream().filter(number -> number.get() < quorums[1]).count(),
                copies.values().stream().filter(number -> number.get() < quorums[2]).count(),
                copies.values().stream().filter(number -> number.get() == 0).count()};
        }
    }

    private static Object field(Object object, String name) throws Exception {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(object);
            } catch (NoSuchFieldException above) {
                continue;
            }
        }
        throw new NoSuchFieldException(name);
    }
}
