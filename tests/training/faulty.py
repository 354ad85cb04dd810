"""Work that fails, importable by the processes that are to do it and by nothing heavy."""


def fails(place: object) -> None:
    raise RuntimeError("canary-7f3a my neighbour's diagnosis")
