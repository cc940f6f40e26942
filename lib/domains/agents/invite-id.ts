/** Id of an invitation in the audit log. The invitation code cannot be derived from it. */
export const inviteId = (hash: Uint8Array): string => `invite_${Buffer.from(hash).toString('hex').slice(0, 16)}`
