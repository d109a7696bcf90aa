/**
 * Which part of the world a scene shows: zoom and pan, shared by scenes side by side. Screen sizes are in device
 * pixels.
 */
import type { Bounds } from './frames.js';

const MARGIN = 0.06;

export class Camera {
  scale = 1;
  left = 0;
  top = 0;
  /** changes with everything above */
  version = 0;
  /** false once somebody has zoomed or panned */
  fitting = true;
  #fitted: Bounds | null = null;
  #size = [0, 0];

  /** Shows all of the bounds; moves only when something has left the picture. */
  fit(bounds: Bounds, width: number, height: number): void {
    if (!this.fitting || !(bounds.right >= bounds.left) || width === 0) return;
    const same = this.#size[0] === width && this.#size[1] === height;
    if (same && this.#fitted && holds(this.#fitted, bounds)) return;
    const spanX = Math.max(bounds.right - bounds.left, 1e-9);
    const spanY = Math.max(bounds.bottom - bounds.top, 1e-9);
    const span = Math.max(spanX, spanY) * MARGIN;
    const room = {
      left: bounds.left - span,
      top: bounds.top - span,
      right: bounds.right + span,
      bottom: bounds.bottom + span,
    };
    this.#fitted = room;
    this.#size = [width, height];
    this.scale = Math.min(width / (room.right - room.left), height / (room.bottom - room.top));
    this.left = (room.left + room.right - width / this.scale) / 2;
    this.top = (room.top + room.bottom - height / this.scale) / 2;
    this.version++;
  }

  zoom(factor: number, x: number, y: number): void {
    const worldX = this.left + x / this.scale;
    const worldY = this.top + y / this.scale;
    this.scale = Math.min(Math.max(this.scale * factor, 1e-7), 1e7);
    this.left = worldX - x / this.scale;
    this.top = worldY - y / this.scale;
    this.#moved();
  }

  pan(dx: number, dy: number): void {
    this.left -= dx / this.scale;
    this.top -= dy / this.scale;
    this.#moved();
  }

  reset(): void {
    this.fitting = true;
    this.#fitted = null;
  }

  #moved(): void {
    this.fitting = false;
    this.version++;
  }
}

const holds = (outer: Bounds, inner: Bounds) =>
  outer.left <= inner.left && outer.top <= inner.top && outer.right >= inner.right && outer.bottom >= inner.bottom;
