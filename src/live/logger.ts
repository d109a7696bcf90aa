/** Where the pipeline writes what operators should know: an event by name, and its fields. */
export interface LiveLogger {
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}
