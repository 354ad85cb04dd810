"""A sweep: the Runs that one file lists, and the cells of its grid that make no sense."""

from dataclasses import dataclass

from bakeoff.spec import Run


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination of a sweep's grid: a Run, or the reason why it is not applicable."""

    overrides: tuple[str, ...]
    run: Run | None
    reason: str | None = None
    """Why the cell is not applicable; null for one that can be baked."""

    @property
    def title(self) -> str:
        """What a person calls this cell."""
        return self.run.title if self.run is not None else " ".join(self.overrides)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One question: a name, what it asks, and its cells in grid order."""

    name: str
    description: str
    path: str
    """The sweep file as the user named it, for the commands that pages print."""
    cells: tuple[Cell, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """The Runs to have, each once, in grid order."""
        unique = {cell.run.run_id: cell.run for cell in self.cells if cell.run is not None and cell.reason is None}
        return tuple(unique.values())
