"""Ratios of times within one session."""
