package com.google.common.util.concurrent;

import java.lang.reflect.Field;
import java.util.concurrent.CountDownLatch;

/**
 * A thread that adds an entry with a given id, and waits for the handle's throttle until it is told to go on.
 *
 * <p>The class is in Guava's package because only there a RateLimiter gets a clock of its own.
 */
public final class WaitingAdd extends Thread {
    private final CountDownLatch waits = new CountDownLatch(1);
    private final CountDownLatch mayGoOn = new CountDownLatch(1);

    private WaitingAdd(Runnable add) {
        super(add);
        setDaemon(true);
    }

    /** Gives the handle a throttle for which these threads wait, and no other. */
    public static void throttle(Object handle, Class<?> type) throws ReflectiveOperationException {
        Field throttler = type.getDeclaredField("throttler");
        throttler.setAccessible(true);
        throttler.set(handle, RateLimiter.create(1, new RateLimiter.SleepingStopwatch() {
            @Override
            protected long readMicros() {
                return 0;
            }

            @Override
            protected void sleepMicrosUninterruptibly(long micros) {
                if (currentThread() instanceof WaitingAdd add) {
                    add.waits.countDown();
                    Uninterruptibles.awaitUninterruptibly(add.mayGoOn);
                }
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
