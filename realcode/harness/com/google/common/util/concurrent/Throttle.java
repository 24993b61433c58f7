package com.google.common.util.concurrent;

import com.google.common.util.concurrent.RateLimiter.SleepingStopwatch;

/** A throttle that calls `wait` in each thread. Only in Guava's package may a RateLimiter have a clock of its own. */
public final class Throttle {
    private Throttle() { }

    public static RateLimiter of(Runnable wait) {
        return RateLimiter.create(1, new SleepingStopwatch() {
            @Override
            protected long readMicros() {
                return 0;
            }

            @Override
            protected void sleepMicrosUninterruptibly(long micros) {
                wait.run();
            }
        });
    }
}
