/** PLACEHOLDER written by the lead so that the app loads; overwrite this file. */
export const sanitizeFields = <T>(
  value: T,
  _options?: { strict?: boolean },
): { value: T; changes: { path: (string | number)[]; comments: number; tags: number; normalized: boolean }[] } => ({
  value,
  changes: [],
})
