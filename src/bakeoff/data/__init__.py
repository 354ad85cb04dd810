"""Datasets: sources, splits, budgets, audit, tokens and batches."""
