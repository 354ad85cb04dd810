"""Scores over draws of labels, with intervals."""
