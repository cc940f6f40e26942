/** Kinds of removed data, as the API names them. */
export const removedKinds = [
  'private_key',
  'seed_phrase',
  'api_key',
  'credential',
  'wallet_address',
  'ethereum_address',
  'bitcoin_address',
  'strategy_detail',
  'name',
  'email',
  'phone',
  'address',
  'iban',
  'card',
  'ssn',
  'ip',
] as const
export type RemovedKind = (typeof removedKinds)[number]

/** Counts of removed data in display order; `other`: kinds that this page does not know. */
export function removedCounts(
  removed: Readonly<Record<string, unknown>>,
): { kind: RemovedKind | 'other'; count: number }[] {
  const countOf = (kind: string) => {
    const count = removed[kind]
    return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : 0
  }
  const known = new Set<string>(removedKinds)
  const other = Object.keys(removed).reduce((sum, kind) => sum + (known.has(kind) ? 0 : countOf(kind)), 0)
  const all = [
    ...removedKinds.map((kind) => ({ kind, count: countOf(kind) })),
    { kind: 'other' as const, count: other },
  ]
  return all.filter(({ count }) => count > 0)
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The removed data in a manifest, by kind. The signature is not verified, because the page trusts its own server. Undefined for any other
 * text.
 */
export function removedBy(manifest: string): Record<string, unknown> | undefined {
  const [, payload] = manifest.split('.')
  if (payload === undefined) return undefined
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (sign) => sign.charCodeAt(0))
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return isRecord(claims) && isRecord(claims.removed) ? claims.removed : undefined
  } catch {
    // Neither Base64 nor JSON.
    return undefined
  }
}
