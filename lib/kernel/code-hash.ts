import { createHash } from 'node:crypto'

/** What is stored of a code that is a secret: its SHA-256. Ours have 128 random bits at least, so no salt or stretching is needed. */
export const hashOf = (code: string): Buffer<ArrayBuffer> => createHash('sha256').update(code).digest()
