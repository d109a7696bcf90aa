/** One fault put into a scene on purpose, so that what is found can be compared with it. */
export interface PlantedFault {
  /** first and last frame, 1-based */
  from: number;
  to: number;
  what: string;
}
