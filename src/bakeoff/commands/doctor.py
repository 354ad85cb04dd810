"""`bakeoff doctor`: the machine, what is installed and fetched, what would be faster."""

import sys

from bakeoff import fingerprint
from bakeoff.cache import cache_root
from bakeoff.commands.baking import visible_gpus
from bakeoff.config import Composer
from bakeoff.data import assets
from bakeoff.errors import DataError
from bakeoff.provenance import processor, provenance, usable_cpus
from bakeoff.store import default_root
from bakeoff.tracking import mode_of

STARTER = {"dataset movie": fingerprint.DATASETS["movie"], "checkpoint minilm-l6": fingerprint.CHECKPOINTS["minilm-l6"]}


def doctor(*, fetch: bool) -> int:
    """Print what is there; with `fetch`, fetch what the starter needs. 1 when something could not be fetched."""
    import psutil

    from bakeoff.probes import precision

    facts = provenance()
    version = facts.versions["bakeoff"] + (f" at {facts.commit[:12]}{' with changes' if facts.dirty else ''}" if facts.commit else "")
    print(f"bakeoff    {version}")
    print(f"python     {facts.versions['python']}; torch {facts.versions['torch']}, transformers {facts.versions['transformers']}")
    memory_gb = psutil.virtual_memory().total / 1024**3
    print(f"machine    {processor()}, {usable_cpus()} usable cores, {memory_gb:.0f} GB, {visible_gpus() or 'no'} GPU")
    for device in precision.devices():
        print(f"precision  {precision.measure(device).sentence}")
    print(f"W&B        {_wandb_mode()}")
    print(f"runs       {default_root()}")
    print(f"cache      {cache_root()}")
    assets_of = dict(STARTER) | {f"dataset {name}": asset for name, asset in fingerprint.DATASETS.items() if name != "movie"}
    failed = False
    for name, asset in assets_of.items():
        if fetch and name in STARTER:
            try:
                assets.fetch(asset)
            except DataError as error:
                failed = True
                print(f"bakeoff: {error}", file=sys.stderr)
        print(f"{'fetched' if assets.is_fetched(asset) else 'not yet':<10} {name} ({asset.requirement})")
    return 1 if failed else 0


def _wandb_mode() -> str:
    mode = mode_of(Composer().job([]).machine)
    return f"{mode}; uploads only when machine.wandb=online or WANDB_MODE=online, never because someone is logged in"
