/** The code of a system error (`ENOENT`) or of PostgreSQL (`28P01`); undefined for anything else. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
