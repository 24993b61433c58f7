package org.apache.bookkeeper.client;

import com.google.common.util.concurrent.Throttle;
import com.google.common.util.concurrent.Uninterruptibles;
import java.lang.reflect.Field;
import java.util.concurrent.CountDownLatch;

/** A thread that adds an entry with a given id, and waits for the handle's throttle until it is told to go on. */
public final class WaitingAdd extends Thread {
    private final CountDownLatch waits = new CountDownLatch(1);
    private final CountDownLatch mayGoOn = new CountDownLatch(1);

    private WaitingAdd(Runnable add) {
        super(add);
        setDaemon(true);
    }

    @Override
    public void run() {
        super.run();
        waits.countDown();    // an add that is refused at once does not wait
    }

    /** Gives the handle a throttle for which these threads wait, and no other. */
    public static void throttle(LedgerHandle handle) throws ReflectiveOperationException {
        Field throttler = LedgerHandle.class.getDeclaredField("throttler");
        throttler.setAccessible(true);
        throttler.set(handle, Throttle.of(() -> {
            if (currentThread() instanceof WaitingAdd add) {
                add.waits.countDown();
                Uninterruptibles.awaitUninterruptibly(add.mayGoOn);
            }
        }));
    }

    /** Begins an add, and returns when it waits. Its result lets it go on, and returns when the add is sent. */
    public static Runnable begun(Runnable add) {
        WaitingAdd thread = new WaitingAdd(add);
        thread.start();
        Uninterruptibles.awaitUninterruptibly(thread.waits);
        return () -> {
            thread.mayGoOn.countDown();
            Uninterruptibles.joinUninterruptibly(thread);
        };
    }
}
