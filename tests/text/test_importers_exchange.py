"""Translation memories and localisation files, as the specifications of TMX and XLIFF have them."""

import gzip
import re
import tracemalloc
from collections import Counter

import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.splitting import HoldOut
from nmtlab.text.importers.exchange import import_exchange, read_exchange

TMX = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<!-- Example -->
<tmx version="1.4"><header srclang="*all*" segtype="sentence" datatype="PlainText"><prop type="x">y</prop></header>
<body>{units}</body></tmx>
"""
XLIFF = """<?xml version='1.0' encoding='UTF-8'?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file original="a.txt" source-language="en-US" target-language="tr" datatype="plaintext"><body>
  <group id="g"><trans-unit id="1"><source>One</source><seg-source>no</seg-source><target state="final">Bir</target>
   <alt-trans><source>Uno</source><target>Birinci</target></alt-trans></trans-unit></group>
  <trans-unit id="2"><source>Two</source><target state="needs-translation">Two</target></trans-unit>
  <trans-unit id="3"><source>Three</source><target/></trans-unit>
  <trans-unit id="4"><source>Four</source></trans-unit>
  <trans-unit id="5"><source>Five</source><target state="new">Five</target></trans-unit>
  <trans-unit id="6"><source>Press <g id="1">the <x id="2"/>key</g>.</source>
   <target><mrk mtype="seg">Tuşa <bpt id="1">&lt;b&gt;</bpt>bas<ept id="1">&lt;/b&gt;</ept>.</mrk></target></trans-unit>
 </body></file>
 <file original="b.txt" source-language="en" target-language="tr-TR" datatype="plaintext"><body>
  <trans-unit id="1"><source>Seven</source><target>Yedi</target></trans-unit>
 </body></file>
</xliff>
"""
XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="tr"><file id="f">
 <unit id="1"><segment><source>One.</source><target>Bir.</target></segment><ignorable><source> </source></ignorable>
  <segment state="initial"><source>Two.</source><target>Two.</target></segment>
  <segment state="final"><source>The <pc id="1">red<ph id="2"/>house</pc></source><target>Kırmızı ev</target></segment>
 </unit></file></xliff>
"""


def unit(**segments: str) -> str:
    """Return a unit of TMX, from language codes with `_` for `-`."""
    return "<tu>{}</tu>".format(
        "".join(f'<tuv xml:lang="{c.replace("_", "-")}"><seg>{text}</seg></tuv>' for c, text in segments.items())
    )


@pytest.fixture
def tmx(tmp_path):
    def write(*units: str, name: str = "a.tmx", encoding: str = "UTF-8"):
        path = tmp_path / name
        path.write_bytes(TMX.format(encoding=encoding, units="\n".join(units)).encode(encoding))
        return path

    return write


def pairs(path, form="tmx", source="tr", target="en"):
    dropped = Counter()
    return list(read_exchange([path], form, source, target, dropped)), dropped


def test_pairs_are_found_in_either_direction_and_under_any_code(tmx):
    path = tmx(
        unit(en_US="One", tr="Bir", de="Eins"),
        unit(tr_TR="İki", EN="Two"),
        unit(en="Three", de="Drei"),
        unit(en="Four", tr=" "),
    )
    assert pairs(path) == ([("Bir", "One"), ("İki", "Two")], {"untranslated": 2})
    assert pairs(path, source="en", target="de") == ([("One", "Eins"), ("Three", "Drei")], {"untranslated": 2})


def test_a_variety_that_is_wanted_is_taken_and_others_are_not(tmx):
    path = tmx(unit(pt_PT="ecrã", pt_BR="tela", en="screen"), unit(pt="rato", en="mouse"), unit(pt_PT="a", en="b"))
    assert pairs(path, source="pt-BR")[0] == [("tela", "screen"), ("rato", "mouse")]
    assert pairs(path, source="pt")[0] == [("ecrã", "screen"), ("rato", "mouse"), ("a", "b")]


def test_of_two_segments_the_one_under_just_the_code_is_taken(tmx):
    path = tmx(unit(en_GB="colour", en="color", tr="renk"))
    assert pairs(path)[0] == [("renk", "color")]
    assert pairs(path, target="en-GB")[0] == [("renk", "colour")]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ('a <bpt i="1">&lt;b&gt;</bpt>bold<ept i="1">&lt;/b&gt;</ept> word', "a bold word"),
        ("one<ph>&lt;br/&gt;</ph>two", "one two"),
        ("one<ph/><ph/> two<ph/>.", "one two."),
        ('<it pos="begin">{</it>one <hi>two <hi>three</hi></hi>', "one two three"),
        ("see <ph>footnote <sub>a subflow</sub></ph> here", "see here"),
        ("one\n   two\tthree\r\n", "one two three"),
        ("10\u00a0km &amp; R&amp;D &lt;x&gt;", "10\u00a0km & R&D <x>"),
        ("<!-- no -->text<?pi x?>", "text"),
        ("<ut>code</ut>", ""),
    ],
)
def test_codes_are_removed_and_marked_text_stays(tmx, segment, text):
    found, dropped = pairs(tmx(unit(tr="x", en=segment)))
    assert found == [("x", text)] * bool(text)
    assert dropped == {} if text else {"untranslated": 1}


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "ISO-8859-9"])
def test_the_encoding_is_the_one_that_the_file_names(tmx, encoding):
    assert pairs(tmx(unit(tr="şğı", en="x"), encoding=encoding))[0] == [("şğı", "x")]


def test_old_files_name_languages_without_xml(tmx):
    path = tmx('<tu><tuv lang="TR"><seg>Bir</seg></tuv><tuv lang="EN-US"><seg>One</seg></tuv></tu>')
    assert pairs(path)[0] == [("Bir", "One")]


def test_of_xliff_finished_translations_are_taken(tmp_path):
    (tmp_path / "a.xlf").write_text(XLIFF, encoding="utf-8")
    found, dropped = pairs(tmp_path / "a.xlf", "xliff")
    assert found == [("Bir", "One"), ("Tuşa bas.", "Press the key."), ("Yedi", "Seven")]
    assert dropped == {"fuzzy": 2, "untranslated": 2}
    assert pairs(tmp_path / "a.xlf", "xliff", "en", "tr")[0] == [(one, other) for other, one in found]


def test_xliff_2_has_several_segments_in_a_unit(tmp_path):
    (tmp_path / "a.xlf").write_text(XLIFF_2, encoding="utf-8")
    found, dropped = pairs(tmp_path / "a.xlf", "xliff")
    assert found == [("Bir.", "One."), ("Kırmızı ev", "The red house")]
    assert dropped == {"fuzzy": 1}


def test_a_target_without_a_language_is_in_the_one_that_the_source_is_not(tmp_path):
    path = tmp_path / "a.xlf"
    path.write_text(re.sub(r' target-language="[\w-]+"', "", XLIFF), encoding="utf-8")
    assert pairs(path, "xliff")[0][0] == ("Bir", "One")
    assert pairs(path, "xliff", "en", "de")[0][0] == ("One", "Bir")
    with pytest.raises(CorpusError, match="nothing in 'fr'; choose from en-US, en"):
        pairs(path, "xliff", "fr", "de")


def test_a_corpus_is_made_of_several_files(tmx, tmp_path):
    units = [unit(tr=f"cümle {number}", en=f"sentence {number}") for number in range(40)]
    first, second = tmx(*units[:30]), tmx(*units[20:], name="b.tmx")
    (tmp_path / "b.tmx.gz").write_bytes(gzip.compress(second.read_bytes()))
    report = import_exchange(tmp_path / "c", [first, tmp_path / "b.tmx.gz"], "tmx", "tr", "en", hold_out=HoldOut(5, 5))
    assert report.kind == "tmx"
    assert report.origin == {"files": ["a.tmx", "b.tmx.gz"]}
    assert report.kept == {"train": 30, "dev": 5, "test": 5}
    assert report.dropped["input"] == {"duplicate": 10}
    assert ParallelCorpus.open(tmp_path / "c").check()["train"] == 30


def test_a_language_that_is_not_there_is_an_error_with_those_that_are(tmx, tmp_path):
    path = tmx(unit(en_US="One", tr="Bir"), unit(en_US="Two", de="Zwei"))
    with pytest.raises(CorpusError, match=r"a\.tmx: nothing in 'fr'; choose from en-US, tr, de"):
        import_exchange(tmp_path / "c", [path], "tmx", "fr", "en")
    assert not (tmp_path / "c").exists()
    with pytest.raises(CorpusError, match=r"a\.tmx: nothing in 'tr'; check the files"):
        pairs(tmx())


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", r"a\.tmx, line 1: not XML \(no element found\); repair it"),
        (b"bir\tone\n", r"a\.tmx, line 1: not XML \(syntax error\)"),
        (b"<tmx><body>\n<tu>\n<tuv>", r"a\.tmx, line 3: not XML \(no element found\)"),
        (b"<tmx><body>\n</tu></body></tmx>", r"a\.tmx, line 2: not XML \(mismatched tag\)"),
        (b"<tmx>\n&nbsp;</tmx>", r"a\.tmx, line 2: not XML \(undefined entity"),
        (b'<?xml version="1.0" encoding="UTF-8"?>\n<tmx>\n\xfc</tmx>', r"a\.tmx, line 3: not XML \(not well-formed"),
        (b'<?xml version="1.0" encoding="klingon"?><tmx/>', r"a\.tmx.*klingon|a\.tmx, line 1: not XML \(unknown enc"),
        (b'<?xml version="1.0" encoding="Big5"?><tmx/>', r"a\.tmx: cannot be read \(.*multi-byte"),
        (b"<html><body/></html>", r"a\.tmx: begins with <html>, not <tmx>; give tmx files"),
        (b"<xliff/>", r"a\.tmx: begins with <xliff>, not <tmx>"),
    ],
)
def test_what_is_not_such_a_file_is_named_with_its_line(tmp_path, content, problem):
    (tmp_path / "a.tmx").write_bytes(content)
    with pytest.raises(CorpusError, match=problem):
        pairs(tmp_path / "a.tmx")


def test_a_missing_or_damaged_file_is_an_error(tmp_path):
    with pytest.raises(CorpusError, match=r"a\.tmx: not found"):
        pairs(tmp_path / "a.tmx")
    (tmp_path / "a.tmx.gz").write_bytes(gzip.compress(b"<tmx>" + b"<a/>" * 9999)[:50])
    with pytest.raises(CorpusError, match=r"a\.tmx\.gz: cannot be read"):
        pairs(tmp_path / "a.tmx.gz")


def test_entities_that_multiply_are_refused_and_files_are_not_fetched(tmp_path):
    path = tmp_path / "a.tmx"
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    body = unit(tr="&a11;", en="x")
    path.write_text(f'<!DOCTYPE tmx [<!ENTITY a0 "ha">{laughs}]><tmx><body>{body}</body></tmx>', encoding="utf-8")
    with pytest.raises(CorpusError, match="not XML"):
        pairs(path)
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    entity = f'<!DOCTYPE tmx [<!ENTITY s SYSTEM "{tmp_path / "secret"}">]>'
    path.write_text(f"{entity}<tmx><body>{unit(tr='&s;', en='x')}</body></tmx>", encoding="utf-8")
    with pytest.raises(CorpusError, match="undefined entity"):
        pairs(path)


def test_a_large_file_is_read_in_little_memory(tmp_path):
    def units():
        yield "<tmx><body>"
        yield from (unit(tr=f"cümle {number}", en="sentence " * 5) for number in range(3_000))
        yield "</body></tmx>"

    (tmp_path / "a.tmx").write_text("\n".join(units()), encoding="utf-8")
    tracemalloc.start()
    assert sum(1 for _ in read_exchange([tmp_path / "a.tmx"], "tmx", "tr", "en", Counter())) == 3_000
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
