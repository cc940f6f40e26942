/** What the audit log calls an invitation; the code does not follow from it. */
export const inviteId = (hash: Uint8Array): string => `invite_${Buffer.from(hash).toString('hex').slice(0, 16)}`
