import pytest

from nmtlab.languages import (
    code_of_ending,
    is_english,
    is_in_han,
    is_variety,
    is_without_spaces,
    language_of,
    scripts_of,
)


@pytest.mark.parametrize(
    ("codes", "language"),
    [
        ("zh zho zho_Hans cmn cmn_Hans zh-Hant zh_CN ZH zh_CN_x", "zh"),
        ("en eng eng_Latn en-GB en_US EN", "en"),
        ("ja jpn jpn_Jpan ja_JP", "ja"),
        ("fr fra fre fra_Latn", "fr"),
        ("ar ara arb_Arab", "ar"),
        ("uz uzb uzn_Latn uz-Cyrl", "uz"),
        ("he iw heb", "he"),
        ("yue yue_Hant zh-yue", "yue"),
    ],
)
def test_a_language_is_known_under_all_its_codes(codes, language):
    assert {language_of(code) for code in codes.split()} == {language}


@pytest.mark.parametrize("code", ["qaa", "qab", "qad", "xx", "foo", "chinese", "wuu", "nan", "arz"])
def test_a_code_without_a_shorter_one_stays_as_it_is(code):
    assert language_of(code) == code


@pytest.mark.parametrize(("code", "language"), [("qab-x", "qab"), ("qaa_1", "qaa"), ("chinese-x-y", "chinese")])
def test_a_code_that_is_not_bcp_47s_can_be_used(code, language):
    assert language_of(code) == language
    assert not is_without_spaces(code)


def test_english_is_known_under_all_its_codes():
    assert all(map(is_english, "en eng eng_Latn en-GB en_US EN".split()))
    assert not any(map(is_english, "tr ang enm qaa fr en2x".split()))


def test_languages_without_spaces_are_known_by_language_and_by_script():
    without = "zh cmn yue wuu nan hak gan lzh ja jpn th tha lo lao km khm my mya shn bo bod dz dzo"
    by_script = "qaa_Hans qaa_Hant qaa_Jpan nod_Thai qaa_Laoo qaa_Khmr mnw_Mymr lad_Tibt"
    assert all(map(is_without_spaces, [*without.split(), *by_script.split()]))
    assert not any(map(is_without_spaces, "en ko kor_Hang vi nan_Latn hak-Latn zho_Latn ta ksw qaa".split()))
    assert all(map(is_in_han, "zh yue_Hant jpn lzh qaa_Hans".split()))
    assert not any(map(is_in_han, "th bo en nan_Latn".split()))


def test_the_ending_of_a_file_is_a_language_if_it_is_a_code_and_no_usual_format():
    codes = ["en", "ckb", "pt-BR", "eng_Latn", "zho_Hans"]
    assert [code_of_ending(code) for code in codes] == codes
    assert {code_of_ending(ending) for ending in ("txt", "TXT", "src", "sys", "tsv", "ref", "out", "hyp", "")} == {""}


@pytest.mark.parametrize(
    ("code", "scripts"),
    [
        ("uz", "Latn"),
        ("uz-Cyrl", "Cyrl"),
        ("ug", "Arab"),
        ("ja", "Hira Kana Hani"),
        ("ko", "Hang Hani"),
        ("zho_Hant", "Hani"),
        ("ksw", ""),
        ("ksw-Mymr", "Mymr"),
        ("qaa", ""),
        ("chinese", ""),
    ],
)
def test_the_scripts_of_a_language_are_known_or_it_has_none(code, scripts):
    assert scripts_of(code) == tuple(scripts.split())


@pytest.mark.parametrize(
    ("wanted", "varieties", "others"),
    [
        ("en", "en EN en-US en_GB eng_Latn", "de enm *all*"),
        ("en-GB", "en-GB en eng_Latn", "en-US"),
        ("pt-BR", "pt_br pt", "pt-PT es"),
        ("zh-Hant", "zh-TW zh_Hant_TW", "zh zh-Hans zh-CN"),
        ("zh", "zh zh-TW zh-Hans cmn", "ja"),
        ("uz-Cyrl", "uz-Cyrl uz_Cyrl_UZ", "uz uz-Latn"),
        ("qaa", "qaa qaa-x", "qab"),
    ],
)
def test_a_language_is_found_under_the_codes_of_its_varieties(wanted, varieties, others):
    assert all(is_variety(code, wanted) for code in varieties.split())
    assert not any(is_variety(code, wanted) for code in others.split())
