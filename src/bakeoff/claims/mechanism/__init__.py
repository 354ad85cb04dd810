"""Exact checks of the product's own bricks."""
