"""One small file a verb, imported when the verb is called."""
