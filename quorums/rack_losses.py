"""The ability to create ledgers and to write after the loss of bookies or of a rack."""

from __future__ import annotations

from fencepost.quorums.deployment import Deployment
from fencepost.quorums.enforced import creatable, failures_before_creation, replaces_a_rack
from fencepost.quorums.placement import Racks
from fencepost.quorums.stripes import Configuration


def creations_survived(deployment: Deployment, floor: int) -> int:
    """Return the number of failures after which an ensemble of `floor` or more bookies can be created."""
    if deployment.enforced is None:
        return deployment.bookies - floor
    _, wq, aq = deployment.asked.sizes
    return failures_before_creation(deployment.enforced, Configuration(floor, wq, aq), deployment.least_racks)


def most_of_a_rack(deployment: Deployment, racks: Racks) -> int:
    """Return the most bookies of one rack in a write set, also after auto-recovery has moved copies."""
    if not deployment.client.enforce_min_racks:
        return racks.most_in_a_window(deployment.configuration)
    kept = deployment.recovery_racks if deployment.autorecovery else None
    enforced = deployment.least_racks if kept is None else min(deployment.least_racks, kept)
    return racks.most_in_a_window(deployment.configuration, enforced)


def writes_without_a_rack(deployment: Deployment, racks: Racks) -> bool:
    """Return whether the writer's ledger and new ledgers can be written after the loss of any rack."""
    if deployment.enforced is not None:
        return creates_without_a_rack(deployment) and replaces_a_rack(
            deployment.enforced, deployment.configuration, deployment.least_racks
        )
    wanted = deployment.least_racks if deployment.client.enforce_min_racks else 1
    return (
        len(racks.sizes) - 1 >= wanted
        and deployment.bookies - racks.largest >= deployment.configuration.ensemble
    )


def creates_without_a_rack(deployment: Deployment) -> bool:
    """Return whether new ensembles can be created after the loss of any of the enforced racks."""
    sizes = deployment.enforced or ()
    return all(
        creatable((*sizes[:lost], *sizes[lost + 1 :]), deployment.configuration, deployment.least_racks)
        for lost in range(len(sizes))
    )


def enforced_by(deployment: Deployment) -> str:
    """Return who must enforce racks, if the client does: auto-recovery moves copies by its own settings."""
    if not deployment.client.enforce_min_racks or not deployment.autorecovery:
        return ""
    rule = " Client and bookies must both enforce racks, because auto-recovery uses the bookies' setting"
    if deployment.recovery_racks is None:
        return f"{rule} (enforceMinNumRacksPerWriteQuorum); theirs is not given here."
    return f"{rule}, and {'both do' if deployment.recovery_racks > 1 else 'the bookies do not'}."
