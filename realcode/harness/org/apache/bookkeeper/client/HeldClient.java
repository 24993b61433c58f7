package org.apache.bookkeeper.client;

import fencepost.Held;
import fencepost.Post;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.ReferenceCounted;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.api.LedgerEntries;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.client.api.WriteFlag;
import org.apache.bookkeeper.conf.ClientConfiguration;
import org.apache.bookkeeper.meta.LedgerManager;
import org.apache.bookkeeper.meta.zk.ZKMetadataDriverBase;
import org.apache.bookkeeper.net.BookieId;
import org.apache.bookkeeper.proto.BookieAddressResolver;
import org.apache.bookkeeper.proto.BookieClient;
import org.apache.bookkeeper.proto.BookieProtocol;
import org.apache.bookkeeper.proto.BookkeeperInternalCallbacks.ForceLedgerCallback;
import org.apache.bookkeeper.proto.BookkeeperInternalCallbacks.LedgerMetadataListener;
import org.apache.bookkeeper.proto.BookkeeperInternalCallbacks.ReadEntryCallback;
import org.apache.bookkeeper.proto.BookkeeperInternalCallbacks.ReadLacCallback;
import org.apache.bookkeeper.proto.BookkeeperInternalCallbacks.WriteCallback;
import org.apache.bookkeeper.util.ByteBufList;
import org.apache.bookkeeper.versioning.LongVersion;
import org.apache.bookkeeper.versioning.Version;
import org.apache.bookkeeper.versioning.Versioned;
import org.apache.zookeeper.ZooKeeper;

/**
 * The real client, whose requests to bookies and to the metadata store are held until they are delivered on command.
 *
 * <p>The class is in BookKeeper's package because it overrides `getBookieClient` and `getBookieWatcher`, which are not
 * public. All else is BookKeeper's: delivered requests go through the real BookieClientImpl, over TCP.
 */
public final class HeldClient extends BookKeeper {
    /** The bytes of an entry before its payload: ledger, entry, LAC, length (8 each) and a CRC32 digest (8). */
    private static final int HEADER = 40;
    private static final int LAC_OFFSET = 16;

    public final String name;
    private final Post post;
    private final ExecutorService metadataAnswers = Executors.newSingleThreadExecutor();
    private BookieClient bookies;
    private LedgerManager ledgers;
    private BookieWatcher watcher;
    private EnsemblePlacementPolicy policy;
    /** Opened when the worker thread goes on; null while it is not held. */
    private volatile CountDownLatch held;
    /** The ensemble of the next ledger, and the bookies that replace failed ones, in order. */
    public volatile List<String> ensemble = List.of();
    public volatile String replacement;
    /** Whether changed metadata reach the handle only when it learns them. */
    public volatile boolean holdsChanges;
    private volatile LedgerMetadataListener listener;
    /** The last metadata that the metadata store has told the listener. */
    private volatile Versioned<LedgerMetadata> changed;

    public HeldClient(String name, ClientConfiguration conf, Post post) throws Exception {
        super(conf);
        this.name = name;
        this.post = post;
        bookies = proxy(BookieClient.class, super.getBookieClient(), this::toBookie);
        ledgers = proxy(LedgerManager.class, super.getLedgerManager(), this::toMetadata);
        watcher = proxy(BookieWatcher.class, super.getBookieWatcher(), this::placement);
        policy = proxy(EnsemblePlacementPolicy.class, super.getPlacementPolicy(), this::target);
        readFromAllAtOnce();
    }

    @Override
    BookieClient getBookieClient() {
        return bookies == null ? super.getBookieClient() : bookies;
    }

    @Override
    public LedgerManager getLedgerManager() {
        return ledgers == null ? super.getLedgerManager() : ledgers;
    }

    @Override
    BookieWatcher getBookieWatcher() {
        return watcher == null ? super.getBookieWatcher() : watcher;
    }

    @Override
    EnsemblePlacementPolicy getPlacementPolicy() {
        return policy == null ? super.getPlacementPolicy() : policy;
    }

    /**
     * Makes an add with the handle's ensemble of this moment, as asyncAddEntry does.
     *
     * <p>The result queues the add and sends it. In asyncAddEntry the caller's thread may wait between the two.
     */
    public static Runnable make(LedgerHandle handle, byte[] content, AsyncCallback.AddCallback told) {
        PendingAddOp op = PendingAddOp.create(handle, handle.clientCtx, handle.getCurrentEnsemble(),
            Unpooled.wrappedBuffer(content), handle.writeFlags, told, null);
        return () -> handle.doAsyncAddEntry(op);
    }

    /** Creates a ledger whose adds are acked before their fsync. */
    public CompletableFuture<LedgerHandle> createDeferred(int writeQuorum, int ackQuorum, byte[] password) {
        return newCreateLedgerOp().withEnsembleSize(ensemble.size()).withWriteQuorumSize(writeQuorum)
            .withAckQuorumSize(ackQuorum).withDigestType(org.apache.bookkeeper.client.api.DigestType.CRC32)
            .withPassword(password).withWriteFlags(WriteFlag.DEFERRED_SYNC).execute().thenApply(handle -> (LedgerHandle) handle);
    }

    /** Takes the next ledger's id, so that no ledger has it. */
    public static void skipLedger(BookKeeper client, long seconds) throws Exception {
        CompletableFuture<Long> taken = new CompletableFuture<>();
        client.getLedgerIdGenerator().generateLedgerId((rc, id) -> taken.complete(id));
        taken.get(seconds, TimeUnit.SECONDS);
    }

    /** Waits until the metadata store has told this version or a later one, and tells the handle. */
    public void learn(long ledger, Version version, long seconds) throws Exception {
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        while (changed == null || changed.getVersion().compare(version) == Version.Occurred.BEFORE) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException(name + " has not been told of changed metadata for " + seconds + " s");
            }
            Thread.sleep(5);
        }
        listener.onChanged(ledger, changed);
    }

    /** Reads so many entries at once from the first one on, 64 KB at most. Releases before 4.17 have no such call. */
    @SuppressWarnings("unchecked")
    public static CompletableFuture<LedgerEntries> readBatch(LedgerHandle handle, long first, int most) throws Exception {
        return (CompletableFuture<LedgerEntries>) LedgerHandle.class.getMethod("batchReadAsync", long.class, int.class, long.class)
            .invoke(handle, first, most, 65_536L);
    }

    /** Holds the one worker thread of this client, in which callbacks run, or lets it go on. */
    public void holdWorker(boolean holds) {
        if (holds) {
            CountDownLatch latch = new CountDownLatch(1);
            getMainWorkerPool().submitOrdered(0L, (Callable<Void>) () -> {
                latch.await();
                return null;
            });
            held = latch;
        } else if (held != null) {
            held.countDown();
            held = null;
        }
    }

    /** Whether this client has learnt that the bookie is up, and where; or that it is down. */
    public boolean knows(String bookie, boolean isUp) {
        BookieId id = BookieId.parse(bookie);
        BookieWatcher found = super.getBookieWatcher();
        if (!isUp) {
            return found.isBookieUnavailable(id);
        }
        try {
            found.getBookieAddressResolver().resolve(id);
        } catch (BookieAddressResolver.BookieIdNotResolvedException unknown) {
            return false;
        }
        return !found.isBookieUnavailable(id);
    }

    /** The client of the metadata store, which goes on with a new session when its own has ended. */
    public ZooKeeper zooKeeper() throws Exception {
        Field field = ZKMetadataDriverBase.class.getDeclaredField("zk");
        field.setAccessible(true);
        return (ZooKeeper) field.get(getMetadataClientDriver());
    }

    /** Waits until all threads of this client are idle, but for a worker thread that is held. */
    public void drain(long seconds) throws Exception {
        if (held == null) {
            getMainWorkerPool().submitOrdered(0L, (Callable<Void>) () -> null).get(seconds, TimeUnit.SECONDS);
        }
        metadataAnswers.submit(() -> { }).get(seconds, TimeUnit.SECONDS);
        getScheduler().submit(() -> { }).get(seconds, TimeUnit.SECONDS);
    }

    @Override
    public void close() throws InterruptedException, BKException {
        metadataAnswers.shutdownNow();
        super.close();
    }

    /** Makes speculative reads immediate: a read goes to its whole write set at once. */
    private void readFromAllAtOnce() throws Exception {
        SpeculativeRequestExecutionPolicy policy = (scheduler, request) -> {
            for (int i = 0; i < 32; i++) {
                request.issueSpeculativeRequest();
            }
            return null;
        };
        Object conf = getClientCtx().getConf();
        Field field = conf.getClass().getDeclaredField("readSpeculativeRequestPolicy");
        field.setAccessible(true);
        field.set(conf, Optional.of(policy));
    }

    private interface Seam {
        Object call(Object real, Method method, Object[] arguments) throws Throwable;
    }

    private static <T> T proxy(Class<T> type, T real, Seam seam) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
            (ignored, method, arguments) -> seam.call(real, method, arguments)));
    }

    static Object pass(Object real, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(real, arguments);
        } catch (InvocationTargetException failure) {
            throw failure.getCause();
        }
    }

    private Object toBookie(Object real, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "addEntry":
                hold(real, method, arguments, 5, 6, true);
                return null;
            case "readEntry":
                hold(real, method, arguments, 3, 4, false);
                return null;
            case "forceLedger":
                holdForce(real, method, arguments);
                return null;
            case "readLac":
                holdReadLac(real, method, arguments);
                return null;
            case "batchReadEntries":
                holdBatchRead(real, method, arguments);
                return null;
            default:
                return pass(real, method, arguments);
        }
    }

    private void holdForce(Object real, Method method, Object[] arguments) {
        BookieId to = (BookieId) arguments[0];
        long ledger = (Long) arguments[1];
        Held held = new Held(name, "force", to.toString(), -1);
        held.deliver = () -> passInstead(real, method, arguments, 2,
            (ForceLedgerCallback) (rc, l, from, ctx) -> post.answered(held, rc, null));
        held.hand = rc -> callBack(held, ledger, () ->
            ((ForceLedgerCallback) arguments[2]).forceLedgerComplete(rc, ledger, to, arguments[3]));
        post.hold(held);
    }

    private void holdReadLac(Object real, Method method, Object[] arguments) {
        long ledger = (Long) arguments[1];
        Held held = new Held(name, "read-lac", arguments[0].toString(), -1);
        held.deliver = () -> passInstead(real, method, arguments, 2, (ReadLacCallback) (rc, l, lac, last, ctx) ->
            post.answered(held, rc, new ByteBuf[] {retained(lac), retained(last)}));
        held.hand = rc -> callBack(held, ledger, () -> {
            ByteBuf[] told = rc == BKException.Code.OK ? (ByteBuf[]) held.body : new ByteBuf[2];
            ((ReadLacCallback) arguments[2]).readLacComplete(rc, ledger, told[0], told[1], arguments[3]);
        });
        post.hold(held);
    }

    /** Holds a batch read. Releases before 4.17 have no type for its callback, the sixth argument. */
    private void holdBatchRead(Object real, Method method, Object[] arguments) {
        long ledger = (Long) arguments[1];
        Held held = new Held(name, "batch-read", arguments[0].toString(), (Long) arguments[2]);
        Class<?> type = method.getParameterTypes()[5];
        held.deliver = () -> passInstead(real, method, arguments, 5, proxy(type, null, (none, told, given) -> {
            post.answered(held, (Integer) given[0], given[3] == null ? null : ((ReferenceCounted) given[3]).retain());
            return null;
        }));
        held.hand = rc -> callBack(held, ledger, () -> passInstead(
            arguments[5], type.getMethods()[0], new Object[] {rc, ledger, arguments[2], null, arguments[6]}, 3, held.body));
        post.hold(held);
    }

    /** Calls back in the worker thread, as the real client does. The post gets what the callback throws. */
    private void callBack(Held held, long ledger, Runnable callback) {
        getMainWorkerPool().submitOrdered(ledger, (Callable<Void>) () -> {
            try {
                callback.run();
            } catch (Throwable failure) {
                post.fail(held, failure);
            }
            return null;
        });
    }

    /** Passes a call on, with the argument at that place replaced. */
    private static void passInstead(Object real, Method method, Object[] arguments, int at, Object callback) {
        Object[] replaced = arguments.clone();
        replaced[at] = callback;
        try {
            pass(real, method, replaced);
        } catch (Throwable failure) {
            throw new IllegalStateException(failure);
        }
    }

    /** Holds a request until it is delivered; its callback is at that place of its arguments. */
    private void hold(Object real, Method method, Object[] arguments, int at, int context, boolean isAdd) {
        BookieId to = (BookieId) arguments[0];
        long ledger = (Long) arguments[1];
        long entry = (Long) arguments[isAdd ? 3 : 2];
        Object callback = arguments[at];
        boolean checks = callback.getClass().getEnclosingClass() == LedgerChecker.class;
        Held held = new Held(name, checks ? "check" : kind(arguments, isAdd, entry), to.toString(), entry);
        if (isAdd) {
            byte[] bytes = bytes(arguments[4]);
            held.lac = java.nio.ByteBuffer.wrap(bytes).getLong(LAC_OFFSET);
            held.content = new String(bytes, HEADER, bytes.length - HEADER);
            ((ReferenceCounted) arguments[4]).retain();
        }
        held.deliver = () -> {
            try {
                passInstead(real, method, arguments, at, isAdd
                    ? (WriteCallback) (rc, l, e, from, ctx) -> post.answered(held, rc, null)
                    : (ReadEntryCallback) (rc, l, e, buffer, ctx) -> post.answered(held, rc, retained(buffer)));
            } finally {
                if (isAdd) {
                    ((ReferenceCounted) arguments[4]).release();
                }
            }
        };
        held.hand = rc -> callBack(held, ledger, () -> {
            if (isAdd) {
                ((WriteCallback) callback).writeComplete(rc, ledger, entry, to, arguments[context]);
            } else {
                ByteBuf buffer = rc == BKException.Code.OK ? (ByteBuf) held.body : null;
                ((ReadEntryCallback) callback).readEntryComplete(rc, ledger, entry, buffer, arguments[context]);
            }
        });
        post.hold(held);
    }

    private static String kind(Object[] arguments, boolean isAdd, long entry) {
        if (isAdd) {
            boolean recovery = (((Integer) arguments[7]) & BookieProtocol.FLAG_RECOVERY_ADD) != 0;
            return recovery ? "recovery-add" : "add";
        }
        boolean fences = (((Integer) arguments[5]) & BookieProtocol.FLAG_DO_FENCING) != 0;
        if (entry == BookieProtocol.LAST_ADD_CONFIRMED) {
            return fences ? "fence" : "read-lac";
        }
        return fences ? "fencing-read" : "read";
    }

    private static ByteBuf retained(ByteBuf buffer) {
        return buffer == null ? null : buffer.retain();
    }

    private static byte[] bytes(Object body) {
        return ((ByteBufList) body).toArray();
    }

    private Object toMetadata(Object real, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "readLedgerMetadata":
            case "writeLedgerMetadata":
                break;
            case "registerLedgerMetadataListener":
                return pass(real, method, holdsChanges ? withOwnListener(arguments) : arguments);
            default:
                return pass(real, method, arguments);
        }
        CompletableFuture<Object> promise = new CompletableFuture<>();
        String kind = method.getName().startsWith("read") ? "read-metadata" : "write-metadata";
        Held held = new Held(name, kind, "zk", -1);
        if (kind.equals("write-metadata")) {
            held.replaces = ((LongVersion) arguments[2]).getLongVersion();
            held.content = ((LedgerMetadata) arguments[1]).getState().toString();
        }
        held.deliver = () -> {
            try {
                ((CompletableFuture<?>) pass(real, method, arguments)).whenComplete((value, failure) -> {
                    held.failure = failure;
                    post.answered(held, failure == null ? 0 : BKException.getExceptionCode(failure), value);
                });
            } catch (Throwable failure) {
                throw new IllegalStateException(failure);
            }
        };
        held.hand = rc -> metadataAnswers.execute(() -> {
            if (held.failure == null) {
                promise.complete(held.body);
            } else {
                promise.completeExceptionally(held.failure);
            }
        });
        post.hold(held);
        return promise;
    }

    /** Returns the arguments with a listener that keeps the metadata until `learn`. */
    private Object[] withOwnListener(Object[] arguments) {
        listener = (LedgerMetadataListener) arguments[1];
        changed = null;
        long ledger = (Long) arguments[0];
        LedgerMetadataListener keeps = (id, metadata) -> {
            if (id == ledger && metadata != null) {
                changed = metadata;
            }
        };
        return new Object[] {arguments[0], keeps};
    }

    /** Whether that bookie is in the ensemble or has failed now; no policy gives such a bookie. */
    private static boolean isLeftOut(BookieId offered, Object[] arguments) {
        return Arrays.stream(arguments).anyMatch(a -> a instanceof Collection && ((Collection<?>) a).contains(offered));
    }

    /** Gives the first bookie that is not left out: the ensemble's are offered first, and then the placed ones. */
    private BookieId replaced(Object[] arguments) throws BKException {
        List<BookieId> offered = new ArrayList<>();
        Arrays.stream(arguments).filter(a -> a instanceof List).forEach(
            a -> ((List<?>) a).forEach(bookie -> offered.add((BookieId) bookie)));
        if (replacement != null) {
            Arrays.stream(replacement.split(",")).map(BookieId::parse).forEach(offered::add);
        }
        return offered.stream().filter(bookie -> !isLeftOut(bookie, arguments)).findFirst()
            .orElseThrow(BKException.BKNotEnoughBookiesException::new);
    }

    /** Gives the placed bookie as the target of a re-replication, unless it is left out. Otherwise the policy chooses. */
    private Object target(Object real, Method method, Object[] arguments) throws Throwable {
        if (replacement == null || !method.getName().equals("replaceBookie")) {
            return pass(real, method, arguments);
        }
        BookieId placed = BookieId.parse(replacement);
        if (isLeftOut(placed, arguments)) {
            return pass(real, method, arguments);
        }
        return EnsemblePlacementPolicy.PlacementResult.of(placed, EnsemblePlacementPolicy.PlacementPolicyAdherence.MEETS_STRICT);
    }

    private Object placement(Object real, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "newEnsemble":
                return ensemble.stream().map(BookieId::parse).toList();
            case "replaceBookie":
                return replaced(arguments);
            default:
                return pass(real, method, arguments);
        }
    }
}
