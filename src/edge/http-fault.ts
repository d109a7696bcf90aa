/** Why a request is refused: thrown by whoever answers it, and answered with its code. */
import type { HttpCode } from '../wire/codes.js';

export class HttpFault extends Error {
  constructor(
    readonly code: HttpCode,
    message: string,
  ) {
    super(message);
  }
}
