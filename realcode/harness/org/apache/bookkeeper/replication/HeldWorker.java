package org.apache.bookkeeper.replication;

import fencepost.Held;
import fencepost.Post;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.concurrent.Semaphore;
import org.apache.bookkeeper.client.HeldClient;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.meta.LedgerUnderreplicationManager;
import org.apache.bookkeeper.replication.ReplicationException.UnavailableException;
import org.apache.bookkeeper.stats.NullStatsLogger;

/**
 * The real replication worker of auto-recovery, over a client whose requests are held.
 *
 * <p>Its thread waits before it takes a ledger, and before it gives the lock back. The class is in BookKeeper's package
 * because the constructor is not public.
 */
public final class HeldWorker {
    private final HeldClient client;
    private final Post post;
    private final ReplicationWorker worker;
    private final Semaphore takes = new Semaphore(0);
    private final Semaphore releases = new Semaphore(0);
    /** Whether it has the ledger's lock, as far as it knows. */
    private volatile boolean holds;
    /** Whether it waits before it gives the lock back. */
    private volatile boolean ends;
    private volatile boolean stopped;
    private volatile boolean learnt;

    public HeldWorker(HeldClient client, String metadata, Post post) throws Exception {
        this.client = client;
        this.post = post;
        ServerConfiguration conf = new ServerConfiguration();
        conf.setMetadataServiceUri(metadata);
        conf.setLockReleaseOfFailedLedgerGracePeriod("0");
        conf.setRwRereplicateBackoffMs(0);
        worker = new ReplicationWorker(conf, client, false, NullStatsLogger.INSTANCE);
        Field field = ReplicationWorker.class.getDeclaredField("underreplicationManager");
        field.setAccessible(true);
        LedgerUnderreplicationManager real = (LedgerUnderreplicationManager) field.get(worker);
        field.set(worker, Proxy.newProxyInstance(HeldWorker.class.getClassLoader(),
            new Class<?>[] {LedgerUnderreplicationManager.class}, (ignored, method, given) -> held(real, method, given)));
        client.getMetadataClientDriver().setSessionStateListener(() -> learnt = true);
        worker.start();
    }

    private Object held(Object real, Method method, Object[] given) throws Throwable {
        switch (method.getName()) {
            case "getLedgerToRereplicate":
                await(takes);
                Object ledger = pass(real, method, given);
                holds = true;
                return ledger;
            case "markLedgerReplicated":
            case "releaseUnderreplicatedLedger":
                return released(real, method, given);
            default:
                return pass(real, method, given);
        }
    }

    /** Gives the lock back on command. A worker that is stopped does so at once. */
    private Object released(Object real, Method method, Object[] given) throws Throwable {
        if (holds && !stopped) {
            ends = true;
            await(releases);
        }
        try {
            return pass(real, method, given);
        } finally {
            ends = false;
            holds = false;
        }
    }

    private static void await(Semaphore permits) throws UnavailableException {
        try {
            permits.acquire();
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("Interrupted while waiting for a command");
        }
    }

    private static Object pass(Object real, Method method, Object[] given) throws Throwable {
        try {
            return method.invoke(real, given);
        } catch (InvocationTargetException failure) {
            throw failure.getCause();
        }
    }

    /** Takes the ledger, checks it, and goes on until a request to copy is held, or until nothing is left to do. */
    public void take(long seconds) throws Exception {
        int since = post.size();
        takes.release();
        Post.until(seconds, client.name + " has neither copied nor ended", () -> {
            for (Held held : post.held(client.name, since)) {
                if (held.kind.equals("check") || held.to.equals("zk")) {
                    answer(held, seconds);
                }
            }
            return holds && (ends || post.copies(client.name, since));
        });
    }

    /** Lets the second check end, and the lock be given back. */
    public void finish(long seconds) throws Exception {
        Post.until(seconds, client.name + " has not ended its check", () -> {
            for (Held held : post.held(client.name, 0)) {
                if (held.kind.equals("check")) {
                    answer(held, seconds);
                }
            }
            return ends || !holds;
        });
        if (holds) {
            releases.release();
        }
        Post.until(seconds, client.name + " has not given the lock back", () -> !holds);
    }

    private void answer(Held held, long seconds) throws Exception {
        post.deliver(held.id(), seconds);
        post.hand(held.id(), null);
    }

    /** Does what AutoRecoveryMain does when it has learnt that its session has ended, but leaves the client open. */
    public void stop() {
        stopped = true;
        worker.shutdown();
    }

    /** Whether the client has learnt that its session has ended. */
    public boolean hasLearnt() {
        return learnt;
    }
}
