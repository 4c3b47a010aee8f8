"""sacrebleu's test sets, downloaded by it and used unchanged."""

from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus, aligned
from nmtlab.text.corpora.corpus_builder import ImportReport
from nmtlab.text.corpora.lines import new_folder, read_lines, write_lines, write_pairs


def import_sacrebleu(folder: Path | str, source: str, target: str, dev: str = "", test: str = "") -> ImportReport:
    """Make the corpus `folder`, dev and test only, from published test sets.

    Nothing is cleaned, so that scores are comparable with published ones. Further references become `test.LANG.1` ...
    Test sets in sacrebleu's download folder (environment variable SACREBLEU) need no network.

    Args:
        folder: must not exist.
        source, target: sacrebleu's language codes.
        dev, test: names of the sets, for example wmt16; empty for none.

    Raises:
        CorpusError: no set is named, or a set is unknown for these languages or cannot be fetched.
    """
    sets = {split: name for split, name in (("dev", dev), ("test", test)) if name}
    if not sets:
        raise CorpusError("no test set named", "name one for dev, test or both, for example --test wmt17")
    report = ImportReport("sacrebleu", dict(sets), source, target)
    with new_folder(folder) as temporary:
        for split, name in sets.items():
            source_file, *references = _files(name, f"{source}-{target}")
            report.kept[split] = _write(temporary / split, report, source_file, references)
        ParallelCorpus.open(temporary, source, target).check()
        report.save(temporary)
    return report


def _files(name: str, languages: str) -> list[Path]:
    from sacrebleu import get_reference_files, get_source_file
    from sacrebleu.dataset import DATASETS

    known = [known for known, dataset in DATASETS.items() if languages in dataset.langpairs]
    if name not in known:
        raise CorpusError(
            f"test set {name!r}: unknown to sacrebleu for {languages}",
            f"choose from {', '.join(known)}" if known else "choose other languages, or swap them",
        )
    try:
        source, references = get_source_file(name, languages), get_reference_files(name, languages)
    except (OSError, SystemExit) as error:  # sacrebleu exits on a wrong checksum or certificate
        raise CorpusError(
            f"test set {name!r}: sacrebleu could not fetch it ({error})",
            "try with a network, or copy its files to the folder that the variable SACREBLEU names",
        ) from None
    if not references:
        raise CorpusError(f"test set {name!r}: has no reference for {languages}", "choose another test set")
    return [Path(source), *sorted(map(Path, references))]


def _write(stem: Path, report: ImportReport, source_file: Path, references: list[Path]) -> int:
    first, *further = references
    pairs = aligned(read_lines(source_file), read_lines(first), str(source_file), str(first))
    for number, path in enumerate(further, start=1):
        write_lines(stem.with_name(f"{stem.name}.{report.target}.{number}"), read_lines(path))
    return write_pairs(
        stem.with_name(f"{stem.name}.{report.source}"), stem.with_name(f"{stem.name}.{report.target}"), pairs
    )
