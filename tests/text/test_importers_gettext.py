from collections import Counter
from pathlib import Path

import polib
import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.splitting import HoldOut
from nmtlab.text.importers.gettext import find_catalogues, import_gettext, placeholders, plain_pair, read_catalogues

LOCALE = Path("/usr/share/locale")
HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: tr\\n"\n\n'


def _po(path, text, header=HEADER):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header + text, encoding="utf-8")
    return path


def _mo(path, **messages):
    path.parent.mkdir(parents=True, exist_ok=True)
    catalogue = polib.POFile()
    catalogue.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    catalogue.extend(polib.POEntry(msgid=msgid, msgstr=msgstr) for msgid, msgstr in messages.items())
    catalogue.save_as_mofile(str(path))
    return path


def test_only_finished_messages_are_taken_and_the_others_counted(tmp_path):
    path = _po(
        tmp_path / "a.po",
        'msgid "Open"\nmsgstr "Aç"\n\n'
        '#, fuzzy\nmsgid "Close"\nmsgstr "Kap"\n\n'
        'msgid "Print"\nmsgstr ""\n\n'
        'msgctxt "verb"\nmsgid "Save"\nmsgstr "Kaydet"\n\n'
        'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d dosya"\nmsgstr[1] "%d dosyalar"\n\n'
        'msgid "one file"\nmsgid_plural "%d files"\nmsgstr[0] "%d dosya"\n\n'
        'msgid "KDE"\nmsgstr "KDE"\n\n'
        'msgid "..."\nmsgstr "… !"\n\n'
        'msgid "translator-credits"\nmsgstr "Ali <ali@example.org>"\n\n'
        'msgid "Delete %s"\nmsgstr "Sil"\n\n'
        'msgid ""\n"Two\\n"\n"lines\\t."\nmsgstr "İki\\nsatır."\n\n'
        '#~ msgid "Old"\n#~ msgstr "Eski"\n',
    )
    dropped = Counter()
    assert list(read_catalogues([path], dropped)) == [
        ("Aç", "Open"),
        ("Kaydet", "Save"),
        ("%d dosya", "%d file"),
        ("İki satır.", "Two lines ."),
    ]
    assert dropped == {
        "fuzzy": 1,
        "untranslated": 1,
        "different placeholders": 2,
        "same on both sides": 1,
        "no letters": 1,
        "translators' credits": 1,
        "obsolete": 1,
    }


def test_compiled_catalogues_give_the_same_pairs(tmp_path):
    path = _po(
        tmp_path / "a.po",
        'msgid "Open"\nmsgstr "Aç"\n\nmsgctxt "verb"\nmsgid "Save"\nmsgstr "Kaydet"\n\n'
        'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d dosya"\nmsgstr[1] "%d dosya"\n\n',
    )
    polib.pofile(str(path)).save_as_mofile(str(tmp_path / "a.mo"))
    one, other = (sorted(read_catalogues([tmp_path / name], Counter())) for name in ("a.po", "a.mo"))
    assert one == other
    assert len(one) == 3


def test_other_encodings_are_read_by_their_header(tmp_path):
    path = tmp_path / "a.po"
    header = HEADER.replace("UTF-8", "ISO-8859-9")
    path.write_bytes((header + 'msgid "Open"\nmsgstr "şğı"\n').encode("iso-8859-9"))
    assert list(read_catalogues([path], Counter())) == [("şğı", "Open")]


@pytest.mark.parametrize("content", [b"", b"no catalogue", b"\xde\x12\x04\x95\0\0", b"\xde\x12\x04\x95" + b"\xff" * 40])
def test_a_damaged_catalogue_is_counted_and_the_others_are_read(tmp_path, content):
    bad = tmp_path / "bad.mo"
    bad.write_bytes(content)
    good = _mo(tmp_path / "good.mo", Open="Aç")
    dropped = Counter()
    assert list(read_catalogues([bad, good], dropped)) == [("Aç", "Open")]
    assert dropped == {"unreadable catalogue": 1}


def test_catalogues_are_found_by_folder_header_and_name(tmp_path):
    tr = [
        _mo(tmp_path / "locale/tr/LC_MESSAGES/a.mo", a="b"),
        _po(tmp_path / "po/header.po", ""),
        _po(tmp_path / "po/tr.po", "", header='msgid ""\nmsgstr ""\n'),
        _mo(tmp_path / "q/tr.mo", a="b"),
    ]
    cyrillic = _mo(tmp_path / "locale/uz@cyrillic/LC_MESSAGES/a.mo", a="b")
    brazil = _mo(tmp_path / "locale/pt_BR.UTF-8/LC_MESSAGES/a.mo", a="b")
    _mo(tmp_path / "locale/pt/LC_MESSAGES/a.mo", a="b")
    _po(tmp_path / "po/Messages.po", "", header="")
    assert find_catalogues([tmp_path], "tr") == sorted(tr)
    assert find_catalogues([tmp_path], "uz-Cyrl") == find_catalogues([tmp_path], "uz@cyrillic") == [cyrillic]
    assert find_catalogues([tmp_path], "pt-BR") == [brazil]
    assert find_catalogues([tmp_path / "po/Messages.po"], "tr") == [tmp_path / "po/Messages.po"]


def test_a_language_that_is_not_there_is_an_error_with_those_that_are(tmp_path):
    with pytest.raises(CorpusError, match=r"language 'tr' found; give folders with .po or .mo files"):
        find_catalogues([tmp_path], "tr")
    for language in ("de", "fr", "fr"):
        _mo(tmp_path / language / "LC_MESSAGES" / f"{len(list(tmp_path.rglob('*')))}.mo", a="b")
    with pytest.raises(CorpusError, match="language 'tr' found; choose from fr, de"):
        find_catalogues([tmp_path], "tr")
    with pytest.raises(CorpusError, match="nowhere: not found; check the name"):
        find_catalogues([tmp_path / "nowhere"], "tr")


@pytest.mark.parametrize(
    ("source", "target", "plain"),
    [
        ("_File", "_Dosya", ("File", "Dosya")),
        ("Save _As", "F_arklı kaydet", ("Save As", "Farklı kaydet")),
        ("E&xit", "Ç&ık", ("Exit", "Çık")),
        ("&File", "ファイル(&F)", ("File", "ファイル")),
        ("_Open…", "開く (_O)…", ("Open…", "開く…")),
        ("trap_handler: bad", "trap_handler: kötü", ("trap_handler: bad", "trap_handler: kötü")),
        ("use file_name", "dosya adını kullan", ("use file_name", "dosya adını kullan")),
        ("R&D", "R&D bölümü", ("R&D", "R&D bölümü")),
        ("Audio & Video", "Ses ve Video", ("Audio & Video", "Ses ve Video")),
        ("a_b_c", "x_y_z", ("a_b_c", "x_y_z")),
        ("Fish &amp; chips", "Balık &amp; cips", ("Fish & chips", "Balık & cips")),
        ("<b>Bold</b> text", "<b>Kalın</b> yazı", ("Bold text", "Kalın yazı")),
        ("one<br/>two<br>three", "bir<br>iki", ("one two three", "bir iki")),
        ('See <a href="x?a=1">here</a>.', "<a href='y'>Buraya</a> bak.", ("See here.", "Buraya bak.")),
        (
            "Usage: cp <file> <dir>",
            "Kullanım: cp <dosya> <dizin>",
            ("Usage: cp <file> <dir>", "Kullanım: cp <dosya> <dizin>"),
        ),
        ("no <summary/> tag", "a < b > c", ("no <summary/> tag", "a < b > c")),
        ("&lt;key&gt; &#39;x&#39;", "&lt;tuş&gt;", ("<key> 'x'", "<tuş>")),
        (" a\n\tb\r\n", "10\u00a0km", ("a b", "10\u00a0km")),
    ],
)
def test_accelerators_and_markup_are_taken_away_and_names_stay(source, target, plain):
    assert plain_pair(source, target) == plain


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("%s of %d, %-5.2f, %lu, %*d", ["%s", "%d", "%-5.2f", "%lu", "%*d"]),
        ("%2$s and %1$d", ["%s", "%d"]),
        ("%<PRIu64> bytes", ["%<PRIu64>"]),
        ("%(name)s: %(count)d", ["%(name)s", "%(count)d"]),
        ("%1 of %2, %L3 %n", ["%1", "%2", "%L3", "%n"]),
        ("{} {0} {name} ${HOME} %{user} {0:.2f}", ["{}", "{0}", "{name}", "${HOME}", "%{user}", "{0:.2f}"]),
        ("$PATH $(unit) $1", ["$PATH", "$(unit)", "$1"]),
        ("100%% sure, 50% of %s", ["%s"]),
        ("nothing { here } at 5 $", []),
        ("%s %s", ["%s", "%s"]),
    ],
)
def test_placeholders_are_found(text, found):
    assert placeholders(text) == Counter(found)


def test_a_tree_of_catalogues_becomes_a_corpus(tmp_path):
    numbers = {f"File number {n}": f"{n} numaralı dosya" for n in range(100)}
    _mo(tmp_path / "locale/tr/LC_MESSAGES/a.mo", **numbers)
    _mo(tmp_path / "locale/tr/LC_MESSAGES/b.mo", **dict(list(numbers.items())[:10]), OK="OK")
    report = import_gettext(tmp_path / "small", [tmp_path / "locale"], "tr", Limits(), HoldOut(dev=10, test=10))
    assert report.kept == {"train": 80, "dev": 10, "test": 10}
    assert report.dropped["input"] == {"duplicate": 10, "same on both sides": 1}
    assert report.origin == {"places": ["locale"], "catalogues": 2}
    corpus = ParallelCorpus.open(tmp_path / "small")
    assert (corpus.source, corpus.target) == ("tr", "en")
    assert all(target.startswith("File") and source.endswith("dosya") for source, target in corpus.pairs("test"))


@pytest.mark.full
def test_the_catalogues_of_this_machine_can_be_imported(tmp_path):
    languages = [path.name for path in sorted(LOCALE.glob("*")) if len(list(path.glob("LC_MESSAGES/*.mo"))) >= 5]
    if not languages:
        pytest.skip("needs a Linux machine with translated programs")
    language = "sk" if "sk" in languages else languages[0]
    pairs = list(read_catalogues(find_catalogues([LOCALE], language), dropped := Counter()))
    messages = 0
    for path in LOCALE.glob(f"{language}/LC_MESSAGES/*.mo"):
        messages += len(polib.mofile(str(path)))
    assert len(pairs) + dropped.total() - dropped["unreadable catalogue"] == messages
    for pair in pairs:
        assert all(side == side.strip() and "\n" not in side for side in pair)
        assert placeholders(pair[0]) == placeholders(pair[1])


def test_the_file_that_a_message_is_from_is_its_document(tmp_path):
    messages = "".join(
        f'#: src/{"menu" if n % 2 else "help"}.c:{n} src/other.c:3\nmsgid "Message {n}"\nmsgstr "Haber {n}"\n\n'
        for n in range(60)
    )
    path = _po(tmp_path / "app.po", f'{messages}msgid "Open"\nmsgstr "Aç"\n')
    import_gettext(tmp_path / "corpus", [path], "tr", hold_out=HoldOut(dev=5, test=10))
    corpus = ParallelCorpus.open(tmp_path / "corpus")
    for split, size in corpus.check().items():
        ids = corpus.documents(split)
        assert len(ids) == size
        for (_, original), name in zip(corpus.pairs(split), ids, strict=True):
            number = int(original.removeprefix("Message ")) if original != "Open" else None
            assert name == ("app.po" if number is None else f"src/{'menu' if number % 2 else 'help'}.c")
