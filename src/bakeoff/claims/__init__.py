"""The argument of transformers against recurrence, one statement a file, each with a rule that was fixed before its result."""
