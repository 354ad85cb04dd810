"""bakeoff tells a team which text classifier to ship. Importing it has no side effects."""

__version__ = "0.1.0"
