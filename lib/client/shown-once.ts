/** The credential of a response. @throws for a repeated request with the same Idempotency-Key, whose response does not contain it */
export function shownOnce(credential: string | null | undefined): string {
  if (typeof credential === 'string') return credential
  throw new Error('This credential was shown once and cannot be shown again. Create a new one.')
}
