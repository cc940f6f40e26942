import { type TierName, type TokenScope, tiers, tokenScopes } from '#lib/domains/tokens/rules.ts'
import { usageFailure } from './failure.ts'

const isScope = (text: string): text is TokenScope => tokenScopes.some((scope) => scope === text)
const isTier = (text: string): text is TierName => tiers.some((tier) => tier === text)

/** Parses `read,write` into scopes. */
export function scopesOf(text: string): TokenScope[] {
  const named = text.split(',').map((one) => one.trim())
  const known = named.filter(isScope)
  if (known.length !== named.length || known.length === 0)
    throw usageFailure(`--scopes must be a comma-separated list of ${tokenScopes.join(', ')}, not "${text}".`)
  return known
}
export function tierOf(text: string): TierName {
  if (!isTier(text)) throw usageFailure(`--tier must be one of ${tiers.join(', ')}, not "${text}".`)
  return text
}
