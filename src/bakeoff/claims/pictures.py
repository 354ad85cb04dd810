"""What a claim shows, as plain numbers: `report` draws them, and a stored answer keeps them."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of a figure; `low` and `high` are the ends of an interval a point, or empty."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Lines over one axis."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, kw_only=True)
class Heatmap:
    """A matrix of numbers from 0 up, one row and one column a name."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


Picture = Lines | Heatmap
