package fencepost;

import java.util.function.IntConsumer;

/** A request of a client. It is held, delivered, answered and handed back, each step on command. */
public final class Held {
    enum State { HELD, DELIVERED, ANSWERED, HANDED }

    final String client;
    public final String kind;
    public final String to;
    final long entry;
    public long lac = -1;
    public String content = "";
    /** The version of the metadata that a write replaces. */
    public long replaces = -1;
    /** Passes the request on to the real client classes. */
    public Runnable deliver;
    /** Hands an answer with that code back to the caller. */
    public IntConsumer hand;
    public Object body;
    public Throwable failure;
    int id;
    State state = State.HELD;
    int rc;

    public Held(String client, String kind, String to, long entry) {
        this.client = client;
        this.kind = kind;
        this.to = to;
        this.entry = entry;
    }

    public int id() {
        return id;
    }
}
