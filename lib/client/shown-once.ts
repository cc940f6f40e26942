/** The credential of a response. @throws for a repeated request with the same Idempotency-Key, whose response does not contain it */
export function shownOnce(credential: string | null | undefined): string {
  if (typeof credential === 'string') return credential
  throw new Error('The first answer showed this credential, and it cannot be read again. Make another one.')
}
