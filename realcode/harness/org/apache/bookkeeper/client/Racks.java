package org.apache.bookkeeper.client;

import java.util.Set;
import org.apache.bookkeeper.net.BookieId;

/**
 * Bookies on racks in turn: b1, b3, … are on the first of two.
 *
 * <p>It counts the racks of acks as RackawareEnsemblePlacementPolicyImpl does. The harness itself places bookies. The class is in BookKeeper's
 * package because the constructor of its parent is not public.
 */
public final class Racks extends DefaultEnsemblePlacementPolicy {
    /** The number of racks; 0 if acks need not come from several. */
    public static volatile int number;

    public Racks() {
    }

    @Override
    public boolean areAckedBookiesAdheringToPlacementPolicy(Set<BookieId> acked, int writeQuorum, int ackQuorum) {
        long racks = acked.stream()
            .map(bookie -> Integer.parseInt(bookie.getId().substring(1)) % number).distinct().count();
        return racks >= Math.min(writeQuorum, number);
    }
}
