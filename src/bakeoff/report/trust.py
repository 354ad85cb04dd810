"""How far records can be trusted together: warnings, notes on checkpoints, and where they come from."""

from collections import Counter
from collections.abc import Sequence

from bakeoff.record import Record
from bakeoff.report import words
from bakeoff.report.frame import machine_name
from bakeoff.report.summary import Section
from bakeoff.spec import Pretrained

DISTILLED = {
    "minilm-l6": "minilm-l6 is a distilled, sentence-tuned encoder of 6 layers and 22.7 M parameters: "
    "it stands neither for a full-size BERT nor for training from scratch."
}


def notes(records: Sequence[Record]) -> list[str]:
    """What a reader should know about a checkpoint before judging by its role."""
    present = {record.run.model.checkpoint for record in records if isinstance(record.run.model, Pretrained)}
    return [note for checkpoint, note in DISTILLED.items() if checkpoint in present]


def warnings(records: Sequence[Record], sections: Sequence[Section]) -> list[str]:
    """What makes these records less than one clean experiment."""
    found = []
    total = len(records)
    dirty = sum(record.provenance.dirty is True for record in records)
    if dirty:
        found.append(
            f"{dirty} of {words.count(total, 'record')} come from a dirty commit: uncommitted changes were in the code that made them."
        )
    unknown = sum(record.provenance.commit is None for record in records)
    if unknown:
        found.append(f"{unknown} of {words.count(total, 'record')} do not know the commit of the code that made them.")
    commits = sorted({record.provenance.commit[:12] for record in records if record.provenance.commit})
    if len(commits) > 1:
        found.append(f"The records come from {len(commits)} commits ({', '.join(commits)}).")
    machines = sorted({machine_name(record) for record in records})
    if len(machines) > 1:
        found.append(f"The records come from {len(machines)} machines ({'; '.join(machines)}): do not compare their training seconds.")
    families = Counter(section.dataset.family for section in sections)
    for family, times in families.items():
        if times > 1:
            names = words.listing([section.title for section in sections if section.dataset.family == family])
            found.append(f"{names} hold the same texts: they are one piece of evidence, not {times}.")
    return found


def provenance(records: Sequence[Record]) -> dict[str, str]:
    """Where, when and with what the records were made."""
    if not records:
        return {}
    devices = sorted({record.machine.device for record in records})
    machines = sorted({machine_name(record) for record in records})
    commits = sorted({(record.provenance.commit or "unknown")[:12] + (" (dirty)" if record.provenance.dirty else "") for record in records})
    days = sorted({record.finished_at[:10] for record in records})
    packages = sorted({(name, version) for record in records for name, version in record.provenance.versions.items()})
    return {
        "Machine": f"{'; '.join(machines)}; device {', '.join(devices)}",
        "Commit": ", ".join(commits),
        "Baked": days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
        "Versions": ", ".join(f"{name} {version}" for name, version in packages),
    }
