"""One use of an operator, as translations see it."""

from grade.export.operator_call import Call


def test_an_attribute_without_a_value_is_missing() -> None:
    call = Call(["x"], {"pads": None, "axis": 0}, [None], [4], 1, 17)
    assert call.get("pads", [1, 1]) == [1, 1]
    assert call.get("axis", 3) == 0
    assert call.get("group") is None
