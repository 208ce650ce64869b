import pytest
from hypothesis import given
from hypothesis import strategies as st

from grade.graphs.strings import StringTable

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"])))


@given(texts, st.data())
def test_it_is_the_sequence_it_was_made_from(strings: list[str], data: st.DataObject) -> None:
    table = StringTable.from_strings(strings)
    assert list(table) == strings
    assert table == StringTable.from_strings(strings)
    begin, end = data.draw(st.integers(-9, 9)), data.draw(st.integers(-9, 9))
    assert list(table[begin:end]) == strings[begin:end]
    for index in range(-len(strings), len(strings)):
        assert table[index] == strings[index]


def test_an_index_out_of_range_is_an_error() -> None:
    with pytest.raises(IndexError):
        StringTable.from_strings(["a"])[1]


def test_a_file_name_that_is_not_unicode_does_not_stop_a_build() -> None:
    assert list(StringTable.from_strings(["a\udcff"])) == ["a?"]
