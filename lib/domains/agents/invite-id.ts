import { createHash } from 'node:crypto'

/** SHA-256: a code has 128 random bits. */
export const hashInvite = (code: string): Buffer<ArrayBuffer> => createHash('sha256').update(code).digest()
/** What the audit log calls an invitation; the code does not follow from it. */
export const inviteId = (hash: Uint8Array): string => `invite_${Buffer.from(hash).toString('hex').slice(0, 16)}`
