"""Ship a model: a folder that answers without bakeoff, checked against what was scored, and files scored with it."""
