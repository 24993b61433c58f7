package fencepost;

import java.util.function.IntConsumer;

/** A request that a client has made, on its way: held, then delivered, then its answer handed on, each when told. */
public final class Held {
    enum State { HELD, DELIVERED, ANSWERED, HANDED }

    final String client;
    final String kind;
    final String to;
    final long entry;
    public long lac = -1;
    public String content = "";
    /** Pass the request on to the real client classes; hand an answer with that code to whoever asked. */
    public Runnable deliver;
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
}
