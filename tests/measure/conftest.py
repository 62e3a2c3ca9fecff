"""What the tests of measuring use."""

import pytest
from measure_helpers import Clock


@pytest.fixture
def clock():
    return Clock()
