import type { People } from '#lib/domains/privacy-requests/ports.ts'
import { type RequestKind, scopeFor } from '#lib/domains/privacy-requests/rules.ts'
import type { Actor, MutationContext } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'

/** Returns a scope that the kinds require and that the token does not have. */
export const missingScope = ({ kind, scopes }: Actor, kinds: readonly RequestKind[]): string | undefined =>
  kind !== 'agent' || scopes.includes('admin')
    ? undefined
    : kinds.map(scopeFor).find((scope) => !scopes.includes(scope))

/** Rejects a token whose scopes do not allow the kinds. */
export function requireScopes(actor: Actor, kinds: readonly RequestKind[]): void {
  const missing = missingScope(actor, kinds)
  if (missing) throw new Problem('scope_too_small', `This operation requires the scope "${missing}".`)
}

/** Rejects a read-only token: cancelling a request and sending emails need a write scope. */
export function requireWriteScope({ kind, scopes }: Actor): void {
  if (kind === 'agent' && !scopes.some((scope) => scope === 'write' || scope === 'admin'))
    throw new Problem('scope_too_small', 'This operation requires the scope "write".')
}

/** @throws Problem `invalid` at `password` for a wrong password and for a token */
export async function requirePassword(
  people: Pick<People, 'checkPassword'>,
  { actor: { accountId }, tx }: MutationContext,
  password: string,
): Promise<void> {
  if (accountId === undefined) throw invalid(['password'], 'is only for people: a token already identifies its agent')
  await people.checkPassword(tx, accountId, password)
}
