"""Short names of runs that a person can tell apart."""

from collections.abc import Sequence


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return a short name for each run: the parts between full stops that it does not share with all the others.

    Args:
        names: of the runs.

    Returns:
        By name, in their order. A name all of whose parts are shared keeps its last part, a single one stays whole; if
        two short names would be alike, all names stay whole.
    """
    parts = {name: name.split(".") for name in names}
    shared = set.intersection(*map(set, parts.values())) if len(parts) > 1 else set()
    short = {name: ".".join(part for part in own if part not in shared) or own[-1] for name, own in parts.items()}
    return short if len(set(short.values())) == len(short) else {name: name for name in parts}
