/**
 * The frames of a component, oldest first, as rows of several matrices that grow at the end and shrink at the front
 * together. Only frames in which the component earns a benefit are layers. Rows `head` to `head + size - 1` are live;
 * they stay contiguous, so solvers index without wrapping.
 */

type Values = Float64Array | Int32Array | Int8Array;

/** One quantity per layer and column. `values` is replaced when the stack grows: do not keep it across `append`. */
export class Matrix<V extends Values = Values> {
  constructor(
    public values: V,
    readonly width: number,
  ) {}
}

export class LayerStack {
  head = 0;
  size = 0;
  private capacity: number;
  private readonly matrices: Matrix[] = [];

  constructor(capacity: number) {
    this.capacity = Math.max(4, capacity);
  }

  matrix<V extends Values>(make: new (length: number) => V, width: number): Matrix<V> {
    const matrix = new Matrix(new make(this.capacity * width), width);
    this.matrices.push(matrix as unknown as Matrix);
    return matrix;
  }

  /** Makes room for one more layer and returns its row; its values are whatever stood there. */
  append(): number {
    if (this.head + this.size === this.capacity) {
      if (this.head > this.size >> 4) this.moveToFront();
      else this.grow();
    }
    return this.head + this.size++;
  }

  dropFirst(): void {
    this.head++;
    this.size--;
  }

  private moveToFront(): void {
    for (const { values, width } of this.matrices) {
      values.copyWithin(0, this.head * width, (this.head + this.size) * width);
    }
    this.head = 0;
  }

  private grow(): void {
    this.capacity *= 2;
    for (const matrix of this.matrices) {
      const old = matrix.values;
      matrix.values = new (old.constructor as new (length: number) => Values)(this.capacity * matrix.width);
      matrix.values.set(old.subarray(this.head * matrix.width, (this.head + this.size) * matrix.width));
    }
    this.head = 0;
  }
}
