"""A report is a view over records: rows, statistics, figures and the page that a team decides from."""
