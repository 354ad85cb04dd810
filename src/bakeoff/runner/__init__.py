"""Runs in, Records out: what is to bake, each in a process of its own, and what is told about it meanwhile."""
