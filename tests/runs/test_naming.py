"""Short names of runs."""

import pytest

from nmtlab.runs.naming import short_names


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1"], ["tied", "fixnorm-lex"]),
        (["child.bpe.s1", "child.bpe.parent.s1"], ["s1", "parent"]),
        (["deep.prenorm.label_smoothing-0.s1", "deep.prenorm.s2"], ["label_smoothing-0.s1", "s2"]),
        (["child.bpe", "child.bpe.parent"], ["bpe", "parent"]),
        (["one.run"], ["one.run"]),
        (["mine", "yours"], ["mine", "yours"]),
        (["a.b", "b.a"], ["b", "a"]),
        (["x.a", "a.x.a", "x.x.a"], ["x.a", "a.x.a", "x.x.a"]),
        ([], []),
    ],
)
def test_what_all_names_share_is_left_out_unless_names_become_alike(names, short):
    assert short_names(names) == dict(zip(names, short, strict=True))
