"""What common Python trackers return, as the objects of a frame. Nothing here imports those libraries: their results
are read by the attributes they have had for years.

Boxes come as corners in pixels and leave as left, top, width, height. Ids leave as strings. What has no identity cannot
be judged and is left out: it is said once by a log line, because it may be a tracker that was never switched on.
"""

from __future__ import annotations

import logging
import math
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from .client import Object

log = logging.getLogger("tgospa_live")
_told: Dict[str, bool] = {}


def from_ultralytics(result: Any) -> List[Object]:
    """Objects of one Ultralytics ``Results`` of ``model.track(...)``: ``for r in model.track(..., stream=True)``."""
    if getattr(result, "obb", None) is not None:
        raise ValueError("result has oriented boxes (obb), which have no left, top, width, height; send points instead")
    boxes = result.boxes
    if boxes is None:
        raise ValueError("result has no boxes; use a detection, segmentation or pose model")
    ids = boxes.id
    if ids is None:
        _tell_once(len(boxes), "ultralytics", "model.track(...) gives ids, model.predict(...) does not")
        return []
    names = result.names
    rows = zip(_rows(ids), _rows(boxes.xyxy), _rows(boxes.cls), _rows(boxes.conf))
    return _kept(
        _object(_id_of(track), corners, names.get(int(kind), str(int(kind))) if names else str(int(kind)), confidence)
        for track, corners, kind, confidence in rows
    )


def from_supervision(detections: Any, names: Optional[Mapping[int, str]] = None) -> List[Object]:
    """Objects of one Supervision ``Detections`` after ``tracker.update_with_detections``; ``names`` maps class ids to
    names where the detections do not carry ``class_name``."""
    count = len(detections)
    if detections.tracker_id is None:
        _tell_once(count, "supervision", "run them through a tracker such as sv.ByteTrack first")
        return []
    kinds = _rows(detections.class_id) if detections.class_id is not None else [None] * count
    called = (getattr(detections, "data", None) or {}).get("class_name")
    labels = _rows(called) if called is not None else [_name(kind, names) for kind in kinds]
    confidences = _rows(detections.confidence) if detections.confidence is not None else [None] * count
    rows = zip(_rows(detections.tracker_id), _rows(detections.xyxy), labels, confidences)
    # some trackers mark what they do not track by -1
    return _kept(_object(_id_of(track), *rest) for track, *rest in rows if int(track) >= 0)


def from_norfair(objects: Iterable[Any], *, shape: str = "box", absolute: bool = False) -> List[Object]:
    """Objects of ``tracker.update(...)`` of Norfair. ``shape`` says what its points mean: ``box``, two corners;
    ``point``, one point. ``absolute``: in the fixed frame of a tracker with camera motion."""
    if shape not in ("box", "point"):
        raise ValueError(f"shape is {shape!r}; use 'box' or 'point'")
    kept: List[Object] = []
    for item in objects:
        if item.id is None:  # still being initialised
            continue
        points = _rows(item.get_estimate(absolute=True) if absolute else item.estimate)
        label = None if item.label is None else str(item.label)
        if len(points) != (2 if shape == "box" else 1):
            raise ValueError(f"object {item.id} has {len(points)} points, which is no {shape}; give shape='box' or 'point'")
        if shape == "box":
            kept.extend(_kept([_object(_id_of(item.id), [*points[0], *points[1]], label, None)]))
        elif all(math.isfinite(value) for value in points[0]):
            kept.append(_labelled({"id": _id_of(item.id), "point": [float(value) for value in points[0]]}, label, None))
    return kept


def _rows(values: Any) -> List[Any]:
    """Tensors, arrays and lists alike."""
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _id_of(value: Any) -> str:
    """7.0 of a tensor of floats is track 7."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _name(kind: Any, names: Optional[Mapping[int, str]]) -> Optional[str]:
    if kind is None:
        return None
    return names.get(int(kind), str(int(kind))) if names else str(int(kind))


def _object(track: str, corners: Sequence[float], label: Any, confidence: Any) -> Object:
    left, top, right, bottom = (float(value) for value in corners)
    return _labelled({"id": track, "box": [left, top, right - left, bottom - top]}, label, confidence)


def _labelled(item: Any, label: Any, confidence: Any) -> Object:
    if label is not None and label != "":
        item["class"] = str(label)
    if confidence is not None:
        item["confidence"] = float(confidence)
    return item


def _kept(objects: Iterable[Object]) -> List[Object]:
    """Without boxes that have no area, which filters produce now and then: strict streams would reject the frame."""
    kept: List[Object] = []
    for item in objects:
        if all(math.isfinite(value) for value in item["box"]) and item["box"][2] > 0 and item["box"][3] > 0:
            kept.append(item)
        else:
            log.warning("object %s has the box %s without an area; it is left out", item["id"], item["box"])
    return kept


def _tell_once(count: int, source: str, remedy: str) -> None:
    if count == 0 or source in _told:
        return
    _told[source] = True
    log.warning("%d detections of %s have no track ids and are left out; %s", count, source, remedy)
