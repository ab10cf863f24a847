"""Pictures that go with rows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.datasets.writers import touch
from unseen.datasets.published import existing_pictures


@pytest.mark.parametrize(
    "path", ["../secret.jpg", "{}/secret.jpg", "/x/thumbs/../secret.jpg", "Ox/../../secret.jpg",
             "/x/thumbs/{}/secret.jpg", "", "Ox", "."],
)  # fmt: skip
def test_no_picture_lies_outside_its_folder(tmp_path, path):
    touch(tmp_path / "secret.jpg")
    touch(tmp_path / "thumbs" / "Ox" / "1.jpg")
    found = existing_pictures(tmp_path, np.array(["Ox/1.jpg", path.format(tmp_path)]))
    assert found is not None
    assert found.tolist() == [str(tmp_path / "thumbs" / "Ox" / "1.jpg"), ""]
