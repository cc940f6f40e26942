/** A credential of an answer. Throws for a repetition by Idempotency-Key, which does not contain it. */
export function shownOnce(credential: string | null | undefined): string {
  if (typeof credential === 'string') return credential
  throw new Error('The first answer showed this credential, and it cannot be read again. Make another one.')
}
