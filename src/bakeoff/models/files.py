"""What the files of a served model are called, for whoever writes and whoever reads them."""

WEIGHTS, SETTINGS, VOCABULARY = "model.safetensors", "bakeoff.json", "vocabulary.json"
