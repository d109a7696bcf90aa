"""The helpers, on stand-ins with the attributes of the real classes: the libraries are heavy, their attributes few."""

from __future__ import annotations

import unittest
from types import SimpleNamespace as Some
from typing import Any, List

from tgospa_live import from_norfair, from_supervision, from_ultralytics


class Tensor:
    """What torch tensors and numpy arrays have in common here."""

    def __init__(self, values: List[Any]) -> None:
        self.values = values

    def tolist(self) -> List[Any]:
        return self.values

    def __len__(self) -> int:
        return len(self.values)


class Rows(Some):
    def __len__(self) -> int:
        return len(self.xyxy)


def ultralytics(ids: Any, xyxy: List[List[float]], **changes: Any) -> Any:
    boxes = Rows(
        id=None if ids is None else Tensor(ids),
        xyxy=Tensor(xyxy),
        cls=Tensor([0.0] * len(xyxy)),
        conf=Tensor([0.5] * len(xyxy)),
    )
    return Some(**{"boxes": boxes, "names": {0: "person"}, "obb": None, **changes})


class Ultralytics(unittest.TestCase):
    def test_turns_corners_into_boxes_and_float_ids_into_strings(self) -> None:
        self.assertEqual(
            from_ultralytics(ultralytics([7.0, 8.0], [[10, 20, 40, 60], [0, 0, 5, 5]])),
            [
                {"id": "7", "box": [10.0, 20.0, 30.0, 40.0], "class": "person", "confidence": 0.5},
                {"id": "8", "box": [0.0, 0.0, 5.0, 5.0], "class": "person", "confidence": 0.5},
            ],
        )

    def test_leaves_out_what_has_no_id_and_says_so_once(self) -> None:
        with self.assertLogs("tgospa_live", "WARNING") as logs:
            self.assertEqual(from_ultralytics(ultralytics(None, [[0, 0, 5, 5]])), [])
            self.assertEqual(from_ultralytics(ultralytics(None, [[0, 0, 5, 5]])), [])
        self.assertEqual(len(logs.output), 1)
        self.assertIn("model.track", logs.output[0])

    def test_refuses_oriented_boxes(self) -> None:
        with self.assertRaisesRegex(ValueError, "oriented"):
            from_ultralytics(ultralytics([1.0], [[0, 0, 5, 5]], obb=object()))
        with self.assertRaisesRegex(ValueError, "no boxes"):
            from_ultralytics(Some(boxes=None, names={}, obb=None))

    def test_leaves_out_boxes_without_an_area(self) -> None:
        with self.assertLogs("tgospa_live", "WARNING"):
            self.assertEqual(from_ultralytics(ultralytics([1.0], [[5, 5, 5, 9]])), [])


class Supervision(unittest.TestCase):
    def detections(self, **changes: Any) -> Rows:
        fields = {
            "xyxy": Tensor([[10, 20, 40, 60], [0, 0, 5, 5]]),
            "tracker_id": Tensor([7, -1]),
            "class_id": Tensor([2, 0]),
            "confidence": Tensor([0.25, 0.5]),
            "data": {},
        }
        return Rows(**{**fields, **changes})

    def test_reads_names_of_classes_where_they_are(self) -> None:
        expected = {"id": "7", "box": [10.0, 20.0, 30.0, 40.0], "class": "car", "confidence": 0.25}
        named = self.detections(data={"class_name": Tensor(["car", "person"])})
        self.assertEqual(from_supervision(named), [expected])
        self.assertEqual(from_supervision(self.detections(), {2: "car"}), [expected])
        self.assertEqual(from_supervision(self.detections())[0]["class"], "2")

    def test_does_without_what_may_be_absent(self) -> None:
        bare = self.detections(class_id=None, confidence=None, data=None)
        self.assertEqual(from_supervision(bare), [{"id": "7", "box": [10.0, 20.0, 30.0, 40.0]}])

    def test_says_once_that_a_tracker_is_missing(self) -> None:
        with self.assertLogs("tgospa_live", "WARNING") as logs:
            self.assertEqual(from_supervision(self.detections(tracker_id=None)), [])
            self.assertEqual(from_supervision(self.detections(tracker_id=None)), [])
        self.assertEqual(len(logs.output), 1)


class Norfair(unittest.TestCase):
    def test_takes_boxes_and_points_as_told(self) -> None:
        corners = Some(id=3, estimate=Tensor([[10, 20], [40, 60]]), label="car")
        point = Some(id=4, estimate=Tensor([[1.5, 2.5]]), label=None)
        unborn = Some(id=None, estimate=Tensor([[0, 0], [1, 1]]), label=None)
        self.assertEqual(
            from_norfair([corners, unborn]), [{"id": "3", "box": [10.0, 20.0, 30.0, 40.0], "class": "car"}]
        )
        self.assertEqual(from_norfair([point], shape="point"), [{"id": "4", "point": [1.5, 2.5]}])
        with self.assertRaisesRegex(ValueError, "object 4 has 1 points, which is no box"):
            from_norfair([point])
        with self.assertRaisesRegex(ValueError, "shape is 'circle'"):
            from_norfair([], shape="circle")

    def test_reads_the_fixed_frame_when_asked(self) -> None:
        moving = Some(id=1, label=None, get_estimate=lambda absolute: Tensor([[100, 100], [110, 120]]))
        self.assertEqual(from_norfair([moving], absolute=True), [{"id": "1", "box": [100.0, 100.0, 10.0, 20.0]}])


if __name__ == "__main__":
    unittest.main()
