import { createHash } from 'node:crypto'

/** The SHA-256 hash stored in place of a secret code. Codes have at least 100 random bits, so they need no salt or key stretching. */
export const hashOf = (code: string): Buffer<ArrayBuffer> => createHash('sha256').update(code).digest()
