package fencepost;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

/** All requests in the order in which the clients made them, and the results that applications got. */
public final class Post {
    private final List<Held> all = new ArrayList<>();
    private final List<String> told = new ArrayList<>();
    private int underWay;
    private long activity;
    private int shown;
    /** What a callback threw. Then no later answer says anything about the code. */
    volatile String failure;

    /** Forgets all requests and results, before another ledger is used. */
    synchronized void clear() {
        all.clear();
        told.clear();
        shown = 0;
    }

    public synchronized void hold(Held held) {
        held.id = all.size() + 1;
        all.add(held);
        activity++;
    }

    /** Records the answer of a bookie or of the metadata store to a delivered request. */
    public synchronized void answered(Held held, int rc, Object body) {
        held.rc = rc;
        held.body = body;
        held.state = Held.State.ANSWERED;
        underWay--;
        activity++;
        notifyAll();
    }

    /** Waits until something is true. */
    public static void until(long seconds, String otherwise, Callable<Boolean> done) throws Exception {
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        while (!done.call()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException(otherwise + " for " + seconds + " s: it hangs");
            }
            Thread.sleep(5);
        }
    }

    /** Notes what a client's callback threw. */
    public synchronized void fail(Held held, Throwable why) {
        failure = "the callback of a request (" + held.kind + ") throws " + why;
    }

    synchronized void tell(String what) {
        told.add(what);
        activity++;
    }

    synchronized Held get(int id) {
        if (id < 1 || id > all.size()) {
            throw new IllegalArgumentException("no request " + id);
        }
        return all.get(id - 1);
    }

    /** Delivers a request and waits for its answer. */
    public void deliver(int id, long seconds) throws InterruptedException {
        begin(id);
        await(id, seconds);
    }

    /** Delivers a request. */
    void begin(int id) {
        Held held = get(id);
        synchronized (this) {
            require(held, held.state == Held.State.HELD || held.state == Held.State.HANDED, "delivered");
            held.state = Held.State.DELIVERED;
            underWay++;
        }
        held.deliver.run();
    }

    /** Waits for the answer of a delivered request. */
    void await(int id, long seconds) throws InterruptedException {
        Held held = get(id);
        synchronized (this) {
            long end = System.nanoTime() + seconds * 1_000_000_000L;
            while (held.state == Held.State.DELIVERED) {
                long left = (end - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    throw new IllegalStateException(held.to + " has not answered a request (" + held.kind
                        + ") for " + seconds + " s: it hangs");
                }
                wait(left);
            }
        }
    }

    /**
     * Hands the answer to the client, or the code `instead`.
     *
     * <p>A time-out is such a code. It can be handed whether the request was delivered or not.
     */
    public void hand(int id, Integer instead) {
        Held held = get(id);
        int rc;
        synchronized (this) {
            require(held, instead != null || held.state == Held.State.ANSWERED, "answered");
            rc = instead == null ? held.rc : instead;
            held.state = Held.State.HANDED;
            activity++;
        }
        held.hand.accept(rc);
    }

    synchronized boolean isAnswered(int id) {
        return get(id).state == Held.State.ANSWERED;
    }

    private static void require(Held held, boolean holds, String what) {
        if (!holds) {
            throw new IllegalArgumentException("request " + held.id + " is " + held.state + ", and cannot be " + what);
        }
    }

    synchronized long activity() {
        return activity;
    }

    synchronized boolean quiet() {
        return underWay == 0;
    }

    public synchronized int size() {
        return all.size();
    }

    synchronized List<Held> held(String client, String to) {
        return all.stream().filter(h -> h.state == Held.State.HELD && h.client.equals(client) && h.to.equals(to)).toList();
    }

    /** Returns whether the client has asked a bookie to copy since there were so many requests. */
    public synchronized boolean copies(String client, int since) {
        return since(client, since).anyMatch(held -> !held.to.equals("zk") && !held.kind.equals("check"));
    }

    /** Returns the held requests that the client has made since there were so many. */
    public synchronized List<Held> held(String client, int since) {
        return since(client, since).filter(held -> held.state == Held.State.HELD).toList();
    }

    private Stream<Held> since(String client, int since) {
        return all.subList(since, all.size()).stream().filter(held -> held.client.equals(client));
    }

    synchronized List<String> told() {
        return List.copyOf(told);
    }

    /** Returns the requests made since the last call. */
    synchronized List<Held> fresh() {
        List<Held> found = List.copyOf(all.subList(shown, all.size()));
        shown = all.size();
        return found;
    }
}
