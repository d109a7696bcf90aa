/**
 * Rectangular assignment: the matching of rows to columns with the smallest total cost, every row matched (rows <= columns).
 * Shortest augmenting paths with row and column prices (Jonker and Volgenant 1987), O(rows^2 * columns).
 * Invariant after each row: price[row] + price[column] <= cost everywhere, with equality on matched pairs.
 */

/** The column of each row in an assignment of least total cost; `cost[row * columns + column]`, finite, rows <= columns. */
export function assign(cost: Float64Array, rows: number, columns: number): Int32Array {
  const rowPrice = new Float64Array(rows);
  const columnPrice = new Float64Array(columns);
  const rowOf = new Int32Array(columns).fill(-1);
  const columnOf = new Int32Array(rows).fill(-1);
  const reach = new Float64Array(columns);
  const via = new Int32Array(columns);
  const done = new Uint8Array(columns);
  const order = new Int32Array(columns);
  for (let start = 0; start < rows; start++) {
    reach.fill(Number.POSITIVE_INFINITY);
    done.fill(0);
    let row = start;
    let length = 0;
    let settled = 0;
    let end = -1;
    // grow the tree of shortest paths from the new row until it meets a free column
    while (end < 0) {
      let nearest = -1;
      for (let column = 0; column < columns; column++) {
        if (done[column]) continue;
        const through = length + cost[row * columns + column] - rowPrice[row] - columnPrice[column];
        if (through < reach[column]) {
          reach[column] = through;
          via[column] = row;
        }
        if (nearest < 0 || reach[column] < reach[nearest]) nearest = column;
      }
      length = reach[nearest];
      done[nearest] = 1;
      order[settled++] = nearest;
      if (rowOf[nearest] < 0) end = nearest;
      else row = rowOf[nearest];
    }
    // move the prices so that the tree stays tight
    rowPrice[start] += length;
    for (let index = 0; index < settled - 1; index++) {
      const column = order[index];
      rowPrice[rowOf[column]] += length - reach[column];
      columnPrice[column] -= length - reach[column];
    }
    // flip the path from the free column back to the new row
    for (let column = end; column >= 0; ) {
      const from = via[column];
      const next = from === start ? -1 : columnOf[from];
      rowOf[column] = from;
      columnOf[from] = column;
      column = next;
    }
  }
  return columnOf;
}
